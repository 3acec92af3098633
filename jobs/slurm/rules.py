"""What holds for a whole picture when its GPUs are counted: reservations, who looks, what the scheduler counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.slurm import hostlist
from jobs.slurm.access import Viewer, access, may_use
from jobs.slurm.clock import wall_clock
from jobs.slurm.records import Partition, Reservation
from jobs.slurm.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Rules:
    """`reserved` maps nodes to why they are kept. `whole_cores` and `memory` come from SelectTypeParameters."""

    viewer: Viewer | None = None
    reserved: Mapping[str, str] = field(default_factory=dict)
    whole_cores: bool = True
    memory: bool = True

    def admits(self, partition: Partition) -> bool:
        """Whether the partition is not known to refuse the person who looks."""
        return self.viewer is None or access(partition, self.viewer).allowed is not False


def rules_of(snapshot: Snapshot, now: float | None = None) -> Rules:
    """The rules of a snapshot at `now`, an epoch second."""
    now = wall_clock() if now is None else now
    reserved: dict[str, str] = {}
    for reservation in snapshot.reservations.records:
        if reservation.active(now):
            cause = _cause(reservation, snapshot.viewer)
            for name in _nodes(reservation):
                if reserved.get(name) != "maintenance":
                    reserved[name] = cause
    select = snapshot.select_parameters.upper()
    return Rules(
        viewer=snapshot.viewer,
        reserved=reserved,
        whole_cores="CR_CPU" not in select,
        memory=not select or "MEMORY" in select,
    )


def _cause(reservation: Reservation, viewer: Viewer | None) -> str:
    if "MAINT" in reservation.flags:
        return "maintenance"
    return "in your reservation" if viewer is not None and may_use(reservation, viewer) else "reserved"


def _nodes(reservation: Reservation) -> list[str]:
    try:
        return hostlist.expand(reservation.node_list)
    except ValueError:
        return []
