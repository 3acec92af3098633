"""How many GPUs one can get at this moment, by type: total = allocated + unavailable + stranded + usable.

The method, per node: configured minus used (GresUsed); nothing on a node whose state forbids new jobs; then no more
than its idle CPUs and free memory carry. Free memory is RealMemory - MemSpecLimit - AllocMem, which is what the
scheduler counts; what the operating system calls free plays no part.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs.slurm.blocks import Block, larger, largest_block
from jobs.slurm.records import Node, Partition
from jobs.slurm.rules import Rules, rules_of
from jobs.slurm.snapshot import Snapshot

_OPEN = Rules()

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
    """GPUs of one type; `gpu_type` is None where Slurm names none. `unavailable` and `stranded` count by cause.

    `largest_block` is the best that a single job could have of them, in one partition.
    """

    gpu_type: str | None
    total: int = 0
    allocated: int = 0
    unavailable: dict[str, int] = field(default_factory=dict)
    stranded: dict[str, int] = field(default_factory=dict)
    usable: int = 0
    whole_nodes: int = 0
    largest_block: Block | None = field(default=None, compare=False)

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


def availability(snapshot: Snapshot, now: float | None = None) -> Availability:
    """Count a snapshot's GPUs as of `now`, an epoch second."""
    partitions = {partition.name: partition for partition in snapshot.partitions.records}
    nodes, rules = snapshot.nodes.records, rules_of(snapshot, now)
    per_partition = tuple(
        PartitionGpus(part, count_gpus((node for node in nodes if part.name in node.partitions), [part], rules))
        for part in partitions.values()
    )
    in_all = count_gpus(nodes, list(partitions.values()), rules)
    blocks: dict[str | None, Block | None] = {}
    for count in (count for gpus in per_partition for count in gpus.gpu_types):
        blocks[count.gpu_type] = larger(blocks.get(count.gpu_type), count.largest_block)
    for count in in_all:
        count.largest_block = blocks.get(count.gpu_type)
    return Availability(in_all, per_partition)


def count_gpus(nodes: Iterable[Node], partitions: list[Partition], rules: Rules = _OPEN) -> tuple[GpuCount, ...]:
    """GPUs by type over `nodes`. Usable is what the most generous of `partitions` on a node would give one more job.

    The largest block is only known of a single partition.
    """
    counts: dict[str | None, GpuCount] = {}
    usable: dict[str | None, list[int]] = {}
    by_name = {part.name: part for part in partitions}
    for node in nodes:
        gates = gates_of(node, by_name)
        used = node.gpus_used
        for kind, total in node.gpus.items():
            count = counts.setdefault(kind, GpuCount(kind))
            count.total += total
            if used is None:
                _add(count.unavailable, "use unknown", total)
                continue
            count.allocated += used[kind]
            drained = min(node.gpus_drained[kind], total - used[kind])
            if drained:
                _add(count.unavailable, "drained", drained)
            before = count.usable
            _share_out(count, node, gates, total - used[kind] - drained, rules)
            usable.setdefault(kind, []).append(count.usable - before)
            if total and not used[kind] and not drained and _is_whole(node, gates, rules):
                count.whole_nodes += 1
    if len(partitions) == 1:
        for kind, count in counts.items():
            count.largest_block = largest_block(usable.get(kind, ()), partitions[0])
    return tuple(sorted(counts.values(), key=lambda count: (-count.total, count.gpu_type or "")))


def contradictions(nodes: Iterable[Node]) -> tuple[str, ...]:
    """A sentence where Slurm says two things of the GPUs in use; at most one, for all nodes."""
    names = [node.name for node in nodes if node.contradicts]
    if not names:
        return ()
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    told = f"Slurm contradicts itself about the GPUs in use on {', '.join(names[:3])}{more}"
    return (f"{told}: GresUsed, which is counted here, is not AllocTRES.",)


def gates_of(node: Node, partitions: Mapping[str, Partition]) -> list[Partition]:
    """The known partitions of a node, by name."""
    return [partitions[name] for name in node.partitions if name in partitions]


