"""Searching a log of any size for text, block by block."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from jobs.logs.lines import line_start, row_at
from jobs.logs.opening import open_log, problem_of

_BLOCK = 1024 * 1024


def matches(needle: str, text: str) -> bool:
    """Whether `text` holds `needle`: case counts if `needle` has capitals (as in less -i and vim's smartcase)."""
    return needle in (text.lower() if needle == needle.lower() else text)


def find_line(path: Path, needle: str, offset: int, backwards: bool, cancelled: Callable[[], bool]) -> int | None:
    """Where the next line begins, after the line at `offset` or before it, that shows `needle`; None if none does.

    `cancelled` is asked between blocks. Raises LogProblem.
    """
    pattern = re.compile(re.escape(needle.encode()), re.IGNORECASE if needle == needle.lower() else 0)
    with open_log(path) as log:
        handle = log.fileno()
        try:
            blocks = _blocks_before if backwards else _blocks_after
            for base, data in blocks(handle, offset, len(needle.encode())):
                if cancelled():
                    return None
                hits = [match.start() + base for match in pattern.finditer(data)]
                found = _shown_line(handle, needle, reversed(hits) if backwards else iter(hits), offset, backwards)
                if found is not None:
                    return found
        except OSError as error:
            raise problem_of(error, path) from None
    return None


def _shown_line(handle: int, needle: str, hits: Iterator[int], offset: int, backwards: bool) -> int | None:
    """The first line of the hits on the right side of `offset` that shows the text; a bar may have hidden it."""
    last = None
    for hit in hits:
        start = line_start(handle, hit)
        if start == last:
            continue
        last = start
        if (start < offset if backwards else start > offset) and matches(needle, row_at(handle, start).text):
            return start
    return None


def _blocks_after(handle: int, offset: int, overlap: int) -> Iterator[tuple[int, bytes]]:
    base = max(0, offset)
    while data := os.pread(handle, _BLOCK + overlap, base):
        yield base, data
        base += _BLOCK


def _blocks_before(handle: int, offset: int, overlap: int) -> Iterator[tuple[int, bytes]]:
    end = offset
    while end > 0:
        base = max(0, end - _BLOCK)
        yield base, os.pread(handle, end - base + overlap, base)
        end = base
