"""The command log shows commands as they can be pasted into bash."""

from __future__ import annotations

import subprocess

import pytest

from jobs.slurm import commands
from jobs.slurm.run import LogEntry


@pytest.mark.parametrize(
    "argv", [("a b", "$(id)", "it's"), ("x\x1f,'y'\\z", "é", "new\nline", "\udcff"), tuple(commands.squeue(me=True))]
)
def test_bash_reads_the_shown_command_back_as_the_same_arguments(argv: tuple[str, ...]) -> None:
    shown = LogEntry(0.0, ("printf", r"%s\0", *argv), 0, 1.0, 0).command
    assert shown.isprintable()
    answer = subprocess.run(["bash", "-c", shown], check=True, capture_output=True)
    assert answer.stdout.split(b"\0")[:-1] == [word.encode("utf-8", "surrogateescape") for word in argv]
