"""When to ask Slurm again: one poller for all views, slower where an answer costs the controller more."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.slurm.snapshot import Snapshot

COST_FACTOR = 20
"""The interval is at least this many times what the last answer took."""
BACK_OFF_LIMIT = 300.0


@dataclass(slots=True)
class Schedule:
    """Due times of the two kinds of question, in seconds of a monotonic clock."""

    jobs_interval: float
    nodes_interval: float
    jobs_due: float = 0.0
    nodes_due: float = 0.0
    jobs_failures: int = 0
    nodes_failures: int = 0

    def due(self, now: float) -> tuple[bool, bool]:
        """Whether to ask for jobs, and whether to ask for nodes."""
        return now >= self.jobs_due, now >= self.nodes_due

    def hurry(self) -> None:
        """Ask for everything at the next opportunity."""
        self.jobs_due = self.nodes_due = 0.0

    def answered(self, snapshot: Snapshot, now: float, *, jobs: bool, nodes: bool) -> None:
        """Set the next due times from what the answers cost; failures double the interval up to five minutes.

        `jobs` and `nodes` say what was asked for: an old problem of the other kind counts for nothing.
        """
        if jobs:
            self.jobs_failures = self.jobs_failures + 1 if snapshot.jobs.problem else 0
            self.jobs_due = now + _interval(self.jobs_interval, snapshot.jobs.seconds, self.jobs_failures)
        if nodes:
            failed = snapshot.nodes.problem or snapshot.partitions.problem
            self.nodes_failures = self.nodes_failures + 1 if failed else 0
            cost = snapshot.nodes.seconds + snapshot.partitions.seconds
            self.nodes_due = now + _interval(self.nodes_interval, cost, self.nodes_failures)


def _interval(base: float, cost: float, failures: int) -> float:
    interval = max(base, COST_FACTOR * cost)
    return min(max(interval, BACK_OFF_LIMIT), interval * 2.0 ** min(failures, 16))
