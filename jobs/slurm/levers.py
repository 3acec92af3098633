"""Smaller wishes: what would let a shape start at this moment in the same partition."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from datetime import timedelta

from jobs.slurm.limit_check import longest
from jobs.slurm.records import Node
from jobs.slurm.room import Scene, demand_of, first_in_the_way, gate, plural_nodes, shortfall, size, starts_now
from jobs.slurm.shape import Shape
from jobs.slurm.times import format_duration

_MOST_MINUTES = 2**32
"""Slurm's own bound of a time limit."""


def levers(scene: Scene, shape: Shape, possible: Sequence[Node]) -> tuple[str, ...]:
    """Smaller wishes that would start at this moment in the same partition."""
    found = []
    longest = _longest(scene, shape, possible)
    if longest is not None:
        found.append(f"With a time limit of at most {format_duration(longest)} it starts now.")
    largest = max((sum(node.gpus.values()) for node in scene.nodes), default=0)
    for gpus in range(min(shape.gpus_per_node - 1, largest), 0, -1):
        if starts_now(scene, _with_gpus(shape, gpus)):
            found.append(f"With {gpus} {'GPU' if gpus == 1 else 'GPUs'} per node it starts now.")
            break
    if shape.memory:
        little = dataclasses.replace(shape, memory=1)
        free = sorted((_memory_left(node) for node in possible if not shortfall(node, little, scene)), reverse=True)
        if len(free) >= shape.nodes and starts_now(scene, little):
            found.append(f"With --mem={size(free[shape.nodes - 1])} it starts now.")
    fitting = sum(1 for node in possible if not shortfall(node, shape, scene))
    most = min(fitting, shape.nodes - 1, scene.partition.max_nodes or fitting)
    if most > 0 and starts_now(scene, dataclasses.replace(shape, nodes=most)):
        found.append(f"On {plural_nodes(most)} it starts now.")
    return tuple(found)


def _longest(scene: Scene, shape: Shape, possible: Sequence[Node]) -> timedelta | None:
    """The longest time limit with which the shape starts now, when only time is in the way."""
    part = scene.partition
    short = dataclasses.replace(shape, time_limit=timedelta(minutes=1))
    ends = []
    for node in possible:
        if not shortfall(node, short, scene):
            first = first_in_the_way(node, short.cpus_on(node, part, scene.rules), scene)
            ends.append(first.start.timestamp() if first and first.start else math.inf)
    ends.sort(reverse=True)
    if len(ends) < shape.nodes or gate(scene, short, len(possible)):
        return None
    seconds = ends[shape.nodes - 1] - scene.now
    allowed = longest(scene.limits, demand_of(scene, shape)) * 60.0
    most = min(seconds, allowed, part.max_time.total_seconds() if part.max_time else math.inf)
    wanted = shape.limit_in(part)
    minutes = 0 if math.isinf(most) else int(min(most // 60, _MOST_MINUTES))
    if minutes < 1 or (wanted is not None and wanted <= timedelta(minutes=minutes)):
        return None
    return timedelta(minutes=minutes)


def _with_gpus(shape: Shape, gpus: int) -> Shape:
    """The shape with fewer GPUs, and with a task fewer for each where every GPU had one."""
    tasks = gpus if shape.ntasks_per_node == shape.gpus_per_node else shape.ntasks_per_node
    return dataclasses.replace(shape, gpus_per_node=gpus, ntasks_per_node=tasks)


def _memory_left(node: Node) -> int:
    return (node.memory or 0) - (node.memory_allocated or 0)
