"""Overview: what can I get at this moment? GPUs by type, partitions, a map of the nodes."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from console.columns.jobs import JOB_COLUMNS
from console.columns.partitions import PARTITION_COLUMNS, PartitionRow, partition_rows
from console.screens.base import ModeScreen
from console.text import plural
from console.widgets.gpu_bar import GpuBars
from console.widgets.node_map import NodeMap
from console.widgets.row_table import RowTable
from jobs.slurm.availability import availability
from jobs.slurm.records import Job
from jobs.slurm.snapshot import Snapshot

_MY_JOBS_SHOWN = 8
_ROOM_FOR_MY_JOBS = 30


class OverviewScreen(ModeScreen):
    """The first screen."""

    MODE: ClassVar[str] = "overview"

    def content(self) -> ComposeResult:
        """Bars, my jobs in a line, partitions, map."""
        yield Static("GPUs", classes="heading")
        yield GpuBars()
        yield Static("Partitions", classes="heading")
        yield RowTable[PartitionRow](
            PARTITION_COLUMNS, lambda row: row.partition.name, empty="No partitions yet.", id="partitions"
        )
        yield Static(id="mine", classes="heading")
        yield RowTable[Job](JOB_COLUMNS, lambda job: job.job_id, id="my-jobs")
        yield Static("Nodes: one cell per GPU (▮ usable, ▯ allocated)", classes="heading")
        with VerticalScroll(id="map", can_focus=False):
            yield NodeMap()

    def show(self, snapshot: Snapshot) -> None:
        """Draw a picture of the cluster."""
        known = snapshot.nodes.taken_at is not None
        self.query_one(GpuBars).show(availability(snapshot).gpu_types if known else None)
        table: RowTable[PartitionRow] = self.query_one("#partitions", RowTable)
        rows = partition_rows(snapshot)
        table.set_rows(rows)
        table.styles.max_height = len(rows) + 1
        self._show_mine(snapshot)
        self.query_one(NodeMap).show(snapshot)

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        """Enter on a partition shows its queue, on a job the job."""
        if event.table.id == "my-jobs":
            self.console_app.open_job(event.key)
        else:
            self.console_app.open_queue(event.key)

    def _show_mine(self, snapshot: Snapshot) -> None:
        mine = [job for job in snapshot.jobs.records if job.user == self.console_app.user]
        mine.sort(key=lambda job: not job.running)
        table: RowTable[Job] = self.query_one("#my-jobs", RowTable)
        table.display = bool(mine) and self.size.height >= _ROOM_FOR_MY_JOBS
        table.styles.max_height = min(len(mine), _MY_JOBS_SHOWN) + 1
        table.set_rows(mine)
        known = snapshot.jobs.taken_at is not None
        self.query_one("#mine", Static).update(_summary(mine) if known else "")


def _summary(mine: list[Job]) -> Text:
    running = [job for job in mine if job.running]
    pending = [job for job in mine if job.state == "PENDING"]
    line = Text("Your jobs  ")
    if not mine:
        return line.append("none in the queue. Press n to build one.", "not bold")
    gpus = sum(job.gpus or 0 for job in running)
    line.append(f"{len(running)} running", "green" if running else "")
    line.append(f" on {plural(gpus, 'GPU')}, ")
    line.append(f"{len(pending)} pending", "yellow" if pending else "")
    return line
