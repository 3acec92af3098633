"""GPUs by type as bars: allocated, usable, stranded and unavailable, with the numbers beside them."""

from __future__ import annotations

from rich.text import Text
from textual.widget import Widget

from console.bars import bar_lines
from jobs.slurm.availability import GpuCount


class GpuBars(Widget):
    """One line per GPU type. Feed it with `counts`."""

    DEFAULT_CSS = """
    GpuBars { height: auto; padding: 0 1; }
    """

    counts: tuple[GpuCount, ...] | None = None

    def show(self, counts: tuple[GpuCount, ...] | None) -> None:
        """Draw these counts; None means that nothing is known yet."""
        self.counts = counts
        self.refresh(layout=True)

    def render(self) -> Text:
        """The bars, or a sentence when there is nothing to draw."""
        if self.counts is None:
            return Text("Asking Slurm …", "dim")
        if not self.counts:
            return Text("This cluster has no GPUs, or hides them.", "dim")
        return Text("\n").join(bar_lines(self.counts, self.size.width or 78))
