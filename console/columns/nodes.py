"""The columns of the node table."""

from __future__ import annotations

from console.columns.column import Cell, Column
from console.columns.states import node_style
from console.text import memory, safe
from jobs.slurm.records import Node


def gpus_text(node: Node) -> str:
    """`2/4 a100` used of configured, per type; `?/4` when the use is unknown."""
    used = node.gpus_used
    parts = [
        f"{'?' if used is None else used[kind]}/{total}" + (f" {safe(kind)}" if kind else "")
        for kind, total in node.gpus.items()
    ]
    return ", ".join(parts) or "—"


def gpus_free(node: Node) -> int | None:
    """Configured minus used GPUs, or None when the use is unknown."""
    used = node.gpus_used
    return None if used is None else sum(node.gpus.values()) - sum(used.values())


def _share(used: int | None, total: int | None, show: str) -> Cell:
    full = used is not None and total is not None and used >= total > 0
    return show, "blue" if full else ""


def _cpus(node: Node) -> Cell:
    return _share(node.cpus_allocated, node.cpus, f"{_or_unknown(node.cpus_allocated)}/{_or_unknown(node.cpus)}")


def _memory(node: Node) -> Cell:
    text = f"{memory(node.memory_allocated)}/{memory(node.memory)}"
    return _share(node.memory_allocated, node.memory, text)


def _or_unknown(number: int | None) -> str:
    return "?" if number is None else str(number)


NODE_COLUMNS: tuple[Column[Node], ...] = (
    Column("NODE", lambda n: (safe(n.name), "bold"), lambda n: n.name, max_width=20, rank=9),
    Column("STATE", lambda n: (safe(n.state_text), node_style(n)), lambda n: n.state_text, max_width=24, rank=9),
    Column("GPUS USED", lambda n: (gpus_text(n), ""), gpus_free, max_width=24, rank=8),
    Column("CPUS", _cpus, lambda n: n.cpus_allocated, max_width=9, right=True, rank=7),
    Column("MEMORY", _memory, lambda n: n.memory_allocated, max_width=12, right=True, rank=7),
    Column("PARTITIONS", lambda n: (safe(",".join(n.partitions)), ""), lambda n: n.partitions, max_width=24, rank=5),
    Column("FEATURES", lambda n: (safe(",".join(n.features)), ""), lambda n: n.features, max_width=20, rank=2),
    Column("REASON", lambda n: (safe(n.reason), "yellow"), lambda n: n.reason, max_width=60, rank=4, grow=True),
)
