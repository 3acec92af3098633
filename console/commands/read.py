"""gpus, partitions, nodes, jobs, job."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from console import plain
from console.columns.column import Column
from console.columns.jobs import JOB_COLUMNS, gpus_text, limit_text, used_time
from console.columns.nodes import NODE_COLUMNS
from console.columns.partitions import PARTITION_COLUMNS, partition_rows
from console.commands.common import NO, OK, UNREACHABLE, ask, print_json, progress_facts
from console.tables import complain, out, print_facts, print_gpus, print_meanings, print_rows, say
from console.text import clock, memory, safe
from jobs.logs.opening import LogProblem
from jobs.logs.paths import facts_of, resolve
from jobs.logs.progress import read_progress
from jobs.slurm.availability import availability, contradictions
from jobs.slurm.cluster import Cluster
from jobs.slurm.limit_check import limits_sentence
from jobs.slurm.records import Job
from jobs.slurm.times import format_duration
from jobs.slurm.why import (
    limits_in_the_way,
    may_start,
    waits_for_limits,
    waits_for_nodes,
    what_to_do,
    why_pending,
)


def gpus(args: argparse.Namespace) -> int:
    """GPUs by type."""
    snapshot, complete = ask(args.runner, jobs=False, nodes=True, limits=True)
    if not complete:
        return UNREACHABLE
    if args.json:
        print_json(plain.gpus_data(snapshot))
    else:
        for sentence in contradictions(snapshot.nodes.records):
            complain(sentence)
        console = out(color=args.color)
        counts = availability(snapshot).gpu_types
        print_gpus(counts, console)
        if snapshot.limits_problem:
            complain(f"your limits are not known: {snapshot.limits_problem}")
        elif snapshot.limits is not None:
            say(console, safe(limits_sentence(snapshot.limits)))
            if hidden := snapshot.limits.hidden():
                complain(hidden)
        print_meanings(counts, console)
    return OK


def partitions(args: argparse.Namespace) -> int:
    """Partitions."""
    snapshot, complete = ask(args.runner, jobs=True, nodes=True)
    if not complete:
        return UNREACHABLE
    return _rows(args, PARTITION_COLUMNS, partition_rows(snapshot), plain.partitions_data(snapshot))


def nodes(args: argparse.Namespace) -> int:
    """Nodes."""
    snapshot, complete = ask(args.runner, jobs=False, nodes=True)
    if not complete:
        return UNREACHABLE
    return _rows(args, NODE_COLUMNS, snapshot.nodes.records, plain.nodes_data(snapshot))


def jobs(args: argparse.Namespace) -> int:
    """My jobs, or with --all everyone's."""
    snapshot, complete = ask(args.runner, jobs=True, nodes=False, mine=not args.all)
    if not complete:
        return UNREACHABLE
    records = snapshot.jobs.records
    if not records and not args.json:
        user = args.runner.user
        complain("the queue is empty." if args.all else f"{user} has no jobs in the queue; --all shows everyone's.")
    return _rows(args, JOB_COLUMNS, records, [plain.job_data(job) for job in records])


def job(args: argparse.Namespace) -> int:
    """One job in detail. Raises SlurmError."""
    cluster = Cluster(args.runner)
    found = cluster.job(args.id)
    if found is None:
        complain(f"Slurm does not know job {args.id}.")
        return NO
    paths = resolve(found.stdout, found.stderr, facts_of(found)) if found.work_dir else None
    stdout = str(paths.stdout) if paths and paths.stdout else None
    stderr = str(paths.stderr) if paths and paths.stderr else None
    progress = None
    if paths and paths.stdout and args.runner.replay_of is None:
        try:
            progress = read_progress(paths.stdout)
        except LogProblem:
            progress = None
    if waits_for_nodes(found):
        cluster.refresh(jobs=True, nodes=True)
    elif waits_for_limits(found):
        cluster.refresh(jobs=False, nodes=True, limits=True)
    why = why_pending(found, cluster.snapshot) if found.state == "PENDING" else ()
    if args.json:
        limits = limits_in_the_way(found, cluster.snapshot)
        print_json(plain.job_detail_data(found, why, limits, stdout, stderr, progress.to_json() if progress else None))
    else:
        nothing = "a recording holds no logs" if args.runner.replay_of is not None else "none in the log"
        far = progress_facts(progress) if progress else [("progress", nothing)]
        print_facts([*_facts(found, why), ("log", stdout or "none"), *far], out(color=args.color))
    return OK


def _rows(args: argparse.Namespace, columns: Sequence[Column[Any]], rows: Sequence[Any], data: Any) -> int:
    if args.json:
        print_json(data)
    else:
        print_rows(columns, rows, out(color=args.color))
    return OK


def _facts(found: Job, why: Sequence[str]) -> list[tuple[str, str]]:
    used = used_time(found)
    facts = [
        ("job", f"{found.display_id}  {found.name}"),
        ("state", found.state),
        ("user", f"{found.user}" + (f", account {found.account}" if found.account else "")),
        ("partition", found.partition),
        ("nodes", _or_unknown(found.nodes) + (f": {found.node_list}" if found.node_list else "")),
        ("CPUs", _or_unknown(found.cpus)),
        ("GPUs", gpus_text(found)),
        ("memory", _memory(found)),
        ("time", f"{format_duration(used)} used of {limit_text(found)}" if used else f"at most {limit_text(found)}"),
        ("submitted", clock(found.submit_time)),
        ("started", _started(found)),
    ]
    if found.state == "PENDING":
        facts.extend(("" if number else "why pending", sentence) for number, sentence in enumerate(why))
        facts.append(("what to do", what_to_do(found)))
        if found.start_time:
            facts.append(("estimated", clock(found.start_time)))
        elif may_start(found):
            facts.append(("estimated", "Slurm gives no estimate yet"))
    return facts


def _memory(found: Job) -> str:
    """What each node gives; where squeue does not tell, what was asked for, in Slurm's words."""
    if found.memory_per_node is not None:
        return f"{memory(found.memory_per_node)} per node"
    return "as the partition gives" if found.memory == "0" else found.memory or "unknown"


def _started(found: Job) -> str:
    """Slurm gives a job that was cancelled before its start the time of its end as its start."""
    if found.state == "PENDING":
        return "not yet"
    return clock(found.start_time) if found.node_list or not found.ended else "never"


def _or_unknown(number: int | None) -> str:
    return "unknown" if number is None else str(number)
