"""Limits on a live Slurm with accounting: what we say is left is what Slurm lets run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from helpers import job_state, sbatch, settled, slurm, wait_until

from jobs import sandbox
from jobs.sandbox import Layout, NodeGroup
from jobs.sandbox.accounting import user_name
from jobs.sandbox.client import clean_environment
from jobs.sandbox.place import place_at
from jobs.slurm.cluster import Cluster
from jobs.slurm.fit import nodes_fitting
from jobs.slurm.run import Runner
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Snapshot

pytestmark = pytest.mark.slurm

LAYOUT = Layout((NodeGroup("a100", 3, 8),), cpu_nodes=1, accounting=True)
ROOT = Path(__file__).parents[2]
Env = Mapping[str, str]


@pytest.fixture(scope="module")
def cluster_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a sandbox with accounting."""
    directory = tmp_path_factory.mktemp("accounting")
    try:
        sandbox.start(LAYOUT, directory)
        yield clean_environment(place_at(directory)) | {"SLURMCONSOLE_SANDBOX": str(directory)}
    finally:
        sandbox.stop(directory)


@pytest.fixture
def env(cluster_env: dict[str, str]) -> Iterator[dict[str, str]]:
    """The same with an empty queue."""
    yield cluster_env
    slurm(cluster_env, "scancel", "--user", user_name())
    wait_until(lambda: not slurm(cluster_env, "squeue", "-h", "-o", "%i"), 60, "the queue is empty")
    wait_until(lambda: settled(cluster_env), 60, "the nodes are settled")


def command(env: Env, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "console.cli", *argv], env=env, cwd=ROOT, capture_output=True,
                          text=True, check=False)  # fmt: skip


def picture(env: Env) -> Snapshot:
    snapshot = Cluster(Runner(env)).refresh(limits=True)
    assert snapshot.limits_problem == ""
    return snapshot


def reason(env: Env, job_id: str) -> str:
    return slurm(env, "squeue", "-h", "-j", job_id, "-o", "%r").strip()


def submit(env: Env, *options: str) -> str:
    return sbatch(env, "-t", "10", "-o", "/dev/null", *options, script="sleep 600")


def runs(env: Env, job_id: str) -> None:
    wait_until(lambda: job_state(env, job_id) == "RUNNING", 60, f"job {job_id} runs")


def waits_for(env: Env, job_id: str, word: str) -> None:
    wait_until(lambda: reason(env, job_id) == word, 60, f"job {job_id} waits for {word}")


def predicted(env: Env, **shape: object) -> bool:
    place = nodes_fitting(picture(env), "a100", Shape(**shape))  # type: ignore[arg-type]
    assert place is not None
    return place.starts_now


def test_the_daemons_are_all_there_and_named(cluster_env: dict[str, str]) -> None:
    found = sandbox.status(Path(cluster_env["SLURMCONSOLE_SANDBOX"]))
    assert found.running
    assert {"munged", "mariadbd", "slurmdbd", "slurmctld"} <= set(found.pids)
    secret = Path(cluster_env["SLURMCONSOLE_SANDBOX"]) / "slurmdbd.conf"
    assert secret.stat().st_mode & 0o777 == 0o600


def test_the_user_is_known_with_accounts_and_qos(env: dict[str, str]) -> None:
    limits = picture(env).limits
    assert limits is not None
    assert limits.accounts - {"root"} == {"research", "teaching"}
    assert limits.qos == {"normal", "high", "short"}
    assert (limits.default_account(), limits.default_qos("research", "a100")) == ("research", "normal")


def test_the_last_gpu_of_a_limit_for_each_user_runs_and_the_next_one_waits(env: dict[str, str]) -> None:
    runs(env, submit(env, "-p", "a100", "-N1", "--gres=gpu:5"))
    assert predicted(env, gpus_per_node=3)
    assert not predicted(env, gpus_per_node=4)
    too_many = submit(env, "-p", "a100", "-N1", "--gres=gpu:4")
    waits_for(env, too_many, "QOSMaxGRESPerUser")
    runs(env, submit(env, "-p", "a100", "-N1", "--gres=gpu:3"))
    told = json.loads(command(env, "job", too_many, "--json").stdout)
    assert told["limits"] == [
        {"whose": "one user of QOS normal", "resource": "gres/gpu", "limit": 8, "used": 8, "left": 0, "scope": "user"}
    ]
    assert "8 in use, 0 left; this job asks for 4 GPUs." in told["why_pending"]
    assert "may use 8 GPUs at a time: 8 in use, 0 left" in command(env, "gpus").stdout


def test_the_limit_of_an_account_holds_across_qos(env: dict[str, str]) -> None:
    runs(env, submit(env, "-p", "a100", "-N1", "--gres=gpu:8"))
    runs(env, submit(env, "-p", "a100", "-N1", "-q", "short", "--gres=gpu:2"))
    assert predicted(env, gpus_per_node=2, qos="short")
    assert not predicted(env, gpus_per_node=3, qos="short")
    too_many = submit(env, "-p", "a100", "-N1", "-q", "short", "--gres=gpu:3")
    waits_for(env, too_many, "AssocGrpGRES")
    told = json.loads(command(env, "job", too_many, "--json").stdout)["limits"]
    assert [(use["whose"], use["limit"], use["used"], use["left"]) for use in told] == [("account research", 12, 10, 2)]
    runs(env, submit(env, "-p", "a100", "-N1", "-q", "short", "--gres=gpu:2"))


