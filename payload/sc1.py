"""The `sc1` record: one line that a person reads in the log and a console reads anywhere in the stream.

`sc1 KIND [HEAD] key=value ... run= rank= seq= t= crc=`; crc is the CRC-32 (8 hex digits) of all bytes before ` crc=`.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import zlib
from typing import Callable, Mapping, Union
from urllib.parse import quote

MAX_BYTES = 512  # with the newline; far below PIPE_BUF, so that a pipe takes a record whole

Value = Union[str, int, float]


def encode(value: Value) -> str:
    """A value without blanks, `=` or control bytes: text percent-encoded, floats with 6 digits or `nan`, `inf`."""
    return (
        quote(value, safe="/:,+@")
        if isinstance(value, str)
        else format(value, ".6g" if isinstance(value, float) else "d")
    )


def format_record(kind: str, fields: Mapping[str, Value], tail: Mapping[str, Value], head: str = "") -> bytes:
    """The line with its newline, at most MAX_BYTES long: the longest values of `fields` are cut until it fits."""
    texts = {name: encode(value) for name, value in fields.items()}
    while True:
        pairs = [f"{name}={text}" for name, text in texts.items()] + [
            f"{name}={encode(value)}" for name, value in tail.items()
        ]
        body = " ".join(["sc1", kind] + ([head] if head else []) + pairs).encode("ascii")
        line = body + b" crc=%08x\n" % zlib.crc32(body)
        if len(line) <= MAX_BYTES:
            return line
        longest = max(texts, key=lambda name: len(texts[name]))
        texts[longest] = _cut(texts[longest], len(line) - MAX_BYTES)


def _cut(text: str, excess: int) -> str:
    """`text` shortened by `excess`, not inside a %XX."""
    kept = text[: max(0, len(text) - excess)]
    percent = kept.rfind("%", max(0, len(kept) - 2))
    return kept if percent < 0 else kept[:percent]


class Writer:
    """Writes the records of one rank, each with a single write(2), from any thread. `clock` gives unix seconds."""

    def __init__(self, run: str, rank: int, fd: int = 1, clock: Callable[[], float] = time.time) -> None:
        self.rank = rank
        self._run = run[:40]
        self._fd = fd
        self._clock = clock
        self._seq = 0
        self._lock = threading.Lock()

    def write(self, kind: str, fields: Mapping[str, Value], head: str = "") -> None:
        """Write one record; `head` is text before the fields. A full disk or closed pipe does not end the training."""
        with self._lock:
            tail: dict[str, Value] = {
                "run": self._run,
                "rank": self.rank,
                "seq": self._seq,
                "t": f"{self._clock():.1f}",
            }
            self._seq += 1
            with contextlib.suppress(OSError):
                os.write(self._fd, format_record(kind, fields, tail, head))
