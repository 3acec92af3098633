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
    """`reserved` maps nodes to why they are kept, and `reserved_cores` to the ids of cores that are kept on others.

    `whole_cores` and `memory` come from SelectTypeParameters.
    """

    viewer: Viewer | None = None
    reserved: Mapping[str, str] = field(default_factory=dict)
    reserved_cores: Mapping[str, frozenset[int]] = field(default_factory=dict)
    whole_cores: bool = True
    memory: bool = True

    def admits(self, partition: Partition) -> bool:
        """Whether the partition is not known to refuse the person who looks."""
        return self.viewer is None or access(partition, self.viewer).allowed is not False


def rules_of(snapshot: Snapshot, now: float | None = None) -> Rules:
    """The rules of a snapshot at `now`, an epoch second."""
    now = wall_clock() if now is None else now
    reserved: dict[str, str] = {}
    cores: dict[str, frozenset[int]] = {}
    for reservation in snapshot.reservations.records:
        if not reservation.active(now) or _attracts(reservation, snapshot.viewer):
            continue
        for name, ids in reservation.cores.items():
            cores[name] = cores.get(name, frozenset()) | ids
        cause = _cause(reservation, snapshot.viewer)
        for name in nodes_of(reservation):
            if name not in reservation.cores and reserved.get(name) != "maintenance":
                reserved[name] = cause
    select = snapshot.select_parameters.upper()
    return Rules(
        viewer=snapshot.viewer,
        reserved=reserved,
        reserved_cores=cores,
        whole_cores="CR_CPU" not in select,
        memory=not select or "MEMORY" in select,
    )


def _cause(reservation: Reservation, viewer: Viewer | None) -> str:
    if "MAINT" in reservation.flags:
        return "maintenance"
    return "in your reservation" if viewer is not None and may_use(reservation, viewer) else "reserved"


def _attracts(reservation: Reservation, viewer: Viewer | None) -> bool:
    """Whether jobs of this person run there without naming it (flag MAGNETIC; scontrol's man page)."""
    return "MAGNETIC" in reservation.flags and viewer is not None and may_use(reservation, viewer)


def nodes_of(reservation: Reservation) -> list[str]:
    """The names of its nodes; none where the list cannot be read."""
    try:
        return hostlist.expand(reservation.node_list)
    except ValueError:
        return []
