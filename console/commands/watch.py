"""logs and progress: of a job by its id, or of a log file."""

from __future__ import annotations

import argparse
import re
import time
from itertools import chain
from pathlib import Path

from console.commands.common import NO, OK, print_json, progress_facts
from console.commands.lines import Lines
from console.settings import load_settings
from console.tables import complain, out, print_facts
from jobs import history
from jobs.errors import UsageError
from jobs.logs.opening import open_log
from jobs.logs.paths import facts_of, resolve
from jobs.logs.progress import read_progress
from jobs.slurm.cluster import Cluster
from jobs.slurm.reasons import explain
from jobs.slurm.records import Job
from jobs.slurm.run import SlurmError

LOOK_EVERY = 1.0
"""Seconds between two looks at a growing log."""
ASK_EVERY = 5.0
"""Seconds between two questions to Slurm."""
_JOB_ID = re.compile(r"\d{1,18}(?:[_+][\d\[\],%-]+)?", re.ASCII)
"""A job as squeue shows it: 7, 7_3, 7_[4-9%2], 7+1."""


def logs(args: argparse.Namespace) -> int:
    """Print a job's log; with -f until the job ends, and then 0 only if it COMPLETED. Raises SlurmError, LogProblem."""
    cluster = Cluster(args.runner)
    job, path = _find(args, cluster)
    if path is None:
        return NO
    if args.follow and job is not None:
        return _follow(cluster, job, Lines(path))
    open_log(path).close()
    lines = Lines(path)
    for line in chain(lines.new(), lines.rest()):
        print(line)
    if args.follow:
        raise SlurmError(f"Slurm has forgotten job {args.job}, so how it ended is not known.")
    return OK


def progress(args: argparse.Namespace) -> int:
    """How far a job is; 1 when its log shows no progress. Raises SlurmError, LogProblem."""
    path: Path | None = Path(args.job)
    if _JOB_ID.fullmatch(args.job) and not Path(args.job).is_file():
        _, path = _find(args, Cluster(args.runner))
    if path is None:
        return NO
    found = read_progress(path)
    if found is None:
        complain(f"{path} shows no progress.")
        return NO
    if args.json:
        print_json(found.to_json())
    else:
        print_facts(progress_facts(found), out(color=args.color))
    return OK


def _find(args: argparse.Namespace, cluster: Cluster) -> tuple[Job | None, Path | None]:
    """The job, if Slurm still knows it, and its log; what was submitted from here is remembered longer.

    Raises UsageError in a replay.
    """
    if args.runner.replay_of is not None:
        raise UsageError("A recording holds no logs of jobs: leave --replay out, or name a log file to `progress`.")
    entry = None
    if _JOB_ID.fullmatch(args.job) and args.job.isdigit():
        entry = history.find(int(args.job), load_settings(args.config).job_root)
    try:
        job = cluster.job(args.job)
    except SlurmError:
        if entry is None:
            raise
        job = None
    if job is not None and job.work_dir and (job.stdout or entry is None):
        return job, resolve(job.stdout, job.stderr, facts_of(job)).stdout
    if entry is not None:
        return job, entry.stdout
    complain(f"Slurm does not know job {args.job}, and it was not submitted from here.")
    return None, None


def _follow(cluster: Cluster, job: Job, lines: Lines) -> int:
    told = ""
    asked_at = time.monotonic()
    while True:
        for line in lines.new():
            print(line, flush=True)
        if job.ended:
            for line in lines.rest():
                print(line, flush=True)
            complain(f"job {job.display_id} ended: {job.state}.")
            return OK if job.state == "COMPLETED" else NO
        waiting = _waiting(job, lines)
        if waiting and waiting != told:
            told = waiting
            complain(waiting)
        time.sleep(LOOK_EVERY)
        if time.monotonic() - asked_at >= ASK_EVERY:
            asked_at = time.monotonic()
            job = _ask_again(cluster, job)


def _waiting(job: Job, lines: Lines) -> str:
    """Why nothing is printed, or an empty text."""
    if job.state == "PENDING":
        return f"job {job.display_id} is pending. {explain(job.reason)}"
    return "" if lines.path.exists() else f"job {job.display_id} is {job.state}, but {lines.path} is not there yet."


def _ask_again(cluster: Cluster, job: Job) -> Job:
    try:
        found = cluster.job(job.job_id)
    except SlurmError as error:
        complain(f"{error} Going on with the log.")
        return job
    if found is None:
        raise SlurmError(f"Slurm has forgotten job {job.display_id}, so how it ended is not known.")
    return found
