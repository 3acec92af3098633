"""Each rank receives exactly the argv and variables that were meant: rendered scripts run with stand-ins on PATH."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from specs import HOSTILE, spec

from jobs.script import render
from jobs.spec import JobSpec

STAND_INS = {
    "scontrol": """
if [[ $2 == hostnames ]]; then printf '%s\\n' $NODES; else echo "NodeName=x NodeAddr=$ADDR NodeHostName=y"; fi""",
    # Two tasks on two nodes, one after the other.
    "srun": """
printf '%s\\n' "$@" > "$OUT/srun"
while [[ $1 != -- ]]; do shift; done; shift
for i in 0 1; do
    SLURM_PROCID=$i SLURM_NODEID=$i SLURM_LOCALID=0 SLURM_NTASKS=2 SLURM_NNODES=2 "$@" || exit
done""",
    # torchrun's agent with one worker: options up to the program, which gets its rank by variable.
    "agent": """
[[ "$1 $2" == "-m torch.distributed.run" ]] || exec record "$@"
printf '%s\\0' "$@" > "$OUT/agent.$SLURM_NODEID"
while [[ $1 != --no-python ]]; do shift; done; shift
RANK=$SLURM_NODEID LOCAL_RANK=0 WORLD_SIZE=2 exec "$@\"""",
    "apptainer": 'while [[ $1 != *.sif ]]; do shift; done; shift; exec "$@"',
    "record": """
printf '%s\\0' "$#" "$@" > "$OUT/argv.$SLURM_PROCID"
env -0 > "$OUT/env.$SLURM_PROCID"
""",
}  # fmt: skip


@pytest.fixture(scope="module")
def bin_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    for name, body in STAND_INS.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def out() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def run_script(job: JobSpec, bin_folder: Path, out: Path, **variables: str) -> subprocess.CompletedProcess[bytes]:
    script = out / "job.sh"
    script.write_text(render(job, out, console_version="1", slurm_version=None), "utf-8", newline="")
    environ = {
        "PATH": f"{bin_folder}:/usr/bin:/bin", "OUT": str(out), "SLURM_JOB_ID": "4540", "SLURM_JOB_NODELIST": "n[1-2]",
        "SLURM_CPUS_PER_TASK": "1", "NODES": "localhost other", "ADDR": "127.0.0.1", **variables,
    }  # fmt: skip
    return subprocess.run(["bash", str(script)], cwd=out, env=environ, capture_output=True, timeout=30, check=False)


def received(out: Path, rank: int) -> tuple[list[str], dict[str, str]]:
    argv = (out / f"argv.{rank}").read_bytes().decode().split("\0")[1:-1]
    env = (out / f"env.{rank}").read_bytes().decode().split("\0")[:-1]
    return argv, dict(item.partition("=")[::2] for item in env)


def image(out: Path) -> dict[str, Any]:
    (out / "i.sif").touch()
    return {"kind": "apptainer", "image": str(out / "i.sif")}


@given(
    args=st.lists(HOSTILE, max_size=6),
    value=HOSTILE,
    kind=st.sampled_from(["payload", "command"]),
    launcher=st.sampled_from(["srun", "torchrun"]),
    contained=st.booleans(),
    requeue=st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_every_rank_gets_the_argv_and_variables_that_were_meant(
    bin_folder: Path, args: list[str], value: str, kind: str, launcher: str, contained: bool, requeue: bool
) -> None:
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        runtime = {"python": "agent", **(image(out) if contained else {})}
        run = {"kind": kind, "args": args, "command": ["record", *args] if kind == "command" else []}
        job = spec(runtime=runtime, run=run, launch={"launcher": launcher}, env={"MINE": value}, requeue=requeue)
        answer = run_script(job, bin_folder, out)
        assert (answer.returncode, answer.stderr) == (0, b"")
        expected = args if kind == "command" else ["-u", "-m", "payload.train", *args]
        for rank in (0, 1):
            argv, env = received(out, rank)
            assert argv == expected
            assert env["MINE"] == value
            assert (env["MASTER_ADDR"], env["MASTER_PORT"]) == ("localhost", "61004")
            if kind == "command" or launcher == "torchrun":
                assert (env["RANK"], env["LOCAL_RANK"], env["WORLD_SIZE"]) == (str(rank), "0", "2")
        assert not (out / "pwned").exists()


def test_a_submitting_shells_rank_does_not_reach_the_payload(bin_folder: Path, out: Path) -> None:
    leaked = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "TORCHELASTIC_RUN_ID": "x", "SLURM_TIME_FORMAT": "%s"}
    assert run_script(spec(runtime={"python": "record"}), bin_folder, out, **leaked).returncode == 0
    assert not set(leaked) & set(received(out, 1)[1])


