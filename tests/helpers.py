"""What several tests need: waiting with a deadline, and jobs on the sandbox cluster."""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

ENDED = ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "TIMEOUT")
"""The states in which a job's story is over (squeue(1), JOB STATE CODES)."""


def wait_until(predicate: Callable[[], T], timeout: float, what: str) -> T:
    """The predicate's first true answer. Fails the test, naming `what`, after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not (answer := predicate()):
        assert time.monotonic() < deadline, f"not within {timeout:g} s: {what}"
        time.sleep(0.05)
    return answer


def slurm(env: Mapping[str, str], *argv: str, cwd: Path | None = None, stdin: str = "") -> str:
    """The output of one of Slurm's commands. Fails the test with what it said where it fails."""
    answer = subprocess.run(
        argv, env=dict(env), cwd=cwd, input=stdin, capture_output=True, text=True, timeout=60, check=False
    )
    assert answer.returncode == 0, f"{' '.join(argv)}: exit code {answer.returncode}: {answer.stdout}{answer.stderr}"
    return answer.stdout


def sbatch(env: Mapping[str, str], *args: str, script: str, cwd: Path | None = None) -> str:
    """Submit a bash script (its text, without the first line) and return the job id."""
    answer = slurm(env, "sbatch", "--parsable", *args, cwd=cwd, stdin=f"#!/bin/bash\n{script}\n")
    return answer.strip().partition(";")[0]


def job_state(env: Mapping[str, str], job_id: str) -> str:
    """The job's state in Slurm's long form, such as RUNNING."""
    match = re.search(r"\bJobState=(\w+)", slurm(env, "scontrol", "show", "job", job_id))
    assert match is not None
    return match[1]


def wait_for_state(env: Mapping[str, str], job_id: str, *states: str, timeout: float = 30) -> str:
    """Wait until the job is in one of `states` (none given: until it has ended) and return the state."""
    wanted = states or ENDED

    def reached() -> str:
        state = job_state(env, job_id)
        assert state in wanted or state not in ENDED, f"job {job_id} ended as {state}, not as {' or '.join(wanted)}"
        return state if state in wanted else ""

    return wait_until(reached, timeout, f"job {job_id} is {' or '.join(wanted)}")


def settled(env: Mapping[str, str]) -> bool:
    """Whether no node is still cleaning up, not heard of since it was resumed, or kept by the backfill's last round."""
    nodes = slurm(env, "scontrol", "show", "node")
    busy = re.search(r"\bState=\S*(COMPLETING|NOT_RESPONDING|PLANNED|\*)", nodes)  # 20.11 marks silent nodes with *
    return busy is None


def processes_naming(directory: Path) -> dict[int, str]:
    """pid -> command line of every process, this one aside, whose command line or environment names `directory`;
    read independently of the code under test."""
    found = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            command, environ = (folder / "cmdline").read_bytes(), (folder / "environ").read_bytes()
        except OSError:
            continue
        if os.fsencode(directory) in command + b"\0" + environ:
            found[int(folder.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found
