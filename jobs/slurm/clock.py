"""The time that ages and used times are reckoned with: this machine's, or that at which a recording was taken."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

_stopped_at: float | None = None


def wall_clock() -> float:
    """Epoch seconds."""
    return time.time() if _stopped_at is None else _stopped_at


@contextmanager
def stopped_at(epoch: float) -> Iterator[None]:
    """Let the whole process believe that it is this moment, in every thread, until the block ends."""
    global _stopped_at
    before, _stopped_at = _stopped_at, epoch
    try:
        yield
    finally:
        _stopped_at = before
