"""Lines of a file by byte offset: where they begin and what of them is shown, by bounded reads."""

import os
import re
from dataclasses import dataclass

from jobs.logs.clean import clean_line, shown_part
from jobs.logs.follow import CHUNK, LINE_BYTES

_PROGRESS = re.compile(r"(?:^|[\s:])sc1 (?:step|alive) ")
_FARTHEST = 64  # chunks looked through for a line's start; a longer line is shown in parts


@dataclass(frozen=True, slots=True)
class Row:
    """A line as shown, or `count` progress records folded into their last one. `offset` is where the first begins."""

    offset: int
    text: str
    progress: bool = False
    count: int = 1


def make_row(offset: int, raw: bytes) -> Row:
    """The row of a line's bytes; one that is cut ends in an ellipsis."""
    text = clean_line(shown_part(raw, LINE_BYTES).decode("utf-8", "replace"))
    if len(raw) >= LINE_BYTES and len(text) >= LINE_BYTES // 4:
        text += "…"
    return Row(offset, text, bool(_PROGRESS.search(text)))


def line_start(handle: int, offset: int) -> int:
    """Where the line begins that `offset` lies in."""
    end = offset
    for _ in range(_FARTHEST):
        begin = max(0, end - CHUNK)
        at = os.pread(handle, end - begin, begin).rfind(b"\n")
        if at >= 0:
            return begin + at + 1
        if begin == 0:
            return 0
        end = begin
    return end


def row_at(handle: int, offset: int, end: int | None = None) -> Row:
    """The row of the line that begins at `offset` (and ends before `end`, if that is known)."""
    if end is None:
        head = os.pread(handle, CHUNK, offset).partition(b"\n")[0]
        return make_row(offset, head)
    length = end - offset
    if length <= 2 * LINE_BYTES:
        return make_row(offset, os.pread(handle, length, offset))
    # Enough of both ends for shown_part to choose from.
    return make_row(offset, os.pread(handle, LINE_BYTES, offset) + os.pread(handle, LINE_BYTES, end - LINE_BYTES))


def fold(rows: list[Row], row: Row) -> None:
    """Append `row`, folding it with the last one if both are progress records."""
    if rows and row.progress and rows[-1].progress:
        rows[-1] = Row(rows[-1].offset, row.text, True, rows[-1].count + row.count)
    else:
        rows.append(row)
