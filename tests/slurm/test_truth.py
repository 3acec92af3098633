"""Proof against the scheduler: what `fit` and `usable` predict is tried by submitting, on clusters of random make.

SLURMCONSOLE_TRUTH_CASES sets how many shapes are tried (default 30), SLURMCONSOLE_TRUTH_SEED with which cluster they
begin (default 0).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from helpers import job_state, settled, slurm, wait_until
from random_cluster import RandomCluster

from jobs.slurm import commands
from jobs.slurm.availability import availability
from jobs.slurm.cluster import Cluster
from jobs.slurm.fit import nodes_fitting
from jobs.slurm.run import Runner
from jobs.slurm.shape import Shape

pytestmark = pytest.mark.slurm
CASES = int(os.environ.get("SLURMCONSOLE_TRUTH_CASES", "30"))
SEED = int(os.environ.get("SLURMCONSOLE_TRUTH_SEED", "0"))
SHAPES_PER_CLUSTER = 15
TYPES = ("a100", "h100", "1g.10gb")
STARTED = ("RUNNING", "COMPLETED", "COMPLETING", "CONFIGURING")
Env = Mapping[str, str]


def background(env: Env, cluster: RandomCluster, chance: random.Random, cwd: Path) -> None:
    """Jobs that eat GPUs, CPUs or memory, nodes drained and down, reservations; all that could start has started."""
    for name, kinds in cluster.nodes.items():
        what = chance.choice(("idle", "idle", "gpus", "gpus", "cpus", "memory", "drain", "down"))
        kind = chance.choice([*kinds, None])
        gpus = f"--gres=gpu:{kind + ':' if kind else ''}{chance.randint(1, kinds[kind])}" if kind is not None else "-c4"
        options = {
            "gpus": [gpus],
            "cpus": [f"-c{chance.randint(24, 32)}", "--mem=1000"],
            "memory": [f"--mem={chance.randint(60_000, 127_000)}"],
        }
        if what in ("drain", "down"):
            slurm(env, "scontrol", "update", f"NodeName={name}", f"State={what.upper()}", "Reason=test")
        elif what != "idle":
            slurm(env, "sbatch", "-p", "all", "-w", name, "-t", "60", "-o", "/dev/null", *options[what],
                  "--wrap", "sleep 3600", cwd=cwd)  # fmt: skip
    wait_until(lambda: not slurm(env, "squeue", "-h", "-t", "PD", "-o", "%i"), 60, "the background runs")
    wait_until(lambda: settled(env), 60, "no node is planned for anything")
    for index in range(chance.choice((0, 1, 1, 2))):
        nodes = ",".join(chance.sample(sorted(cluster.nodes), chance.randint(1, 2)))
        flags = chance.choice(("IGNORE_JOBS", "IGNORE_JOBS", "IGNORE_JOBS,MAINT"))
        slurm(env, "scontrol", "create", "reservation", f"ReservationName=kept{index}", "Duration=60",
              f"StartTime=now{chance.choice(('', '+40minutes'))}", f"Nodes={nodes}",
              f"Users={chance.choice(('daemon', 'root'))}", f"Flags={flags},OVERLAP")  # fmt: skip


def random_shape(cluster: RandomCluster, chance: random.Random) -> tuple[str, Shape]:
    gpus = chance.choice((0, 1, 1, 2, 3, 4, 8))
    tasks = chance.choice((1, max(1, gpus)))
    return chance.choice(cluster.partitions), Shape(
        nodes=chance.choice((1, 1, 1, 2, 3)),
        gpus_per_node=gpus,
        gpu_type=chance.choice((None, None, *TYPES)) if gpus else None,
        ntasks_per_node=tasks,
        cpus_per_task=chance.choice((None, 1, 2, 8, 30)) if tasks == 1 else chance.choice((None, 1, 2, 4)),
        memory=chance.choice((None, 2_000, 60_000, 100_000)),
        time_limit=timedelta(minutes=chance.choice((5, 25, 35, 60, 1500))),
    )


def really_starts(env: Env, partition: str, shape: Shape, cwd: Path) -> bool:
    """Submit a job of this shape and see whether Slurm starts it; a refusal is a no. The job is cancelled."""
    argv = [word for word in commands.sbatch_test(shape, partition) if word not in ("--test-only", "--wrap=true")]
    answer = Runner(env).run([*argv, "--parsable", "-o", "/dev/null", "--wrap=sleep 600"], cwd=cwd)
    if answer.returncode:
        return False
    job_id = answer.text.strip()
    deadline = time.monotonic() + 4
    try:
        while time.monotonic() < deadline:
            if job_state(env, job_id) in STARTED:
                return True
            time.sleep(0.2)
        return False
    finally:
        slurm(env, "scancel", job_id)
        wait_until(lambda: job_state(env, job_id) == "CANCELLED", 30, f"job {job_id} is gone")
        wait_until(lambda: settled(env), 30, "its nodes are free again")


@pytest.mark.parametrize("seed", range(SEED, SEED + -(-CASES // SHAPES_PER_CLUSTER)))
def test_what_fit_predicts_is_what_slurm_does(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cluster = RandomCluster(chance)
    wrong = []
    with cluster.running(tmp_path / "sandbox") as env:
        background(env, cluster, chance, tmp_path)
        for _ in range(min(SHAPES_PER_CLUSTER, CASES)):
            partition, shape = random_shape(cluster, chance)
            place = nodes_fitting(Cluster(Runner(env)).refresh(), partition, shape)
            assert place is not None
            if really_starts(env, partition, shape, tmp_path) != place.starts_now:
                wrong.append((partition, shape, place.starts_now, place.why))
    assert wrong == []


@pytest.mark.parametrize("seed", [SEED + 101, SEED + 102])
def test_one_gpu_jobs_fill_exactly_what_is_usable(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    cluster = RandomCluster(chance)
    with cluster.running(tmp_path / "sandbox") as env:
        background(env, cluster, chance, tmp_path)
        (whole,) = (part for part in availability(Cluster(Runner(env)).refresh()).partitions
                    if part.partition.name == "all")  # fmt: skip
        for count in whole.gpu_types:
            if count.gpu_type:
                fill(env, count.gpu_type, count.usable, tmp_path)


def fill(env: Env, kind: str, usable: int, cwd: Path) -> None:
    """More one-GPU jobs than there are GPUs: exactly `usable` of them run, and go on doing so."""
    array = slurm(env, "sbatch", "--parsable", "--array=0-39", "-p", "all", f"--gres=gpu:{kind}:1", "-t", "5",
                  "-o", "/dev/null", "--wrap", "sleep 600", cwd=cwd).strip()  # fmt: skip

    def running() -> int:
        return len(slurm(env, "squeue", "-h", "-r", "-t", "R", "-j", array, "-o", "%i").split())

    wait_until(lambda: running() >= usable, 60, f"{usable} jobs of {kind} run")
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        assert running() == usable, kind
        time.sleep(1)
    slurm(env, "scancel", array)
    wait_until(lambda: not running() and settled(env), 60, f"the jobs of {kind} are gone")
