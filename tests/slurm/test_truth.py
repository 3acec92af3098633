"""Proof against the scheduler: what `fit` and `usable` predict is tried by submitting.

SLURMCONSOLE_TRUTH_CASES sets how many shapes are tried (default 30).
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from helpers import job_state, settled, slurm, wait_until

from jobs.slurm import commands
from jobs.slurm.availability import availability
from jobs.slurm.cluster import Cluster
from jobs.slurm.fit import nodes_fitting
from jobs.slurm.run import Runner
from jobs.slurm.shape import Shape

pytestmark = pytest.mark.slurm
CASES = int(os.environ.get("SLURMCONSOLE_TRUTH_CASES", "30"))
SHAPES_PER_SCENE = 10
PARTITIONS = ("a100", "h100", "cpu", "debug", "all")
STARTED = ("RUNNING", "COMPLETED", "COMPLETING", "CONFIGURING")
Env = Mapping[str, str]


def cancel_all(env: Env) -> None:
    slurm(env, "scancel", "--user", slurm(env, "id", "-un").strip())
    wait_until(lambda: not slurm(env, "squeue", "-h", "-o", "%i"), 60, "the queue is empty")


@pytest.fixture
def scene(slurm_env: Env) -> Iterator[Env]:
    """The session's cluster, emptied before, and afterwards as it was."""
    cancel_all(slurm_env)
    yield slurm_env
    cancel_all(slurm_env)
    for name in set(slurm(slurm_env, "sinfo", "-h", "-N", "-t", "drain", "-o", "%N").split()):
        slurm(slurm_env, "scontrol", "update", f"NodeName={name}", "State=RESUME")
    if "ReservationName=soon " in slurm(slurm_env, "scontrol", "show", "reservation"):
        slurm(slurm_env, "scontrol", "delete", "ReservationName=soon")
    wait_until(lambda: "drain" not in slurm(slurm_env, "sinfo", "-h", "-o", "%T"), 30, "all nodes are back")


def background(env: Env, chance: random.Random, cwd: Path) -> None:
    """Jobs that eat GPUs, CPUs or memory, drained nodes, and a reservation to come; all that starts has started."""
    nodes = slurm(env, "sinfo", "-h", "-N", "-o", "%N").split()
    for name in sorted(set(nodes)):
        kind = chance.choice(("idle", "gpus", "cpus", "memory", "drain", "idle"))
        gpus = 8 if name in ("gpu05", "gpu06") else 4
        options = {
            "gpus": [f"--gpus-per-node={chance.randint(1, gpus)}"] if name.startswith("gpu") else ["-c4"],
            "cpus": [f"-c{chance.randint(56, 64)}", "--mem=1000"],
            "memory": [f"--mem={chance.randint(440_000, 512_000)}"],
        }
        if kind == "drain":
            slurm(env, "scontrol", "update", f"NodeName={name}", "State=DRAIN", "Reason=test")
        elif kind != "idle":
            slurm(env, "sbatch", "-p", "all", "-w", name, "-t", "60", "-o", "/dev/null", *options[kind],
                  "--wrap", "sleep 3600", cwd=cwd)  # fmt: skip
    wait_until(lambda: not slurm(env, "squeue", "-h", "-t", "PD", "-o", "%i"), 60, "the background runs")
    wait_until(lambda: settled(env), 60, "no node is planned for anything")
    if chance.random() < 0.5:
        slurm(env, "scontrol", "create", "reservation", "ReservationName=soon", "StartTime=now+40minutes",
              "Duration=60", "Nodes=gpu[02-03],gpu05", "Users=daemon", "Flags=IGNORE_JOBS")  # fmt: skip


def random_shape(chance: random.Random) -> tuple[str, Shape]:
    partition = chance.choice(PARTITIONS)
    gpus = 0 if partition == "cpu" else chance.choice((0, 1, 2, 3, 4, 8))
    tasks = chance.choice((1, max(1, gpus)))
    return partition, Shape(
        nodes=chance.choice((1, 1, 2, 3)),
        gpus_per_node=gpus,
        gpu_type=chance.choice((None, "a100", "h100")) if gpus and partition == "all" else None,
        ntasks_per_node=tasks,
        cpus_per_task=chance.choice((1, 2, 8, 30)) if tasks == 1 else chance.choice((1, 2, 4)),
        memory=chance.choice((None, 2_000, 60_000, 300_000)),
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


@pytest.mark.parametrize("seed", range(-(-CASES // SHAPES_PER_SCENE)))
def test_what_fit_predicts_is_what_slurm_does(scene: Env, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    background(scene, chance, tmp_path)
    wrong = []
    for _ in range(SHAPES_PER_SCENE):
        partition, shape = random_shape(chance)
        snapshot = Cluster(Runner(scene)).refresh()
        place = nodes_fitting(snapshot, partition, shape)
        assert place is not None
        if really_starts(scene, partition, shape, tmp_path) != place.starts_now:
            wrong.append((partition, shape, place.starts_now, place.why))
    assert wrong == []


@pytest.mark.parametrize("seed", [101])
def test_one_gpu_jobs_fill_exactly_what_is_usable(scene: Env, tmp_path: Path, seed: int) -> None:
    background(scene, random.Random(seed), tmp_path)
    before = {count.gpu_type: count for count in availability(Cluster(Runner(scene)).refresh()).gpu_types}
    for kind in ("a100", "h100"):
        slurm(scene, "sbatch", "--array=0-19", "-p", "all", f"--gres=gpu:{kind}:1", "-t", "5", "-J", f"fill-{kind}",
              "-o", "/dev/null", "--wrap", "sleep 600", cwd=tmp_path)  # fmt: skip

    def running(kind: str) -> int:
        return len(slurm(scene, "squeue", "-h", "-r", "-t", "R", "-n", f"fill-{kind}", "-o", "%i").split())

    for kind, count in before.items():
        wait_until(lambda: running(kind) >= count.usable, 60, f"{count.usable} jobs of {kind} run")  # noqa: B023
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        assert {kind: running(str(kind)) for kind in before} == {kind: count.usable for kind, count in before.items()}
        time.sleep(1)
