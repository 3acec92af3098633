"""Stopping: a signal sets a flag, and all ranks agree to stop at the same step."""

from __future__ import annotations

import math
import signal
import time
from types import FrameType
from typing import Any, Callable, Optional

import torch
import torch.distributed as dist

SYNC_EVERY_S = 0.5
FIRST_STEPS = 5  # each of these is a sync, so that the log starts with them
MAX_STRIDE = 1000


class StopFlag:
    """Holds the number of the first SIGTERM or SIGUSR1; the handler does nothing else, because it may run anywhere."""

    def __init__(self) -> None:
        self.signum = 0

    def install(self) -> None:
        """Take both signals. Called again after NCCL's start, since releases of 2022 took SIGUSR1 (nccl issue 704)."""
        for signum in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(signum, self._set)

    @property
    def name(self) -> str:
        """`SIGTERM`, or empty while there was no signal."""
        return signal.Signals(self.signum).name if self.signum else ""

    def _set(self, signum: int, frame: Optional[FrameType]) -> None:
        del frame
        self.signum = self.signum or signum


class Sync:
    """One small all_reduce about every half second that carries the mean loss, the wish to stop, and when to meet next.

    Rank 0 measures the step time and proposes the stride; all ranks read it from the same sum, so they stay together.
    """

    def __init__(self, rank: int, world_size: int, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rank = rank
        self._world_size = world_size
        self._total = total
        self._clock = clock
        self._last_step = 0
        self._last_at = clock()
        self._stride = 1

    def due(self, step: int) -> bool:
        """Whether all ranks meet at this step; the answer is the same on all of them."""
        return step == self._total or step >= self._last_step + self._stride

    def exchange(self, step: int, loss: Any, stop: bool) -> tuple[float, bool]:
        """Mean loss over the ranks, and whether any of them wants to stop. `loss` is a scalar tensor."""
        packed = torch.zeros(3, device=loss.device)
        packed[0] = loss.detach() / self._world_size
        packed[1] = float(stop)
        packed[2] = float(self._proposal(step) if self._rank == 0 else 0)
        dist.all_reduce(packed)
        mean_loss, stops, stride = packed.tolist()
        self._last_step, self._stride = step, int(stride)
        return mean_loss, stops > 0

    def _proposal(self, step: int) -> int:
        """Steps until the next meeting: half a second's worth, at most twice the last stride."""
        now = self._clock()
        step_s = max(now - self._last_at, 1e-9) / max(step - self._last_step, 1)
        self._last_at = now
        if step < FIRST_STEPS:
            return 1
        return min(math.ceil(SYNC_EVERY_S / step_s), 2 * self._stride, MAX_STRIDE)
