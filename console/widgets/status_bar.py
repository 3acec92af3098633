"""The last line of every screen: cluster, age of the data, calls per minute, and the newest problem."""

from __future__ import annotations

import time

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from console.text import age, fit, safe
from jobs.slurm.run import CommandLog
from jobs.slurm.snapshot import EMPTY, Snapshot


class StatusBar(Widget):
    """One line. `update` is cheap and repaints only when the words differ."""

    DEFAULT_CSS = """
    StatusBar { height: 1; background: $panel; color: $text-muted; }
    """

    _line: Text = Text("Asking Slurm …")

    def update(self, snapshot: Snapshot, log: CommandLog) -> None:
        """Show the state of the picture as of this second."""
        line = status_text(snapshot, log, time.time())
        if line != self._line:
            self._line = line
            self.refresh()

    def render(self) -> Text:
        """The line, cut to the width."""
        line = self._line.copy()
        line.truncate(max(1, self.size.width), overflow="ellipsis")
        return line


def status_text(snapshot: Snapshot, log: CommandLog, now: float) -> Text:
    """`cluster lab · Slurm 22.05.8 · 4 s ago · 12 calls/min`; a problem comes first, in red."""
    line = Text(" ")
    for problem in snapshot.problems[:1]:
        line.append(f"✗ {safe(problem)} ", "bold red")
        if snapshot.taken_at is not None:
            line.append(f" showing what was known {age(now - snapshot.taken_at)} ago ", "bold yellow")
    parts = []
    if snapshot.cluster:
        name = safe(snapshot.cluster)
        parts.append(f"cluster {fit(name, min(20, cell_len(name)))}")
    if snapshot.slurm_version:
        parts.append(f"Slurm {safe(snapshot.slurm_version)}")
    if snapshot.taken_at is not None and not snapshot.problems:
        parts.append(f"{age(now - snapshot.taken_at)} ago")
    if snapshot is EMPTY:
        parts.append("asking Slurm …")
    calls = log.per_minute(now)
    parts.append(f"{calls} calls/min")
    entries = tuple(log.entries)
    if entries:
        parts.append(f"last {entries[-1].milliseconds:.0f} ms")
    line.append(" · ".join(parts))
    return line
