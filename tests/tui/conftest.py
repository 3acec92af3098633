"""The console on a real Slurm, or on commands that fail as a test wants."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from textual.app import App
from textual.pilot import Pilot

from console.app import SlurmConsole
from console.settings import Settings
from jobs.slurm.run import Runner

FAST = Settings(jobs_interval=1, nodes_interval=1)


@pytest.fixture
def private_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Drafts, settings and submissions of this test alone."""
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    return tmp_path


@pytest.fixture
def live_console(
    slurm_env: Mapping[str, str],
    private_home: Path,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], SlurmConsole]:
    """Makes consoles on the session's cluster."""
    monkeypatch.setenv("SLURM_CONF", slurm_env["SLURM_CONF"])
    monkeypatch.setenv("SLURMCONSOLE_SANDBOX", str(Path(slurm_env["SLURM_CONF"]).parent))
    return lambda: SlurmConsole(FAST, runner=Runner(slurm_env))


@pytest.fixture
def scripted(private_home: Path) -> Callable[[Mapping[str, str]], SlurmConsole]:
    """Makes a console whose PATH holds only the given bash scripts by command name."""

    def make(scripts: Mapping[str, str]) -> SlurmConsole:
        folder = private_home / "bin"
        folder.mkdir(exist_ok=True)
        for name, text in scripts.items():
            (folder / name).write_text(f"#!/bin/bash\nPATH=/usr/bin:/bin\n{text}\n")
            (folder / name).chmod(0o755)
        return SlurmConsole(FAST, runner=Runner({"PATH": str(folder)}))

    return make


async def until(pilot: Pilot[None], ready: Callable[[], object], what: str, timeout: float = 30) -> None:
    """Let the app run until `ready`; fail the test, naming `what`, after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > deadline:
            pytest.fail(f"not within {timeout:g} s: {what}\n{screen_text(pilot.app)}", pytrace=False)
        await pilot.pause(0.05)
    await pilot.pause()


def screen_text(app: App[None]) -> str:
    """What a person sees, as lines of text."""
    return "\n".join("".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips())
