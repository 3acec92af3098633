"""A run's progress: bar, step, ETA, loss and rate with their courses."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widget import Widget

from console.text import age, duration, number, safe
from jobs.logs.progress import Progress
from jobs.slurm.clock import wall_clock
from jobs.slurm.records import Job

_BLOCKS = "▁▂▃▄▅▆▇█"
_COURSE = 24
_SILENT_AFTER = 60.0
_LARGEST = 1e300
"""Sums of larger numbers may be infinite; nan and infinity are not below it either."""


class ProgressPanel(Widget):
    """Two lines about training."""

    DEFAULT_CSS = """
    ProgressPanel { height: auto; min-height: 2; padding: 0 1; background: $boost; }
    """

    _progress: Progress | None = None
    _job: Job | None = None
    _problem: str = ""

    def show(self, progress: Progress | None, job: Job | None, problem: str = "") -> None:
        """Draw a run's progress; `problem` is why its log cannot be read."""
        if (progress, job, problem) != (self._progress, self._job, self._problem):
            self._progress, self._job, self._problem = progress, job, problem
            self.refresh(layout=True)

    def render(self) -> Text:
        """The lines."""
        return progress_text(self._progress, self._job, self._problem, self.size.width or 78, wall_clock())


def progress_text(progress: Progress | None, job: Job | None, problem: str, width: int, now: float) -> Text:
    """The panel's text for a width in cells."""
    if progress is None:
        return Text(_nothing_yet(job, problem), "dim")
    lines = [_bar_line(progress, width), _numbers_line(progress, width)]
    warning = _warning(progress, job, now)
    if warning:
        lines.append(Text(warning, "bold yellow"))
    return Text("\n").join(lines)


def sparkline(values: Sequence[float], width: int = _COURSE) -> str:
    """The course of the newest values as blocks; each cell is the mean of its share."""
    usable = [value for value in values if abs(value) < _LARGEST]
    if len(usable) < 2:
        return ""
    cells = min(width, len(usable))
    means = []
    for cell in range(cells):
        share = usable[cell * len(usable) // cells : (cell + 1) * len(usable) // cells]
        means.append(sum(share) / len(share))
    low, high = min(means), max(means)
    top = len(_BLOCKS) - 1
    return "".join(_BLOCKS[round((mean - low) / (high - low) * top) if high > low else 0] for mean in means)


def _nothing_yet(job: Job | None, problem: str) -> str:
    if problem:
        return safe(problem)
    if job is None:
        return ""
    if job.state == "PENDING":
        return "The job waits; training has not begun."
    if job.ended:
        return "The log of this job shows no progress."
    return "No progress lines in the log yet. It is read all the same."


def _bar_line(progress: Progress, width: int) -> Text:
    line = Text()
    ended = progress.ended
    word, style = _word(progress)
    line.append(f"{word} ", style)
    if progress.fraction is not None:
        cells = max(10, min(50, width - 52))
        full = min(cells, int(progress.fraction * cells))
        line.append("█" * full, "green" if not ended or ended.code == 0 else "red")
        line.append("░" * (cells - full), "bright_black")
        line.append(f" {progress.fraction:6.1%}", "bold")
    if progress.step is not None:
        line.append(f"  step {progress.step}" + (f"/{progress.total}" if progress.total else ""))
    if progress.eta_s is not None and not ended:
        line.append(f"  ETA {duration(progress.eta_s)}", "bold cyan")
    return line


def _word(progress: Progress) -> tuple[str, str]:
    if progress.ended is None:
        return safe(progress.phase or "training"), "bold"
    if progress.ended.code == 0:
        return "✓ finished", "bold green"
    code = "" if progress.ended.code is None else f" (exit code {progress.ended.code})"
    return f"✗ {safe(progress.ended.why)}{code}", "bold red"


def _numbers_line(progress: Progress, width: int) -> Text:
    """Loss and rate, each with its course as far as there is room."""
    cells = max(4, min(_COURSE, (width - 50) // 2))
    line = Text()
    line.append("loss ", "dim").append(number(progress.loss), "bold")
    line.append(f" {sparkline(progress.losses, cells)}   ", "magenta")
    line.append("rate ", "dim").append(number(progress.rate), "bold")
    line.append(f" {progress.rate_unit or ''} ", "dim").append(sparkline(progress.rates, cells), "cyan")
    if progress.ranks:
        line.append(f"   {progress.ranks} ranks", "dim")
    return line


def _warning(progress: Progress, job: Job | None, now: float) -> str:
    if progress.ended or job is None or not job.running:
        return ""
    silent = now - progress.updated_at.timestamp() if progress.updated_at else 0.0
    if silent > _SILENT_AFTER:
        return f"Nothing new in the log for {age(silent)}."
    if progress.eta_s is not None and job.end_time is not None:
        late = now + progress.eta_s - job.end_time.timestamp()
        if late > 0:
            return f"At this rate it ends {age(late)} after its time limit."
    return ""
