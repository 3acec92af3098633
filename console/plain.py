"""The same answers as JSON-ready data: what `--json` prints. Field names are stable."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from console.columns.partitions import partition_rows
from jobs.slurm.access import access
from jobs.slurm.availability import GpuCount, availability, contradictions
from jobs.slurm.fit import Placement
from jobs.slurm.limits import LimitUse
from jobs.slurm.records import Job, Node, Partition
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Snapshot

Data = dict[str, Any]


def gpus_data(snapshot: Snapshot) -> Data:
    """GPUs by type in the cluster, each node once, and by partition."""
    counted = availability(snapshot)
    return {
        "cluster": snapshot.cluster or None,
        "taken_at": _epoch(snapshot.taken_at),
        "problems": [*snapshot.problems, *contradictions(snapshot.nodes.records)],
        "gpu_types": [_count(count) for count in counted.gpu_types],
        "limits": _gpu_limits(snapshot),
        "partitions": [
            {
                "partition": gpus.partition.name,
                "state": gpus.partition.state,
                "access": _access(gpus.partition, snapshot),
                "gpu_types": [_count(count) for count in gpus.gpu_types],
            }
            for gpus in counted.partitions
        ],
    }


def partitions_data(snapshot: Snapshot) -> list[Data]:
    """Partitions with their nodes, jobs and limits."""
    return [
        {
            "partition": row.partition.name,
            "default": row.partition.is_default,
            "state": row.partition.state,
            "hidden": row.partition.hidden,
            "nodes": row.partition.node_list,
            "nodes_total": row.total_nodes,
            "nodes_idle": row.idle_nodes,
            "jobs_running": row.running,
            "jobs_pending": row.pending,
            "max_time_s": _seconds(row.partition.max_time),
            "gpu_types": [_count(count) for count in row.gpu_types],
        }
        for row in partition_rows(snapshot)
    ]


def nodes_data(snapshot: Snapshot) -> list[Data]:
    """Nodes with what is used of them; memory in MiB."""
    return [_node(node) for node in snapshot.nodes.records]


def job_data(job: Job) -> Data:
    """One job of the queue."""
    return {
        "job_id": job.job_id,
        "display_id": job.display_id,
        "array_job_id": job.array_job_id,
        "array_task_id": job.array_task_id,
        "name": job.name,
        "user": job.user,
        "account": job.account,
        "qos": job.qos,
        "partition": job.partition,
        "state": job.state,
        "reason": job.reason or None,
        "nodes": job.nodes,
        "node_list": job.node_list or None,
        "gpus": job.gpus,
        "gpu_type": job.gpu_type,
        "cpus": job.cpus,
        "submit_time": _time(job.submit_time),
        "start_time": _time(job.start_time) if job.state != "PENDING" else None,
        "end_time": _time(job.end_time),
        "time_limit_s": _seconds(job.time_limit),
        "priority": job.priority,
        "dependency": job.dependency,
    }


def job_detail_data(
    job: Job,
    why: Sequence[str],
    limits: Sequence[LimitUse],
    stdout: str | None,
    stderr: str | None,
    progress: Data | None,
) -> Data:
    """One job with its logs, why it waits and how far it is."""
    pending = job.state == "PENDING"
    return {
        **job_data(job),
        "stdout": stdout,
        "stderr": stderr,
        "work_dir": job.work_dir or None,
        "why_pending": " ".join(why) if pending else None,
        "limits": [_limit(use) for use in limits],
        "estimated_start": _time(job.start_time) if pending else None,
        "progress": progress,
    }


def fit_data(
    shape: Shape,
    places: Sequence[Placement],
    estimates: Mapping[str, datetime | None],
    others: Sequence[Placement] = (),
) -> Data:
    """The answer of `fit`: the shape, one placement per partition, and where another GPU type would start."""
    return {
        "shape": {
            "nodes": shape.nodes,
            "gpus_per_node": shape.gpus_per_node,
            "gpu_type": shape.gpu_type,
            "ntasks_per_node": shape.ntasks_per_node,
            "cpus_per_task": shape.cpus_per_task,
            "memory_mib": shape.memory,
            "time_limit_s": _seconds(shape.time_limit),
            "account": shape.account,
            "qos": shape.qos,
        },
        "placements": [
            {
                "partition": place.partition.name,
                "gpu_type": place.gpu_type,
                "starts_now": place.starts_now,
                "nodes_needed": place.nodes_needed,
                "nodes_fitting": place.fitting,
                "nodes_possible": place.possible,
                "why": list(place.why),
                "levers": list(place.levers),
                "notes": list(place.notes),
                "estimated_start": _time(estimates.get(place.partition.name)),
            }
            for place in places
        ],
        "other_types": [{"partition": place.partition.name, "gpu_type": place.gpu_type} for place in others],
    }


def _access(partition: Partition, snapshot: Snapshot) -> str | None:
    """Whether this user's jobs are taken: "yes", "no", or None where that cannot be told."""
    if snapshot.viewer is None:
        return None
    return {True: "yes", False: "no", None: None}[access(partition, snapshot.viewer).allowed]


def _gpu_limits(snapshot: Snapshot) -> list[Data] | None:
    """The limits that count GPUs or jobs of this person's default account and QOS; None where they are not known."""
    if snapshot.limits is None:
        return None
    uses = snapshot.limits.of_job("", None)
    return [_limit(use) for use in uses if use.resource.startswith("gres/gpu") or use.resource == "jobs"]


def _limit(use: LimitUse) -> Data:
    """`used` is None where the limit is for each job or node."""
    return {
        "whose": use.whose,
        "resource": use.resource,
        "limit": use.limit,
        "used": use.used,
        "left": use.left,
        "scope": use.scope,
    }


def _count(count: GpuCount) -> Data:
    return {
        "gpu_type": count.gpu_type,
        "total": count.total,
        "allocated": count.allocated,
        "unavailable": count.unavailable,
        "stranded": count.stranded,
        "usable": count.usable,
        "whole_nodes": count.whole_nodes,
        "largest_block": None if count.largest_block is None else dataclasses.asdict(count.largest_block),
    }


def _node(node: Node) -> Data:
    used = node.gpus_used
    return {
        "node": node.name,
        "state": node.state,
        "flags": sorted(node.flags),
        "partitions": list(node.partitions),
        "cpus": node.cpus,
        "cpus_allocated": node.cpus_allocated,
        "memory_mib": node.memory,
        "memory_allocated_mib": node.memory_allocated,
        "gpus": [
            {"gpu_type": kind, "total": total, "allocated": None if used is None else used[kind]}
            for kind, total in node.gpus.items()
        ],
        "features": list(node.features),
        "reason": node.reason or None,
    }


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(timezone.utc).isoformat()


def _epoch(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="seconds")


def _seconds(duration: Any) -> int | None:
    return None if duration is None else int(duration.total_seconds())
