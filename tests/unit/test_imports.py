"""Who may know whom, seen in fresh interpreters: what a part really loads when all its modules are imported."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IMPORTER = """
import importlib, json, sys
loaded = {}
for name in sys.argv[1:]:
    before = set(sys.modules)
    importlib.import_module(name)
    loaded[name] = sorted(set(sys.modules) - before)
print(json.dumps(loaded))
"""


def modules(package: str) -> tuple[str, ...]:
    """The package and all its modules, by their files; those that run when imported (__main__) aside."""
    folder = ROOT.joinpath(*package.split("."))
    names = [path.relative_to(ROOT).with_suffix("").parts for path in sorted(folder.rglob("*.py"))]
    return tuple(".".join(name).removesuffix(".__init__") for name in names if name[-1] != "__main__")


@cache
def loaded_by(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Import the modules one after the other; each with what it brought into sys.modules first."""
    answer = subprocess.run(
        [sys.executable, "-c", IMPORTER, *names], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert answer.returncode == 0, answer.stderr
    loaded = json.loads(answer.stdout)
    assert isinstance(loaded, dict)
    return loaded


def offenders(names: tuple[str, ...], *forbidden: str) -> dict[str, str]:
    """Forbidden module -> which of the modules was the first to load it."""
    return {
        found: name
        for name, brought in loaded_by(names).items()
        for found in brought
        if any(f"{found}.".startswith(f"{prefix}.") for prefix in forbidden)
    }


def test_the_modules_are_found() -> None:
    assert {"jobs", "jobs.slurm", "jobs.slurm.parse", "jobs.spec"} <= set(modules("jobs"))
    assert "payload.train" in modules("payload")


def test_an_offender_would_be_named() -> None:
    assert offenders(("json", "sqlite3"), "sqlite3.dbapi2") == {"sqlite3.dbapi2": "sqlite3"}


def test_jobs_loads_no_user_interface_no_torch_and_no_payload() -> None:
    assert offenders(modules("jobs"), "console", "textual", "torch", "payload") == {}


def test_jobs_slurm_knows_no_other_part_of_jobs() -> None:
    own = modules("jobs.slurm")
    assert set(offenders(own, "jobs")) - {"jobs"} == set(own)


def test_reading_a_cluster_needs_the_standard_library_alone() -> None:
    assert offenders(modules("jobs.slurm"), "pydantic", "platformdirs", "tomli", "tomli_w", "rich") == {}


@pytest.mark.torch
def test_payload_knows_nobody() -> None:
    assert offenders(modules("payload"), "jobs", "console", "textual", "pydantic") == {}


def test_the_command_line_loads_textual_only_when_the_console_opens() -> None:
    assert offenders(("console.cli",), "textual", "torch", "payload") == {}
