"""What one node, and one partition, has and lacks for a shape at this moment."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import datetime

from jobs.slurm.access import access
from jobs.slurm.availability import idle_cpus, is_exclusive, unavailable_cause
from jobs.slurm.limit_check import Demand, exceeded
from jobs.slurm.limits import LimitUse
from jobs.slurm.records import Node, Partition, Reservation
from jobs.slurm.rules import Rules
from jobs.slurm.shape import Shape
from jobs.slurm.times import format_duration

_STATES = {
    "maintenance": "in maintenance",
    "no access": "behind a partition that refuses you",
    "partition closed": "in a closed partition",
    "no partition known": "in no partition that is known",
}
"""What is said of a node, where the cause alone does not follow `is`."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What all questions about one partition share: reservations to come with their nodes, the first ones first, and
    the limits on this person's jobs.
    """

    partition: Partition
    nodes: tuple[Node, ...]
    rules: Rules
    coming: tuple[tuple[Reservation, frozenset[str]], ...]
    now: float
    limits: tuple[LimitUse, ...] = ()
    release: tuple[int, int] | None = None


def gate(scene: Scene, shape: Shape, possible: int) -> list[tuple[str, bool]]:
    """What forbids the shape in this partition, whatever its nodes do, and whether waiting cannot help."""
    part, why = scene.partition, []
    if part.state != "UP":
        why.append((f"Partition {part.name} is {part.state}.", False))
    if scene.rules.viewer is not None and (verdict := access(part, scene.rules.viewer)).allowed is False:
        why.append((verdict.why, True))
    if shape.time_limit and part.max_time and shape.time_limit > part.max_time:
        why.append((f"The time limit is over the {format_duration(part.max_time)} that the partition allows.", True))
    if part.max_nodes is not None and shape.nodes > part.max_nodes:
        why.append((f"The partition allows {plural_nodes(part.max_nodes)} for one job.", True))
    if possible < shape.nodes:
        only = f"Only {plural_nodes(possible)}" if possible else "No node"
        needed = f", {shape.nodes} {are(shape.nodes)} needed" if possible else ""
        why.append((f"{only} could ever hold this shape{needed}.", True))
    if not possible and scene.nodes:
        why.append((_largest(scene, shape), True))
    if refusal := _too_few_cpus(scene, shape):
        why.append((refusal, True))
    return [*why, *exceeded(scene.limits, demand_of(scene, shape))]


def _too_few_cpus(scene: Scene, shape: Shape) -> str:
    """20.11 refuses a job whose tasks have fewer CPUs than DefCpuPerGPU gives; 22.05 does not (both tried)."""
    least = shape.gpus_per_node * (scene.partition.default_cpus_per_gpu or 0)
    if scene.release is None or scene.release >= (21, 8) or shape.ntasks_per_node * (shape.cpus_per_task or 1) >= least:
        return ""
    return f"This release of Slurm refuses fewer CPUs than the partition's default for the GPUs, {least} per node here."


def _largest(scene: Scene, shape: Shape) -> str:
    """What the partition's nodes have at most, each by itself, of what one node would need."""
    gpus = max(sum(n for kind, n in node.gpus.items() if shape.gpu_type in (None, kind)) for node in scene.nodes)
    cpus = max(node.cpus or 0 for node in scene.nodes)
    most = scene.partition.max_cpus_per_node
    memory = max(node.memory or 0 for node in scene.nodes)
    kind = f" ({shape.gpu_type})" if shape.gpu_type else ""
    has = f"{gpus} GPUs{kind}, {cpus if most is None else min(most, cpus)} CPUs, {size(memory)} of memory"
    return f"One node has at most: {has}."


def over_limits(scene: Scene, shape: Shape) -> bool:
    """Whether a limit of an account or QOS keeps the shape from starting."""
    return bool(exceeded(scene.limits, demand_of(scene, shape)))


def demand_of(scene: Scene, shape: Shape) -> Demand:
    """What the limits count of a shape, with the defaults of the partition."""
    part = scene.partition
    cpus = min((shape.cpus_on(node, part, scene.rules) for node in scene.nodes), default=None)
    default = shape.memory is not None or part.default_mem_per_cpu or part.default_mem_per_node
    default = default or (part.default_mem_per_gpu and shape.gpus_per_node)
    memory = min((shape.memory_on(node, part, cpus) for node in scene.nodes if cpus), default=None) if default else None
    return Demand(
        nodes=shape.nodes,
        gpus=shape.gpus_per_node,
        gpu_type=shape.gpu_type,
        cpus=cpus,
        memory=memory,
        minutes=_minutes(shape, scene),
    )


