"""The progress of a log that still grows, read step by step."""

from __future__ import annotations

import codecs
import os
import re
from pathlib import Path

from jobs.logs.follow import Change, Tail
from jobs.logs.opening import LogMissing, open_log, problem_of
from jobs.logs.progress import HEAD_BYTES, TAIL_BYTES, Progress, ProgressReader

_CHUNKS_PER_POLL = 8


class LiveProgress:
    """Reads the head and the end of a log once, then only what is new. `path` may not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = ProgressReader()
        self._tail = Tail(path, back=TAIL_BYTES)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head_read = False
        self._torn = False  # what comes next may begin inside a line

    def poll(self) -> Progress | None:
        """What is known of the run; None while the log shows none. Raises LogProblem, but not for a missing log."""
        if not self._head_read:
            self._read_head()
        for _ in range(_CHUNKS_PER_POLL):
            data = self._tail.read()
            if self._tail.change is Change.RESTARTED:
                self._reader, self._decoder = ProgressReader(), codecs.getincrementaldecoder("utf-8")("replace")
                self._torn = False
            if not data:
                break
            if self._torn:
                self._torn = False
                data = re.split(rb"[\r\n]", data, maxsplit=1)[-1]
            self._reader.feed(self._decoder.decode(data))
        return self._reader.progress if self._reader.progress.format else None

    def _read_head(self) -> None:
        """A long log's beginning says how many steps there are; a short one is read whole by the tail."""
        try:
            with open_log(self.path) as log:
                if os.fstat(log.fileno()).st_size > TAIL_BYTES:
                    self._reader.feed(os.pread(log.fileno(), HEAD_BYTES, 0).decode("utf-8", "replace"))
                    self._reader.gap()
                    self._torn = True
                self._head_read = True
        except LogMissing:
            return
        except OSError as error:
            raise problem_of(error, self.path) from None
