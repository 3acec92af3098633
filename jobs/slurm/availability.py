"""How many GPUs one can get at this moment, by type: total = allocated + unavailable + stranded + usable.

The method, per node: configured minus used (GresUsed); nothing on a node whose state forbids new jobs; then no more
than its idle CPUs and free memory carry. Free memory is RealMemory - MemSpecLimit - AllocMem, which is what the
scheduler counts; what the operating system calls free plays no part.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from jobs.slurm.records import Node, Partition
from jobs.slurm.snapshot import Snapshot

_OPEN_STATES = {"IDLE", "MIXED", "ALLOCATED"}
_UNAVAILABLE_FLAGS = (
    ("NOT_RESPONDING", "not responding"),
    ("INVALID_REG", "down"),
    ("FAIL", "drained"),
    ("MAINTENANCE", "maintenance"),
    ("RESERVED", "reserved"),
    ("POWERED_DOWN", "powered down"),
    ("POWERING_DOWN", "powered down"),
    ("POWER_DOWN", "powered down"),
    ("POWER_DRAIN", "powered down"),
    ("POWERING_UP", "powering up"),
    ("REBOOT_ISSUED", "rebooting"),
    ("BLOCKED", "reserved"),
    ("DYNAMIC_FUTURE", "down"),
    ("PLANNED", "planned by backfill"),
)


@dataclass(slots=True)
class GpuCount:
    """GPUs of one type; `gpu_type` is None where Slurm names none. `unavailable` and `stranded` count by cause."""

    gpu_type: str | None
    total: int = 0
    allocated: int = 0
    unavailable: dict[str, int] = field(default_factory=dict)
    stranded: dict[str, int] = field(default_factory=dict)
    usable: int = 0
    whole_nodes: int = 0

    @property
    def free(self) -> int:
        """Not allocated, whether or not a job could have them."""
        return self.total - self.allocated


@dataclass(frozen=True, slots=True)
class PartitionGpus:
    """GPUs by type within one partition; nodes that several partitions share appear in each."""

    partition: Partition
    gpu_types: tuple[GpuCount, ...]


@dataclass(frozen=True, slots=True)
class Availability:
    """GPUs by type in the cluster, each node once, and by partition."""

    gpu_types: tuple[GpuCount, ...]
    partitions: tuple[PartitionGpus, ...]


def availability(snapshot: Snapshot) -> Availability:
    """Count a snapshot's GPUs."""
    partitions = {partition.name: partition for partition in snapshot.partitions.records}
    nodes = snapshot.nodes.records
    per_partition = tuple(
        PartitionGpus(part, count_gpus((node for node in nodes if part.name in node.partitions), [part]))
        for part in partitions.values()
    )
    return Availability(count_gpus(nodes, list(partitions.values())), per_partition)


def count_gpus(nodes: Iterable[Node], partitions: list[Partition]) -> tuple[GpuCount, ...]:
    """GPUs by type over `nodes`. Usable is what the most generous of `partitions` on a node would give one more job."""
    counts: dict[str | None, GpuCount] = {}
    for node in nodes:
        gates = [part for part in partitions if part.name in node.partitions]
        used = node.gpus_used
        for kind, total in node.gpus.items():
            count = counts.setdefault(kind, GpuCount(kind))
            count.total += total
            if used is None:
                _add(count.unavailable, "use unknown", total)
                continue
            count.allocated += used[kind]
            _share_out(count, node, gates, total - used[kind])
            if total and not used[kind] and _is_whole(node, gates):
                count.whole_nodes += 1
    return tuple(sorted(counts.values(), key=lambda count: (-count.total, count.gpu_type or "")))


def unavailable_cause(node: Node, gates: list[Partition]) -> str | None:
    """Why no new job starts on this node at all, or None. `gates` are its partitions."""
    if node.state not in _OPEN_STATES:
        return "not responding" if "NOT_RESPONDING" in node.flags else "down"
    if "DRAIN" in node.flags:
        busy = node.state in ("ALLOCATED", "MIXED") or "COMPLETING" in node.flags
        return "draining" if busy else "drained"
    for flag, cause in _UNAVAILABLE_FLAGS:
        if flag in node.flags:
            return cause
    if not gates:
        return "no partition known"
    if not any(part.state == "UP" for part in gates):
        return "partition closed"
    return None


def _is_whole(node: Node, gates: list[Partition]) -> bool:
    """Whether a job could have the whole node at this moment."""
    return not node.cpus_allocated and unavailable_cause(node, gates) is None


def _add(counts: dict[str, int], cause: str, number: int) -> None:
    counts[cause] = counts.get(cause, 0) + number


def _share_out(count: GpuCount, node: Node, gates: list[Partition], free: int) -> None:
    """Share `free` GPUs of one node out to unavailable, stranded and usable."""
    if free <= 0:
        return
    cause = unavailable_cause(node, gates)
    if cause is not None:
        _add(count.unavailable, cause, free)
        return
    best, why = max((_carried(node, part, free) for part in gates if part.state == "UP"), key=lambda pair: pair[0])
    count.usable += best
    if best < free:
        _add(count.stranded, why, free - best)


def _carried(node: Node, part: Partition, free: int) -> tuple[int, str]:
    """How many of `free` GPUs the node's idle CPUs and free memory carry in this partition, and what runs out first."""
    if part.oversubscribe.startswith("EXCLUSIVE") and node.cpus_allocated:
        return 0, "exclusive"
    cpus_per_gpu = part.default_cpus_per_gpu or 1
    by_cpu = free if node.cpus is None else max(0, node.cpus - (node.cpus_allocated or 0)) // cpus_per_gpu
    if by_cpu < free:
        return min(by_cpu, _by_memory(node, part, free, cpus_per_gpu)), "no CPU"
    return min(free, _by_memory(node, part, free, cpus_per_gpu)), "no memory"


def _by_memory(node: Node, part: Partition, free: int, cpus_per_gpu: int) -> int:
    """GPUs that the free memory carries at the partition's default; a default of the whole node needs only some."""
    if node.memory is None:
        return free
    free_memory = node.memory - (node.memory_allocated or 0)
    if part.default_mem_per_gpu:
        return max(0, free_memory // part.default_mem_per_gpu)
    if part.default_mem_per_cpu:
        return max(0, free_memory // (part.default_mem_per_cpu * cpus_per_gpu))
    if part.default_mem_per_node:
        return free if free_memory >= part.default_mem_per_node else 0
    return free if free_memory > 0 else 0