def test_limits_of_jobs_time_and_cpus(env: dict[str, str]) -> None:
    runs(env, submit(env, "-q", "high", "--gres=gpu:1"))
    assert not predicted(env, gpus_per_node=1, qos="high")
    waits_for(env, submit(env, "-q", "high", "--gres=gpu:1"), "QOSMaxJobsPerUserLimit")
    long = sbatch(env, "-t", "31", "-q", "short", "-o", "/dev/null", script="sleep 600")
    waits_for(env, long, "QOSMaxWallDurationPerJobLimit")
    assert "at most 30 minutes; this job asks for 31 minutes" in command(env, "job", long).stdout
    assert predicted(env, nodes=2, ntasks_per_node=48, qos="short")
    assert not predicted(env, nodes=2, ntasks_per_node=49, qos="short")
    waits_for(env, submit(env, "-q", "short", "-N2", "--ntasks-per-node=49"), "QOSGrpCpuLimit")
    runs(env, submit(env, "-q", "short", "-N2", "--ntasks-per-node=48"))


def test_another_account_has_limits_of_its_own(env: dict[str, str]) -> None:
    assert predicted(env, gpus_per_node=4, account="teaching", qos="short")
    assert not predicted(env, gpus_per_node=5, account="teaching", qos="short")
    waits_for(env, submit(env, "-A", "teaching", "-q", "short", "--gres=gpu:5"), "AssocGrpGRES")
    runs(env, submit(env, "-A", "teaching", "-q", "short", "--gres=gpu:4"))
    answer = command(env, "fit", "--gpus-per-node", "1", "-A", "teaching", "-p", "a100", "--no-ask")
    assert answer.returncode == 1
    assert "Account teaching may use 4 GPUs at a time: 4 in use, 0 left; this job asks for 1 GPU." in answer.stdout


def test_access_to_a_partition_with_lists_is_known(env: dict[str, str]) -> None:
    slurm(env, "scontrol", "update", "PartitionName=cpu", "AllowAccounts=teaching")
    slurm(env, "scontrol", "update", "PartitionName=debug", "AllowQos=high,short")
    slurm(env, "scontrol", "update", "PartitionName=all", "AllowAccounts=physics")
    try:
        told = json.loads(command(env, "gpus", "--json").stdout)
        access = {part["partition"]: part["access"] for part in told["partitions"]}
        assert access == {"a100": "yes", "cpu": "yes", "debug": "yes", "all": "no"}
    finally:
        slurm(env, "scontrol", "update", "PartitionName=all", "AllowAccounts=ALL")
        slurm(env, "scontrol", "update", "PartitionName=debug", "AllowQos=ALL")
        slurm(env, "scontrol", "update", "PartitionName=cpu", "AllowAccounts=ALL")


def test_a_killed_database_and_slurmdbd_are_repaired(cluster_env: dict[str, str]) -> None:
    directory = Path(cluster_env["SLURMCONSOLE_SANDBOX"])
    for role in ("slurmdbd", "mariadbd"):
        os.kill(sandbox.status(directory).pids[role], 9)
    wait_until(lambda: {"mariadbd", "slurmdbd"} <= set(sandbox.status(directory).missing), 30, "both are gone")
    assert sandbox.start(None, directory).running
    assert "research" in slurm(cluster_env, "sacctmgr", "-n", "show", "account", "format=account")


def test_a_recording_has_the_limits_and_an_anonymous_one_no_names(env: dict[str, str], tmp_path: Path) -> None:
    runs(env, submit(env, "-p", "a100", "-N1", "--gres=gpu:5"))
    waiting = submit(env, "-p", "a100", "-N1", "--gres=gpu:4")
    waits_for(env, waiting, "QOSMaxGRESPerUser")
    path, hidden = tmp_path / "lab.jsonl", tmp_path / "hidden.jsonl"
    assert command(env, "record", str(path)).returncode == 0
    assert command(env, "--replay", str(path), "record", "--anonymize", str(hidden)).returncode == 0
    questions = (["gpus"], ["job", waiting], ["fit", "--gpus-per-node", "4", "--no-ask"])
    for question in questions:
        said, again = (json.loads(command(env, *before, *question, "--json").stdout)
                       for before in ([], ["--replay", str(path)]))  # fmt: skip
        for data in (said, again):
            data.pop("taken_at", None)
            data.pop("stdout", None)
        assert again == said, question
    content = hidden.read_text()
    assert not [word for word in ("research", "teaching", "sandbox", user_name()) if word in content]
    told = json.loads(command(env, "--replay", str(hidden), "gpus", "--json").stdout)["limits"]
    kept = json.loads(command(env, "--replay", str(path), "gpus", "--json").stdout)["limits"]
    numbers = [[(use["resource"], use["limit"], use["used"], use["scope"]) for use in uses] for uses in (told, kept)]
    assert numbers[0] == numbers[1]
    assert ("gres/gpu", 8, 5, "user") in numbers[0]
