"""The columns of the partition table."""

from __future__ import annotations

from dataclasses import dataclass

from console.columns.column import Cell, Column
from console.text import safe
from jobs.slurm.availability import GpuCount, PartitionGpus, availability, unavailable_cause
from jobs.slurm.records import Partition
from jobs.slurm.rules import Rules, rules_of
from jobs.slurm.snapshot import Snapshot
from jobs.slurm.times import format_duration


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """A partition with its GPUs, idle nodes and jobs."""

    partition: Partition
    gpu_types: tuple[GpuCount, ...]
    idle_nodes: int
    usable_nodes: int
    total_nodes: int
    running: int
    pending: int


def partition_rows(snapshot: Snapshot) -> list[PartitionRow]:
    """One row per partition, in Slurm's order."""
    running: dict[str, int] = {}
    pending: dict[str, int] = {}
    for job in snapshot.jobs.records:
        counts = running if job.running else pending if job.state == "PENDING" else None
        if counts is not None:
            for name in job.partition.split(","):
                counts[name] = counts.get(name, 0) + 1
    rules = rules_of(snapshot)
    return [_row(snapshot, rules, gpus, running, pending) for gpus in availability(snapshot).partitions]


def _row(
    snapshot: Snapshot, rules: Rules, gpus: PartitionGpus, running: dict[str, int], pending: dict[str, int]
) -> PartitionRow:
    partition = gpus.partition
    nodes = [node for node in snapshot.nodes.records if partition.name in node.partitions]
    open_nodes = [node for node in nodes if unavailable_cause(node, [partition], rules) is None]
    return PartitionRow(
        partition=partition,
        gpu_types=gpus.gpu_types,
        idle_nodes=sum(1 for node in open_nodes if node.state == "IDLE"),
        usable_nodes=len(open_nodes),
        total_nodes=len(nodes),
        running=running.get(partition.name, 0),
        pending=pending.get(partition.name, 0),
    )


def _name(row: PartitionRow) -> Cell:
    return safe(row.partition.name) + ("*" if row.partition.is_default else ""), "bold"


def _state(row: PartitionRow) -> Cell:
    state = row.partition.state
    return safe(state), "green" if state == "UP" else "bold red"


def _gpus(row: PartitionRow) -> Cell:
    parts = [
        f"{count.usable}/{count.total}" + (f" {safe(count.gpu_type)}" if count.gpu_type else "")
        for count in row.gpu_types
    ]
    style = "green" if any(count.usable for count in row.gpu_types) else "yellow" if parts else "bright_black"
    return ", ".join(parts) or "no GPUs", style


def _nodes(row: PartitionRow) -> Cell:
    return f"{row.idle_nodes}/{row.total_nodes}", "" if row.usable_nodes else "red"


def _jobs(row: PartitionRow) -> Cell:
    return f"{row.running} run {row.pending} wait", ""


def _limit(row: PartitionRow) -> Cell:
    limit = row.partition.max_time
    return format_duration(limit) if limit else "none", ""


PARTITION_COLUMNS: tuple[Column[PartitionRow], ...] = (
    Column("PARTITION", _name, lambda r: r.partition.name, max_width=20, rank=9),
    Column("STATE", _state, lambda r: r.partition.state, max_width=8, rank=8),
    Column("GPUS USABLE", _gpus, lambda r: sum(c.usable for c in r.gpu_types), max_width=44, rank=9),
    Column("IDLE NODES", _nodes, lambda r: r.idle_nodes, max_width=11, right=True, rank=6),
    Column("JOBS", _jobs, lambda r: r.pending, max_width=18, right=True, rank=5),
    Column("TIME LIMIT", _limit, lambda r: r.partition.max_time, max_width=12, right=True, rank=7),
)
