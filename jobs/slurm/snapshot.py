"""An immutable picture of the cluster, numbered, each part with its own age and problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from jobs.slurm.access import Viewer
from jobs.slurm.limits import Limits
from jobs.slurm.records import Job, Node, Partition, Reservation

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Part(Generic[T]):
    """One kind of record. `taken_at` is the epoch second of the last good answer, None before the first.

    `problem` is why the newest attempt failed; the records are then those of the last good one. `skipped` records could
    not be read. `rate_limited`: the controller made the command wait because this person asks too often.
    """

    records: tuple[T, ...] = ()
    taken_at: float | None = None
    seconds: float = 0.0
    skipped: int = 0
    problem: str | None = None
    rate_limited: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """What is known of the cluster. A newer one has a higher `number`. `rate_limit` is in calls per minute.

    `limits` are those on the viewer; None where nobody asked, or for `limits_problem`.
    """

    number: int
    cluster: str
    slurm_version: str
    jobs: Part[Job]
    nodes: Part[Node]
    partitions: Part[Partition]
    reservations: Part[Reservation] = Part()
    select_parameters: str = ""
    viewer: Viewer | None = None
    rate_limit: float | None = None
    limits: Limits | None = None
    limits_problem: str = ""

    @property
    def problems(self) -> tuple[str, ...]:
        """Why parts of the picture are old or incomplete, each sentence once."""
        found: dict[str, None] = {}
        parts: tuple[tuple[str, Part[Any]], ...] = (
            ("jobs", self.jobs),
            ("nodes", self.nodes),
            ("partitions", self.partitions),
            ("reservations", self.reservations),
        )
        for what, part in parts:
            if part.problem:
                found[part.problem] = None
            if part.skipped:
                found[f"{part.skipped} {what} could not be read and are left out."] = None
        return tuple(found)

    @property
    def taken_at(self) -> float | None:
        """The age of the oldest part that has been read, as an epoch second; None before the first answer."""
        times = [part.taken_at for part in (self.jobs, self.nodes, self.partitions) if part.taken_at is not None]
        return min(times, default=None)


EMPTY = Snapshot(0, "", "", Part(), Part(), Part())
