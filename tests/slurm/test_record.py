"""A recording of a live Slurm, replayed, against what the same commands say live."""

from __future__ import annotations

import getpass
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import sbatch, slurm, wait_for_state, wait_until

pytestmark = pytest.mark.slurm

Env = dict[str, str]
ROOT = Path(__file__).parents[2]


@pytest.fixture
def env(slurm_env: Env, tmp_path: Path) -> Iterator[Env]:
    """The sandbox's environment with homes of its own; no job is left when the test ends."""
    yield slurm_env | {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("DATA", "STATE", "CONFIG")}
    slurm(slurm_env, "scancel", "--user=" + getpass.getuser())
    wait_until(lambda: not slurm(slurm_env, "squeue", "--noheader"), 30, "the cluster is idle")


def run(env: Env, *argv: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "console.cli", *argv], env=env | {"PYTHONPATH": str(ROOT)}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=90, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def answer(env: Env, *argv: str) -> Any:
    """(exit code, JSON or None, complaints); when it was taken is left out."""
    code, out, err = run(env, *argv, "--json")
    data = json.loads(out) if out else None
    if isinstance(data, dict):
        data.pop("taken_at", None)
    return code, data, err


@pytest.mark.parametrize("name", ["lab.jsonl", "lab.jsonl.gz"])
def test_a_replay_says_what_the_cluster_said(env: Env, tmp_path: Path, name: str) -> None:
    quiet = ("-o", str(tmp_path / "%A.out"))
    running = sbatch(env, "-N2", "--gres=gpu:1", *quiet, script="sleep 600", cwd=tmp_path)
    held = sbatch(env, "-H", "-J", "a\x1b[31m|\nb", *quiet, script="true", cwd=tmp_path)
    array = sbatch(env, "-H", "--array=3-9:2,12%2", *quiet, script="true", cwd=tmp_path)
    waiting = sbatch(env, f"--dependency=afterok:{held}", *quiet, script="true", cwd=tmp_path)
    wait_for_state(env, running, "RUNNING")
    path = tmp_path / name
    code, out, err = run(env, "record", str(path))
    assert (code, out) == (0, "")
    assert str(path) in err
    assert path.stat().st_mode & 0o777 == 0o600
    queries = [["gpus"], ["partitions"], ["nodes"], ["jobs", "--all"], ["jobs", "--me"]]
    queries += [["job", job_id] for job_id in (running, held, array, f"{array}_5", waiting, "99999")]
    live = [answer(env, *query) for query in queries]
    assert live[3][1], "there are jobs to compare"
    nowhere = {"PATH": os.defpath, "HOME": str(tmp_path), "SLURM_CONF": str(tmp_path / "none")}
    replayed = [answer(nowhere, "--replay", str(path), *query) for query in queries]
    for query, said, again in zip(queries, live, replayed, strict=True):
        assert again == said, query
    assert replayed[0][1]["cluster"] == "sandbox"
    assert [job["job_id"] for job in replayed[3][1] if job["state"] == "RUNNING"] == [running]


def test_a_spec_for_the_recorded_cluster_is_the_live_one(env: Env, tmp_path: Path) -> None:
    path = str(tmp_path / "lab.jsonl")
    assert run(env, "record", path)[0] == 0
    live = run(env, "example")
    assert live[0] == 0
    assert run(env | {"PATH": str(tmp_path)}, "--replay", path, "example") == live


def test_an_anonymous_recording_counts_the_same_gpus_on_other_nodes(env: Env, tmp_path: Path) -> None:
    path = tmp_path / "lab.jsonl"
    job_id = sbatch(env, "-N2", "--gres=gpu:1", "-J", "secretive", "-o", "/dev/null", script="sleep 600", cwd=tmp_path)
    wait_for_state(env, job_id, "RUNNING")
    assert run(env, "record", "--anonymize", str(path))[0] == 0
    code, hidden, _ = answer({"HOME": str(tmp_path)}, "--replay", str(path), "gpus")
    live = answer(env, "gpus")[1]
    assert code == 0
    for data in (hidden, live):
        for counts in (data["gpu_types"], *(part["gpu_types"] for part in data["partitions"])):
            for count in counts:
                count["largest_block"].pop("partition")
    assert hidden["gpu_types"] == live["gpu_types"]
    assert [part["gpu_types"] for part in hidden["partitions"]] == [part["gpu_types"] for part in live["partitions"]]
    assert [job["job_id"] for job in answer({"HOME": str(tmp_path)}, "--replay", str(path), "jobs")[1]] == [job_id]
    assert not [word for word in ("gpu01", "secretive", "debug", "sandbox", str(tmp_path)) if word in path.read_text()]


def test_a_person_can_read_the_file(env: Env, tmp_path: Path) -> None:
    for name, unpack in (("a.jsonl", bytes), ("a.jsonl.gz", gzip.decompress)):
        assert run(env, "record", str(tmp_path / name))[0] == 0
        lines = unpack((tmp_path / name).read_bytes()).decode("ascii").splitlines()
        assert json.loads(lines[0])["user"] == getpass.getuser()
        assert any(line.startswith('{"stdout": "NodeName=gpu01 ') for line in lines)


def test_without_slurm_nothing_is_recorded(tmp_path: Path) -> None:
    code, out, err = run({"PATH": str(tmp_path), "HOME": str(tmp_path)}, "record", str(tmp_path / "a.jsonl"))
    assert (code, out) == (3, "")
    assert "was not found on PATH" in err
    assert not (tmp_path / "a.jsonl").exists()
