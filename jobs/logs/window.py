"""A bounded part of a log as rows, which moves through a file of any size: opened at the end, grown both ways."""

import bisect
import os
from pathlib import Path

from jobs.logs.clean import shown_part
from jobs.logs.follow import CHUNK, LINE_BYTES, Change, Tail
from jobs.logs.lines import Row, fold, line_start, make_row, row_at
from jobs.logs.opening import open_log, problem_of

MAX_ROWS = 20_000
_LINES_AT_ONCE = MAX_ROWS // 4  # so that what is looked at stays when more is read
_STEPS_BACK = 16  # chunks read at once to fill a screen when most lines fold away


class LogWindow:
    """Rows of the log at `path`, from the line at byte `start` on. Blocking: for a thread, one call at a time.

    All methods raise LogProblem for a log that cannot be read.
    """

    def __init__(self, path: Path, folded: bool = True) -> None:
        self.path = path
        self.folded = folded
        self.start = 0
        self.tail = Tail(path)
        self._rows: list[Row] = []
        self._line_start = 0
        self._partial = b""

    @property
    def at_end(self) -> bool:
        """Whether the last row is the log's last line, as far as is known."""
        return not self.tail.behind

    @property
    def size(self) -> int:
        """Bytes of the log at the last look."""
        return self.tail.size

    def rows(self) -> list[Row]:
        """A copy of the rows, the unfinished last line included."""
        rows = list(self._rows)
        if self._partial:
            self._append(rows, make_row(self._line_start, self._partial))
        return rows

    def open_end(self, wanted: int) -> None:
        """Move to the log's end; at least `wanted` rows if there are as many near."""
        with open_log(self.path) as log:
            handle = log.fileno()
            try:
                base = max(0, os.fstat(handle).st_size - CHUNK)
                data = os.pread(handle, CHUNK, base)
                first = data.find(b"\n", 0, -1) if base else -1
                self._open(base + first + 1 if first >= 0 else line_start(handle, base))
            except OSError as error:
                raise problem_of(error, self.path) from None
        self.tail.read(0)
        while self.tail.behind:
            self.forward()
        self.back(wanted - len(self._rows))

    def open_at(self, offset: int, wanted: int) -> None:
        """Move to the line that `offset` lies in, with rows around it."""
        with open_log(self.path) as log:
            try:
                self._open(line_start(log.fileno(), offset))
            except OSError as error:
                raise problem_of(error, self.path) from None
        while self.forward() and len(self._rows) < wanted:
            pass
        if self.start:
            self.back()

    def forward(self) -> bool:
        """Read on by one chunk; False if there was nothing."""
        data = self.tail.read(CHUNK)
        if self.tail.change is Change.RESTARTED:
            self._forget(0)
        self._add(data, self.tail.offset - len(data))
        if len(self._rows) > MAX_ROWS:
            del self._rows[:-MAX_ROWS]
            self.start = self._rows[0].offset
        return bool(data)

    def back(self, wanted: int = 1) -> bool:
        """Read earlier lines, until there are `wanted` more rows or enough was read; False if there is no more row."""
        new = 0
        for _ in range(_STEPS_BACK):
            if new >= wanted or not self.start:
                break
            new += self._back()
        return new > 0

    def _back(self) -> int:
        """Read one chunk of earlier lines; the number of rows that it added."""
        with open_log(self.path) as log:
            try:
                rows = self._before(log.fileno())
            except OSError as error:
                raise problem_of(error, self.path) from None
        for row in self._rows:
            self._append(rows, row)
        new = len(rows) - len(self._rows)
        self._rows = rows
        if len(rows) > MAX_ROWS:
            self._read_again_from(rows[MAX_ROWS].offset)
            del rows[MAX_ROWS:]
        return new

    def poll(self, following: bool, wanted: int) -> Change:
        """Look for news. Following reads them, or moves to the end if they are many; else only the size is read."""
        if following:
            self.forward()
        else:
            self.tail.read(0)
        change = self.tail.change
        if change is Change.RESTARTED or (following and self.tail.behind > CHUNK):
            self.open_end(wanted)
        elif following:
            while self.tail.behind:
                self.forward()
        return change

    def _open(self, start: int) -> None:
        self.tail = Tail(self.path, offset=start)
        self._forget(start)

    def _forget(self, start: int) -> None:
        self.start = self._line_start = start
        self._rows = []
        self._partial = b""

    def _read_again_from(self, offset: int) -> None:
        """Rows from the line at `offset` on are not kept: they are read again when they are wanted."""
        self._line_start = offset
        self._partial = b""
        self.tail.seek(offset)

    def _append(self, rows: list[Row], row: Row) -> None:
        if self.folded:
            fold(rows, row)
        else:
            rows.append(row)

    def _add(self, data: bytes, base: int) -> None:
        at = lines = 0
        while (end := data.find(b"\n", at)) >= 0:
            if lines == _LINES_AT_ONCE:
                self._read_again_from(self._line_start)
                return
            lines += 1
            self._append(self._rows, make_row(self._line_start, self._partial + data[at:end]))
            self._partial = b""
            at = end + 1
            self._line_start = base + at
        self._partial = shown_part(self._partial + data[at:], LINE_BYTES)

    def _before(self, handle: int) -> list[Row]:
        """The rows of the chunk before `start`, which moves to the first of them."""
        base = max(0, self.start - CHUNK)
        data = os.pread(handle, self.start - base, base)
        at = 0
        if base:
            at = data.find(b"\n", 0, -1) + 1
            if not at:
                end, self.start = self.start, line_start(handle, base)
                return [row_at(handle, self.start, end - 1)]
        lines = data[at:].removesuffix(b"\n").split(b"\n")[-_LINES_AT_ONCE:]
        offset = self.start = self.start - sum(len(raw) + 1 for raw in lines)
        rows: list[Row] = []
        for raw in lines:
            self._append(rows, make_row(offset, raw))
            offset += len(raw) + 1
        return rows


def row_of(rows: list[Row], offset: int) -> int:
    """The index of the row whose lines `offset` lies in; 0 for an earlier one."""
    return max(0, bisect.bisect_right(rows, offset, key=lambda row: row.offset) - 1)
