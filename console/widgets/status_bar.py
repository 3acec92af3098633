"""The last line of every screen: cluster, age of the data, calls per minute, and the newest problem."""

from __future__ import annotations

from datetime import datetime

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from console.text import age, fit, safe
from jobs.slurm.clock import wall_clock
from jobs.slurm.commands import calls
from jobs.slurm.run import CommandLog, Runner
from jobs.slurm.snapshot import EMPTY, Snapshot


class StatusBar(Widget):
    """One line. `update` is cheap and repaints only when the words differ."""

    DEFAULT_CSS = """
    StatusBar { height: 1; background: $panel; color: $text-muted; }
    """

    _line: Text = Text("Asking Slurm …")

    def update(self, snapshot: Snapshot, runner: Runner, pause: str = "") -> None:
        """Show the state of the picture as of this second."""
        line = status_text(snapshot, runner.log, wall_clock(), runner.replay_of, pause)
        if line != self._line:
            self._line = line
            self.refresh()

    def render(self) -> Text:
        """The line, cut to the width."""
        line = self._line.copy()
        line.truncate(max(1, self.size.width), overflow="ellipsis")
        return line


def status_text(
    snapshot: Snapshot, log: CommandLog, now: float, replay_of: float | None = None, pause: str = ""
) -> Text:
    """`cluster lab · Slurm 22.05.8 · 4 s ago · 12 calls/min · last 30 ms`; a problem comes first, in red.

    In a replay `REPLAY of 2026-12-01 06:15` leads, and nothing has an age or a cost. Calls are RPCs of slurmctld.
    """
    line = Text(" ")
    if pause:
        line.append(f"‖ {pause}", "bold yellow").append(" · ")
    for problem in snapshot.problems[:1]:
        line.append(f"✗ {safe(problem)} ", "bold red")
        if snapshot.taken_at is not None:
            line.append(f" showing what was known {age(now - snapshot.taken_at)} ago ", "bold yellow")
    parts = []
    if replay_of is not None:
        line.append(f"REPLAY of {datetime.fromtimestamp(replay_of):%Y-%m-%d %H:%M}", "bold yellow").append(" · ")
    if snapshot.cluster:
        name = safe(snapshot.cluster)
        parts.append(f"cluster {fit(name, min(20, cell_len(name)))}")
    if snapshot.slurm_version:
        parts.append(f"Slurm {safe(snapshot.slurm_version)}")
    if snapshot.taken_at is not None and not snapshot.problems and replay_of is None:
        parts.append(f"{age(now - snapshot.taken_at)} ago")
    if snapshot is EMPTY:
        parts.append("asking Slurm …")
    if replay_of is None:
        parts.extend(_cost(log, now))
    line.append(" · ".join(parts))
    return line


def _cost(log: CommandLog, now: float) -> list[str]:
    """How often Slurm is asked, and how long the last answer took."""
    cost = [f"{sum(calls(entry.argv) for entry in log.last_minute(now))} calls/min"]
    entries = tuple(log.entries)
    return [*cost, f"last {entries[-1].milliseconds:.0f} ms"] if entries else cost
