"""A submission's folder, and the history of submissions and the draft."""

from __future__ import annotations

import json
import stat
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from specs import spec

from jobs import history, submit
from jobs.files import write_atomic
from jobs.spec import SpecError, load
from jobs.submit import Submission, log_path, new_folder, prepare, script_for


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_the_folder_is_private_and_holds_all_that_repeats_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "payload"]:
        monkeypatch.delitem(sys.modules, name)
    job = spec(name="my job/α $(x)")
    made = prepare(job)
    assert made.folder.parent == tmp_path / "data/slurmconsole/jobs"
    assert stat.S_IMODE(made.folder.stat().st_mode) == 0o700
    assert load(made.folder / "spec.toml") == job
    assert made.script.read_text("utf-8") == script_for(job, made.folder)
    assert (made.folder / "payload/train.py").is_file()
    assert not list(made.folder.glob("**/__pycache__"))
    assert "payload" not in sys.modules


def test_the_folders_name_is_plain_and_differs_each_time(tmp_path: Path) -> None:
    names = {new_folder(spec(name="-".join(["../x", " ü ", "y" * 90])[3:]), tmp_path).name for _ in range(20)}
    assert len(names) == 20
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") for name in names)
    assert all(len(name) < 80 for name in names)


def test_an_own_command_brings_no_payload(tmp_path: Path) -> None:
    made = prepare(spec(run={"kind": "command", "command": ["true"]}), root=tmp_path)
    assert sorted(path.name for path in made.folder.iterdir()) == ["job.sh", "spec.toml"]


def test_a_script_edited_by_hand_is_kept_as_it_is(tmp_path: Path) -> None:
    folder = new_folder(spec(), tmp_path)
    assert prepare(spec(), folder=folder, script="#!/bin/sh\ntrue\n").script.read_text() == "#!/bin/sh\ntrue\n"
    with pytest.raises(SpecError, match=r"could not be made: File exists\.$"):
        prepare(spec(), folder=folder)


def test_a_spec_that_gives_no_script_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(SpecError):
        prepare(spec(), root=tmp_path / "50%")
    assert not (tmp_path / "50%").exists()


def test_a_log_folder_is_made_beforehand(tmp_path: Path) -> None:
    assert (prepare(spec(name="n", output="logs/50%%j %x/%j.out"), root=tmp_path).folder / "logs/50%j n").is_dir()
    by_id = prepare(spec(output="%j/log"), root=tmp_path, slurm_version=(23, 2)).folder
    assert sorted(path.name for path in by_id.iterdir()) == ["job.sh", "payload", "spec.toml"]


def test_a_missing_payload_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(submit.importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(SpecError, match="payload is not installed"):
        prepare(spec(), root=tmp_path)


def test_the_logs_name_is_filled_in() -> None:
    job = spec(name="50%j", output="50%%-%x-%j.out")
    assert log_path(Submission(Path("/jobs/1"), job), 7) == Path("/jobs/1/50%-50%j-7.out")
    assert log_path(Submission(Path("/jobs/1"), spec(output="/logs/%j")), 7) == Path("/logs/7")


def entry(root: Path, name: str, job_id: int, minutes: int = 0, cluster: str | None = None) -> history.Entry:
    (root / name).mkdir(parents=True)
    at = datetime(2026, 12, 1, tzinfo=timezone.utc) + timedelta(minutes=minutes)
    made = history.Entry(root / name, job_id, cluster, name, at, root / name / "o", root / name / "o")
    history.record(made)
    return made


def test_history_is_newest_first_and_passes_over_rubbish(tmp_path: Path) -> None:
    old, new = entry(tmp_path, "a", 5, minutes=1), entry(tmp_path, "b", 4, minutes=2)
    rubbish = ["", "{", "[]", "null", '{"job_id": 1}', "\0", json.dumps({"job_id": "x"}), "[" * 100_000]
    for number, text in enumerate(rubbish):
        write_atomic(tmp_path / f"r{number}" / history.RECORD, text)
    (tmp_path / "bytes").mkdir()
    (tmp_path / "bytes" / history.RECORD).write_bytes(b"\xff")
    (tmp_path / "folder" / history.RECORD).mkdir(parents=True)
    (tmp_path / "prepared only").mkdir()
    assert history.submissions(tmp_path) == [new, old]
    assert history.submissions(tmp_path / "none") == []


def test_a_job_id_that_came_again_finds_the_newest_of_its_cluster(tmp_path: Path) -> None:
    first = entry(tmp_path, "a", 7, minutes=1, cluster="one")
    second = entry(tmp_path, "b", 7, minutes=2, cluster="two")
    assert history.find(7, tmp_path) == second
    assert history.find(7, tmp_path, "one") == first
    assert history.find(7, tmp_path, "three") is None
    assert history.find(8, tmp_path) is None


def test_a_draft_is_kept_until_it_is_cleared(tmp_path: Path) -> None:
    assert history.load_draft() is None
    history.save_draft('name = "ü"\n')
    history.save_draft('name = "ä"\n')
    assert history.load_draft() == 'name = "ä"\n'
    assert [path.name for path in (tmp_path / "state/slurmconsole").iterdir()] == ["draft.toml"]
    history.clear_draft()
    history.clear_draft()
    assert history.load_draft() is None


def test_a_write_that_fails_leaves_the_old_text_and_no_other_file(tmp_path: Path) -> None:
    write_atomic(tmp_path / "f", "old")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(tmp_path / "f", "new \ud800")
    assert {path.name: path.read_text() for path in tmp_path.iterdir() if path.is_file()} == {"f": "old"}
