"""Reading a live Slurm: what `Cluster.refresh` says against what was submitted and what scontrol prints."""

from __future__ import annotations

import getpass
import os
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from helpers import job_state, sbatch, settled, slurm, wait_for_state, wait_until

from jobs.slurm.availability import GpuCount, availability
from jobs.slurm.cluster import Cluster
from jobs.slurm.records import Job
from jobs.slurm.run import Runner, SlurmError

pytestmark = pytest.mark.slurm

Env = dict[str, str]
Submit = Callable[..., str]


@pytest.fixture(scope="module", autouse=True)
def _quiet(slurm_env: Env) -> None:
    """No job of an earlier test is left on the cluster."""
    slurm(slurm_env, "scancel", "--user=" + getpass.getuser())
    wait_until(lambda: not slurm(slurm_env, "squeue", "--noheader"), 30, "the cluster is idle")


@pytest.fixture
def cluster(slurm_env: Env) -> Cluster:
    wait_until(lambda: settled(slurm_env), 60, "the nodes are settled")
    return Cluster(Runner(slurm_env))


@pytest.fixture
def submit(slurm_env: Env) -> Iterator[Submit]:
    """Submits a job that sleeps; all of them are cancelled, and their nodes free again, when the test ends."""
    submitted: list[str] = []

    def sleeper(*args: str, script: str = "sleep 600") -> str:
        submitted.append(sbatch(slurm_env, "--output=/dev/null", *args, script=script))
        return submitted[-1]

    yield sleeper
    slurm(slurm_env, "scancel", *submitted)

    def left() -> str:
        return slurm(slurm_env, "squeue", "--noheader", "--me", "--format=%A %F")

    wait_until(lambda: not set(submitted) & set(left().split()), 30, "the cancelled jobs are gone")


def job_of(cluster: Cluster, job_id: str) -> Job:
    """The job in a fresh picture of the queue."""
    found = {job.job_id: job for job in cluster.refresh(nodes=False).jobs.records}
    assert cluster.snapshot.problems == ()
    return found[job_id]


def gpus_of(cluster: Cluster, gpu_type: str) -> GpuCount:
    """The type's count in a fresh picture of the nodes."""
    counts = {count.gpu_type: count for count in availability(cluster.refresh(jobs=False)).gpu_types}
    return counts[gpu_type]


def told_by_scontrol(env: Env) -> dict[str, tuple[str, int, int, int, int, int, int]]:
    """node -> state, CPUs, CPUs taken, MiB, MiB taken, GPUs, GPUs taken, each by its own search in scontrol's text."""
    nodes = {}
    for text in slurm(env, "scontrol", "-d", "show", "node").split("\n\n"):
        if not text.strip():
            continue

        def number(pattern: str, text: str = text) -> int:
            found = re.search(pattern, text)
            return int(found[1]) if found else 0

        name, state = re.search(r"NodeName=(\S+)", text), re.search(r"State=(\S+)", text)
        assert name is not None
        assert state is not None
        nodes[name[1]] = (
            state[1], number(r"CPUTot=(\d+)"), number(r"CPUAlloc=(\d+)"), number(r"RealMemory=(\d+)"),
            number(r"AllocMem=(\d+)"), number(r"Gres=gpu:\w+:(\d+)"), number(r"GresUsed=gpu:\w+:(\d+)"),
        )  # fmt: skip
    return nodes


def told_by_us(cluster: Cluster) -> dict[str, tuple[str, int | None, int | None, int | None, int | None, int, int]]:
    """The same from a fresh picture."""
    return {
        node.name: (
            node.state_text, node.cpus, node.cpus_allocated, node.memory, node.memory_allocated,
            sum(node.gpus.values()), sum((node.gpus_used or {}).values()),
        )
        for node in cluster.refresh(jobs=False).nodes.records
    }  # fmt: skip


def gpus_taken(env: Env) -> int:
    return sum(node[-1] for node in told_by_scontrol(env).values())


