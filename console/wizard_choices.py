"""What the wizard offers: everything comes from this cluster as it is at this moment."""

from __future__ import annotations

import os

from console.spec_form import Choices
from console.text import plural, safe
from jobs.sandbox.place import VARIABLE
from jobs.slurm.availability import GpuCount, PartitionGpus, availability
from jobs.slurm.fit import nodes_fitting
from jobs.slurm.records import Partition
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Snapshot
from jobs.spec import JobSpec, default_spec
from jobs.values import mebibytes

_FIXED: dict[str, Choices] = {
    "requeue": [("no", ""), ("yes", "yes")],
    "run.kind": [("the example trainer (gpt-tiny, linear)", "payload"), ("a command of my own", "command")],
    "runtime.kind": [("a Python environment of the nodes", "none"), ("an Apptainer or Singularity image", "apptainer")],
    "launch.launcher": [("srun starts every rank", "srun"), ("one torchrun per node", "torchrun")],
}


def choices_for(path: str, snapshot: Snapshot, partition: str) -> Choices | None:
    """(shown, value) pairs of a field that is a choice, otherwise None."""
    if path == "resources.partition":
        return [("the site's default", ""), *[_partition(gpus) for gpus in availability(snapshot).partitions]]
    if path == "resources.gpu_type":
        return [("any type", ""), *[_gpu_type(count) for count in _types(snapshot, partition)]]
    return _FIXED.get(path)


def in_sandbox() -> bool:
    """Whether Slurm's commands speak to our own sandbox, whose GPUs are pretend devices."""
    directory = os.environ.get(VARIABLE)
    return bool(directory) and os.environ.get("SLURM_CONF", "").startswith(f"{directory}/")


def starting_spec(snapshot: Snapshot) -> JobSpec:
    """The defaults for this cluster: two nodes of two ranks in a partition that has such GPUs, if there is one."""
    known = [gpus.partition for gpus in availability(snapshot).partitions if gpus.gpu_types]
    chosen = min((part for part in known if part.state == "UP"), key=lambda part: _rank(snapshot, part), default=None)
    spec = default_spec(sandbox=in_sandbox(), partition=chosen.name if chosen else None)
    if chosen is None and snapshot.nodes.taken_at is not None:
        resources = spec.resources.model_copy(update={"gpus_per_node": 0, "ntasks_per_node": 2})
        spec = spec.model_copy(update={"resources": resources})
    return spec


def _rank(snapshot: Snapshot, part: Partition) -> tuple[bool, bool, bool]:
    """Partitions that everyone sees go first, then those with two nodes of two GPUs, then the site's default."""
    fit = nodes_fitting(snapshot, part.name, Shape(gpus_per_node=2, ntasks_per_node=2))
    return part.hidden, fit is None or fit.possible < 2, not part.is_default


def fit_sentence(snapshot: Snapshot, spec: JobSpec | None) -> tuple[str, str]:
    """Whether the shape has room at this moment, in words, with a style. Empty while the form is not valid."""
    if spec is None:
        return "", ""
    need = spec.resources
    shape = f"{need.nodes} nodes x {need.ranks_per_node} ranks = world size {need.world_size}. "
    place = nodes_fitting(snapshot, need.partition, shape_of(spec))
    if place is None:
        return shape, ""
    if place.starts_now:
        have = "has" if 1 in (place.fitting, place.possible) else "have"
        text = f"{place.fitting} of {plural(place.possible, 'node')} of {safe(place.partition.name)} {have} room"
        return f"{shape}{text}: it {'may start after others' if place.notes else 'starts now'}.", "green"
    lever = f" {place.levers[0]}" if place.levers else ""
    if place.never:
        return safe(f"{shape}It could never start: {place.why[0]}{lever}"), "bold red"
    return safe(f"{shape}It would wait. {place.why[0]}{lever}"), "yellow"


def never_starts(snapshot: Snapshot, spec: JobSpec) -> str:
    """Why no node of this cluster can ever run the job; empty where one can, or where that is not known."""
    place = nodes_fitting(snapshot, spec.resources.partition, shape_of(spec))
    return safe(place.why[0]) if place is not None and place.never else ""


def shape_of(spec: JobSpec) -> Shape:
    """What the scheduler sees of a spec."""
    need = spec.resources
    return Shape(
        nodes=need.nodes,
        gpus_per_node=need.gpus_per_node,
        gpu_type=need.gpu_type,
        ntasks_per_node=need.ranks_per_node,
        cpus_per_task=need.cpus_per_task,
        memory=mebibytes(need.mem) if need.mem is not None else None,
        time_limit=need.duration,
    )


def _partition(gpus: PartitionGpus) -> tuple[str, str]:
    name = gpus.partition.name
    types = ", ".join(f"{count.usable} of {count.total} {safe(count.gpu_type or 'GPUs')}" for count in gpus.gpu_types)
    shown = f"{safe(name)}{'*' if gpus.partition.is_default else ''}: {types + ' usable' if types else 'no GPUs'}"
    return shown + ("" if gpus.partition.state == "UP" else f" ({safe(gpus.partition.state)})"), name


def _gpu_type(count: GpuCount) -> tuple[str, str]:
    return f"{safe(count.gpu_type or '')}: {count.usable} of {count.total} usable", count.gpu_type or ""


def _types(snapshot: Snapshot, partition: str) -> list[GpuCount]:
    """The typed GPUs of a partition; of the default one when none is named."""
    for gpus in availability(snapshot).partitions:
        if gpus.partition.name == partition or (not partition and gpus.partition.is_default):
            return [count for count in gpus.gpu_types if count.gpu_type]
    return []
