"""Does a shape start at this moment, in which partitions, on how many nodes, and if not, what exactly is missing."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from jobs.slurm import hostlist
from jobs.slurm.access import access, may_use
from jobs.slurm.availability import idle_cpus, is_exclusive, unavailable_cause
from jobs.slurm.records import Node, Partition, Reservation
from jobs.slurm.rules import Rules, rules_of
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Snapshot
from jobs.slurm.times import format_duration

_NAMED = 3
"""How many nodes of one shortfall are called by name."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer for one partition. `possible` nodes could ever hold the shape, `fitting` ones can at this moment.

    `why` says what keeps it from starting, `levers` what would let it start, `notes` what else matters. `never` means
    that waiting does not help.
    """

    partition: Partition
    gpu_type: str | None
    nodes_needed: int
    fitting: int
    possible: int
    why: tuple[str, ...] = ()
    levers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    never: bool = False

    @property
    def starts_now(self) -> bool:
        """Whether nothing that is known keeps it from starting."""
        return not self.why


@dataclass(frozen=True, slots=True)
class _Scene:
    """What all questions about one partition share."""

    partition: Partition
    nodes: tuple[Node, ...]
    rules: Rules
    coming: tuple[Reservation, ...]
    now: float


def placements(
    snapshot: Snapshot, shape: Shape, partition: str | None = None, now: float | None = None
) -> list[Placement]:
    """The answer for every partition that could ever hold the shape, those that start it first."""
    now = time.time() if now is None else now
    found = [_place(scene, shape, snapshot) for scene in _scenes(snapshot, partition, now)]
    known = [place for place in found if place.possible or partition]
    return sorted(known, key=lambda place: (not place.starts_now, -place.fitting))


def nodes_fitting(
    snapshot: Snapshot, partition: str | None, shape: Shape, now: float | None = None
) -> Placement | None:
    """The answer for one partition, the site's default one without a name; None when it is unknown."""
    default = next((part.name for part in snapshot.partitions.records if part.is_default), None)
    wanted = partition or default
    if wanted is None:
        return None
    for scene in _scenes(snapshot, wanted, time.time() if now is None else now):
        return _place(scene, shape, snapshot)
    return None


def _scenes(snapshot: Snapshot, wanted: str | None, now: float) -> Iterable[_Scene]:
    rules = rules_of(snapshot, now)
    coming = tuple(r for r in snapshot.reservations.records if r.start is not None and r.start.timestamp() > now)
    for part in snapshot.partitions.records:
        if wanted is None or part.name == wanted:
            nodes = tuple(node for node in snapshot.nodes.records if part.name in node.partitions)
            yield _Scene(part, nodes, rules, coming, now)


def _place(scene: _Scene, shape: Shape, snapshot: Snapshot) -> Placement:
    part = scene.partition
    possible = [node for node in scene.nodes if _could(node, shape, scene)]
    missing = {node.name: _shortfall(node, shape, scene) for node in possible}
    fitting = sum(1 for text in missing.values() if not text)
    why = [*_gate(scene, shape, len(possible))]
    never = bool(why) and part.state == "UP"
    if not why and fitting < shape.nodes:
        why.append(_sentence(shape, missing, len(possible)))
    levers = _levers(scene, shape, possible) if why else ()
    ahead = sum(1 for job in snapshot.jobs.records if job.state == "PENDING" and part.name in job.partition.split(",")
                and job.reason in ("Resources", "Priority"))  # fmt: skip
    notes = (
        f"{ahead} jobs wait ahead for nodes of this partition; yours starts before them only where it delays none.",
    )
    gpu_type = shape.gpu_type or _only_type(possible)
    counts = (shape.nodes, fitting, len(possible))
    return Placement(part, gpu_type, *counts, tuple(why), levers, notes if ahead else (), never)


def _gate(scene: _Scene, shape: Shape, possible: int) -> list[str]:
    """What forbids the shape in this partition, whatever its nodes do."""
    part, why = scene.partition, []
    if part.state != "UP":
        why.append(f"Partition {part.name} is {part.state}.")
    if scene.rules.viewer is not None and (verdict := access(part, scene.rules.viewer)).allowed is False:
        why.append(verdict.why)
    if shape.time_limit and part.max_time and shape.time_limit > part.max_time:
        why.append(f"The time limit is over the {format_duration(part.max_time)} that the partition allows.")
    if part.max_nodes is not None and shape.nodes > part.max_nodes:
        why.append(f"The partition allows {_nodes(part.max_nodes)} for one job.")
    if possible < shape.nodes:
        why.append(f"Only {_nodes(possible)} could ever hold this shape, {shape.nodes} are needed.")
    return why


def _could(node: Node, shape: Shape, scene: _Scene) -> bool:
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


def _shortfall(node: Node, shape: Shape, scene: _Scene) -> str:
    """What the node lacks at this moment, without its name; empty when it has room."""
    part, rules = scene.partition, scene.rules
    cause = unavailable_cause(node, [part], rules)
    if cause is not None:
        return f"is {cause}" if not cause.startswith(("no ", "use ")) else f"has {cause}"
    free = _free_gpus(node, shape)
    if free is None:
        return "does not tell what is used of it"
    if free < shape.gpus_per_node:
        return f"has {free} of {shape.gpus_per_node} GPUs free"
    with_gpus = f"has {free} GPUs free but " if shape.gpus_per_node else "has "
    if node.cpus_allocated and is_exclusive(node, part, rules):
        return "is shared with no other job, and one runs there"
    cpus = shape.cpus_on(node, part, rules)
    if node.cpus is not None and idle_cpus(node, part) < cpus:
        return f"{with_gpus}only {max(0, idle_cpus(node, part))} of {cpus} CPUs"
    if rules.memory and node.memory is not None:
        left = node.memory - (node.memory_allocated or 0)
        if left < shape.memory_on(node, part, cpus):
            return f"{with_gpus}{'no' if left <= 0 else f'only {left} MiB of'} memory left"
    return _reservation_ahead(node, shape, scene)