def test_the_command_runs_in_its_directory_whatever_that_is_called(bin_folder: Path, out: Path) -> None:
    place = out / "- $(touch pwned) 'x'"
    place.mkdir()
    job = spec(run={"kind": "command", "command": ["record"], "work_dir": str(place)})
    assert run_script(job, bin_folder, out).returncode == 0
    assert received(out, 0)[1]["PWD"] == str(place)


def test_srun_ends_the_step_with_the_first_bad_rank(bin_folder: Path, out: Path) -> None:
    run_script(spec(runtime={"python": "record"}), bin_folder, out)
    options = (out / "srun").read_text().split("\n--\n")[0].splitlines()
    assert options == ["--kill-on-bad-exit=1", "--wait=60", "--cpus-per-task=1"]


def test_the_first_node_alone_hosts_torchruns_rendezvous(bin_folder: Path, out: Path) -> None:
    run_script(spec(runtime={"python": "agent"}, launch={"launcher": "torchrun"}), bin_folder, out)
    first, second = ((out / f"agent.{i}").read_text().split("\0") for i in (0, 1))
    assert "--rdzv-endpoint=localhost:61004" in first
    assert {"--local-addr=localhost", "--rdzv-conf=is_host=1"} <= set(first)
    assert "--rdzv-conf=is_host=0" in second
    assert "--local-addr=localhost" not in second


@pytest.mark.torch
@given(args=st.lists(HOSTILE, max_size=4))
@settings(max_examples=50, deadline=None)
def test_torchruns_own_parser_leaves_the_command_alone(bin_folder: Path, args: list[str]) -> None:
    from torch.distributed.run import parse_args

    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        run = {"kind": "command", "command": ["record", *args]}
        run_script(spec(runtime={"python": "agent"}, launch={"launcher": "torchrun"}, run=run), bin_folder, out)
        recorded = (out / "agent.0").read_bytes().decode().split("\0")[:-1]
    parsed = parse_args(recorded[2:])
    assert (parsed.nnodes, parsed.nproc_per_node, parsed.rdzv_backend, parsed.rdzv_conf) == (
        "2",
        "1",
        "c10d",
        "is_host=1",
    )
    assert (parsed.training_script, parsed.training_script_args[0]) == ("bash", "-c")
    assert len(parsed.training_script_args) == 2


def test_a_node_name_that_does_not_resolve_is_replaced_by_slurms_address(bin_folder: Path, out: Path) -> None:
    answer = run_script(spec(runtime={"python": "record"}), bin_folder, out, NODES="no-such-node.invalid other")
    assert answer.returncode == 0
    assert received(out, 1)[1]["MASTER_ADDR"] == "127.0.0.1"


def test_no_address_at_all_stops_the_job_instead_of_falling_back(bin_folder: Path, out: Path) -> None:
    nowhere = {"NODES": "no-such-node.invalid", "ADDR": "no-such-node.invalid"}
    answer = run_script(spec(runtime={"python": "record"}), bin_folder, out, **nowhere)
    assert answer.returncode == 3
    assert b"node no-such-node.invalid: neither name nor address (no-such-node.invalid) resolves." in answer.stderr
    assert not (out / "srun").exists()


@pytest.mark.parametrize(
    ("runtime", "text"),
    [
        ({"python": "/no/python"}, b": /no/python was not found.\n"),
        ({"kind": "apptainer", "image": "/no/i.sif"}, b": the image /no/i.sif cannot be read.\n"),
    ],
)
def test_what_is_missing_is_said_before_any_task_starts(
    runtime: dict[str, str], text: bytes, bin_folder: Path, out: Path
) -> None:
    answer = run_script(spec(runtime=runtime), bin_folder, out)
    assert answer.returncode == 3
    assert answer.stderr.startswith(b"slurmconsole on ")
    assert answer.stderr.endswith(text)
    assert not (out / "srun").exists()


@pytest.mark.parametrize(("code", "requeued"), [(75, True), (0, False), (1, False)])
def test_only_code_75_asks_for_a_requeue(code: int, requeued: bool, bin_folder: Path, out: Path) -> None:
    job = spec(requeue=True, run={"kind": "command", "command": ["bash", "-c", f"exit {code}"]})
    answer = run_script(job, bin_folder, out)
    assert answer.returncode == code
    assert (b"are queued again" in answer.stderr) is requeued
