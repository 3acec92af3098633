"""`slurmconsole sandbox` takes the global options that make sense for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli import main


@pytest.mark.parametrize("before", [[], ["--no-color"]])
def test_sandbox_status_after_global_options(
    before: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*before, "sandbox", "status", "--directory", str(tmp_path / "none")]) == 1
    assert "No sandbox" in capsys.readouterr().out
