"""Nodes: state, what is used of each, and why one is away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text

from console.columns.nodes import NODE_COLUMNS
from console.screens.table_screen import TableScreen
from console.text import plural, safe
from console.widgets.row_table import RowTable
from jobs.slurm import hostlist
from jobs.slurm.availability import unavailable_cause
from jobs.slurm.records import Node
from jobs.slurm.snapshot import Snapshot


class NodesScreen(TableScreen[Node]):
    """Nodes; Enter shows the jobs on one."""

    MODE: ClassVar[str] = "nodes"
    COLUMNS = NODE_COLUMNS
    EMPTY = "No nodes are known."

    def key(self, record: Node) -> str:
        """A node's name."""
        return record.name

    def records(self, snapshot: Snapshot) -> Sequence[Node]:
        """All nodes."""
        return snapshot.nodes.records

    def summary(self, shown: int, total: int, snapshot: Snapshot) -> Text:
        """`8 nodes, 3 idle, 1 away`."""
        partitions = snapshot.partitions.records
        nodes = snapshot.nodes.records
        away = sum(1 for n in nodes if unavailable_cause(n, [part for part in partitions if part.name in n.partitions]))
        line = Text(plural(total, "node"), "bold")
        line.append(f", {sum(1 for node in nodes if node.state == 'IDLE')} idle")
        line.append(f", {away} {'takes' if away == 1 else 'take'} no jobs", "yellow" if away else "")
        if shown != total:
            line.append(f"   filter shows {shown}", "bold cyan")
        return line

    def about(self, record: Node) -> Text:
        """The jobs on this node, and the reason that staff gave for its state."""
        jobs = [job for job in self.console_app.snapshot.jobs.records if _runs_on(job.node_list, record.name)]
        line = Text(f"{safe(record.name)} ", "bold")
        names = ", ".join(f"{safe(job.display_id)} ({safe(job.user)})" for job in jobs[:6])
        line.append(f"runs {plural(len(jobs), 'job')}" + (f": {names}" if jobs else ""))
        if record.reason:
            line.append(f"  {safe(record.reason)}", "yellow")
        return line

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Show the queue of this node's jobs."""
        self.console_app.open_queue(event.key)


def _runs_on(node_list: str, name: str) -> bool:
    try:
        return name in hostlist.expand(node_list)
    except ValueError:
        return False
