"""Where a waiting job stands in its queue: what the scheduler looks at before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.slurm.array_tasks import task_count
from jobs.slurm.records import Job

WAITING = ("Priority", "Resources", "None", "")
"""Reasons of jobs that wait for nothing but their turn; the scheduler passes over all others."""


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """`jobs` of higher priority in the same partitions, array tasks each by itself; their GPUs where all are known."""

    jobs: int
    gpus: int | None

    @property
    def words(self) -> str:
        """`3 jobs of higher priority wait for the same partition; they ask for 24 GPUs in all.`"""
        if not self.jobs:
            return "No job of higher priority waits for the same partition."
        one = self.jobs == 1
        told = f"{self.jobs} job{'' if one else 's'} of higher priority wait{'s' if one else ''} for the same partition"
        asks = f"{'it asks' if one else 'they ask'} for {self.gpus} GPU{'' if self.gpus == 1 else 's'} in all"
        return f"{told}; {asks}." if self.gpus else f"{told}."


def place_in_queue(job: Job, jobs: Iterable[Job]) -> QueuePlace | None:
    """The place of a job that waits for its turn, among `jobs`; None where it waits for something else.

    Slurm takes equal priorities by job id (slurm.conf's man page, PriorityType).
    """
    if job.state != "PENDING" or job.reason not in WAITING or job.priority is None:
        return None
    partitions, mine = set(job.partition.split(",")), _order(job)
    waiting = (other for other in jobs if other.state == "PENDING" and other.reason in WAITING)
    ahead = [
        other
        for other in waiting
        if other.priority is not None and _order(other) < mine and not partitions.isdisjoint(other.partition.split(","))
    ]
    counts = [(task_count(other.array_task_id), other.gpus) for other in ahead]
    gpus = [tasks * each for tasks, each in counts if each is not None]
    return QueuePlace(sum(tasks for tasks, _ in counts), sum(gpus) if len(gpus) == len(ahead) else None)


def _order(job: Job) -> tuple[int, int, str]:
    return -(job.priority or 0), int(job.job_id) if job.job_id.isdecimal() else 0, job.job_id
