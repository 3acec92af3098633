"""The command line against a live Slurm, as a script meets it: exit codes, JSON on stdout, sentences on stderr."""

from __future__ import annotations

import getpass
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from helpers import job_state, sbatch, settled, slurm, wait_for_state, wait_until

pytestmark = pytest.mark.slurm

Env = dict[str, str]
ROOT = Path(__file__).parents[2]
GPU = {"gpu_type", "total", "allocated", "unavailable", "stranded", "usable", "whole_nodes", "largest_block"}
ESC_NAME = "\x1b[31mred\x1b]0;title\x07"


@pytest.fixture(scope="module")
def env(slurm_env: Env, tmp_path_factory: pytest.TempPathFactory) -> Env:
    """The sandbox's environment with homes of their own for submissions and settings."""
    home = tmp_path_factory.mktemp("home")
    own = {f"XDG_{kind}_HOME": str(home / kind) for kind in ("DATA", "STATE", "CONFIG")}
    return slurm_env | own | {"PYTHONPATH": str(ROOT), "COLUMNS": "40"}


@pytest.fixture(autouse=True)
def _quiet(slurm_env: Env) -> Iterator[None]:
    """No job of this or an earlier test is left on the cluster."""
    cancel_all(slurm_env)
    yield
    cancel_all(slurm_env)


def cancel_all(env: Env) -> None:
    slurm(env, "scancel", "--user=" + getpass.getuser())
    wait_until(lambda: not slurm(env, "squeue", "--noheader"), 30, "the cluster is idle")
    wait_until(lambda: settled(env), 60, "the nodes are settled")


def start(env: Env, *argv: str, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "console.cli", *argv], env=env, stdin=subprocess.DEVNULL, stdout=stdout,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def run(env: Env, *argv: str, timeout: float = 90) -> tuple[int, str, str]:
    """(exit code, stdout, stderr); a traceback is never right."""
    process = start(env, *argv)
    out, err = process.communicate(timeout=timeout)
    assert "Traceback" not in err, err
    assert "\x1b" not in out + err
    return process.returncode, out, err


