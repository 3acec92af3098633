"""fit: does a shape start at this moment, where, and if not, what is missing."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from console import plain
from console.commands.common import NO, OK, UNREACHABLE, USAGE, print_json
from console.tables import complain, out, say
from console.text import clock, plural, safe
from jobs.sbatch import parse_verdict
from jobs.slurm import commands
from jobs.slurm.clock import wall_clock
from jobs.slurm.cluster import Cluster
from jobs.slurm.fit import Placement, other_types, placements, room
from jobs.slurm.run import Runner, SlurmError
from jobs.slurm.shape import UNLIMITED, Shape
from jobs.slurm.tres import is_mig
from jobs.values import duration, mebibytes

MOST_QUESTIONS = 5
"""How often sbatch --test-only is asked; each counts as a submission for the controller."""
_SOON = 60.0
"""Seconds."""
V = TypeVar("V")
Estimates = dict[str, datetime | None]


def fit(args: argparse.Namespace) -> int:
    """0 when some partition would start the shape at this moment, as far as can be told. Raises SlurmError."""
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
    if snapshot.limits is not None and (hidden := snapshot.limits.hidden(shape.account)):
        complain(hidden)
    if any((snapshot.jobs.problem, snapshot.nodes.problem, snapshot.partitions.problem)):
        return UNREACHABLE
    known = {part.name for part in snapshot.partitions.records}
    unknown = [name for name in (args.partition or "").split(",") if name and name not in known]
    if unknown:
        complain(f"There is no partition {unknown[0]}.")
        return NO
    kinds = sorted({kind for node in snapshot.nodes.records for kind in node.gpus if kind})
    if shape.gpu_type is not None and shape.gpu_type not in kinds:
        complain(f"There is no GPU type {shape.gpu_type} here; there are {', '.join(kinds) or 'none with a name'}.")
        return NO
    places = placements(snapshot, shape, args.partition)
    estimates = {} if args.no_ask or runner.replay_of is not None else _ask(runner, shape, places[:MOST_QUESTIONS])
    others = other_types(snapshot, shape)
    if args.json:
        print_json(plain.fit_data(shape, places, estimates, others))
    else:
        _print(shape, places, others, estimates, color=args.color)
    return OK if any(_surely(place, estimates) for place in places) else NO


def _shape(args: argparse.Namespace) -> Shape:
    """The shape that the options mean. Raises ValueError with a sentence."""
    least = (args.nodes, args.ntasks_per_node or 1, 1 if args.cpus_per_task is None else args.cpus_per_task)
    if min(*least) < 1 or args.ntasks_per_node == 0 or args.gpus_per_node < 0:
        raise ValueError("-N, --ntasks-per-node and --cpus-per-task begin at 1, --gpus-per-node at 0.")
    for name in ("gpu_type", "partition", "account", "qos"):
        if getattr(args, name) == "":
            raise ValueError(f"--{name.replace('_', '-')} needs a name.")
    return Shape(
        nodes=args.nodes,
        gpus_per_node=args.gpus_per_node,
        gpu_type=args.gpu_type,
        ntasks_per_node=args.ntasks_per_node or max(1, args.gpus_per_node),
        cpus_per_task=args.cpus_per_task,
        memory=_option("--mem", args.mem, mebibytes),
        time_limit=_option("--time", args.time, _time_limit),
        account=args.account,
        qos=args.qos,
    )


def _option(name: str, text: str | None, read: Callable[[str], V]) -> V | None:
    """An option's value; a rule that it breaks is told with its name."""
    try:
        return None if text is None else read(text)
    except ValueError as error:
        raise ValueError(f"{name} {text} {error}.") from None


def _time_limit(text: str) -> timedelta:
    return UNLIMITED if text.upper() in ("UNLIMITED", "INFINITE") else duration(text)


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


def _surely(place: Placement, estimates: Estimates) -> bool:
    """Whether the shape starts now: there is room, and nobody waits ahead or the controller itself says so."""
    start = estimates.get(place.partition.name)
    soon = start is not None and start.timestamp() - wall_clock() < _SOON
    return place.starts_now and (soon or not place.ahead)


def _print(
    shape: Shape, places: Sequence[Placement], others: Sequence[Placement], estimates: Estimates, *, color: bool
) -> None:
    """The answer in a line, then each partition with what is missing and what would help."""
    console = out(color=color)
    say(console, safe(_headline(shape, places, estimates)), "bold")
    for place in places:
        verdict, style = ("starts now", "green") if _surely(place, estimates) else ("would wait", "yellow")
        if place.never:
            verdict, style = "never starts", "red"
        elif place.starts_now and style == "yellow":
            verdict = "has room, with others ahead"
        gpu_type = f" ({place.gpu_type})" if place.gpu_type and place.gpu_type != place.partition.name else ""
        say(console, safe(f"{place.partition.name}{gpu_type}: {verdict}"), f"bold {style}")
        enough = f"{room(place.fitting, place.possible)}, {place.nodes_needed} needed." if place.starts_now else ""
        # With others ahead, a smaller wish has room and no more.
        levers = [text.replace("it starts now", "there is room") if place.ahead else text for text in place.levers]
        for line in (enough, *place.why, *levers, *place.notes, _estimate(place, estimates)):
            if line:
                say(console, safe(line), indent=2)
    if not any(place.starts_now for place in places):
        by_type: dict[str | None, list[str]] = {}
        for place in others:
            by_type.setdefault(place.gpu_type, []).append(place.partition.name)
        for kind, names in by_type.items():
            mig = " These are MIG slices." if is_mig(kind) else ""
            say(console, safe(f"With --gpu-type={kind} there is room in {', '.join(names)}.{mig}"), "bold")


def _headline(shape: Shape, places: Sequence[Placement], estimates: Estimates) -> str:
    """Yes, perhaps or no, in a line."""
    wish = _shape_words(shape)
    now = [place.partition.name for place in places if _surely(place, estimates)]
    if now:
        return f"Yes. {wish} would start now in {_partitions(now)}."
    behind = [place.partition.name for place in places if place.starts_now]
    if behind:
        return f"Perhaps. There is room for {wish} in {_partitions(behind)}, but other jobs wait there already."
    ever = any(place.possible for place in places)
    return f"No. {wish} would start nowhere now." if ever else f"No. No partition could ever hold {wish}."


def _partitions(names: Sequence[str]) -> str:
    return f"partition{'s' if len(names) > 1 else ''} {', '.join(names)}"


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
