"""What the subcommands share: exit codes, the cluster, JSON on standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

from console.tables import complain
from console.text import duration, number
from jobs.logs.progress import Progress
from jobs.slurm.cluster import Cluster
from jobs.slurm.run import Runner
from jobs.slurm.snapshot import Snapshot

OK, NO, USAGE, UNREACHABLE, INTERRUPTED = 0, 1, 2, 3, 130
"""Exit codes: yes or done; no; wrong usage; Slurm cannot be asked; Ctrl-C."""


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    json.dump(data, sys.stdout, indent=2)
    print()


def ask(runner: Runner, *, jobs: bool, nodes: bool, mine: bool = False, limits: bool = False) -> tuple[Snapshot, bool]:
    """A picture of the cluster, and whether all that was asked for came. Problems are told on standard error."""
    snapshot = Cluster(runner).refresh(jobs=jobs, nodes=nodes, mine=mine, limits=limits)
    for problem in snapshot.problems:
        complain(problem)
    problems = (snapshot.jobs.problem, snapshot.nodes.problem, snapshot.partitions.problem)
    return snapshot, not any(problems)


def progress_facts(found: Progress) -> list[tuple[str, str]]:
    """How far a run is, for people: name and value pairs."""
    step = "unknown" if found.step is None else str(found.step) + (f" of {found.total}" if found.total else "")
    share = f", {found.fraction:.1%}" if found.fraction is not None else ""
    facts = [
        ("step", step + share),
        ("loss", "unknown" if found.loss is None else number(found.loss)),
        ("rate", "unknown" if found.rate is None else f"{number(found.rate)} {found.rate_unit or ''}".rstrip()),
    ]
    if found.ended:
        code = "unknown" if found.ended.code is None else str(found.ended.code)
        facts.append(("ended", f"{found.ended.why}, exit code {code}"))
        if found.ended.text:
            facts.append(("because", found.ended.text))
    elif found.eta_s is not None:
        facts.append(("ETA", duration(found.eta_s)))
    return facts
