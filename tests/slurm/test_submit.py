"""Rendered jobs on a real Slurm: training, hostile values, refusal, the signal and the requeue."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from helpers import slurm, wait_for_state, wait_until

from jobs import history
from jobs.sbatch import SubmitRefused
from jobs.slurm.run import Runner
from jobs.spec import JobSpec, default_spec
from jobs.submit import Submitted, find_job, prepare, script_for, submit
from jobs.submit import test_only as verdict_of

pytestmark = pytest.mark.slurm

SAYS_RANK = 'printf "rank $RANK local $LOCAL_RANK of $WORLD_SIZE got %q %q\\n" "$1" "$MINE"'
FOUR_RANKS = {f"rank {rank} local {rank % 2} of 4" for rank in range(4)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "jobs with 'blanks' & $signs #ü"


@pytest.fixture(scope="session")
def runner(slurm_env: dict[str, str]) -> Runner:
    return Runner(slurm_env)


def spec(**changes: Any) -> JobSpec:
    """The sandbox's default spec with some fields changed; a table's fields are merged into it."""
    data = default_spec(sandbox=True, partition="a100").model_dump()
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) else value
    return JobSpec.model_validate(data)


def command(*argv: str) -> dict[str, Any]:
    return {"kind": "command", "command": argv}


def completed(env: dict[str, str], job: Submitted, timeout: float = 60) -> str:
    """The log of a job that must end well."""
    try:
        wait_for_state(env, str(job.job_id), "COMPLETED", timeout=timeout)
    except AssertionError as error:
        text = job.stdout_path.read_text() if job.stdout_path.exists() else "no log"
        raise AssertionError(f"{error}\n{text}") from None
    return job.stdout_path.read_text("utf-8")


@pytest.mark.torch
@pytest.mark.parametrize("launcher", ["srun", "torchrun"])
def test_the_payload_trains_on_two_nodes(launcher: str, slurm_env: dict[str, str], runner: Runner, root: Path) -> None:
    run = {"args": ("--model", "gpt-tiny", "--steps", "20", "--device", "cpu")}
    job = submit(prepare(spec(run=run, launch={"launcher": launcher}), root=root), runner)
    log = completed(slurm_env, job, timeout=150)
    assert "sc1 step 20/20" in log
    assert re.search(r"sc1 hello .*\bworld=4\b", log)
    assert re.search(r"sc1 end why=done code=0", log)
    assert [entry.job_id for entry in history.submissions(root)] == [job.job_id]


@pytest.mark.parametrize("launcher", [
    "srun",
    pytest.param("torchrun", marks=pytest.mark.torch),
])  # fmt: skip
def test_hostile_values_arrive_as_they_were_meant(
    launcher: str, slurm_env: dict[str, str], runner: Runner, root: Path
) -> None:
    name, value = "a 'b' \"c\" $(d) `e` \\f; #g :h %j ü", "--n 'x' $(y)\\ ü #\r\nsecond"
    hostile = spec(name=name, env={"MINE": value}, run=command("bash", "-c", SAYS_RANK, "-", value))
    job = submit(
        prepare(hostile.model_copy(update={"launch": spec(launch={"launcher": launcher}).launch}), root=root), runner
    )
    log = completed(slurm_env, job)
    assert {line.partition(" got ")[0] for line in log.splitlines() if " got " in line} == FOUR_RANKS
    shown = subprocess.run(
        ["bash", "-c", 'printf %q "$1"', "-", value], capture_output=True, check=True
    ).stdout.decode()
    assert log.count(f" got {shown} {shown}\n") == 4
    listed = slurm(slurm_env, "squeue", "--noheader", "--states=all", f"--jobs={job.job_id}", "--format=%j|%k")
    assert listed.rstrip("\n") == f"{name}|{job.submission.comment}"


NAMES = [
    "#x", ":x", "a#b", "end\\", "hetjob", "a hetjob b", "packjob", "~", "*", "[1-3]", "it's", '"', "'\"'", "a=b", "%j",
    " a ", "日本",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_sbatch_reads_a_name_back_as_it_was_written(name: str, slurm_env: dict[str, str], root: Path) -> None:
    held = script_for(spec(name=name), root).replace("#SBATCH", "#SBATCH --hold\n#SBATCH", 1)
    job_id = slurm(slurm_env, "sbatch", "--parsable", stdin=held).strip()
    shown = slurm(slurm_env, "squeue", "--noheader", f"--jobs={job_id}", "--format=%j")
    slurm(slurm_env, "scancel", job_id)
    assert shown == f"{name}\n"


def test_slurm_makes_the_log_with_the_names_that_were_expected(
    slurm_env: dict[str, str], runner: Runner, root: Path
) -> None:
    odd = spec(name="n 'x' %j", output='logs of %u/50%% "%x" %j.txt', run=command("echo", "hello"))
    assert completed(slurm_env, submit(prepare(odd, root=root), runner)).count("hello\n") == 4


def test_a_refused_job_gives_slurms_reason_and_no_record(runner: Runner, root: Path) -> None:
    made = prepare(spec(resources={"partition": "nowhere"}), root=root)
    with pytest.raises(SubmitRefused, match=r"^Slurm refused the job: Invalid partition name specified\.$") as caught:
        submit(made, runner)
    assert any("nowhere" in line for line in caught.value.lines)
    assert history.submissions(root) == []


def test_the_verdict_names_the_nodes_without_a_folder(runner: Runner, root: Path) -> None:
    verdict = verdict_of(script_for(spec(), root), runner)
    assert (verdict.processors, verdict.partition) == (4, "a100")
    assert verdict.start is not None
    assert verdict.nodes
    assert not root.exists()
    with pytest.raises(SubmitRefused, match="Requested node configuration is not available"):
        verdict_of(script_for(spec(resources={"nodes": 400}), root), runner)


def test_a_submission_is_found_by_its_comment(slurm_env: dict[str, str], runner: Runner, root: Path) -> None:
    made = prepare(spec(run=command("sleep", "60")), root=root)
    assert find_job(made, runner) is None
    job = submit(made, runner)
    assert find_job(made, runner) == job.job_id
    slurm(slurm_env, "scancel", str(job.job_id))


def test_a_failed_rank_fails_the_job_and_ends_the_others(slurm_env: dict[str, str], runner: Runner, root: Path) -> None:
    fails = spec(run=command("bash", "-c", "[ $RANK = 3 ] && exit 9; sleep 600"))
    job = submit(prepare(fails, root=root), runner)
    wait_for_state(slurm_env, str(job.job_id), "FAILED", timeout=60)


def test_ranks_get_usr1_and_code_75_queues_the_job_again(slurm_env: dict[str, str], runner: Runner, root: Path) -> None:
    """The ranks of the first life end at different moments with code 75; the second life ends well."""
    body = """
        if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then echo "life 2 rank $RANK"; exit 0; fi
        trap 'echo "stopping rank $RANK"; sleep "0.$RANK"; exit 75' USR1
        echo "life 1 rank $RANK"
        while :; do sleep 0.1; done"""
    job = submit(prepare(spec(requeue=True, run=command("bash", "-c", body)), root=root), runner)

    def lines(text: str) -> int:
        return job.stdout_path.read_text().count(text) if job.stdout_path.exists() else 0

    wait_until(lambda: lines("life 1 rank") == 4, 60, "four ranks started")
    slurm(slurm_env, "scancel", "--batch", "--signal=USR1", str(job.job_id))
    wait_until(lambda: lines("are queued again") == 1, 60, "the script asked for a requeue")
    assert lines("stopping rank") == 4
    # A requeued job waits two minutes by default; its owner may start it earlier, but not in the second of the requeue,
    # when its credential is still revoked.
    wait_until(lambda: restarted(slurm_env, job), 30, "Slurm counts a restart")
    slurm(slurm_env, "scontrol", "update", f"JobId={job.job_id}", "StartTime=now+3")
    log = completed(slurm_env, job)
    assert log.count("life 1 rank") == log.count("life 2 rank") == 4


def restarted(env: dict[str, str], job: Submitted) -> bool:
    shown = slurm(env, "scontrol", "show", "job", str(job.job_id))
    return "Restarts=1" in shown and "JobState=PENDING" in shown


def test_the_folder_repeats_the_run_by_hand_from_anywhere(
    slurm_env: dict[str, str], runner: Runner, root: Path, tmp_path: Path
) -> None:
    made = submit(prepare(spec(run=command("echo", "again")), root=root), runner)
    completed(slurm_env, made)
    answer = subprocess.run(
        ["sbatch", "--wait", "--parsable", str(made.submission.script)],
        cwd=tmp_path, env=slurm_env, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    log = made.submission.folder / f"slurm-{answer.stdout.strip()}.out"
    assert log.read_text().count("again\n") == 4
