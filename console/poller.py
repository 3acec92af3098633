"""When to ask Slurm again: one poller for all views, slower where asking costs the controller more."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from jobs.slurm.snapshot import Part, Snapshot

COST_FACTOR = 20
"""The interval is at least this many times what the last answer took."""
BACK_OFF_LIMIT = 300.0
IDLE_AFTER = 60.0
"""Seconds without a key after which nobody is taken to look closely."""
LARGE_NODES, LARGE_JOBS = 200, 2000
"""A cluster with so many of either is large."""
IDLE_JOBS, IDLE_NODES = 30.0, 120.0
"""Intervals of an idle console on a large cluster: 2 + 2 calls of the controller a minute (see `commands.calls`)."""
JOBS_CALLS, NODES_CALLS = 1, 4


@dataclass(slots=True)
class Question:
    """One kind of question. `asked_at` is when its last answer came, in seconds of a monotonic clock."""

    base: float
    idle: float
    calls: int
    asked_at: float | None = None
    cost: float = 0.0
    failures: int = 0
    jitter: float = 1.0

    def interval(self, *, idle: bool, per_minute: float | None) -> float:
        """Seconds from the last answer to the next question; `per_minute` calls are all that it may use."""
        seconds = max(self.base, COST_FACTOR * self.cost)
        if idle:
            seconds = max(seconds, self.idle)
        if per_minute is not None:
            seconds = max(seconds, 60.0 * self.calls / per_minute)
        if not self.failures:
            return seconds
        return min(max(seconds, BACK_OFF_LIMIT), seconds * 2.0 ** min(self.failures, 16)) * self.jitter

    def answered(self, now: float, parts: tuple[Part[Any], ...], dice: random.Random) -> None:
        """Note what the answers cost. A failure, or a controller that asks to slow down, doubles the interval."""
        self.asked_at = now
        self.cost = sum(part.seconds for part in parts)
        self.failures = self.failures + 1 if any(part.problem or part.rate_limited for part in parts) else 0
        self.jitter = dice.uniform(1.0, 1.25)


@dataclass(slots=True)
class Schedule:
    """Due times of the questions about jobs and about nodes."""

    jobs: Question
    nodes: Question
    large: bool = False
    per_minute: float | None = None
    dice: random.Random = field(default_factory=random.Random)

    @classmethod
    def of(cls, jobs_interval: float, nodes_interval: float) -> Schedule:
        """With these least intervals, in seconds."""
        return cls(
            Question(jobs_interval, IDLE_JOBS, JOBS_CALLS),
            Question(nodes_interval, IDLE_NODES, NODES_CALLS),
        )

    def due(self, now: float, idle_for: float = 0.0) -> tuple[bool, bool]:
        """Whether to ask for jobs, and whether to ask for nodes; nobody has touched a key for `idle_for` seconds."""
        return self._due(self.jobs, now, idle_for), self._due(self.nodes, now, idle_for)

    def hurried(self) -> tuple[bool, bool]:
        """What is to be asked even while the poller pauses: what was never asked, and what was hurried."""
        return self.jobs.asked_at is None, self.nodes.asked_at is None

    def hurry(self) -> None:
        """Ask for everything at the next opportunity."""
        self.jobs.asked_at = self.nodes.asked_at = None

    def answered(self, snapshot: Snapshot, now: float, *, jobs: bool, nodes: bool) -> None:
        """Note what came. `jobs` and `nodes` say what was asked: an old problem of the other kind counts for nothing.

        Where the controller limits calls, half of what it refills goes to the console, in equal parts to both kinds.
        """
        if jobs:
            self.jobs.answered(now, (snapshot.jobs,), self.dice)
        if nodes:
            self.nodes.answered(now, (snapshot.nodes, snapshot.partitions), self.dice)
        self.large = len(snapshot.nodes.records) >= LARGE_NODES or len(snapshot.jobs.records) >= LARGE_JOBS
        self.per_minute = None if snapshot.rate_limit is None else snapshot.rate_limit / 4

    def _due(self, question: Question, now: float, idle_for: float) -> bool:
        if question.asked_at is None:
            return True
        idle = self.large and idle_for >= IDLE_AFTER
        return now - question.asked_at >= question.interval(idle=idle, per_minute=self.per_minute)
