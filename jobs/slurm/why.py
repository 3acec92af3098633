"""Why one job waits: Slurm's reason, joined with the job's own numbers, its place in the queue and what nodes lack."""

from __future__ import annotations

import dataclasses
import re

from jobs.slurm.fit import Placement, nodes_fitting
from jobs.slurm.limit_check import Demand, limits_of_reason, told
from jobs.slurm.limits import LimitUse
from jobs.slurm.queue_place import place_in_queue
from jobs.slurm.reason_limits import limited_resource
from jobs.slurm.reasons import explain, understand
from jobs.slurm.records import Job
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Snapshot

_FOR_NODES = ("Resources", "Priority", "ReqNodeNotAvail", "Nodes required", "Nodes_required")


def waits_for_nodes(job: Job) -> bool:
    """Whether nodes, and who else wants them, explain why the job waits."""
    return job.state == "PENDING" and job.reason.lstrip("(").startswith(_FOR_NODES)


def why_pending(job: Job, snapshot: Snapshot, now: float | None = None) -> tuple[str, ...]:
    """Sentences, the reason first. `snapshot` holds the queue, nodes and partitions, as far as they are known."""
    found = [explain(job.reason)]
    place = place_in_queue(job, snapshot.jobs.records) if snapshot.jobs.taken_at is not None else None
    if place is not None:
        found.append(place.words)
    found.extend(_limit(job, use) for use in limits_in_the_way(job, snapshot))
    if waits_for_nodes(job) and snapshot.nodes.taken_at is not None:
        found.extend(_rooms(job, snapshot, now))
    return tuple(found)


def what_to_do(job: Job) -> str:
    """What the person whose job waits can do; its commands name this job."""
    return re.sub(r"\bID\b", job.job_id, understand(job.reason).action)


def may_start(job: Job) -> bool:
    """Whether a waiting job starts in time by itself, as far as its reason tells."""
    return job.state == "PENDING" and understand(job.reason).kind not in ("held", "never", "broken")


def limits_in_the_way(job: Job, snapshot: Snapshot) -> list[LimitUse]:
    """The limits that the job's reason names, where they are known: of one's own jobs only."""
    limits = snapshot.limits
    if limits is None or job.state != "PENDING" or job.user != limits.user:
        return []
    qos = {part.name: part.qos for part in snapshot.partitions.records}
    partition = job.partition.partition(",")[0]
    found = limits_of_reason(job.reason, limits.of_job(partition, qos.get(partition), job.account, job.qos))
    demand = _demand(job)
    return [use for use in found if demand.breaks(use)] or found


def waits_for_limits(job: Job) -> bool:
    """Whether a limit of its account or QOS keeps the job waiting."""
    return job.state == "PENDING" and limited_resource(job.reason.partition(",")[0]) is not None


def shape_of_job(job: Job) -> Shape | None:
    """What a job asks for on each node, as far as squeue tells: not its features, named nodes or reservation."""
    if not job.nodes or job.cpus is None or job.gpus is None:
        return None
    return Shape(
        nodes=job.nodes,
        gpus_per_node=-(-job.gpus // job.nodes),
        gpu_type=job.gpu_type,
        cpus_per_task=-(-job.cpus // job.nodes),
        memory=job.memory_per_node,
        time_limit=job.time_limit,
    )


def _limit(job: Job, use: LimitUse) -> str:
    """The limit with what the job asks for of it."""
    return told(use, _demand(job).of(use))


def _demand(job: Job) -> Demand:
    nodes = job.nodes or 1
    minutes = None if job.time_limit is None else int(job.time_limit.total_seconds() // 60)
    cpus = None if job.cpus is None else -(-job.cpus // nodes)
    gpus = -(-(job.gpus or 0) // nodes)
    return Demand(nodes, gpus, job.gpu_type, cpus, job.memory_per_node, minutes)


def _rooms(job: Job, snapshot: Snapshot, now: float | None) -> list[str]:
    """What each of the job's partitions has for it. Nodes that are planned may well be planned for this job."""
    shape = shape_of_job(job)
    if shape is None:
        return []
    nodes = tuple(
        dataclasses.replace(node, flags=node.flags - {"PLANNED"}) if "PLANNED" in node.flags else node
        for node in snapshot.nodes.records
    )
    open_to_all = dataclasses.replace(snapshot, nodes=dataclasses.replace(snapshot.nodes, records=nodes), viewer=None)
    found = (nodes_fitting(open_to_all, part, shape, now) for part in job.partition.split(","))
    return [_room(job, place) for place in found if place is not None]


def _room(job: Job, place: Placement) -> str:
    name = place.partition.name
    if place.why:
        return f"In {name}: {place.why[0]}"
    if job.reason == "Priority":
        return f"In {name} there is room for it, which jobs of higher priority may take first."
    return f"In {name} there seems to be room: it may ask for certain nodes, features, licences or a reservation."
