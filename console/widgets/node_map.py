"""A map of nodes whose cells are GPUs."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from console.bars import PARTS, count_parts
from console.text import fit, plural, safe
from jobs.slurm.availability import count_gpus, gates_of, unavailable_cause
from jobs.slurm.records import Node, Partition
from jobs.slurm.rules import Rules, rules_of
from jobs.slurm.snapshot import Snapshot

_CELLS = {"usable": "▮", "allocated": "▯", "stranded": "▒", "unavailable": "╳"}
_CELLS_SHOWN = 16


class NodeMap(Widget):
    """Every node with GPUs as its name and one cell per GPU, in as many columns as fit."""

    DEFAULT_CSS = """
    NodeMap { height: auto; padding: 0 1; }
    """

    snapshot: Snapshot | None = None

    def show(self, snapshot: Snapshot) -> None:
        """Draw the nodes of a snapshot."""
        self.snapshot = snapshot
        self.refresh(layout=True)

    def render(self) -> Text:
        """The map."""
        if self.snapshot is None or not self.snapshot.nodes.records:
            return Text("")
        return map_text(self.snapshot, self.size.width or 78)


def map_text(snapshot: Snapshot, width: int) -> Text:
    """The map for a given width: nodes with GPUs first, then a line that counts the others."""
    partitions = {part.name: part for part in snapshot.partitions.records}
    rules = rules_of(snapshot)
    nodes = [node for node in snapshot.nodes.records if node.gpus]
    others = [node for node in snapshot.nodes.records if not node.gpus]
    entries = [_entry(node, gates_of(node, partitions), rules) for node in nodes]
    lines = _columns(entries, width)
    if others:
        open_nodes = [node for node in others if not unavailable_cause(node, gates_of(node, partitions), rules)]
        idle = sum(1 for node in open_nodes if node.state == "IDLE")
        lines.append(Text(f"{plural(len(others), 'node')} without GPUs, {idle} idle", "dim"))
    return Text("\n").join(lines)


def _entry(node: Node, gates: list[Partition], rules: Rules) -> Text:
    entry = Text(safe(node.name), "dim" if unavailable_cause(node, gates, rules) else "")
    entry.append(" ")
    for count in count_gpus([node], gates, rules):
        for number, (what, _, colour) in zip(count_parts(count), PARTS, strict=True):
            entry.append(_CELLS[what] * min(number, _CELLS_SHOWN), colour)
            if number > _CELLS_SHOWN:
                entry.append(f"×{number}", colour)
    return entry


def _columns(entries: list[Text], width: int) -> list[Text]:
    if not entries:
        return []
    widest = max(cell_len(entry.plain) for entry in entries) + 3
    per_line = max(1, (width + 3) // widest)
    height = -(-len(entries) // per_line)
    lines = []
    for row in range(height):
        line = Text()
        for entry in entries[row::height]:
            line.append(entry)
            line.append(fit("", widest - entry.cell_len))
        lines.append(line)
    return lines
