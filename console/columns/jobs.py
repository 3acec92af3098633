"""The queue's columns."""

from __future__ import annotations

from datetime import datetime, timedelta

from console.columns.column import Cell, Column
from console.columns.states import job_style
from console.text import clock, fit, safe, since
from jobs.slurm.records import Job
from jobs.slurm.times import format_duration

GPUS_UNKNOWN = "?"


def gpus_text(job: Job) -> str:
    """`4 a100`, `2`, `?` when unknown, a dash when the job asks for none."""
    if job.gpus is None:
        return GPUS_UNKNOWN
    if not job.gpus:
        return "—"
    return f"{job.gpus} {safe(job.gpu_type)}" if job.gpu_type else str(job.gpus)


def limit_text(job: Job) -> str:
    """The time limit; `unlimited` where there is none."""
    return "unlimited" if job.unlimited else format_duration(job.time_limit)


def used_time(job: Job) -> timedelta | None:
    """How long the job has run, or ran; None while it is pending."""
    if job.ended:
        return job.end_time - job.start_time if job.start_time and job.end_time else None
    return since(job.start_time) if job.running else None


def where_or_why(job: Job) -> str:
    """Nodes of a job that has some, otherwise the reason why not."""
    if job.node_list:
        return safe(job.node_list)
    return f"({safe(job.reason)})" if job.reason not in ("", "None") else ""


def _used(job: Job) -> Cell:
    used = used_time(job)
    if used is None:
        return "—", "bright_black"
    nearly = job.running and job.time_limit and used > job.time_limit * 0.9
    return format_duration(used), "bold red" if nearly else ""


def _where(job: Job) -> Cell:
    return where_or_why(job), "" if job.node_list else "yellow" if job.state == "PENDING" else "bright_black"


def _submitted(job: Job) -> float | None:
    return job.submit_time.timestamp() if isinstance(job.submit_time, datetime) else None


JOB_COLUMNS: tuple[Column[Job], ...] = (
    Column("JOBID", lambda j: (safe(j.display_id), "bold"), lambda j: _id_key(j.job_id), max_width=14, rank=9),
    Column("NAME", lambda j: (safe(j.name), ""), lambda j: j.name, max_width=24, rank=8),
    Column("USER", lambda j: (safe(j.user), ""), lambda j: j.user, max_width=10, rank=4),
    Column("PARTITION", lambda j: (safe(j.partition), ""), lambda j: j.partition, max_width=12, rank=3),
    Column("STATE", lambda j: (safe(j.state), job_style(j)), lambda j: j.state, max_width=11, rank=9),
    Column("GPUS", lambda j: (gpus_text(j), ""), lambda j: j.gpus, max_width=10, rank=7),
    Column("NODES", lambda j: (str(j.nodes or "?"), ""), lambda j: j.nodes, max_width=5, right=True, rank=5),
    Column("USED", _used, used_time, max_width=11, right=True, rank=6),
    Column("LIMIT", lambda j: (limit_text(j), ""), lambda j: j.time_limit, max_width=11, right=True, rank=5),
    Column("SUBMITTED", lambda j: (clock(j.submit_time), ""), _submitted, max_width=12, rank=2),
    Column("NODES OR REASON", _where, where_or_why, max_width=60, rank=8, grow=True),
)


def _id_key(job_id: str) -> tuple[int, str]:
    return (int(job_id) if job_id.isdecimal() else 0, fit(job_id, 20))
