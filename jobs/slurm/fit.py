"""Does a shape start at this moment, in which partitions, on how many nodes, and if not, what exactly is missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from jobs.slurm.access import may_use
from jobs.slurm.clock import wall_clock
from jobs.slurm.cluster import version_tuple
from jobs.slurm.levers import levers
from jobs.slurm.limit_check import only_on_used_nodes
from jobs.slurm.records import Node, Partition
from jobs.slurm.room import Scene, are, could, demand_of, gate, over_limits, plural_nodes, shortfall
from jobs.slurm.rules import nodes_of, rules_of
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Snapshot
from jobs.slurm.tres import is_mig

_MIG_NOTE = "These are MIG slices; before 2026 NCCL could not join two of them in one job."
_USED_NODES_NOTE = "A limit on nodes is reached: it starts only on nodes where jobs that the limit counts run already."
_NAMED = 3
"""How many nodes of one shortfall are called by name."""


@dataclass(frozen=True, slots=True)
class Placement:
    """The answer for one partition. `possible` nodes could ever hold the shape, `fitting` ones can at this moment.

    `why` says what keeps it from starting, `levers` what would let it start, `notes` what else matters. `never` means
    that waiting does not help, `limited` that a limit of an account or QOS is among the reasons;
    `ahead` jobs wait for nodes of the partition already.
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
    limited: bool = False
    ahead: int = 0

    @property
    def starts_now(self) -> bool:
        """Whether nothing that is known keeps it from starting."""
        return not self.why


def placements(
    snapshot: Snapshot, shape: Shape, partition: str | None = None, now: float | None = None
) -> list[Placement]:
    """The answer for every partition that could ever hold the shape, those that start it first; for all partitions
    where none could. `partition` names one, or several with commas, as --partition does.
    """
    now = wall_clock() if now is None else now
    wanted = None if partition is None else partition.split(",")
    found = [_place(scene, shape, snapshot) for scene in _scenes(snapshot, shape, wanted, now)]
    known = [place for place in found if place.possible or partition] or found
    return sorted(known, key=lambda place: (not place.starts_now, _MIG_NOTE in place.notes, -place.fitting))


def nodes_fitting(
    snapshot: Snapshot, partition: str | None, shape: Shape, now: float | None = None
) -> Placement | None:
    """The answer for one partition, the site's default one without a name; None when it is unknown."""
    default = next((part.name for part in snapshot.partitions.records if part.is_default), None)
    wanted = partition or default
    if wanted is None:
        return None
    for scene in _scenes(snapshot, shape, (wanted,), wall_clock() if now is None else now):
        return _place(scene, shape, snapshot)
    return None


def _scenes(snapshot: Snapshot, shape: Shape, wanted: Collection[str] | None, now: float) -> Iterable[Scene]:
    rules = rules_of(snapshot, now)
    starts = ((r.start.timestamp(), r) for r in snapshot.reservations.records if r.start is not None)
    ordered = sorted(starts, key=lambda pair: pair[0])
    coming = tuple((found, frozenset(nodes_of(found))) for start, found in ordered if start > now)
    for part in snapshot.partitions.records:
        if wanted is None or part.name in wanted:
            nodes = tuple(node for node in snapshot.nodes.records if part.name in node.partitions)
            limits = snapshot.limits
            uses = () if limits is None else limits.of_job(part.name, part.qos, shape.account, shape.qos)
            yield Scene(part, nodes, rules, coming, now, uses, version_tuple(snapshot.slurm_version))


def other_types(snapshot: Snapshot, shape: Shape, now: float | None = None) -> list[Placement]:
    """Where the shape would start at this moment with GPUs of another type than it names, by partition."""
    kinds = {kind for node in snapshot.nodes.records for kind in node.gpus if kind not in (None, shape.gpu_type)}
    if shape.gpu_type is None or not shape.gpus_per_node:
        return []
    ordered = sorted(map(str, kinds), key=lambda kind: (is_mig(kind), kind))
    found = (dataclasses.replace(shape, gpu_type=kind) for kind in ordered)
    return [place for other in found for place in placements(snapshot, other, now=now) if place.starts_now]


def _place(scene: Scene, shape: Shape, snapshot: Snapshot) -> Placement:
    part = scene.partition
    possible = [node for node in scene.nodes if could(node, shape, scene)]
    missing = {node.name: shortfall(node, shape, scene) for node in possible}
    fitting = sum(1 for text in missing.values() if not text)
    gates = gate(scene, shape, len(possible))
    why, never = [text for text, _ in gates], any(lasting for _, lasting in gates)
    if not why and fitting < shape.nodes:
        why.append(_sentence(shape, missing, len(possible)))
    wishes = levers(scene, shape, possible) if why else ()
    refusal = snapshot.limits.refusal(part.name, shape.account, shape.qos) if snapshot.limits is not None else ""
    if refusal:
        why, wishes, never = [refusal, *why], (), True
    gpu_type = shape.gpu_type or _only_type(possible)
    counts = (shape.nodes, fitting, len(possible))
    ahead = _ahead(part, snapshot)
    notes = _notes(scene, snapshot, ahead)
    if only_on_used_nodes(scene.limits, demand_of(scene, shape)):
        notes = (_USED_NODES_NOTE, *notes)
    if shape.gpus_per_node and possible and all(is_mig(kind) for node in possible for kind in node.gpus):
        notes = (_MIG_NOTE, *notes)
    return Placement(part, gpu_type, *counts, tuple(why), wishes, notes, never, over_limits(scene, shape), ahead)


def _ahead(part: Partition, snapshot: Snapshot) -> int:
    """How many jobs wait for their turn in the partition."""
    waiting = (
        job for job in snapshot.jobs.records if job.state == "PENDING" and job.reason in ("Resources", "Priority")
    )
    return sum(1 for job in waiting if part.name in job.partition.split(","))


def _notes(scene: Scene, snapshot: Snapshot, ahead: int) -> tuple[str, ...]:
    """Own reservations whose nodes are left out, and how many jobs wait ahead."""
    who, found = scene.rules.viewer, []
    own = {node.name for node in scene.nodes}
    for mine in snapshot.reservations.records:
        if who is None or not mine.active(scene.now) or "MAGNETIC" in mine.flags or not may_use(mine, who):
            continue
        if not own.isdisjoint(nodes_of(mine)):
            found.append(f"Nodes of your reservation {mine.name} are left out: name it with --reservation={mine.name}.")
    if ahead:
        jobs = "1 job waits" if ahead == 1 else f"{ahead} jobs wait"
        found.append(f"{jobs} ahead for nodes of this partition; yours starts before them only where it delays none.")
    return tuple(found)


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
        parts.append(f"{', '.join(names[:_NAMED])}{more} {text if len(names) == 1 else _plural(text)}")
    return f"{room(fitting, possible)}, {shape.nodes} {are(shape.nodes)} needed: {'; '.join(parts)}."


def room(fitting: int, possible: int) -> str:
    """`1 of 4 nodes has room`."""
    return f"{fitting} of {plural_nodes(possible)} {'has' if 1 in (fitting, possible) else 'have'} room"


def _plural(text: str) -> str:
    """The shortfall of one node, said of several."""
    verb, _, rest = text.partition(" ")
    return f"{ {'is': 'are', 'has': 'have', 'does': 'do'}.get(verb, verb) } {rest}"


def _only_type(nodes: Sequence[Node]) -> str | None:
    kinds = {kind for node in nodes for kind in node.gpus}
    return next(iter(kinds)) if len(kinds) == 1 else None
