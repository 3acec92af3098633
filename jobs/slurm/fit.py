"""Does a shape start at this moment: how many nodes of a partition have room for it."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.slurm.availability import count_gpus, unavailable_cause
from jobs.slurm.records import Node, Partition
from jobs.slurm.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Fit:
    """Nodes of `partition` that have room at this moment, of all its nodes that could ever have it."""

    partition: Partition
    fitting: int
    possible: int


def nodes_fitting(
    snapshot: Snapshot, partition: str | None, *, gpus_per_node: int, gpu_type: str | None, cpus_per_node: int
) -> Fit | None:
    """Count nodes with room; None when the partition is unknown. No name means the site's default partition."""
    known = {part.name: part for part in snapshot.partitions.records}
    default = next((part for part in known.values() if part.is_default), None)
    part = known.get(partition) if partition else default
    if part is None:
        return None
    nodes = [node for node in snapshot.nodes.records if part.name in node.partitions]
    possible = [node for node in nodes if _could(node, gpus_per_node, gpu_type, cpus_per_node)]
    fitting = [node for node in possible if _has_room(node, part, gpus_per_node, gpu_type, cpus_per_node)]
    return Fit(part, len(fitting), len(possible))


def _could(node: Node, gpus: int, gpu_type: str | None, cpus: int) -> bool:
    """Whether the empty node would do. GPUs without a type may be of any one type."""
    enough = any(total >= gpus for kind, total in node.gpus.items() if gpu_type in (None, kind))
    return (not gpus or enough) and (node.cpus is None or node.cpus >= cpus)


def _has_room(node: Node, part: Partition, gpus: int, gpu_type: str | None, cpus: int) -> bool:
    if unavailable_cause(node, [part]) is not None:
        return False
    if part.oversubscribe.startswith("EXCLUSIVE") and node.cpus_allocated:
        return False
    if node.cpus is not None and node.cpus - (node.cpus_allocated or 0) < cpus:
        return False
    counts = count_gpus([node], [part])
    return not gpus or any(count.usable >= gpus for count in counts if gpu_type in (None, count.gpu_type))