FORMS = [
    ([], 0, None),
    (["-N2", "--gpus-per-node=1"], 2, None),
    (["-N2", "--gpus-per-node=a100:1"], 2, "a100"),
    (["-N1", "--gres=gpu:2"], 2, None),
    (["-N2", "--gres=gpu:h100:2"], 4, "h100"),
    (["--gpus=2"], 2, None),
    (["-N1", "--gpus=a100:2"], 2, "a100"),
    (["-n2", "--gpus-per-task=1"], 2, None),
    (["-n2", "--gpus-per-task=h100:1"], 2, "h100"),
]
TOTAL = 18


@pytest.mark.parametrize("state", ["PENDING", "RUNNING"])
def test_every_way_to_ask_for_gpus_is_counted(slurm_env: Env, cluster: Cluster, submit: Submit, state: str) -> None:
    before = gpus_taken(slurm_env)
    options = ["--hold"] if state == "PENDING" else []
    ids = [submit("-pall", *options, *args) for args, _, _ in FORMS]
    for job_id in ids:
        wait_for_state(slurm_env, job_id, state)
    found = [job_of(cluster, job_id) for job_id in ids]
    assert [(job.state, job.gpus, job.gpu_type) for job in found] == [(state, gpus, kind) for _, gpus, kind in FORMS]
    assert gpus_taken(slurm_env) - before == (TOTAL if state == "RUNNING" else 0)


def test_gpus_per_socket_are_an_unknown_number(slurm_env: Env, cluster: Cluster, submit: Submit) -> None:
    job_id = submit("-pall", "-N1", "-n2", "--sockets-per-node=2", "--gpus-per-socket=a100:1")
    wait_for_state(slurm_env, job_id, "RUNNING")
    found = job_of(cluster, job_id)
    assert (found.gpus, found.gpu_type) == (None, "a100")


def test_a_job_with_whole_nodes_holds_an_unknown_number_of_gpus(cluster: Cluster, submit: Submit) -> None:
    found = job_of(cluster, submit("--hold", "--exclusive")), job_of(cluster, submit("--hold"))
    assert [job.gpus for job in found] == [None, 0]


NAMES = [
    "two\nlines", "ends in a newline\n", "a|b,c = d", "\x1b[31mred\x1b]0;t\x07", "[red]x[/red] [@click=app.quit]y[/]",
    "unit\x1fseparator", "$(id) `id` \"q\" 'q'", "日本語 é", os.fsdecode(b"bad \xff\xfe utf-8"), "N/A",
]  # fmt: skip


def test_names_of_any_bytes_arrive_unchanged(slurm_env: Env, cluster: Cluster, submit: Submit) -> None:
    ids = [submit("--hold", f"--job-name={name}") for name in NAMES]
    found = {job.job_id: job.name for job in cluster.refresh(nodes=False).jobs.records}
    assert [found[job_id] for job_id in ids] == NAMES
    assert cluster.snapshot.jobs.skipped == 0
    assert len(found) == len(slurm(slurm_env, "squeue", "--noheader", "--all", "--format=%A").split())


def test_a_running_job_has_what_was_submitted(slurm_env: Env, cluster: Cluster, submit: Submit, tmp_path: Path) -> None:
    job_id = submit(
        "-pa100", "-N2", "--ntasks-per-node=2", "-c3", "--mem=9G", "-t1-02:03:04", f"--chdir={tmp_path}",
        "--output=%x-%j.out", "-Jname", script="sleep 600",
    )  # fmt: skip
    wait_for_state(slurm_env, job_id, "RUNNING")
    found = job_of(cluster, job_id)
    assert (found.display_id, found.name, found.partition, found.state) == (job_id, "name", "a100", "RUNNING")
    assert (found.nodes, found.tasks, found.cpus, found.memory, found.gpus) == (2, 4, 12, "9G", 0)
    assert found.time_limit == timedelta(days=1, hours=2, minutes=4)  # limits are whole minutes
    assert found.submit_time is not None
    assert found.start_time is not None
    assert found.end_time is not None
    assert found.submit_time <= found.start_time
    assert found.end_time - found.start_time == found.time_limit
    assert found.work_dir == str(tmp_path)
    assert found.stdout.endswith("%x-%j.out")
    assert re.fullmatch(r"gpu\[0\d-0\d\]|gpu\[0\d,0\d\]", found.node_list)
    assert found.batch_host in {"gpu01", "gpu02", "gpu03", "gpu04"}
    slurm(slurm_env, "scancel", job_id)
    wait_for_state(slurm_env, job_id, "CANCELLED")
    ended = cluster.job(job_id)
    assert ended is not None
    assert (ended.state, ended.ended) == ("CANCELLED", True)


