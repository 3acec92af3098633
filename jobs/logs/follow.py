"""Following a file that another machine writes: by polling, since inotify does not see remote writers.

The file is opened anew for each poll: only an open makes an NFS client ask the server for the size (nfs(5)).
"""

import os
from enum import Enum
from pathlib import Path

from jobs.logs.clean import shown_part
from jobs.logs.opening import LogMissing, open_log, problem_of

LINE_BYTES = 4096  # of a line that are kept
CHUNK = 256 * 1024  # read at once
_ANCHOR = 64  # bytes before the offset by which a rewritten file is told from one that grew


class Change(Enum):
    """What the last read found."""

    SAME = "same"
    GREW = "grew"
    RESTARTED = "restarted"  # truncated, replaced or rewritten: read again from its start
    MISSING = "missing"


class Tail:
    """A file read from `offset` on, in bounded steps. `size` and `change` tell what the last read found.

    With `back`, reading begins at the first line start within the last `back` bytes instead.
    """

    def __init__(self, path: Path, offset: int = 0, back: int | None = None) -> None:
        self.path = path
        self.offset = offset
        self.size = 0
        self.change = Change.SAME
        self._back = back
        self._skipping = False
        self._identity: tuple[int, int] | None = None
        self._anchor = b""
        self._partial = b""

    @property
    def behind(self) -> int:
        """Bytes that were there at the last read and are still to be read."""
        return max(0, self.size - self.offset)

    @property
    def partial(self) -> str:
        """The last line as far as it was written; its live end where it is a bar."""
        return _text(self._partial)

    def seek(self, offset: int) -> None:
        """Go on reading the same file at `offset`."""
        self.offset = offset
        self._anchor = b""
        self._partial = b""

    def read(self, limit: int = CHUNK) -> bytes:
        """At most `limit` new bytes. A file that vanished is MISSING; its successor is read from the start.

        Raises LogProblem for what cannot be read for another reason.
        """
        try:
            with open_log(self.path) as log:
                return self._read(log.fileno(), limit)
        except LogMissing:
            self.change = Change.MISSING
            self._back = None
            return b""
        except OSError as error:
            raise problem_of(error, self.path) from None

    def poll(self, limit: int = CHUNK) -> list[str]:
        """The lines completed since the last poll, decoded, each at most LINE_BYTES long; `partial` has the rest."""
        data = self.read(limit)
        done = []
        if self._partial and self.change is Change.RESTARTED:
            done.append(_text(self._partial))
            self._partial = b""
        pieces = data.split(b"\n")
        if self._skipping:
            if len(pieces) == 1:
                return done
            self._skipping = False
            del pieces[0]
        pieces[0] = self._partial + pieces[0]
        self._partial = shown_part(pieces.pop(), LINE_BYTES)
        return done + [_text(piece) for piece in pieces]

    def _read(self, handle: int, limit: int) -> bytes:
        status = os.fstat(handle)
        identity = (status.st_dev, status.st_ino)
        self.size = status.st_size
        self.change = Change.SAME
        if self._identity is None:
            self._identity = identity
            self._begin(handle)
        elif identity != self._identity or self.size < self.offset:
            self._restart()
            self._identity = identity
            self.change = Change.RESTARTED
        if limit == 0 or self.size == self.offset:
            return b""
        data = os.pread(handle, len(self._anchor) + limit, self.offset - len(self._anchor))
        if not data.startswith(self._anchor):
            self._restart()
            self._identity = identity
            self.change = Change.RESTARTED
            data = os.pread(handle, limit, 0)
        new = data[len(self._anchor) :]
        self.offset += len(new)
        self._anchor = data[-_ANCHOR:]
        if self.change is Change.SAME:
            self.change = Change.GREW
        return new

    def _begin(self, handle: int) -> None:
        if self._back is not None and self._back < self.size:
            self.offset = self.size - self._back
            self._skipping = os.pread(handle, 1, self.offset - 1) != b"\n"
        self._back = None

    def _restart(self) -> None:
        self._identity = None
        self.offset = 0
        self._anchor = b""
        self._skipping = False


def _text(raw: bytes) -> str:
    return shown_part(raw, LINE_BYTES).decode("utf-8", "replace")