def _free_gpus(node: Node, shape: Shape) -> int | None:
    """Free GPUs of the type, or of all types where none is asked for; None when the use is unknown."""
    used = node.gpus_used
    if used is None:
        return None if shape.gpus_per_node else 0
    drained = node.gpus_drained
    return sum(
        total - used[kind] - drained[kind] for kind, total in node.gpus.items() if shape.gpu_type in (None, kind)
    )


def _reservation_ahead(node: Node, shape: Shape, scene: _Scene) -> str:
    limit = shape.limit_in(scene.partition)
    for reservation in _blocking(node, scene):
        assert reservation.start is not None
        if limit is None or scene.now + limit.total_seconds() > reservation.start.timestamp():
            return f"is kept by reservation {reservation.name} from {_clock(reservation.start)} on"
    return ""


def _blocking(node: Node, scene: _Scene) -> list[Reservation]:
    """Reservations to come that will take the node from this person, the earliest first."""
    who = scene.rules.viewer
    found = [
        r
        for r in scene.coming
        if "FLEX" not in r.flags
        and node.name in _names(r)
        and not (who is not None and "MAINT" not in r.flags and may_use(r, who))
    ]
    return sorted(found, key=lambda r: r.start.timestamp() if r.start else 0.0)


def _names(reservation: Reservation) -> list[str]:
    try:
        return hostlist.expand(reservation.node_list)
    except ValueError:
        return []


def _sentence(shape: Shape, missing: dict[str, str], possible: int) -> str:
    """`2 of 4 nodes have room: gpu03 has 4 GPUs free but no memory left; gpu04 is drained.`"""
    fitting = sum(1 for text in missing.values() if not text)
    by_text: dict[str, list[str]] = {}
    for name, text in missing.items():
        if text:
            by_text.setdefault(text, []).append(name)
    parts = []
    for text, names in sorted(by_text.items(), key=lambda item: -len(item[1]))[:4]:
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts.append(f"{', '.join(names[:_NAMED])}{more} {text}")
    return f"{fitting} of {possible} nodes have room, {shape.nodes} are needed: {'; '.join(parts)}."


def _levers(scene: _Scene, shape: Shape, possible: Sequence[Node]) -> tuple[str, ...]:
    """Smaller wishes that would start at this moment in the same partition."""
    found = []
    longest = _longest(scene, shape, possible)
    if longest is not None:
        found.append(f"With a time limit of at most {format_duration(longest)} it starts now.")
    for gpus in range(shape.gpus_per_node - 1, 0, -1):
        if _starts(scene, dataclasses.replace(shape, gpus_per_node=gpus)):
            found.append(f"With {gpus} GPUs per node it starts now.")
            break
    if shape.memory:
        little = dataclasses.replace(shape, memory=1)
        free = sorted((_memory_left(node) for node in possible if not _shortfall(node, little, scene)), reverse=True)
        if len(free) >= shape.nodes and _starts(scene, little):
            found.append(f"With at most {free[shape.nodes - 1]} MiB per node it starts now.")
    for nodes in range(shape.nodes - 1, 0, -1):
        if _starts(scene, dataclasses.replace(shape, nodes=nodes)):
            found.append(f"On {_nodes(nodes)} it starts now.")
            break
    return tuple(found)


def _starts(scene: _Scene, shape: Shape) -> bool:
    possible = [node for node in scene.nodes if _could(node, shape, scene)]
    if _gate(scene, shape, len(possible)):
        return False
    return sum(1 for node in possible if not _shortfall(node, shape, scene)) >= shape.nodes


def _longest(scene: _Scene, shape: Shape, possible: Sequence[Node]) -> timedelta | None:
    """The longest time limit with which the shape starts now, when only time is in the way."""
    part = scene.partition
    short = dataclasses.replace(shape, time_limit=timedelta(minutes=1))
    ends = []
    for node in possible:
        if not _shortfall(node, short, scene):
            starts = [r.start.timestamp() for r in _blocking(node, scene) if r.start]
            ends.append(min(starts, default=float("inf")))
    ends.sort(reverse=True)
    if len(ends) < shape.nodes or _gate(scene, short, len(possible)):
        return None
    seconds = ends[shape.nodes - 1] - scene.now
    most = part.max_time.total_seconds() if part.max_time else float("inf")
    minutes = min(seconds, most) // 60
    wanted = shape.limit_in(part)
    if minutes == float("inf") or minutes < 1 or (wanted is not None and wanted <= timedelta(minutes=minutes)):
        return None
    return timedelta(minutes=minutes)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _memory_left(node: Node) -> int:
    return (node.memory or 0) - (node.memory_allocated or 0)


def _only_type(nodes: Sequence[Node]) -> str | None:
    kinds = {kind for node in nodes for kind in node.gpus}
    return next(iter(kinds)) if len(kinds) == 1 else None


def _clock(moment: datetime) -> str:
    return moment.astimezone().strftime("%b %d %H:%M")