def unavailable_cause(node: Node, gates: list[Partition], rules: Rules = _OPEN) -> str | None:
    """Why no new job of this person starts on this node at all, or None. `gates` are its partitions."""
    if node.state not in _OPEN_STATES:
        return "not responding" if "NOT_RESPONDING" in node.flags else "down"
    if "DRAIN" in node.flags:
        busy = node.state in ("ALLOCATED", "MIXED") or "COMPLETING" in node.flags
        return "draining" if busy else "drained"
    for flag, cause in _UNAVAILABLE_FLAGS:
        if flag in node.flags:
            return rules.reserved.get(node.name, cause) if cause == "reserved" else cause
    if node.name in rules.reserved:
        return rules.reserved[node.name]
    if not gates:
        return "no partition known"
    if not any(part.state == "UP" for part in gates):
        return "partition closed"
    if not any(part.state == "UP" and rules.admits(part) for part in gates):
        return "no access"
    return None


def _is_whole(node: Node, gates: list[Partition], rules: Rules) -> bool:
    """Whether a job could have the whole node at this moment."""
    return not node.cpus_allocated and unavailable_cause(node, gates, rules) is None


def _add(counts: dict[str, int], cause: str, number: int) -> None:
    counts[cause] = counts.get(cause, 0) + number


def _share_out(count: GpuCount, node: Node, gates: list[Partition], free: int, rules: Rules) -> None:
    """Share `free` GPUs of one node out to unavailable, stranded and usable."""
    if free <= 0:
        return
    cause = unavailable_cause(node, gates, rules)
    if cause is not None:
        _add(count.unavailable, cause, free)
        return
    entries = [part for part in gates if part.state == "UP" and rules.admits(part)]
    best, why = max((_carried(node, part, free, rules) for part in entries), key=lambda pair: pair[0])
    count.usable += best
    if best < free and node.name in rules.reserved_cores:
        others = dataclasses.replace(rules, reserved_cores={})
        without = max(_carried(node, part, free, others)[0] for part in entries)
        if without > best:
            _add(count.unavailable, "reserved", without - best)
            free -= without - best
    if best < free:
        _add(count.stranded, why, free - best)


def _carried(node: Node, part: Partition, free: int, rules: Rules) -> tuple[int, str]:
    """How many of `free` GPUs the node's idle CPUs and free memory carry in this partition, and what runs out first."""
    if node.cpus_allocated and is_exclusive(node, part, rules):
        return 0, "exclusive"
    cpus = cpus_per_gpu(node, part, rules)
    by_cpu = free if node.cpus is None else max(0, idle_cpus(node, part, rules)) // cpus
    by_memory = _by_memory(node, part, free, cpus) if rules.memory else free
    return min(free, by_cpu, by_memory), "no CPU" if by_cpu < free else "no memory"


def idle_cpus(node: Node, part: Partition, rules: Rules) -> int:
    """CPUs that one more job could surely have; a partition's MaxCPUsPerNode bounds them.

    Slurm does not tell which cores are allocated: those that a reservation keeps are taken to be others.
    """
    reserved = len(rules.reserved_cores.get(node.name, ())) * node.threads_per_core
    idle = (node.cpus or 0) - (node.cpus_allocated or 0) - reserved
    return idle if part.max_cpus_per_node is None else min(idle, part.max_cpus_per_node)


def cpus_per_gpu(node: Node, part: Partition, rules: Rules) -> int:
    """The least CPUs that a job of one GPU takes: whole cores, where cores are what is given out (CR_Core)."""
    cpus = part.default_cpus_per_gpu or 1
    threads = node.threads_per_core if rules.whole_cores else 1
    return -(-cpus // threads) * threads


def is_exclusive(node: Node, part: Partition, rules: Rules) -> bool:
    """Whether a node with jobs on it takes none of this person's: whole nodes only, or whole nodes per user."""
    if part.oversubscribe.startswith("EXCLUSIVE"):
        return True
    mine = rules.viewer is not None and node.owner is not None and node.owner.partition("(")[0] == rules.viewer.user
    return (part.exclusive_user or node.owner is not None) and not mine


def _by_memory(node: Node, part: Partition, free: int, cpus: int) -> int:
    """GPUs that the free memory carries at the partition's default; a default of the whole node needs only some."""
    if node.memory is None:
        return free
    free_memory = node.memory - (node.memory_allocated or 0)
    if part.default_mem_per_gpu:
        return max(0, free_memory // part.default_mem_per_gpu)
    if part.default_mem_per_cpu:
        return max(0, free_memory // (part.default_mem_per_cpu * cpus))
    if part.default_mem_per_node:
        return free if free_memory >= part.default_mem_per_node else 0
    return free if free_memory > 0 else 0
