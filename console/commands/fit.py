"""fit: does a shape start at this moment, where, and if not, what is missing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime

from console import plain
from console.commands.common import NO, OK, UNREACHABLE, USAGE, print_json
from console.tables import complain, out
from console.text import clock, plural, safe
from jobs.sbatch import parse_verdict
from jobs.slurm import commands
from jobs.slurm.clock import wall_clock
from jobs.slurm.cluster import Cluster
from jobs.slurm.fit import Placement, other_types, placements, room
from jobs.slurm.run import Runner, SlurmError
from jobs.slurm.shape import Shape
from jobs.slurm.tres import parse_memory
from jobs.values import duration

MOST_QUESTIONS = 5
"""How often sbatch --test-only is asked; each counts as a submission for the controller."""
_SOON = 60.0
"""Seconds."""
Estimates = dict[str, datetime | None]


def fit(args: argparse.Namespace) -> int:
    """0 when some partition would start the shape at this moment. Raises SlurmError."""
    try:
        shape = _shape(args)
    except ValueError as error:
        complain(str(error))
        return USAGE
    runner: Runner = args.runner
    snapshot = Cluster(runner).refresh(jobs=True, nodes=True, limits=True)
    for problem in snapshot.problems:
        complain(problem)
    if snapshot.limits_problem:
        complain(f"your limits are not known and not counted: {snapshot.limits_problem}")
    if any((snapshot.jobs.problem, snapshot.nodes.problem, snapshot.partitions.problem)):
        return UNREACHABLE
    if args.partition and args.partition not in {part.name for part in snapshot.partitions.records}:
        complain(f"There is no partition {args.partition}.")
        return NO
    places = placements(snapshot, shape, args.partition)
    estimates = {} if args.no_ask or runner.replay_of is not None else _ask(runner, shape, places[:MOST_QUESTIONS])
    others = other_types(snapshot, shape)
    if args.json:
        print_json(plain.fit_data(shape, places, estimates, others))
    else:
        _print(shape, places, others, estimates, color=args.color)
    return OK if any(place.starts_now for place in places) else NO


def _shape(args: argparse.Namespace) -> Shape:
    """The shape that the options mean. Raises ValueError with a sentence."""
    memory = None
    if args.mem is not None:
        memory = parse_memory(args.mem)
        if memory is None:
            raise ValueError(f"--mem {args.mem} is not a size such as 64G.")
    if args.nodes < 1 or args.gpus_per_node < 0 or (args.ntasks_per_node is not None and args.ntasks_per_node < 1):
        raise ValueError("-N and --ntasks-per-node begin at 1, --gpus-per-node at 0.")
    return Shape(
        nodes=args.nodes,
        gpus_per_node=args.gpus_per_node,
        gpu_type=args.gpu_type,
        ntasks_per_node=args.ntasks_per_node or max(1, args.gpus_per_node),
        cpus_per_task=args.cpus_per_task,
        memory=memory,
        time_limit=None if args.time is None else duration(args.time),
        account=args.account,
        qos=args.qos,
    )


def _ask(runner: Runner, shape: Shape, places: Sequence[Placement]) -> Estimates:
    """The controller's own estimate per partition; what it refuses or does not answer is left out."""
    found: Estimates = {}
    for place in places:
        try:
            answer = runner.run(commands.sbatch_test(shape, place.partition.name))
        except SlurmError:
            continue
        if answer.returncode == 0:
            found[place.partition.name] = parse_verdict(answer.error_text).start
    return found


def _print(
    shape: Shape, places: Sequence[Placement], others: Sequence[Placement], estimates: Estimates, *, color: bool
) -> None:
    """The answer in a line, then each partition with what is missing and what would help."""
    console = out(color=color)
    now = [place.partition.name for place in places if place.starts_now]
    if now:
        console.print(safe(f"Yes. {_shape_words(shape)} starts now in {', '.join(now)}."), style="bold", soft_wrap=True)
    elif places:
        console.print(f"No. {_shape_words(shape)} starts nowhere at this moment.", style="bold", soft_wrap=True)
    else:
        console.print(f"No. No partition could ever hold {_shape_words(shape)}.", style="bold", soft_wrap=True)
    for place in places:
        verdict, style = ("starts now", "green") if place.starts_now else ("would wait", "yellow")
        verdict, style = ("never starts", "red") if place.never else (verdict, style)
        gpu_type = f" ({place.gpu_type})" if place.gpu_type and place.gpu_type != place.partition.name else ""
        console.print(f"{safe(place.partition.name + gpu_type)}: {verdict}", style=f"bold {style}", soft_wrap=True)
        enough = f"{room(place.fitting, place.possible)}, {place.nodes_needed} needed." if place.starts_now else ""
        for line in (enough, *place.why, *place.levers, *place.notes, _estimate(place, estimates)):
            if line:
                console.print(f"  {safe(line)}", soft_wrap=True)
    for place in [] if now else others:
        told = f"With --gpu-type={place.gpu_type} it starts now in {place.partition.name}."
        console.print(safe(told), style="bold green", soft_wrap=True)


def _shape_words(shape: Shape) -> str:
    """`2 nodes x 4 GPUs (a100)`."""
    kind = f" ({safe(shape.gpu_type)})" if shape.gpu_type else ""
    gpus = plural(shape.gpus_per_node, "GPU") if shape.gpus_per_node else plural(shape.ntasks_per_node, "task")
    return f"{plural(shape.nodes, 'node')} x {gpus}{kind}"


def _estimate(place: Placement, estimates: Estimates) -> str:
    """What the controller says, and that it says otherwise where it does."""
    start = estimates.get(place.partition.name)
    if start is None:
        return ""
    soon = start.timestamp() - wall_clock() < _SOON
    disagrees = "" if soon == place.starts_now else " That is not what the numbers here say; the controller decides."
    if soon and place.limited:
        disagrees = " It leaves out the limits, at which the job would wait."
    return f"Slurm's estimate: {'now' if soon else clock(start)}.{disagrees}"
