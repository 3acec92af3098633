"""Queue: what is happening, mine or everyone's, and why a job waits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType

from console.columns.jobs import JOB_COLUMNS, where_or_why
from console.screens.table_screen import TableScreen
from console.text import clock, plural, safe
from console.widgets.filter_bar import FilterBar
from console.widgets.row_table import RowTable
from jobs.slurm.reasons import explain
from jobs.slurm.records import Job
from jobs.slurm.snapshot import Snapshot


class QueueScreen(TableScreen[Job]):
    """Jobs; Enter opens one."""

    MODE: ClassVar[str] = "queue"
    COLUMNS = JOB_COLUMNS
    EMPTY = "No jobs here. n builds one, m switches between yours and everyone's."
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("m", "toggle_mine", "Mine/all"),
    ]

    mine_only = False

    def key(self, record: Job) -> str:
        """A raw id names one record at a time."""
        return record.job_id

    def records(self, snapshot: Snapshot) -> Sequence[Job]:
        """Everyone's jobs, or mine."""
        jobs = snapshot.jobs.records
        if not self.mine_only:
            return jobs
        return [job for job in jobs if job.user == self.console_app.user]

    def summary(self, shown: int, total: int, snapshot: Snapshot) -> Text:
        """`Your jobs: 3 (1 running, 2 pending)`."""
        records = self.records(snapshot)
        running = sum(1 for job in records if job.running)
        pending = sum(1 for job in records if job.state == "PENDING")
        line = Text("Your jobs: " if self.mine_only else "All jobs: ", "bold")
        line.append(plural(total, "job"))
        line.append(f", {running} running", "green" if running else "")
        line.append(f", {pending} pending", "yellow" if pending else "")
        if shown != total:
            line.append(f"   {shown} contain the words below; Esc shows all", "bold cyan")
        return line

    def about(self, record: Job) -> Text:
        """Why it waits, or where it runs."""
        line = Text(f"{safe(record.display_id)} ", "bold")
        if record.state == "PENDING":
            line.append(explain(record.reason), "yellow")
            if record.start_time:
                line.append(f" Slurm expects a start at {clock(record.start_time)}.")
        else:
            line.append(f"{safe(record.state)} on {where_or_why(record) or 'no nodes'}")
            if record.end_time and not record.ended:
                line.append(f", ends by {clock(record.end_time)}")
        return line

    def show_words(self, words: str) -> None:
        """Filter by words, such as a partition or a node."""
        bar = self.query_one(FilterBar)
        bar.value = words
        bar.add_class("open")
        self.table.focus()

    def action_toggle_mine(self) -> None:
        """Switch between my jobs and everyone's."""
        self.mine_only = not self.mine_only
        self.show(self.console_app.snapshot)

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Open the job."""
        self.console_app.open_job(event.key)
