"""Job: one job's state, its training progress and its log, live."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from console.columns.jobs import gpus_text, limit_text, used_time, where_or_why
from console.columns.states import job_style
from console.screens.base import ModeScreen
from console.text import clock, plural, safe
from console.widgets.filter_bar import FilterBar
from console.widgets.log_view import LogView
from console.widgets.progress_panel import ProgressPanel
from jobs import history
from jobs.logs.live import LiveProgress
from jobs.logs.opening import LogProblem
from jobs.logs.paths import LogPaths, facts_of, resolve
from jobs.logs.progress import Progress
from jobs.slurm.reasons import explain
from jobs.slurm.records import Job
from jobs.slurm.run import SlurmError
from jobs.slurm.snapshot import Snapshot
from jobs.slurm.times import format_duration
from jobs.slurm.why import what_to_do, why_pending

_LOOK_UP_EVERY = 5.0
_NO_LOGS = "A recording holds no logs."


class JobLookedUp(Message):
    """A worker asked Slurm about a job that is not in the queue, and where its logs are."""

    def __init__(self, wanted: str, job: Job | None, paths: LogPaths | None, problem: str = "") -> None:
        super().__init__()
        self.wanted = wanted
        self.job = job
        self.paths = paths
        self.problem = problem


class ProgressRead(Message):
    """A worker read the log."""

    def __init__(self, path: Path, progress: Progress | None, problem: str = "") -> None:
        super().__init__()
        self.path = path
        self.progress = progress
        self.problem = problem


class JobExplained(Message):
    """Why a waiting job waits, from a worker."""

    def __init__(self, job: Job, why: tuple[str, ...]) -> None:
        super().__init__()
        self.job = job
        self.why = why


class JobScreen(ModeScreen):
    """Shows the app's `job_id`; without one, the newest of my jobs."""

    MODE: ClassVar[str] = "job"
    AUTO_FOCUS = "LogView"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("slash", "search", "Search", key_display="/"),
        Binding("o", "other_log", "Other log"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._wanted: str | None = None
        self._job: Job | None = None
        self._why: tuple[str, ...] = ()
        self._paths: LogPaths | None = None
        self._problem = ""
        self._show_stderr = False
        self._live: LiveProgress | None = None
        self._progress: Progress | None = None
        self._log_problem = ""
        self._looked_up_at = 0.0

    def content(self) -> ComposeResult:
        """Facts, progress, log."""
        yield Static(id="job-facts")
        yield ProgressPanel()
        yield Static(id="log-title")
        yield FilterBar("search the log; n and N go to the next match")
        yield LogView()

    def on_mount(self) -> None:
        """Read the log's progress each second."""
        super().on_mount()
        self.set_interval(1.0, self._tick)

    def show(self, snapshot: Snapshot) -> None:
        """Find the job in the queue, or ask about it."""
        wanted = self.console_app.job_id or self._newest_of_mine(snapshot)
        if wanted is None:
            self.query_one("#job-facts", Static).update("No job is chosen. Open one from the queue (2), or press n.")
            self.query_one(LogView).show_message("")
            return
        if wanted != self._wanted:
            self._forget(wanted)
        job = next((j for j in snapshot.jobs.records if wanted in (j.job_id, j.display_id)), None)
        if job is not None:
            moved = self._job is None or self._job.state != job.state
            self._job = job
            if job.state == "PENDING":
                self._explain(job, snapshot)
            if moved or self._paths is None:
                self._look_up(wanted, job)
        elif self._job is None or not self._job.ended:
            now = time.monotonic()
            if now - self._looked_up_at >= _LOOK_UP_EVERY or self._job is not None:
                self._looked_up_at = now
                self._look_up(wanted, None)
        self._draw()

    def on_job_looked_up(self, message: JobLookedUp) -> None:
        """Take over what a worker found."""
        if message.wanted != self._wanted:
            return
        self._problem = message.problem
        if message.job is not None:
            self._job = message.job
        if message.paths is not None and message.paths != self._paths:
            self._paths = message.paths
            self._open_log()
        elif message.job is None and message.paths is None:
            self.query_one(LogView).show_message("There is no log to show.")
        self._draw()

    def on_job_explained(self, message: JobExplained) -> None:
        """Take over what a worker worked out."""
        if self._job is not None and message.job.job_id == self._job.job_id:
            self._why = message.why
            self._draw()

    def on_progress_read(self, message: ProgressRead) -> None:
        """Take over what a worker read."""
        if self._live is not None and message.path == self._live.path:
            self._progress, self._log_problem = message.progress, message.problem
            self._draw()

    def action_back(self) -> None:
        """Forget the search, or go to the queue."""
        bar = self.query_one(FilterBar)
        if bar.has_class("open"):
            bar.action_clear()
        else:
            self.app.switch_mode("queue")

    def action_search(self) -> None:
        """Type what to search for."""
        self.query_one(FilterBar).open()

    def on_filter_bar_closed(self) -> None:
        """Search from the end upwards, as one looks for the last error."""
        view = self.query_one(LogView)
        view.focus()
        view.search(self.query_one(FilterBar).value, backwards=True)

    def on_log_view_noticed(self, event: LogView.Noticed) -> None:
        """A sentence from the log view."""
        self.notify(event.text, markup=False)

    def on_log_view_follow_changed(self) -> None:
        """Say whether new lines are followed."""
        self._draw()

    def action_other_log(self) -> None:
        """Switch between standard output and standard error."""
        if self._paths is None or self._paths.stdout == self._paths.stderr:
            self.notify("Standard output and standard error are one file.", markup=False)
            return
        self._show_stderr = not self._show_stderr
        self._open_log()
        self._draw()

    def _newest_of_mine(self, snapshot: Snapshot) -> str | None:
        mine = [job for job in snapshot.jobs.records if job.user == self.console_app.user]
        mine.sort(key=lambda job: (job.running, job.submit_time.timestamp() if job.submit_time else 0.0))
        return mine[-1].job_id if mine else self._wanted

    def _forget(self, wanted: str) -> None:
        self._wanted, self._job, self._why, self._paths, self._problem = wanted, None, (), None, ""
        self._live, self._progress, self._log_problem, self._show_stderr = None, None, "", False
        self._looked_up_at = 0.0
        bar = self.query_one(FilterBar)
        if bar.has_class("open"):
            bar.action_clear()
        self.query_one(LogView).show_message("Looking for the log …")

    def _open_log(self) -> None:
        path = self._log_path
        view = self.query_one(LogView)
        if self._replayed:
            view.show_message(_NO_LOGS)
            self._log_problem = _NO_LOGS
            return
        if path is None:
            self._live = None
            view.show_message("This job keeps no log: it was not started with sbatch.")
            return
        view.show(path)
        progress_path = self._paths.stdout if self._paths and self._paths.stdout else path
        self._live = LiveProgress(progress_path)
        self._tick()

    @property
    def _log_path(self) -> Path | None:
        if self._paths is None:
            return None
        return self._paths.stderr if self._show_stderr else self._paths.stdout

    @property
    def _replayed(self) -> bool:
        """Whether the job is one of a recording; a file of its log's name here would be another's."""
        return self.console_app.cluster.runner.replay_of is not None

    def _tick(self) -> None:
        if self.is_active and self._live is not None:
            self._read_log(self._live)

    @work(thread=True, exclusive=True, group="progress", exit_on_error=False)
    def _read_log(self, live: LiveProgress) -> None:
        try:
            self.post_message(ProgressRead(live.path, live.poll()))
        except LogProblem as problem:
            self.post_message(ProgressRead(live.path, None, str(problem)))

    @work(thread=True, exclusive=True, group="why", exit_on_error=False)
    def _explain(self, job: Job, snapshot: Snapshot) -> None:
        self.post_message(JobExplained(job, why_pending(job, snapshot)))

    @work(thread=True, exclusive=True, group="job", exit_on_error=False)
    def _look_up(self, wanted: str, job: Job | None) -> None:
        problem, replayed = "", self._replayed
        if job is None:
            try:
                job = self.console_app.cluster.job(wanted)
            except SlurmError as error:
                problem = str(error)
        paths = resolve(job.stdout, job.stderr, facts_of(job)) if job and job.work_dir else None
        entry = (
            history.find(int(wanted), self.console_app.settings.job_root) if wanted.isdigit() and not replayed else None
        )
        if entry is not None and (paths is None or not job or not job.stdout):
            paths = LogPaths(entry.stdout, entry.stderr)
        if job is None and not problem:
            problem = f"Slurm does not know job {wanted} (any more)."
        self.post_message(JobLookedUp(wanted, job, paths, problem))

    def _draw(self) -> None:
        self.query_one("#job-facts", Static).update(self._facts())
        self.query_one(ProgressPanel).show(self._progress, self._job, self._log_problem)
        path = self._log_path
        title = Text("")
        if path is not None:
            following = self.query_one(LogView).following
            if not self._replayed:
                title.append("following " if following else "paused, End follows ", "green" if following else "yellow")
            title.append(f"{'stderr' if self._show_stderr else 'log'} {safe(str(path))}", "dim")
        title.truncate(max(10, self.size.width - 2), overflow="ellipsis")
        self.query_one("#log-title", Static).update(title)

    def _facts(self) -> Text:
        job = self._job
        if job is None:
            return Text(safe(self._problem) or f"Looking for job {safe(self._wanted or '')} …", "yellow")
        line = Text(f"{safe(job.display_id)} {safe(job.name)}  ", "bold")
        line.append(safe(job.state), f"bold {job_style(job)}")
        line.append(f"  {safe(job.user)} in {safe(job.partition)}", "dim")
        if self._problem:
            line.append(f"  {safe(self._problem)}", "yellow")
        line.append("\n")
        line.append(f"{plural(job.nodes or 0, 'node')}, GPUs {gpus_text(job)}, {plural(job.cpus or 0, 'CPU')}")
        used = used_time(job)
        if used is not None:
            line.append(f"  used {format_duration(used)} of {limit_text(job)}")
        if job.running and job.end_time:
            line.append(f", ends by {clock(job.end_time)}")
        line.append("\n")
        if job.state == "PENDING":
            line.append(f"{safe(' '.join(self._why or (explain(job.reason),)))} ", "yellow")
            line.append(what_to_do(job), "dim")
            if job.start_time:
                line.append(f" Slurm expects a start at {clock(job.start_time)}.")
        else:
            line.append(where_or_why(job), "dim")
        return line
