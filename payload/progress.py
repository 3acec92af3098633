"""What the trainer says while it runs, as `sc1` records: hello, rank, phase, step, alive, signal, warn and end.

Rank 0 speaks for all; the other ranks write only rank, alive, signal and warn.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Optional

from payload.sc1 import Value, Writer

FIRST_STEPS = 5  # each of these is reported
WARMUP_STEPS = 10  # left out of the ETA: the first steps allocate, compile and connect
HELLO_EVERY_S = 600.0
ALIVE_EVERY_S = 10.0


def report_interval(elapsed: float) -> float:
    """Seconds between step records after `elapsed` seconds of training: about 4 MB of log a day."""
    return 0.5 if elapsed < 60 else 1.0 if elapsed < 600 else 5.0


def bar(step: int, total: int, width: int = 10) -> str:
    """`[###-------]`: one mark as soon as there is a step, full only at the end."""
    marks = max(min(step, 1), width * step // total)
    return "[" + "#" * marks + "-" * (width - marks) + "]"


def duration(seconds: float) -> str:
    """`9s`, `23m41s`, `2h05m`: no blanks, two units at most."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    return f"{whole // 60}m{whole % 60:02d}s" if whole < 3600 else f"{whole // 3600}h{whole % 3600 // 60:02d}m"


class Progress:
    """The voice of one rank. `clock` gives monotonic seconds; `report` replaces report_interval if given."""

    def __init__(
        self, writer: Writer, report: Optional[float] = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._writer = writer
        self._report = report
        self._clock = clock
        self._hello: dict[str, Value] = {}
        self._hello_at = 0.0
        self._phase = "start"
        self._total = 0
        self._unit = ""
        self._per_step = 0
        self._step_s: Optional[float] = None
        self._seen_step = self._told_step = 0
        self._seen_at = self._told_at = self._started = clock()

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0."""
        return self._writer.rank == 0

    def rank(self, **fields: Value) -> None:
        """Where this rank runs: host, local rank, device."""
        self._writer.write("rank", fields)

    def phase(self, name: str) -> None:
        """The phase that begins; heartbeats repeat its name."""
        self._phase = name
        if self.is_first:
            self._writer.write("phase", {"name": name})

    def hello(self, total: int, unit: str, per_step: int, **fields: Value) -> None:
        """The job as a whole: `per_step` is in units (samples, tok) over all ranks. Repeated every 10 minutes."""
        self._total, self._unit, self._per_step = total, unit, per_step
        self._hello = {"total": total, "unit": unit, "per_step": per_step, **fields}
        self._say_hello()

    def start(self) -> None:
        """Start the clock of the training loop."""
        self.phase("train")
        self._seen_at = self._told_at = self._started = self._clock()

    def step(self, step: int, **fields: Value) -> None:
        """Tell of step `step` (counted from 1) if it is time: the first five, the last, else by time."""
        now = self._clock()
        self._seen_step, self._seen_at = step, now
        if self.is_first and self._due(step, now):
            self._write_step(step, now, fields)

    def warn(self, text: str) -> None:
        """Something a person should know that does not end the run."""
        self._writer.write("warn", {"text": text})

    def signal(self, name: str) -> None:
        """This rank got a signal; all ranks stop at the next agreed step."""
        self._writer.write("signal", {"name": name, "step": self._seen_step})

    def end(self, why: str, code: int, text: str = "") -> None:
        """The last record: `end` from rank 0; from the others a last `alive`, after a `warn` if there is `text`."""
        said: dict[str, Value] = {"text": text} if text else {}
        if self.is_first:
            self._writer.write("end", {"why": why, "code": code, "step": self._seen_step, **said})
            return
        if text:
            self.warn(text)
        self._writer.write("alive", {"phase": why, "step": self._seen_step})

    def beat(self) -> None:
        """One heartbeat: the phase, the last step and its age in seconds; and hello again every 10 minutes."""
        now = self._clock()
        self._writer.write(
            "alive", {"phase": self._phase, "step": self._seen_step, "age": round(now - self._seen_at, 1)}
        )
        if self._hello and now - self._hello_at >= HELLO_EVERY_S:
            self._say_hello()

    def _say_hello(self) -> None:
        self._hello_at = self._clock()
        if self.is_first:
            self._writer.write("hello", self._hello)

    def _due(self, step: int, now: float) -> bool:
        interval = report_interval(now - self._started) if self._report is None else self._report
        return step <= FIRST_STEPS or step == self._total or now - self._told_at >= interval

    def _write_step(self, step: int, now: float, fields: dict[str, Value]) -> None:
        """Rate and step time are those of the window since the last record; the ETA smooths over windows."""
        window = max(now - self._told_at, 1e-9)
        step_s = window / max(step - self._told_step, 1)
        if self._told_step >= WARMUP_STEPS:
            self._step_s = step_s if self._step_s is None else 0.7 * self._step_s + 0.3 * step_s
        self._told_step, self._told_at = step, now
        speed: dict[str, Value] = {
            f"{self._unit}/s": round(self._per_step / step_s),
            "step_ms": round(step_s * 1000, 1),
            "eta": duration((self._total - step) * (self._step_s or step_s)),
        }
        head = f"{step}/{self._total} {bar(step, self._total)} {100 * step / self._total:5.1f}%"
        self._writer.write("step", {**fields, **speed}, head)


class Heartbeat:
    """Beats from a thread while the block runs, so that a hang in the main thread shows in the log."""

    def __init__(self, progress: Progress, world_size: int) -> None:
        # At most four heartbeats a second from the whole job.
        self._every = max(ALIVE_EVERY_S, world_size / 4)
        self._progress = progress
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def running(self) -> bool:
        """Whether the thread beats."""
        return self._thread.is_alive()

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._leaving.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._leaving.wait(self._every):
            self._progress.beat()
