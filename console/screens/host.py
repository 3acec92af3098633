"""What screens may ask of the app that shows them."""

from __future__ import annotations

from typing import Protocol

from console.settings import Settings
from jobs.slurm.cluster import Cluster
from jobs.slurm.snapshot import Snapshot
from jobs.spec import JobSpec


class Host(Protocol):
    """The app, as screens know it. `user` is the login name; `job_id` the job that the Job mode shows."""

    snapshot: Snapshot
    cluster: Cluster
    settings: Settings
    user: str
    job_id: str | None
    start_spec: JobSpec | None

    @property
    def pause_text(self) -> str:
        """Why Slurm is not asked at this moment; empty while it is."""

    def open_job(self, job_id: str) -> None:
        """Show a job in the Job mode."""

    def open_queue(self, words: str) -> None:
        """Show the queue, filtered by words."""

    def refresh_soon(self) -> None:
        """Ask Slurm for everything as soon as the running poll has ended."""
