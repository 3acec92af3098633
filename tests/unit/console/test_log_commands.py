"""`progress` and `logs`, and the ways in which every command ends, with Slurm played by small scripts."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

import pytest

from console.cli import main
from console.commands.lines import LONGEST, Lines
from jobs import history

Captured = pytest.CaptureFixture[str]
FIELDS = {
    "format", "step", "total", "epoch", "fraction", "loss", "rate", "rate_unit", "eta_s", "updated_at", "ranks",
}  # fmt: skip
FORGOTTEN = "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"


@pytest.fixture(autouse=True)
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, empty, in a home of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture
def squeue(programs: Path) -> Callable[[str], None]:
    def write(body: str) -> None:
        (programs / "squeue").write_text(f"#!/bin/sh\n{body}\n")
        (programs / "squeue").chmod(0o755)

    return write


def record(kind: str, seq: int, words: str) -> str:
    body = f"sc1 {kind} {words} run=7.0 rank=0 seq={seq} t={1_800_000_000 + seq}"
    return f"{body} crc={zlib.crc32(body.encode()):08x}\n"


def remember(job_id: int, log: Path) -> None:
    """As if the job had been submitted from here."""
    folder = history.default_root() / str(job_id)
    folder.mkdir(parents=True)
    history.record(history.Entry(folder, job_id, None, "x", datetime.now(timezone.utc), log, log))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "run.out"
    path.write_text(record("hello", 0, "total=50 world=4") + record("step", 1, "10/50 loss=2.5 tok/s=1234567"))
    return path


def test_progress_of_a_file_needs_no_slurm(log: Path, capsys: Captured) -> None:
    assert main(["progress", str(log), "--json"]) == 0
    told = capsys.readouterr()
    data = json.loads(told.out)
    assert set(data) >= FIELDS
    assert (data["step"], data["total"], data["fraction"], data["loss"], data["ranks"]) == (10, 50, 0.2, 2.5, 4)
    assert (data["rate"], data["rate_unit"]) == (1234567, "tok/s")
    assert datetime.fromisoformat(data["updated_at"]).utcoffset() is not None
    assert told.err == ""


def test_progress_in_words(log: Path, capsys: Captured) -> None:
    assert main(["progress", str(log)]) == 0
    assert capsys.readouterr().out.splitlines() == ["step  10 of 50, 20.0%", "loss  2.5", "rate  1 234 567 tok/s"]
    log.write_text(log.read_text() + record("end", 2, "why=fault code=78 text=no%20device%1b"))
    assert main(["progress", str(log)]) == 0
    assert capsys.readouterr().out.splitlines()[3:] == ["ended    fault, exit code 78", "because  no device"]


def test_progress_without_numbers_is_unknown_and_any_eta_has_a_text(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "x.log"
    path.write_text(record("step", 1, "1/999999999999999999 loss=nan eta=99999999999999999999d"))
    assert main(["progress", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["loss  nan", "rate  unknown", "ETA   decades"]
    assert main(["progress", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["loss"] is None


@pytest.mark.parametrize(("name", "sentence"), [
    ("empty.log", "slurmconsole: empty.log shows no progress.\n"),
    ("missing.log", "slurmconsole: The log is not there: missing.log.\n"),
    ("folder", "slurmconsole: folder is a directory, not a log file.\n"),
    ("x" * 5000, f"slurmconsole: The log {'x' * 5000} cannot be read: File name too long.\n"),
])  # fmt: skip
def test_a_file_without_progress_is_one_sentence(name: str, sentence: str, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "folder").mkdir()
    assert main(["progress", name, "--json"]) == 1
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("command", [["logs", "7"], ["progress", "7"], ["job", "7"], ["gpus"], ["jobs", "--json"]])
def test_without_slurm_the_exit_code_is_3(command: list[str], capsys: Captured) -> None:
    assert main(command) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.endswith("was not found on PATH: is this a Slurm login node?\n")
    assert len(told.err.splitlines()) == 1


def test_a_folder_named_like_a_job_is_not_taken_for_its_log(log: Path, capsys: Captured) -> None:
    Path("7").mkdir()
    remember(7, log)
    assert main(["progress", "7", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 10


def test_the_log_of_a_job_that_slurm_forgot_is_printed(
    log: Path, capsys: Captured, squeue: Callable[[str], None]
) -> None:
    squeue(FORGOTTEN)
    remember(7, log)
    assert main(["logs", "7"]) == 0
    assert capsys.readouterr() == (log.read_text(), "")


def test_following_a_job_that_slurm_forgot_does_not_say_that_it_ended_well(
    log: Path, capsys: Captured, squeue: Callable[[str], None]
) -> None:
    squeue(FORGOTTEN)
    remember(7, log)
    assert main(["logs", "7", "-f"]) == 3
    told = capsys.readouterr()
    assert told.out == log.read_text()
    assert told.err == "slurmconsole: Slurm has forgotten job 7, so how it ended is not known.\n"


@pytest.mark.parametrize("job_id", ["9", "²", "9" * 5000, "", "a b", "-1x", "7_3", "\x1b[31m"])
def test_an_unknown_job_is_one_sentence(job_id: str, capsys: Captured, squeue: Callable[[str], None]) -> None:
    squeue(FORGOTTEN)
    for command in (["logs", "--", job_id], ["job", "--", job_id]):
        assert main(command) == 1
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("slurmconsole: Slurm does not know job ")
        assert len(told.err.splitlines()) == 1
        assert "\x1b" not in told.err


def test_what_slurm_says_cannot_reach_the_terminal(capsys: Captured, squeue: Callable[[str], None]) -> None:
    squeue(r"printf 'squeue: error: \033]0;x\007 gone\n' >&2; exit 1")
    assert main(["jobs"]) == 3
    assert capsys.readouterr().err == "slurmconsole: squeue: error: ␛]0;x␇ gone\n"


def test_a_spec_or_setting_that_is_wrong_is_exit_code_2(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "bad.toml").write_text("[resources]\nnodes = 0\n")
    (tmp_path / "good.toml").write_text("")
    assert main(["render", "bad.toml"]) == 2
    assert capsys.readouterr() == ("", "slurmconsole: bad.toml: resources.nodes must be 1 or more.\n")
    assert main(["render", "missing.toml"]) == 2
    assert main(["--config", "none.toml", "render", "good.toml"]) == 2
    assert capsys.readouterr().err.splitlines()[-1] == "slurmconsole: There is no configuration file none.toml."
    assert main(["--read-only", "submit", "good.toml"]) == 2
    assert "read-only" in capsys.readouterr().err
    for wrong in (["nothing"], ["jobs", "--me", "--all"], ["job"]):
        with pytest.raises(SystemExit) as caught:
            main(wrong)
        assert caught.value.code == 2


def test_a_script_is_rendered_without_slurm(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "good.toml").write_text('name = "x"\n')
    assert main(["render", "good.toml"]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("#!/bin/bash\n#SBATCH --job-name=x\n")
    assert told.err == ""
    assert not history.default_root().exists()


def test_lines_come_whole_however_long_and_without_escapes(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    long = "x" * 300_000
    path.write_bytes(f"one\x1b[31m\n{long}\n  50%|\r 100%|\nü\nno newline".encode() + b"\xff")
    lines = Lines(path)
    assert list(lines.new()) == ["one", long, " 100%|", "ü"]
    assert list(lines.rest()) == ["no newline�"]
    assert list(lines.rest()) == []


def test_a_line_without_end_comes_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text("x" * (3 * LONGEST + 5))
    lines = Lines(path)
    parts = [*lines.new(), *lines.rest()]
    assert "".join(parts) == "x" * (3 * LONGEST + 5)
    assert max(map(len, parts)) < 2 * LONGEST


def test_lines_go_on_and_a_log_that_begins_anew_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    lines = Lines(path)
    assert list(lines.new()) == []
    path.write_text("one\ntw")
    assert list(lines.new()) == ["one"]
    path.write_text("one\ntwo\n")
    assert list(lines.new()) == ["two"]
    path.write_text("three\nfour")
    assert list(lines.new()) == ["three"]
    path.write_text("")
    assert list(lines.new()) == ["four"]
    path.unlink()
    assert list(lines.new()) == []


def test_a_log_that_vanishes_while_it_is_read_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text("x\n" * 1_000_000)
    lines = Lines(path).new()
    assert next(lines) == "x"
    path.unlink()
    assert 0 < sum(1 for _ in lines) < 1_000_000