def test_a_held_job_says_so(cluster: Cluster, submit: Submit) -> None:
    found = job_of(cluster, submit("--hold", "--dependency=singleton", "-t5"))
    assert (found.state, found.reason, found.start_time, found.node_list) == ("PENDING", "JobHeldUser", None, "")
    assert found.dependency is not None
    assert found.dependency.startswith("singleton")
    assert found.time_limit == timedelta(minutes=5)


def test_an_array_is_its_running_tasks_and_one_open_rest(slurm_env: Env, cluster: Cluster, submit: Submit) -> None:
    array = submit("--array=1-5%2", "--gpus=1")

    def tasks() -> dict[str, tuple[str, str | None, int | None]]:
        return {
            job.display_id: (job.state, job.array_task_id, job.gpus)
            for job in cluster.refresh(nodes=False).jobs.records
            if job.array_job_id == array
        }

    wait_until(lambda: [state for state, _, _ in tasks().values()].count("RUNNING") == 2, 30, "two tasks run")
    assert tasks() == {
        f"{array}_1": ("RUNNING", "1", 1),
        f"{array}_2": ("RUNNING", "2", 1),
        f"{array}_[3-5%2]": ("PENDING", "3-5%2", 1),
    }
    slurm(slurm_env, "scancel", f"{array}_2")
    assert {job.array_task_id for job in cluster.find_jobs([array])} >= {"1", "2"}


def test_the_parts_of_a_het_job_are_shown_by_leader_and_offset(
    slurm_env: Env, cluster: Cluster, submit: Submit
) -> None:
    leader = submit("-pa100", "--gpus=a100:1", ":", "-ph100", "-N2", "--gpus-per-node=2")
    wait_for_state(slurm_env, leader, "RUNNING")
    parts = {
        job.display_id: (job.job_id, job.partition, job.gpus)
        for job in cluster.refresh(nodes=False).jobs.records
        if job.display_id.startswith(f"{leader}+")
    }
    assert parts == {f"{leader}+0": (leader, "a100", 1), f"{leader}+1": (str(int(leader) + 1), "h100", 4)}


def test_nodes_are_as_scontrol_tells_them(slurm_env: Env, cluster: Cluster, submit: Submit) -> None:
    ids = [submit("-pa100", "-N2", "--gpus-per-node=3", "-c5"), submit("-ph100", "-N1", "-n20", "--gres=gpu:h100:5")]
    for job_id in ids:
        wait_for_state(slurm_env, job_id, "RUNNING")
    wait_until(lambda: told_by_us(cluster) == told_by_scontrol(slurm_env), 10, "both tell the same of the nodes")
    assert len(told_by_us(cluster)) == 8
    assert gpus_taken(slurm_env) >= 11
    assert cluster.snapshot.problems == ()


def test_the_cluster_is_the_one_of_its_configuration(cluster: Cluster) -> None:
    snapshot = cluster.refresh()
    assert snapshot.cluster == "sandbox"
    assert re.fullmatch(r"\d\d\.\d\d\.\d+\S*", snapshot.slurm_version)
    sizes = {part.name: part.total_nodes for part in snapshot.partitions.records}
    assert sizes.items() >= {"a100": 4, "h100": 2, "cpu": 2, "all": 8}.items()
    assert [part.name for part in snapshot.partitions.records if part.is_default] == ["a100"]
    assert {count.gpu_type: count.total for count in availability(snapshot).gpu_types} == {"a100": 16, "h100": 16}


