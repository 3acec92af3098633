"""Limits on a live Slurm with accounting: what we say is left is what Slurm lets run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from helpers import job_state, processes_naming, sbatch, settled, slurm, wait_until

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
TEN = timedelta(minutes=10)
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


def predicted(env: Env, partition: str = "a100", **shape: object) -> bool:
    place = nodes_fitting(picture(env), partition, Shape(**shape))  # type: ignore[arg-type]
    assert place is not None
    return place.starts_now


@contextlib.contextmanager
def changed(env: Env, what: tuple[str, str, str, str, str]) -> Iterator[None]:
    """A limit for a while: (qos or account, its name, the limit, what it is set to, what it is set to afterwards)."""
    kind, name, limit, value, after = what

    def put(value: str) -> None:
        slurm(env, "sacctmgr", "-iQ", "modify", kind, name, "set", f"{limit}={value}")

    put(value)
    try:
        yield
    finally:
        slurm(env, "scancel", "--user", user_name())
        put(after)


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
    assert predicted(env, gpus_per_node=2, qos="short", time_limit=TEN)
    assert not predicted(env, gpus_per_node=3, qos="short", time_limit=TEN)
    too_many = submit(env, "-p", "a100", "-N1", "-q", "short", "--gres=gpu:3")
    waits_for(env, too_many, "AssocGrpGRES")
    told = json.loads(command(env, "job", too_many, "--json").stdout)["limits"]
    assert [(use["whose"], use["limit"], use["used"], use["left"]) for use in told] == [("account research", 12, 10, 2)]
    runs(env, submit(env, "-p", "a100", "-N1", "-q", "short", "--gres=gpu:2"))


def test_a_limit_of_a_qos_takes_the_place_of_the_accounts(env: dict[str, str]) -> None:
    with changed(env, ("qos", "short", "GrpTRES", "gres/gpu=20", "cpu=96,gres/gpu=-1")):
        assert predicted(env, nodes=2, gpus_per_node=7, qos="short", time_limit=TEN)
        assert not predicted(env, nodes=3, gpus_per_node=7, qos="short", time_limit=TEN)
        waits_for(env, submit(env, "-q", "short", "-N3", "--gres=gpu:7"), "QOSGrpGRES")
        runs(env, submit(env, "-q", "short", "-N2", "--gres=gpu:7"))
    waits_for(env, submit(env, "-q", "short", "-N2", "--gres=gpu:7"), "AssocGrpGRES")


def test_a_limit_on_a_type_holds_for_jobs_that_name_it(env: dict[str, str]) -> None:
    with changed(env, ("qos", "short", "MaxTRESPerUser", "gres/gpu:a100=2", "gres/gpu:a100=-1")):
        runs(env, submit(env, "-q", "short", "--gres=gpu:a100:1"))
        assert predicted(env, gpus_per_node=1, gpu_type="a100", qos="short", time_limit=TEN)
        assert not predicted(env, gpus_per_node=2, gpu_type="a100", qos="short", time_limit=TEN)
        assert predicted(env, gpus_per_node=4, qos="short", time_limit=TEN)
        typed = submit(env, "-q", "short", "--gres=gpu:a100:2")
        waits_for(env, typed, "QOSMaxGRESPerUser")
        (told,) = json.loads(command(env, "job", typed, "--json").stdout)["limits"]
        assert (told["resource"], told["limit"], told["used"], told["left"]) == ("gres/gpu:a100", 2, 1, 1)
        runs(env, submit(env, "-q", "short", "--gres=gpu:4"))


def test_minutes_that_running_jobs_may_yet_use(env: dict[str, str]) -> None:
    with changed(env, ("qos", "short", "GrpTRESRunMins", "gres/gpu=50", "gres/gpu=-1")):
        runs(env, submit(env, "-q", "short", "--gres=gpu:3"))
        assert predicted(env, gpus_per_node=2, qos="short", time_limit=TEN)
        assert not predicted(env, gpus_per_node=3, qos="short", time_limit=TEN)
        too_much = submit(env, "-q", "short", "--gres=gpu:3")
        waits_for(env, too_much, "QOSGrpGRESRunMinutes")
        told = command(env, "job", too_much).stdout
        assert "QOS short may run jobs with at most 50 GPU minutes to go: " in told
        assert "; this job asks for 30 GPU minutes." in told
        runs(env, submit(env, "-q", "short", "--gres=gpu:2"))


def test_what_an_account_has_used_up(env: dict[str, str]) -> None:
    assert predicted(env, qos="short", time_limit=TEN)
    with changed(env, ("account", "research", "GrpTRESMins", "cpu=0", "cpu=-1")):
        assert not predicted(env, qos="short", time_limit=TEN)
        waiting = submit(env, "-q", "short")
        waits_for(env, waiting, "AssocGrpCPUMinutesLimit")
        assert "Account research may use 0 CPU minutes in all: " in command(env, "job", waiting).stdout


def test_limits_on_jobs_in_the_queue(env: dict[str, str]) -> None:
    with changed(env, ("account", "research", "MaxSubmitJobs", "1", "-1")):
        assert predicted(env, qos="short", time_limit=TEN)
        runs(env, submit(env, "-q", "short"))
        assert not predicted(env, qos="short", time_limit=TEN)
        with pytest.raises(AssertionError, match="AssocMaxSubmitJobLimit"):
            submit(env, "-q", "short")


def test_nodes_in_use_are_counted_once(env: dict[str, str]) -> None:
    with changed(env, ("qos", "short", "MaxTRESPerUser", "node=1", "node=-1")):
        runs(env, submit(env, "-q", "short", "-w", "gpu02"))
        assert predicted(env, qos="short", time_limit=TEN)
        assert not predicted(env, nodes=2, qos="short", time_limit=TEN)
        runs(env, submit(env, "-q", "short"))
        waits_for(env, submit(env, "-q", "short", "-N2"), "QOSMaxNodePerUserLimit")


def test_memory_by_default_counts(env: dict[str, str]) -> None:
    with changed(env, ("qos", "short", "GrpTRES", "mem=20000", "cpu=96,mem=-1")):
        assert predicted(env, ntasks_per_node=5, qos="short", time_limit=TEN)
        assert not predicted(env, ntasks_per_node=6, qos="short", time_limit=TEN)
        waits_for(env, submit(env, "-q", "short", "-n6", "-N1"), "QOSGrpMemLimit")
        runs(env, submit(env, "-q", "short", "-n5", "-N1"))


def test_a_job_without_a_time_limit_has_the_partitions_default(env: dict[str, str]) -> None:
    assert not predicted(env, qos="short")
    job = sbatch(env, "-q", "short", "-o", "/dev/null", script="sleep 600")
    waits_for(env, job, "QOSMaxWallDurationPerJobLimit")


def test_accounts_and_qos_that_are_not_ones_own_are_refused(env: dict[str, str]) -> None:
    for option, name in (("account", "physics"), ("qos", "long")):
        assert not predicted(env, **{option: name})
        with pytest.raises(AssertionError, match=f"(?i)invalid {option}"):
            submit(env, f"--{option}={name}")


def test_limits_of_jobs_time_and_cpus(env: dict[str, str]) -> None:
    runs(env, submit(env, "-q", "high", "--gres=gpu:1"))
    assert not predicted(env, gpus_per_node=1, qos="high")
    waits_for(env, submit(env, "-q", "high", "--gres=gpu:1"), "QOSMaxJobsPerUserLimit")
    long = sbatch(env, "-t", "31", "-q", "short", "-o", "/dev/null", script="sleep 600")
    waits_for(env, long, "QOSMaxWallDurationPerJobLimit")
    assert "at most 30 minutes; this job asks for 31 minutes" in command(env, "job", long).stdout
    assert predicted(env, nodes=2, ntasks_per_node=48, qos="short", time_limit=TEN)
    assert not predicted(env, nodes=2, ntasks_per_node=49, qos="short", time_limit=TEN)
    waits_for(env, submit(env, "-q", "short", "-N2", "--ntasks-per-node=49"), "QOSGrpCpuLimit")
    runs(env, submit(env, "-q", "short", "-N2", "--ntasks-per-node=48"))


def test_the_qos_of_a_partition_comes_before_the_jobs_unless_that_has_overpartqos(env: dict[str, str]) -> None:
    def tried(gpus: int) -> str:
        return submit(env, "-p", "all", "-q", "short", "-N1", f"--gres=gpu:{gpus}")

    shape = {"partition": "all", "qos": "short", "time_limit": TEN}
    slurm(env, "scontrol", "update", "PartitionName=all", "QoS=high")
    try:
        with changed(env, ("qos", "short", "MaxTRESPerJob", "gres/gpu=6", "gres/gpu=-1")):
            assert [predicted(env, gpus_per_node=gpus, **shape) for gpus in (4, 5)] == [True, False]
            waiting = tried(5)
            waits_for(env, waiting, "QOSMaxGRESPerJob")
            slurm(env, "scancel", waiting)
            with changed(env, ("qos", "short", "Flags", "OverPartQOS", "-1")):
                assert [predicted(env, gpus_per_node=gpus, **shape) for gpus in (6, 7)] == [True, False]
                waits_for(env, tried(7), "QOSMaxGRESPerJob")
                runs(env, tried(6))
                # Of jobs for each user only the QOS of the partition has a limit: 1.
                assert not predicted(env, gpus_per_node=1, **shape)
                waiting = tried(1)
                waits_for(env, waiting, "QOSMaxJobsPerUserLimit")
                (told,) = json.loads(command(env, "job", waiting, "--json").stdout)["limits"]
                assert (told["whose"], told["limit"], told["used"]) == ("one user of QOS high", 1, 1)
    finally:
        slurm(env, "scontrol", "update", "PartitionName=all", "QoS=")


def test_an_account_may_have_less_of_one_type(env: dict[str, str]) -> None:
    teaching = {"account": "teaching", "qos": "short", "time_limit": TEN, "gpu_type": "a100"}
    assert predicted(env, gpus_per_node=2, **teaching)
    assert not predicted(env, gpus_per_node=3, **teaching)
    too_many = submit(env, "-A", "teaching", "-q", "short", "--gres=gpu:a100:3")
    waits_for(env, too_many, "AssocGrpGRES")
    assert "may use 2 a100 GPUs at a time: 0 in use, 2 left; this job asks for 3 a100 GPUs." in command(
        env, "job", too_many
    ).stdout  # fmt: skip
    runs(env, submit(env, "-A", "teaching", "-q", "short", "--gres=gpu:a100:2"))


def test_another_account_has_limits_of_its_own(env: dict[str, str]) -> None:
    assert predicted(env, gpus_per_node=4, account="teaching", qos="short", time_limit=TEN)
    assert not predicted(env, gpus_per_node=5, account="teaching", qos="short", time_limit=TEN)
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


@pytest.mark.parametrize("role", ["mariadb-install-db", "slurmdbd", "slurmctld"])
def test_an_interrupted_start_leaves_nothing_behind(tmp_path: Path, role: str) -> None:
    argv = [sys.executable, "-m", "jobs.sandbox", "start", "--directory", str(tmp_path), *str(LAYOUT).split()]
    start = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: any(role in words for words in processes_naming(tmp_path).values()), 60, f"{role} runs")
        start.send_signal(signal.SIGINT)
        assert start.wait(60) == 130
        assert processes_naming(tmp_path) == {}
    finally:
        start.kill()
        start.wait()
        sandbox.stop(tmp_path)


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