def answer(env: Env, *argv: str) -> Any:
    """The JSON that a command prints alone on stdout."""
    code, out, err = run(env, *argv, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def complaint(env: Env, *argv: str, code: int, timeout: float = 90) -> list[str]:
    """The lines on stderr of a command that must say no, with nothing on stdout."""
    got, out, err = run(env, *argv, timeout=timeout)
    assert (got, out) == (code, ""), err
    lines = err.splitlines()
    assert lines
    assert lines[0].startswith("slurmconsole: ")
    return lines


def spec_file(folder: Path, env: Env, *changes: tuple[str, str]) -> Path:
    """The spec of `slurmconsole example` with some text replaced."""
    code, text, err = run(env, "example")
    assert (code, err) == (0, "")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "spec.toml"
    path.write_text(text)
    return path


SHORT = ('"gpt-tiny",\n    "--steps",\n    "300"', '"linear",\n    "--steps",\n    "50"')


def command_spec(folder: Path, script: str) -> Path:
    path = folder / "spec.toml"
    path.write_text(
        f'name = "x"\n[resources]\npartition = "a100"\ntime_limit = "5"\n'
        f'[run]\nkind = "command"\ncommand = ["bash", "-c", {json.dumps(script)}]\n'
    )
    return path


def test_gpus_are_those_of_the_cluster_and_add_up(env: Env) -> None:
    job_id = sbatch(env, "-pa100", "-N1", "--gpus=3", "--output=/dev/null", script="sleep 600")
    wait_for_state(env, job_id, "RUNNING")
    data = answer(env, "gpus")
    assert (data["cluster"], data["problems"]) == ("sandbox", [])
    counts = {count["gpu_type"]: count for count in data["gpu_types"]}
    assert {kind: (c["total"], c["allocated"], c["usable"]) for kind, c in counts.items()} == {
        "a100": (16, 3, 13), "h100": (16, 0, 16),
    }  # fmt: skip
    assert all(set(count) >= GPU for count in counts.values())
    assert {part["partition"] for part in data["partitions"]} == {"a100", "h100", "cpu", "debug", "all"}
    code, out, err = run(env, "gpus")
    assert (code, err) == (0, "")
    assert re.search(r"^a100 .*13 usable of 16 .*3 whole nodes", out, re.MULTILINE)


def test_partitions_and_nodes_as_json_and_as_whole_lines(env: Env) -> None:
    parts = {part["partition"]: part for part in answer(env, "partitions")}
    assert [name for name, part in parts.items() if part["default"]] == ["a100"]
    assert (parts["all"]["nodes_total"], parts["cpu"]["gpu_types"], parts["a100"]["hidden"]) == (8, [], False)
    nodes = {node["node"]: node for node in answer(env, "nodes")}
    assert len(nodes) == 8
    assert nodes["gpu05"]["gpus"] == [{"gpu_type": "h100", "total": 8, "allocated": 0}]
    for command, rows in (("partitions", 5), ("nodes", 8)):
        code, out, err = run(env, command)
        assert (code, err, len(out.splitlines())) == (0, "", rows + 1)
        assert "…" not in out


def test_a_hidden_partition_is_listed(env: Env) -> None:
    slurm(env, "scontrol", "update", "partitionname=h100", "hidden=yes")
    try:
        hidden = [part["partition"] for part in answer(env, "partitions") if part["hidden"]]
        counted = [part["partition"] for part in answer(env, "gpus")["partitions"]]
    finally:
        slurm(env, "scontrol", "update", "partitionname=h100", "hidden=no")
    assert hidden == ["h100"]
    assert "h100" in counted


def test_an_empty_queue_is_an_empty_list_or_a_sentence(env: Env) -> None:
    assert answer(env, "jobs") == answer(env, "jobs", "--all") == []
    code, out, err = run(env, "jobs")
    assert (code, len(out.splitlines())) == (0, 1)
    assert "has no jobs in the queue; --all shows everyone's." in err


def test_jobs_with_names_of_any_kind(env: Env) -> None:
    names = {sbatch(env, "--hold", f"--job-name={name}", script=":"): name for name in (ESC_NAME, "日本" * 30, "a\nb")}
    assert {job["job_id"]: job["name"] for job in answer(env, "jobs")} == names
    assert {job["job_id"] for job in answer(env, "jobs", "--all")} == set(names)
    code, out, err = run(env, "jobs")
    assert (code, err, len(out.splitlines())) == (0, "", 4)
    assert all(text in out for text in ("␛[31mred␛]0;title␇", "日本" * 30, "a␊b", "JobHeldUser"))


def test_one_job_says_why_it_waits(env: Env) -> None:
    job_id = sbatch(env, "--hold", f"--job-name={ESC_NAME}", script=":")
    data = answer(env, "job", job_id)
    assert (data["job_id"], data["state"], data["reason"], data["progress"]) == (job_id, "PENDING", "JobHeldUser", None)
    assert data["why_pending"].startswith("You, its owner or the head of its account hold it")
    assert data["stdout"] == data["stderr"] == f"{data['work_dir']}/slurm-{job_id}.out"
    assert run(env, "job", job_id)[0] == 0
    assert complaint(env, "job", "99999999", code=1) == ["slurmconsole: Slurm does not know job 99999999."]


@pytest.mark.torch
def test_a_short_run_is_submitted_followed_and_finished(env: Env, tmp_path: Path) -> None:
    spec = spec_file(tmp_path, env, SHORT)
    submitted = answer(env, "submit", str(spec))
    job_id = submitted["job_id"]
    assert re.fullmatch(r"\d+", job_id)
    assert set(submitted) >= {"job_id", "script", "spec", "stdout", "stderr"}
    assert Path(submitted["script"]).read_text().startswith("#!/bin/bash\n")
    assert Path(submitted["spec"]).exists()
    assert [job["job_id"] for job in answer(env, "jobs")] == [job_id]
    code, out, err = run(env, "logs", job_id, "-f", timeout=180)
    assert code == 0, out + err
    assert err.splitlines()[-1] == f"slurmconsole: job {job_id} ended: COMPLETED."
    assert out == Path(submitted["stdout"]).read_text()
    for source in (job_id, submitted["stdout"]):
        done = answer(env, "progress", source)
        assert (done["fraction"], done["step"], done["total"], done["ranks"]) == (1.0, 50, 50, 4)
        assert done["ended"]["code"] == 0
    detail = answer(env, "job", job_id)
    assert (detail["job_id"], detail["state"], detail["progress"]["fraction"]) == (job_id, "COMPLETED", 1.0)
    assert "step       50 of 50, 100.0%" in run(env, "job", job_id)[1]


def test_following_a_job_that_fails_is_no(env: Env, tmp_path: Path) -> None:
    spec = command_spec(tmp_path, "printf 'first\\n\\033[31mlast without newline'; exit 9")
    job_id = answer(env, "submit", str(spec))["job_id"]
    code, out, err = run(env, "logs", job_id, "-f")
    assert code == 1
    assert "first\n" in out
    assert "last without newline" in out
    assert err.splitlines()[-1] == f"slurmconsole: job {job_id} ended: FAILED."
    assert run(env, "logs", job_id) == (0, out, "")


def test_following_says_why_a_job_waits_and_prints_lines_as_they_come(env: Env, tmp_path: Path) -> None:
    job_id = sbatch(env, "--hold", f"--output={tmp_path}/log", script="echo begun; sleep 600")
    with start(env, "logs", job_id, "-f") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert "JobHeldUser" in process.stderr.readline()
        slurm(env, "scontrol", "release", job_id)
        assert process.stdout.readline() == "begun\n"
        slurm(env, "scancel", job_id)
        assert process.wait(60) == 1
        assert process.stderr.read().splitlines()[-1] == f"slurmconsole: job {job_id} ended: CANCELLED."


def test_an_interrupt_ends_following_quietly(env: Env, tmp_path: Path) -> None:
    job_id = sbatch(env, f"--output={tmp_path}/log", script="echo begun; sleep 600")
    with start(env, "logs", job_id, "-f") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "begun\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert "Traceback" not in process.stderr.read()
    assert job_state(env, job_id) == "RUNNING"


def test_a_log_that_is_not_there_is_one_sentence(env: Env, tmp_path: Path) -> None:
    job_id = sbatch(env, "--hold", f"--output={tmp_path}/log-%j", script=":")
    assert complaint(env, "logs", job_id, code=1) == [f"slurmconsole: The log is not there: {tmp_path}/log-{job_id}."]


REFUSED = [
    ('partition = "a100"', 'partition = "nowhere"', "invalid partition specified: nowhere"),
    ("gpus_per_node = 2", "gpus_per_node = 99", "Requested node configuration is not available"),
]


@pytest.mark.parametrize(("old", "new", "reason"), REFUSED)
def test_a_refused_job_is_no_with_every_line_of_sbatch(
    old: str, new: str, reason: str, env: Env, tmp_path: Path
) -> None:
    spec = spec_file(tmp_path, env, (old, new))
    _, script, _ = run(env, "render", str(spec))
    said = subprocess.run(["sbatch", "--parsable"], input=script, env=env, capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert reason in said.stderr
    for options in ([], ["--json"]):
        first, *lines, meaning = complaint(env, "submit", str(spec), *options, code=1)
        assert first.startswith("slurmconsole: Slurm refused the job: ")
        assert [line.strip() for line in lines] == said.stderr.splitlines()
        assert "partition" in meaning
    assert complaint(env, "submit", "--test-only", str(spec), code=1)[0].startswith("slurmconsole: Slurm refused")
    assert answer(env, "jobs") == []


def test_more_nodes_than_there_are_is_no(env: Env, tmp_path: Path) -> None:
    """sbatch itself takes such a job, for a partition may grow; its --test-only does not."""
    spec = spec_file(tmp_path, env, ("nodes = 2", "nodes = 400"))
    lines = complaint(env, "submit", "--test-only", str(spec), code=1)
    assert "Requested node configuration is not available" in lines[0]


def test_a_job_that_slurm_takes_and_can_never_start_is_told_to_be_one(env: Env, tmp_path: Path) -> None:
    spec = spec_file(tmp_path, env)
    spec.write_text(re.sub(r"(?m)^time_limit = .*$", 'time_limit = "30-00:00:00"', spec.read_text()))
    code, out, err = run(env, "submit", str(spec))
    assert code == 0
    assert "Submitted as job" in out
    assert err.startswith("slurmconsole: this job can never start: ")
    waits = "the job waits for its time limit"
    wait_until(lambda: [job["reason"] for job in answer(env, "jobs")] == ["PartitionTimeLimit"], 30, waits)


def test_test_only_says_when_and_where_and_submits_nothing(env: Env, tmp_path: Path) -> None:
    spec = spec_file(tmp_path, env)
    verdict = answer(env, "submit", "--test-only", str(spec))
    assert (verdict["partition"], bool(verdict["nodes"])) == ("a100", True)
    start_time = datetime.fromisoformat(verdict["would_start"])
    assert start_time.utcoffset() is not None
    assert abs(start_time.timestamp() - time.time()) < 60
    code, out, err = run(env, "submit", "--test-only", str(spec))
    assert (code, err) == (0, "")
    assert "to start at" in out
    assert answer(env, "jobs") == []


def test_the_example_renders_and_is_a_job_that_slurm_takes(env: Env, tmp_path: Path) -> None:
    spec = spec_file(tmp_path, env)
    code, script, err = run(env, "render", str(spec))
    assert (code, err) == (0, "")
    assert "#SBATCH --partition=a100\n" in script
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    code, out, err = run(env, "submit", str(spec))
    assert (code, err) == (0, "")
    found = re.match(r"Submitted as job (\d+)\. Watch it: slurmconsole logs \1 -f\n", out)
    assert found is not None
    assert job_state(env, found[1]) in ("PENDING", "RUNNING", "COMPLETED")


READ_COMMANDS = [["gpus"], ["partitions"], ["nodes"], ["jobs"], ["job", "1"], ["logs", "1"], ["progress", "1"]]


@pytest.mark.parametrize("command", READ_COMMANDS, ids=lambda command: command[0])
def test_without_slurm_on_path_the_exit_code_is_3(command: list[str], env: Env, tmp_path: Path) -> None:
    lines = complaint(env | {"PATH": str(tmp_path)}, *command, code=3)
    assert all(line.endswith("was not found on PATH: is this a Slurm login node?") for line in lines)


@pytest.fixture
def deaf(env: Env, tmp_path: Path) -> Env:
    """An environment whose controller does not answer: nobody listens at its port."""
    conf = Path(env["SLURM_CONF"]).read_text()
    path = tmp_path / "slurm.conf"
    path.write_text(re.sub(r"(?m)^SlurmctldPort=.*$", "SlurmctldPort=1", conf) + "MessageTimeout=2\n")
    return env | {"SLURM_CONF": str(path)}


@pytest.mark.parametrize("command", READ_COMMANDS, ids=lambda command: command[0])
def test_a_controller_that_does_not_answer_is_exit_code_3(command: list[str], deaf: Env) -> None:
    lines = complaint(deaf, *command, code=3)
    assert all("Unable to contact slurm controller" in line for line in lines)


def test_nothing_is_submitted_to_a_controller_that_does_not_answer(deaf: Env, tmp_path: Path) -> None:
    (line,) = complaint(deaf, "submit", str(command_spec(tmp_path, ":")), "--json", code=3)
    assert line.startswith("slurmconsole: Slurm could not be asked: Unable to contact slurm controller")


@pytest.mark.parametrize("command", [["nodes"], ["nodes", "--json"], ["partitions"], ["jobs", "--json"]])
def test_a_reader_that_leaves_is_no_error(command: list[str], env: Env) -> None:
    read, write = os.pipe()
    os.close(read)
    with start(env, *command, stdout=write) as process:
        os.close(write)
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(60)) == ("", 0)


def test_head_gets_its_line(env: Env) -> None:
    code = 'set -o pipefail; "$0" -m console.cli nodes | head -1'
    done = subprocess.run(
        ["bash", "-c", code, sys.executable], env=env, capture_output=True, text=True, timeout=90, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("NODE ")
    assert len(done.stdout.splitlines()) == 1


def test_a_full_disk_is_one_sentence(env: Env) -> None:
    with Path("/dev/full").open("w") as full, start(env, "nodes", stdout=full.fileno()) as process:
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait(60)) == ("slurmconsole: No space left on device.\n", 1)


def test_a_terminal_without_unicode_is_no_error(env: Env) -> None:
    code, out, err = run(env | {"PYTHONIOENCODING": "ascii"}, "nodes")
    assert (code, err, out.isascii()) == (0, "", True)


def test_the_array_and_its_tasks_have_ids_as_text(env: Env) -> None:
    array = sbatch(env, "--hold", "--array=1-3", script=":")
    (found,) = answer(env, "jobs")
    assert (found["job_id"], found["array_job_id"], found["array_task_id"]) == (array, array, "1-3")
    assert found["display_id"] == f"{array}_[1-3]"
    assert answer(env, "job", array)["array_job_id"] == array


def test_fit_says_where_a_shape_starts_and_the_controller_agrees(env: Env) -> None:
    code, out, _ = run(env, "fit", "-N", "2", "--gpus-per-node", "4", "-t", "60", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["shape"] == {
        "nodes": 2, "gpus_per_node": 4, "gpu_type": None, "ntasks_per_node": 4, "cpus_per_task": None,
        "memory_mib": None, "time_limit_s": 3600, "account": None, "qos": None,
    }  # fmt: skip
    places = {place["partition"]: place for place in answer["placements"]}
    assert {name: place["starts_now"] for name, place in places.items()} == {
        "a100": True, "h100": True, "all": True, "debug": False,
    }  # fmt: skip
    assert (places["a100"]["nodes_fitting"], places["a100"]["nodes_possible"]) == (4, 4)
    assert places["a100"]["estimated_start"] is not None
    assert "The time limit is over the 30:00 that the partition allows." in places["debug"]["why"]


def test_fit_that_is_nowhere_or_wrong_has_its_own_exit_codes(env: Env) -> None:
    code, out, _ = run(env, "fit", "-N", "7", "--gpus-per-node", "1", "--no-ask", "-p", "all")
    assert code == 1
    assert "Only 6 nodes could ever hold this shape, 7 are needed." in out
    for wrong in (["--mem", "much"], ["-t", "soon"], ["-N", "0"], ["--gpus-per-node", "-1"]):
        code, out, err = run(env, "fit", *wrong, "--no-ask")
        assert (code, out) == (2, ""), wrong
        assert err.startswith(("slurmconsole: ", "usage: ")), wrong
    code, _, err = run(env, "fit", "-p", "nowhere")
    assert (code, err) == (1, "slurmconsole: There is no partition nowhere.\n")


def test_a_closed_standard_output_is_no_traceback(env: Env) -> None:
    command = f"{sys.executable} -m console.cli gpus --json >&-"
    answer = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")