def _minutes(shape: Shape, scene: Scene) -> int | None:
    """The time limit that the job gets: what it names, the partition's default, or the longest that its account and QOS
    allow, in this order (tried on 22.05).
    """
    part = scene.partition
    limit = shape.limit_in(part)
    found = [] if limit is None else [int(limit.total_seconds() // 60)]
    if shape.time_limit is None and part.default_time is None:
        found += [use.limit for use in scene.limits if use.resource == "minutes"]
    return min(found, default=None)


def could(node: Node, shape: Shape, scene: Scene) -> bool:
    """Whether the empty node would do. GPUs asked for without a type may be of several types."""
    gpus = sum(total for kind, total in node.gpus.items() if shape.gpu_type in (None, kind))
    if gpus < shape.gpus_per_node:
        return False
    cpus = shape.cpus_on(node, scene.partition, scene.rules)
    most = scene.partition.max_cpus_per_node
    if (node.cpus is not None and node.cpus < cpus) or (most is not None and most < cpus):
        return False
    memory = shape.memory_on(node, scene.partition, cpus)
    return not scene.rules.memory or node.memory is None or node.memory >= memory


def shortfall(node: Node, shape: Shape, scene: Scene) -> str:
    """What the node lacks at this moment, without its name; empty when it has room."""
    part, rules = scene.partition, scene.rules
    cause = unavailable_cause(node, [part], rules)
    if cause is not None:
        return f"is {_STATES.get(cause, cause)}"
    free = _free_gpus(node, shape)
    if free is None:
        return "does not tell what is used of it"
    if free < shape.gpus_per_node:
        return f"has {free} of {shape.gpus_per_node} GPUs free"
    with_gpus = f"has {free} GPUs free but " if shape.gpus_per_node else "has "
    if node.cpus_allocated and is_exclusive(node, part, rules):
        return "is shared with no other job, and one runs there"
    cpus = shape.cpus_on(node, part, rules)
    if node.cpus is not None and idle_cpus(node, part, rules) < cpus:
        return f"{with_gpus}only {max(0, idle_cpus(node, part, rules))} of {cpus} CPUs"
    if rules.memory and node.memory is not None:
        left = node.memory - (node.memory_allocated or 0)
        if left < shape.memory_on(node, part, cpus):
            return f"{with_gpus}{'no' if left <= 0 else f'only {size(left)} of'} memory left"
    return _reservation_ahead(node, shape, cpus, scene)


def starts_now(scene: Scene, shape: Shape) -> bool:
    """Whether nothing that is known keeps the shape from starting in the scene's partition."""
    possible = [node for node in scene.nodes if could(node, shape, scene)]
    if gate(scene, shape, len(possible)):
        return False
    return sum(1 for node in possible if not shortfall(node, shape, scene)) >= shape.nodes


def _free_gpus(node: Node, shape: Shape) -> int | None:
    """Free GPUs of the type, or of all types where none is asked for; None when the use is unknown."""
    used = node.gpus_used
    if used is None:
        return None if shape.gpus_per_node else 0
    drained = node.gpus_drained
    return sum(
        total - used[kind] - drained[kind] for kind, total in node.gpus.items() if shape.gpu_type in (None, kind)
    )


def _reservation_ahead(node: Node, shape: Shape, cpus: int, scene: Scene) -> str:
    limit = shape.limit_in(scene.partition)
    first = first_in_the_way(node, cpus, scene)
    if first is None or first.start is None:
        return ""
    if limit is not None and scene.now + limit.total_seconds() <= first.start.timestamp():
        return ""
    return f"is kept by reservation {first.name} from {_clock(first.start)} on"


def first_in_the_way(node: Node, cpus: int, scene: Scene) -> Reservation | None:
    """The first reservation to come that leaves no room for `cpus` on the node, whoever may use it.

    Its own users are kept out too, unless they name it: tried on 22.05, with FLEX and MAGNETIC as well.
    """
    cores = scene.rules.reserved_cores.get(node.name, frozenset[int]())
    for reservation, names in scene.coming:
        if node.name in reservation.cores:
            cores |= reservation.cores[node.name]
            rules = dataclasses.replace(scene.rules, reserved_cores={node.name: cores})
            if node.cpus is not None and idle_cpus(node, scene.partition, rules) < cpus:
                return reservation
        elif node.name in names:
            return reservation
    return None


def plural_nodes(count: int) -> str:
    """`1 node`, `4 nodes`."""
    return "1 node" if count == 1 else f"{count} nodes"


def are(count: int) -> str:
    """The verb after a number."""
    return "is" if count == 1 else "are"


def size(mib: int) -> str:
    """MiB as --mem takes it, in whole G rounded down where there are some."""
    return f"{mib // 1024}G" if mib >= 1024 else f"{mib}M"


def _clock(moment: datetime) -> str:
    return moment.astimezone().strftime("%b %d %H:%M")