def test_draining_a_node_moves_its_gpus(slurm_env: Env, cluster: Cluster, submit: Submit) -> None:
    job_id = submit("-pa100", "-wgpu03", "--gpus=1")
    wait_for_state(slurm_env, job_id, "RUNNING")
    before = gpus_of(cluster, "a100")
    slurm(slurm_env, "scontrol", "update", "nodename=gpu03", "state=drain", "reason=fan | [red]State=IDLE")
    try:
        draining = gpus_of(cluster, "a100")
        node = next(node for node in cluster.snapshot.nodes.records if node.name == "gpu03")
        slurm(slurm_env, "scancel", job_id)
        wait_until(lambda: "drained" in gpus_of(cluster, "a100").unavailable, 20, "the node is drained")
        drained = gpus_of(cluster, "a100")
    finally:
        slurm(slurm_env, "scontrol", "update", "nodename=gpu03", "state=resume")
    assert node.reason.startswith("fan | [red]State=IDLE")
    assert (draining.unavailable.get("draining"), draining.allocated) == (3, before.allocated)
    assert draining.usable == before.usable - 3
    assert (drained.unavailable.get("drained"), drained.allocated) == (4, before.allocated - 1)
    wait_until(lambda: gpus_of(cluster, "a100").usable == before.usable + 1, 20, "the node is back")


def test_gpus_without_memory_and_without_cpus_are_stranded(slurm_env: Env, cluster: Cluster, submit: Submit) -> None:
    before = gpus_of(cluster, "a100"), gpus_of(cluster, "h100")
    # gpu04 keeps 2,000 MiB, less than the cluster's default for one CPU; gpu06 keeps two CPUs.
    ids = [submit("-pa100", "-wgpu04", "--mem=510000"), submit("-ph100", "-wgpu06", "-n62", "--mem-per-cpu=10")]
    for job_id in ids:
        wait_for_state(slurm_env, job_id, "RUNNING")
    a100, h100 = gpus_of(cluster, "a100"), gpus_of(cluster, "h100")
    assert a100.stranded == {"no memory": 4}
    assert h100.stranded == {"no CPU": 6}
    assert (a100.usable, h100.usable) == (before[0].usable - 4, before[1].usable - 6)
    assert (a100.whole_nodes, h100.whole_nodes) == (before[0].whole_nodes - 1, before[1].whole_nodes - 1)


def test_a_closed_partition_closes_its_gpus(slurm_env: Env, cluster: Cluster) -> None:
    def h100() -> tuple[int, dict[str, int]]:
        parts = {part.partition.name: part for part in availability(cluster.refresh(jobs=False)).partitions}
        return parts["h100"].gpu_types[0].usable, parts["h100"].gpu_types[0].unavailable

    before = h100()
    slurm(slurm_env, "scontrol", "update", "partitionname=h100", "state=down")
    try:
        closed = h100()
    finally:
        slurm(slurm_env, "scontrol", "update", "partitionname=h100", "state=up")
    assert before == (16, {})
    assert closed == (0, {"partition closed": 16})


def test_a_job_that_never_was_is_none(cluster: Cluster) -> None:
    assert cluster.job("99999999") is None


def test_a_controller_that_is_gone_keeps_the_last_picture(slurm_env: Env, cluster: Cluster, tmp_path: Path) -> None:
    good = cluster.refresh()
    conf = Path(slurm_env["SLURM_CONF"]).read_text()
    deaf = tmp_path / "slurm.conf"
    deaf.write_text(re.sub(r"(?m)^SlurmctldPort=.*$", "SlurmctldPort=1", conf) + "MessageTimeout=2\n")
    cluster.runner = Runner(slurm_env | {"SLURM_CONF": str(deaf)})
    bad = cluster.refresh()
    assert bad.nodes.records == good.nodes.records
    assert bad.nodes.taken_at == good.nodes.taken_at
    assert any("contact" in problem for problem in bad.problems)
    with pytest.raises(SlurmError, match="contact"):
        cluster.job("1")


def test_the_users_own_settings_do_not_hide_jobs(slurm_env: Env, submit: Submit) -> None:
    job_id = submit("--hold")
    own = {"SQUEUE_USERS": "nobody", "SQUEUE_STATES": "RUNNING", "SQUEUE_FORMAT2": "jobid", "SLURM_CLUSTERS": "x"}
    cluster = Cluster(Runner(slurm_env | own))
    assert job_of(cluster, job_id).state == job_state(slurm_env, job_id)
