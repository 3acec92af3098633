from __future__ import annotations

import io
import os
import pty
import re
from contextlib import suppress
from typing import Any

import pytest
from pictures import HOSTILE_NAMES, job, node, partition, snapshot

from console.columns.jobs import JOB_COLUMNS
from console.columns.nodes import NODE_COLUMNS
from console.tables import complain, out, print_facts, print_gpus, print_rows
from jobs.slurm.availability import GpuCount, availability


@pytest.fixture(autouse=True)
def _narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


def test_a_pipe_gets_every_column_whole(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["n" * 300, "日本語" * 40, "short"]
    print_rows(JOB_COLUMNS, [job(name=name, node_list="gpu[" + "1," * 200 + "9]") for name in names], out())
    header, *lines = capsys.readouterr().out.splitlines()
    assert header.split() == [word for column in JOB_COLUMNS for word in column.title.split()]
    assert len(lines) == 3
    for name, line in zip(names, lines, strict=True):
        assert f" {name} " in line
        assert line.endswith("9]")
        assert "…" not in line


def test_a_pipe_gets_the_causes_whole(capsys: pytest.CaptureFixture[str]) -> None:
    causes = {f"cause number {number}": 1 for number in range(20)}
    kind = "nvidia_a100_80gb_pcie_mig_1g.10gb"
    print_gpus([GpuCount(kind, 21, 0, causes, {}, 1, whole_nodes=3)], out())
    told = capsys.readouterr().out
    assert all(cause in told for cause in causes)
    assert kind in told
    assert "3 whole nodes" in told
    assert "…" not in told


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_nothing_that_a_terminal_obeys_reaches_a_pipe(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    picture = snapshot((node(name, gpu_type=name, reason=name),), (partition(),))
    print_rows(JOB_COLUMNS, [job(name=name, node_list=name)], out())
    print_rows(NODE_COLUMNS, picture.nodes.records, out())
    print_gpus(availability(picture).gpu_types, out())
    print_facts([("name", name)], out())
    complain(name)
    told = capsys.readouterr()
    assert not set(told.out + told.err) & set("\x1b\t\x9b\udcff\udcfe\u202e")
    assert len(told.out.splitlines()) == 2 + 2 + 4 + 1
    assert len(told.err.splitlines()) == 1


def test_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts([("name", "[red]x[/red] :smile:")], out())
    assert capsys.readouterr().out == "name  [red]x[/red] :smile:\n"


def test_an_empty_table_is_its_titles(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(NODE_COLUMNS, [], out())
    print_gpus([], out())
    assert capsys.readouterr().out == (
        "NODE  STATE  GPUS USED  CPUS  MEMORY  PARTITIONS  FEATURES  REASON\nThis cluster has no GPUs, or hides them.\n"
    )


def on_terminal(monkeypatch: pytest.MonkeyPatch, print_it: Any) -> str:
    """What a terminal of 30 cells receives."""
    leader, follower = pty.openpty()
    monkeypatch.setenv("TERM", "xterm-256color")
    with io.TextIOWrapper(os.fdopen(follower, "wb", 0), "utf-8", write_through=True) as terminal:
        monkeypatch.setattr("sys.stdout", terminal)
        print_it()
    received = b""
    with suppress(OSError), os.fdopen(leader, "rb", 0) as reader:
        while data := reader.read(1 << 16):
            received += data
    return received.decode()


def test_a_terminal_gets_what_fits_in_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [job(name="n" * 100)]
    received = on_terminal(monkeypatch, lambda: print_rows(JOB_COLUMNS, rows, out()))
    assert "\x1b[1m" in received
    lines = re.sub(r"\x1b\[[0-9;]*m", "", received).splitlines()
    assert len(lines) == 2
    assert all(len(line) <= 30 for line in lines)
    plain = on_terminal(monkeypatch, lambda: print_rows(JOB_COLUMNS, rows, out(color=False)))
    assert not re.search(r"\x1b\[[0-9;]*3\d", plain)


def test_a_closed_pipe_is_told_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr("sys.stdout", Closed())
    with pytest.raises(BrokenPipeError):
        print_rows(NODE_COLUMNS, [node()], out())
