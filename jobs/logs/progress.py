"""How far a job is, read from its log: our own `sc1` records first, otherwise the bars and step lines of others."""

import math
import os
import re
import time
from collections import deque
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from jobs.logs.clean import segments, strip_escapes
from jobs.logs.opening import open_log, problem_of
from jobs.logs.pace import Pace
from jobs.logs.recognise import Reading, read_line, seconds
from jobs.logs.sc1 import Record, Seen, find_records

HISTORY = 240  # points kept for sparklines
HEAD_BYTES = 64 * 1024
TAIL_BYTES = 1024 * 1024
_LINE = 4096  # of a line without end that are kept
_SWITCH = 3  # readings of another format in a row before it is believed
_WARNINGS = 20


@dataclass(frozen=True)
class Ended:
    """The run's own last word: why, its exit code (None if it named none), and a sentence for people."""

    why: str
    code: int | None
    text: str | None = None


@dataclass(frozen=True)
class Progress:
    """How far a job is; None is unknown. `fraction` is step/total, `eta_s` counts from `updated_at`.

    `losses` and `rates` are the newest HISTORY points, oldest first. `ranks` is the world size, or the labels seen.
    """

    format: str | None = None
    step: int | None = None
    total: int | None = None
    epoch: float | None = None
    loss: float | None = None
    rate: float | None = None
    rate_unit: str | None = None
    eta_s: float | None = None
    updated_at: datetime | None = None
    ranks: int | None = None
    phase: str | None = None
    ended: Ended | None = None
    warnings: tuple[str, ...] = ()
    losses: tuple[float, ...] = ()
    rates: tuple[float, ...] = ()

    @property
    def fraction(self) -> float | None:
        """Steps done of all, 0 to 1; None without a total."""
        return self.step / self.total if self.step is not None and self.total else None

    def to_json(self) -> dict[str, object]:
        """The record of `slurmconsole progress --json`; numbers that JSON cannot hold (nan, inf) are null."""
        fields = {**asdict(self), "fraction": self.fraction}
        fields["updated_at"] = self.updated_at.isoformat() if self.updated_at else None
        del fields["losses"], fields["rates"]
        return {name: None if _odd(value) else value for name, value in fields.items()}


