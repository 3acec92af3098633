"""The lines of a log as the plain commands print them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from jobs.logs.clean import clean_line
from jobs.logs.follow import Change, Tail
from jobs.logs.opening import LogMissing

LONGEST = 1 << 20
"""Bytes. A longer line is printed in parts, each as a line."""


class Lines:
    """A log that may grow; its lines come whole and harmless for a terminal. `path` may not exist yet."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._tail = Tail(path)
        self._rest = b""

    def new(self) -> Iterator[str]:
        """The lines completed since the last call. Raises LogProblem, but not for a missing log."""
        try:
            yield from self._read()
        except LogMissing:
            return

    def rest(self) -> Iterator[str]:
        """The last line, which no newline ends; none where there is no such line."""
        if self._rest:
            yield _shown(self._rest)
        self._rest = b""

    def _read(self) -> Iterator[str]:
        while True:
            data = self._tail.read()
            if self._tail.change is Change.RESTARTED:
                yield from self.rest()
            if data:
                *whole, self._rest = (self._rest + data).split(b"\n")
                yield from map(_shown, whole)
            if len(self._rest) >= LONGEST:
                yield from self.rest()
            if not data or not self._tail.behind:
                return


def _shown(raw: bytes) -> str:
    return clean_line(raw.decode("utf-8", "replace"))
