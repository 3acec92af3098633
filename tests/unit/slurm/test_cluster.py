"""Refreshing a cluster through shell scripts that stand for Slurm's commands."""

from __future__ import annotations

import dataclasses
import os
import shlex
import time
from pathlib import Path

import pytest
from slurm_text import capture, job_text, node_text, partition_text

from jobs.slurm.cluster import Cluster, version_tuple
from jobs.slurm.commands import FIELD_END, RECORD_END, SACCT_FIELDS
from jobs.slurm.run import CommandFailed, CommandMissing, Runner, SlurmError
from jobs.slurm.snapshot import EMPTY, Part, Snapshot

CONFIG = "Configuration data as of now\nClusterName             = lab\nSLURM_VERSION           = 22.05.8\n"


class FakeSlurm:
    """A folder of commands whose answers the test sets; each notes that it was called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.answers = {
            "squeue": job_text(JobID="1", tres_per_node="gres:gpu:2") + job_text(JobID="2"),
            "scontrol-config": CONFIG,
            "scontrol-node": node_text("n1") + node_text("n2"),
            "scontrol-partition": partition_text("main"),
            "scontrol-reservation": "No reservations in the system\n",
        }
        for name, text in self.answers.items():
            self.says(name, text)
        self._script("squeue", self._answer("squeue"))
        self._script("scontrol", 'for what; do :; done\nset -- "$what"\n' + self._answer("scontrol-$1", quote=False))

    def says(self, name: str, text: str, error: str = "", code: int = 0) -> None:
        """What the command prints from here on."""
        (self.folder / f"{name}.out").write_text(text, encoding="utf-8", errors="surrogateescape")
        (self.folder / f"{name}.err").write_text(error)
        (self.folder / f"{name}.code").write_text(f"{code}\n")

    def fails(self, name: str, error: str = "slurm_load error: Unable to contact slurm controller\n") -> None:
        """The command says so on standard error and ends with 1."""
        self.says(name, "", error, 1)

    def works(self, name: str) -> None:
        """The command gives its first answer again."""
        self.says(name, self.answers[name])

    def accounting(self, text: str, code: int = 0) -> None:
        """From here on there is a sacct."""
        self.says("sacct", text, code=code)
        self._script("sacct", self._answer("sacct"))

    def calls(self, name: str) -> int:
        """How often the command was called."""
        path = self.folder / f"{name}.calls"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def _answer(self, name: str, quote: bool = True) -> str:
        where = shlex.quote(str(self.folder / name)) if quote else f'"{self.folder}/{name}"'
        return f"at={where}\necho call >> $at.calls\ncat $at.out\ncat $at.err >&2\nexit $(cat $at.code)\n"

    def _script(self, name: str, body: str) -> None:
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)


@pytest.fixture
def slurm(tmp_path: Path) -> FakeSlurm:
    return FakeSlurm(tmp_path)


@pytest.fixture
def cluster(slurm: FakeSlurm) -> Cluster:
    return Cluster(Runner({"PATH": f"{slurm.folder}:{os.environ['PATH']}"}))


def ids(snapshot: Snapshot) -> tuple[list[str], list[str], list[str]]:
    """What is in the picture: jobs, nodes, partitions."""
    return (
        [job.job_id for job in snapshot.jobs.records],
        [node.name for node in snapshot.nodes.records],
        [part.name for part in snapshot.partitions.records],
    )


def problem_and_age(snapshot: Snapshot, name: str) -> tuple[str | None, float | None]:
    """Of the part that the named command brings."""
    if name == "squeue":
        return snapshot.jobs.problem, snapshot.jobs.taken_at
    if name == "scontrol-node":
        return snapshot.nodes.problem, snapshot.nodes.taken_at
    return snapshot.partitions.problem, snapshot.partitions.taken_at


def test_before_the_first_answer_nothing_is_known(cluster: Cluster) -> None:
    assert cluster.snapshot is EMPTY
    assert (EMPTY.number, EMPTY.problems, EMPTY.taken_at) == (0, (), None)


def test_a_refresh_reads_everything(cluster: Cluster) -> None:
    before = time.time()
    snapshot = cluster.refresh()
    assert ids(snapshot) == (["1", "2"], ["n1", "n2"], ["main"])
    assert (snapshot.number, snapshot.cluster, snapshot.slurm_version) == (1, "lab", "22.05.8")
    assert snapshot.problems == ()
    assert before <= (snapshot.taken_at or 0) <= time.time()
    assert snapshot is cluster.snapshot


def test_each_refresh_has_a_higher_number_and_asks_for_the_configuration_once(
    cluster: Cluster, slurm: FakeSlurm
) -> None:
    assert [cluster.refresh().number for _ in range(3)] == [1, 2, 3]
    assert (slurm.calls("scontrol-config"), slurm.calls("squeue")) == (1, 3)


def test_only_what_was_asked_for_is_read_again(cluster: Cluster, slurm: FakeSlurm) -> None:
    first = cluster.refresh()
    second = cluster.refresh(nodes=False)
    third = cluster.refresh(jobs=False)
    assert (second.nodes, second.partitions, third.jobs) == (first.nodes, first.partitions, second.jobs)
    assert [slurm.calls(name) for name in ("squeue", "scontrol-node", "scontrol-partition")] == [2, 2, 2]


@pytest.mark.parametrize("name", ["squeue", "scontrol-node", "scontrol-partition"])
def test_a_failing_command_keeps_the_last_records_and_their_age(cluster: Cluster, slurm: FakeSlurm, name: str) -> None:
    good = cluster.refresh()
    slurm.fails(name)
    bad = cluster.refresh()
    assert ids(bad) == ids(good)
    assert bad.number == good.number + 1
    command = name.partition("-")[0]
    assert bad.problems == (f"{command}: slurm_load error: Unable to contact slurm controller",)
    assert problem_and_age(bad, name) == (bad.problems[0], problem_and_age(good, name)[1])
    slurm.works(name)
    assert cluster.refresh().problems == ()


RUBBISH = ["<html>502 Bad Gateway</html>\n", "Segmentation fault\n", "\x00\x01\x02", " x\n y\n", "NodeName=\n", "{}"]


@pytest.mark.parametrize("name", ["squeue", "scontrol-node", "scontrol-partition"])
@pytest.mark.parametrize("text", RUBBISH)
def test_rubbish_is_a_problem_and_not_an_empty_cluster(
    cluster: Cluster, slurm: FakeSlurm, name: str, text: str
) -> None:
    good = cluster.refresh()
    slurm.says(name, text)
    bad = cluster.refresh()
    assert ids(bad) == ids(good)
    assert bad.problems == (f"{name.partition('-')[0]} printed something that cannot be read.",)


@pytest.mark.parametrize("name", ["scontrol-node", "scontrol-partition"])
def test_no_answer_at_all_is_not_an_empty_cluster(cluster: Cluster, slurm: FakeSlurm, name: str) -> None:
    good = cluster.refresh()
    slurm.says(name, "")
    assert ids(cluster.refresh()) == ids(good)
    assert cluster.snapshot.problems == ("scontrol printed something that cannot be read.",)


def test_an_empty_queue_and_slurms_words_for_none_are_no_problem(cluster: Cluster, slurm: FakeSlurm) -> None:
    cluster.refresh()
    slurm.says("squeue", "")
    slurm.says("scontrol-node", "No nodes in the system\n")
    slurm.says("scontrol-partition", "No partitions in the system\n")
    empty = cluster.refresh()
    assert ids(empty) == ([], [], [])
    assert empty.problems == ()


def test_records_that_cannot_be_read_are_counted_aloud(cluster: Cluster, slurm: FakeSlurm) -> None:
    slurm.says("squeue", job_text(JobID="1") + f"broken{RECORD_END}\n")
    slurm.says("scontrol-node", node_text("n1") + "NodeName=n2\n\n")
    snapshot = cluster.refresh()
    assert ids(snapshot)[:2] == (["1"], ["n1"])
    assert snapshot.problems == (
        "1 jobs could not be read and are left out.",
        "1 nodes could not be read and are left out.",
    )


def test_partitions_have_the_defaults_of_the_configuration(cluster: Cluster, slurm: FakeSlurm) -> None:
    slurm.says("scontrol-config", CONFIG + "DefMemPerCPU            = 4000\nJobDefaults             = DefCpuPerGPU=8\n")
    (part,) = cluster.refresh().partitions.records
    assert (part.default_mem_per_cpu, part.default_cpus_per_gpu) == (4000, 8)


def test_names_of_any_bytes_arrive(cluster: Cluster, slurm: FakeSlurm) -> None:
    name = "a\nb|[red]\x1b[31m\x1fx" + b"\xff".decode("utf-8", "surrogateescape")
    slurm.says("squeue", job_text(Name=name))
    assert cluster.refresh().jobs.records[0].name == name


def test_a_recorded_cluster_arrives(cluster: Cluster, slurm: FakeSlurm) -> None:
    for what in ("node", "partition", "config"):
        slurm.says(f"scontrol-{what}", capture("26.05.5", f"{what}.txt"))
    snapshot = cluster.refresh()
    assert (len(snapshot.nodes.records), len(snapshot.partitions.records)) == (8, 5)
    assert snapshot.slurm_version == "26.05.5"


def test_without_slurm_there_is_one_problem_in_one_sentence(tmp_path: Path) -> None:
    snapshot = Cluster(Runner({"PATH": str(tmp_path)})).refresh()
    assert ids(snapshot) == ([], [], [])
    assert snapshot.problems == (
        "squeue was not found on PATH: is this a Slurm login node?",
        "scontrol was not found on PATH: is this a Slurm login node?",
    )
    assert snapshot.taken_at is None


def test_the_name_is_learned_once_the_controller_answers(cluster: Cluster, slurm: FakeSlurm) -> None:
    slurm.fails("scontrol-config")
    assert cluster.refresh().cluster == ""
    slurm.works("scontrol-config")
    assert cluster.refresh().cluster == "lab"


INVALID = "slurm_load_jobs error: Invalid job id specified\n"


def sacct_line(**fields: str) -> str:
    values = {"JobIDRaw": "9", "JobID": "9", "State": "COMPLETED"} | fields
    return FIELD_END.join(values.get(name, "") for name in SACCT_FIELDS) + "\n"


def test_a_job_is_found_in_the_queue(cluster: Cluster) -> None:
    found = cluster.job("1")
    assert found is not None
    assert (found.job_id, found.gpus) == ("1", 2)


def test_a_job_that_the_queue_forgot_is_found_in_accounting(cluster: Cluster, slurm: FakeSlurm) -> None:
    slurm.fails("squeue", INVALID)
    slurm.accounting(sacct_line())
    found = cluster.job("9")
    assert found is not None
    assert (found.job_id, found.state) == ("9", "COMPLETED")


def test_a_job_that_nobody_knows_is_none(cluster: Cluster, slurm: FakeSlurm) -> None:
    slurm.fails("squeue", INVALID)
    slurm.accounting("", code=1)
    assert cluster.job("9") is None


def test_a_controller_that_cannot_be_asked_is_an_error_and_not_a_missing_job(
    cluster: Cluster, slurm: FakeSlurm
) -> None:
    slurm.fails("squeue")
    with pytest.raises(CommandFailed, match=r"^squeue: slurm_load error: Unable to contact"):
        cluster.job("1")


def test_looking_for_a_job_without_slurm_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CommandMissing):
        Cluster(Runner({"PATH": str(tmp_path)})).job("1")
    assert issubclass(CommandMissing, SlurmError)


def test_the_age_is_that_of_the_oldest_part() -> None:
    snapshot = dataclasses.replace(EMPTY, jobs=Part(taken_at=20.0), nodes=Part(taken_at=10.0))
    assert snapshot.taken_at == 10.0


def test_the_same_problem_is_told_once() -> None:
    snapshot = dataclasses.replace(EMPTY, jobs=Part(problem="down"), nodes=Part(problem="down"))
    assert snapshot.problems == ("down",)


@pytest.mark.parametrize(
    ("text", "version"), [("22.05.8", (22, 5)), ("slurm 26.05.5-1", (26, 5)), ("25.11.0rc1", (25, 11)), ("x", None)]
)
def test_a_release_is_compared_by_its_first_two_numbers(text: str, version: tuple[int, int] | None) -> None:
    assert version_tuple(text) == version


def test_out_of_reach_is_found_out_with_one_question(tmp_path: Path) -> None:
    for name in ("scontrol", "squeue"):
        script = tmp_path / name
        script.write_text("#!/bin/sh\necho 'load error: Unable to contact slurm controller' >&2; exit 1\n")
        script.chmod(0o755)
    cluster = Cluster(Runner({"PATH": f"{tmp_path}:/usr/bin:/bin"}))
    snapshot = cluster.refresh()
    assert len(cluster.runner.log.entries) == 1
    assert snapshot.problems == ("scontrol: load error: Unable to contact slurm controller",)
    assert all(part.problem for part in (snapshot.jobs, snapshot.nodes, snapshot.partitions))
