from __future__ import annotations

import os
from pathlib import Path

import pytest

from console.settings import Settings, SettingsError, config_path, load_settings


def written(folder: Path, text: str) -> Path:
    path = folder / "config.toml"
    path.write_text(text, "utf-8")
    return path


def test_every_field_can_be_left_out(tmp_path: Path) -> None:
    assert load_settings(written(tmp_path, "")) == Settings()
    assert Settings().read_only is False


def test_a_missing_file_means_the_defaults_unless_it_was_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = tmp_path / "none.toml"
    monkeypatch.setenv("SLURMCONSOLE_CONFIG", str(missing))
    assert config_path(os.environ) == missing
    assert load_settings() == Settings()
    with pytest.raises(SettingsError) as caught:
        load_settings(missing)
    assert str(caught.value) == f"There is no configuration file {missing}."


def test_what_is_written_is_taken_and_the_flag_wins(tmp_path: Path) -> None:
    path = written(tmp_path, 'jobs_interval = 30\njob_root = "/scratch/me"\nread_only = false\n')
    found = load_settings(path, read_only=True)
    assert (found.jobs_interval, found.job_root, found.read_only) == (30.0, Path("/scratch/me"), True)
    assert load_settings(path).read_only is False


def test_a_tilde_is_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/alice")
    assert load_settings(written(tmp_path, 'job_root = "~/jobs"')).job_root == Path("/home/alice/jobs")


@pytest.mark.parametrize(("text", "sentence"), [
    ('jobs_interval = "often"', "jobs_interval input should be a valid number"),
    ("jobs_interval = 0.5", "jobs_interval must be 1.0 or more."),
    ("nodes_interval = nan", "nodes_interval must be 1.0 or more."),
    ("read_only = 7", "read_only must be true or false."),
    ("theme = 3", "theme must be text."),
    ('job_root = "jobs"', "job_root must be an absolute path, or begin with ~/."),
    ("intervall = 3", "intervall is not a setting: there are jobs_interval, nodes_interval, job_root,"),
    ("jobs_interval = ", "is not TOML: Invalid value (at "),
])  # fmt: skip
def test_what_is_wrong_is_one_sentence_with_the_file(text: str, sentence: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        load_settings(path)
    told = str(caught.value)
    assert told.startswith(f"{path}")
    assert sentence in told
    assert told.endswith(".")
    assert "\n" not in told


def test_what_is_no_text_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot be read: Is a directory\.$"):
        load_settings(tmp_path)
    path = tmp_path / "x.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(SettingsError, match=r"x\.toml is not UTF-8 text\.$"):
        load_settings(path)