class ProgressReader:
    """Reads a log's text piece by piece, as it arrives; `progress` is what is known so far. Memory is bounded."""

    def __init__(self) -> None:
        self.progress = Progress()
        self._carry = ""
        self._seen = Seen()
        self._run: str | None = None
        self._labels: set[int] = set()
        self._lowest: int | None = None
        self._rival = ("", 0)
        self._forget()

    def feed(self, text: str, now: float | None = None) -> None:
        """Read `text`, which may begin and end inside a line. `now` is when it arrived, unix seconds."""
        now = time.time() if now is None else now
        text = self._carry + text
        cut = max(text.rfind("\n"), text.rfind("\r")) + 1
        self._carry = text[cut:][-_LINE:]
        for line in text[:cut].split("\n"):
            self._line(line, now)
        self._line(self._carry, now, complete=False)

    def gap(self) -> None:
        """What follows is a later part of the same log: drop the broken line and what may be out of date."""
        self._carry = ""
        known = self.progress
        self._forget()
        self.progress = Progress(ranks=known.ranks, total=known.total if known.format == "sc1" else None)

    def _forget(self) -> None:
        self._pace = Pace()
        self._clocked = True  # the lines name no rate: it is counted by the clock
        self._losses: deque[float] = deque(maxlen=HISTORY)
        self._rates: deque[float] = deque(maxlen=HISTORY)

    def _line(self, line: str, now: float, complete: bool = True) -> None:
        records = find_records(line)
        for record in records:
            if self._seen.add(record):
                self._record(record)
        if records or self.progress.format == "sc1":
            return
        for state in segments(strip_escapes(line)):
            reading = read_line(state[:_LINE])
            # A bar shows when it is whole; a line of text only ends with its newline.
            if reading and (complete or reading.format == "tqdm"):
                self._reading(reading, now)

    def _record(self, record: Record) -> None:
        if record.run != self._run:
            if self._run is not None or self.progress.format not in (None, "sc1"):
                self._forget()
                self.progress = Progress()
            self._run = record.run
        self.progress = replace(self.progress, format="sc1", updated_at=_later(self.progress.updated_at, record.time))
        if record.kind == "step" and record.rank == 0 and record.step is not None:
            self._step_record(record, record.step)
        elif record.kind == "hello":
            world, total = record.number("world"), record.number("total")
            self.progress = replace(
                self.progress, ranks=_int(world) or self.progress.ranks, total=_int(total) or self.progress.total
            )
        elif record.kind == "phase" and record.rank == 0:
            self.progress = replace(self.progress, phase=record.text("name"))
        elif record.kind == "warn":
            warning = f"rank {record.rank}: {record.text('text') or 'a warning without text'}"
            self.progress = replace(self.progress, warnings=(*self.progress.warnings, warning)[-_WARNINGS:])
        elif record.kind == "end":
            ended = Ended(record.text("why") or "ended", _int(record.number("code")), record.text("text"))
            self.progress = replace(self.progress, ended=ended, eta_s=None)

    def _step_record(self, record: Record, step: int) -> None:
        unit = next((name for name in record.fields if name.endswith("/s")), None)
        total = record.total or self.progress.total
        if record.time:
            self._pace.add(record.time.timestamp(), step)
        eta = seconds(record.fields.get("eta", ""))
        self._point(
            Reading(
                "sc1",
                step,
                total,
                record.number("epoch"),
                record.number("loss"),
                record.number(unit) if unit else None,
                unit,
                self._pace.eta(step, total) if eta is None else eta,
            )
        )

    def _reading(self, reading: Reading, now: float) -> None:
        if reading.rank is not None and len(self._labels) < 1 << 16:
            self._labels.add(reading.rank)
            self._lowest = reading.rank if self._lowest is None else min(self._lowest, reading.rank)
            if reading.rank != self._lowest:
                self.progress = replace(self.progress, ranks=len(self._labels))
                return
        if self._is_rival(reading.format):
            if reading.loss is not None:
                self.progress = replace(self.progress, loss=reading.loss)
            return
        self._pace.add(now, reading.step)
        rate, unit = reading.rate, reading.rate_unit
        if rate is not None:
            self._clocked = False
        elif self._clocked:
            rate = self._pace.rate()
            unit = "it/s" if rate else None
        eta = self._pace.eta(reading.step, reading.total) if reading.eta_s is None else reading.eta_s
        self._point(replace(reading, rate=rate, rate_unit=unit, eta_s=eta))
        when = datetime.fromtimestamp(now, timezone.utc)
        self.progress = replace(self.progress, updated_at=when, ranks=len(self._labels) or None)

    def _is_rival(self, name: str) -> bool:
        """Whether a format other than the job's speaks; after some readings in a row it becomes the job's."""
        if self.progress.format in (None, name):
            self._rival = ("", 0)
            return False
        self._rival = (name, self._rival[1] + 1 if self._rival[0] == name else 1)
        if self._rival[1] < _SWITCH:
            return True
        self._forget()
        return False

    def _point(self, reading: Reading) -> None:
        """Take over a step; loss, rate and epoch stay where a line names none."""
        repeated = (reading.format, reading.step) == (self.progress.format, self.progress.step)
        if not repeated and reading.loss is not None:
            self._losses.append(reading.loss)
        if not repeated and reading.rate is not None:
            self._rates.append(reading.rate)
        known = self.progress
        loss = known.loss if reading.loss is None else reading.loss
        rate, unit = (known.rate, known.rate_unit) if reading.rate is None else (reading.rate, reading.rate_unit)
        epoch = known.epoch if reading.epoch is None else reading.epoch
        self.progress = replace(
            known,
            format=reading.format,
            step=reading.step,
            total=reading.total,
            epoch=epoch,
            loss=loss,
            rate=rate,
            rate_unit=unit,
            eta_s=reading.eta_s,
            losses=tuple(self._losses),
            rates=tuple(self._rates),
        )


def read_progress(path: Path) -> Progress | None:
    """The progress in a log, from its first 64 KiB and last 1 MiB; None if it shows none. Raises LogProblem."""
    reader = ProgressReader()
    with open_log(path) as log:
        try:
            status = os.fstat(log.fileno())
            head = os.pread(log.fileno(), HEAD_BYTES, 0)
            begin = max(len(head), status.st_size - TAIL_BYTES)
            tail = os.pread(log.fileno(), TAIL_BYTES, begin)
        except OSError as error:
            raise problem_of(error, path) from None
    if begin == len(head):
        reader.feed((head + tail).decode("utf-8", "replace") + "\n", status.st_mtime)
    else:
        reader.feed(head.decode("utf-8", "replace"), status.st_mtime)
        reader.gap()
        reader.feed(re.split(rb"[\r\n]", tail, maxsplit=1)[-1].decode("utf-8", "replace") + "\n", status.st_mtime)
    return reader.progress if reader.progress.format else None


def _odd(value: object) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _int(value: float | None) -> int | None:
    return int(value) if value is not None and math.isfinite(value) else None


def _later(known: datetime | None, new: datetime | None) -> datetime | None:
    return max(known, new) if known and new else new or known
