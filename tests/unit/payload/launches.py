"""Helpers for the trainer's tests: valid records of a log, launch environments, and ranks as real processes."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LAUNCH_VARIABLES = re.compile(
    r"SLURM|TORCHELASTIC|GROUP_|ROLE_|MASTER_|(LOCAL_)?(RANK|WORLD_SIZE)$|CUDA_VISIBLE|GLOO|OMP_NUM"
)


@dataclass(frozen=True)
class Record:
    """One record with a right checksum; `head` is the text between kind and fields."""

    kind: str
    head: str
    fields: dict[str, str]

    @property
    def rank(self) -> int:
        """The rank that wrote it."""
        return int(self.fields["rank"])


def records_of(log: bytes) -> list[Record]:
    """The records in `log`, in order; a wrong checksum fails the test."""
    found = []
    for body, crc in re.findall(rb"(sc1 [^\n]*?) crc=([0-9a-f]{8})\n", log):
        assert b"%08x" % zlib.crc32(body) == crc, body
        words = body.decode("ascii").split(" ")
        fields = [word.partition("=") for word in words[2:] if "=" in word]
        head = " ".join(word for word in words[2:] if "=" not in word)
        found.append(Record(words[1], head, {name: value for name, _, value in fields}))
    return found


def slurm_task(procid: int = 0, ntasks: int = 1, **more: str) -> dict[str, str]:
    """What srun gives a task of a one-node step (names and values as Slurm 22.05 sets them)."""
    return {
        "SLURM_JOB_ID": "4711",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": str(procid),
        "SLURM_LOCALID": str(procid),
        "SLURM_NODEID": "0",
        "SLURM_NTASKS": str(ntasks),
        "SLURM_STEP_NUM_NODES": "1",
        "SLURM_STEP_TASKS_PER_NODE": str(ntasks),
        "SLURM_JOB_NODELIST": "n01",
        **more,
    }


def free_port() -> int:
    """A port that nobody listened on a moment ago."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


class Ranks:
    """Processes that share one log file, as the tasks of a job do."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: list[str], environ: dict[str, str]) -> subprocess.Popen[bytes]:
        """Start one process with `environ` as its launch environment."""
        clean = {name: value for name, value in os.environ.items() if not LAUNCH_VARIABLES.match(name)}
        with self.log.open("ab") as out:
            process = subprocess.Popen(
                [sys.executable, "-u", *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env={**clean, **environ},
            )
        self.processes.append(process)
        return process

    def codes(self) -> list[int]:
        """Exit codes of all processes, waited for."""
        return [process.wait(timeout=45) for process in self.processes]

    def records(self, kind: str) -> list[Record]:
        """The records of one kind so far."""
        return [record for record in records_of(self.log.read_bytes()) if record.kind == kind]
