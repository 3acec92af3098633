"""What the subcommands share: exit codes, the cluster, JSON on standard output."""

from __future__ import annotations

import json
import sys
from typing import Any

from console.tables import complain
from jobs.slurm.cluster import Cluster
from jobs.slurm.run import Runner
from jobs.slurm.snapshot import Snapshot

OK, NO, USAGE, UNREACHABLE = 0, 1, 2, 3
"""Exit codes: yes or done; no; wrong usage; Slurm cannot be asked."""


def print_json(data: Any) -> None:
    """One JSON document on standard output."""
    json.dump(data, sys.stdout, indent=2)
    print()


def ask(*, jobs: bool, nodes: bool, mine: bool = False) -> tuple[Snapshot, bool]:
    """A picture of the cluster, and whether all that was asked for came. Problems are told on standard error."""
    snapshot = Cluster(Runner()).refresh(jobs=jobs, nodes=nodes, mine=mine)
    for problem in snapshot.problems:
        complain(problem)
    problems = (snapshot.jobs.problem, snapshot.nodes.problem, snapshot.partitions.problem)
    return snapshot, not any(problems)
