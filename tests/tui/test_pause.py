"""When the console asks nothing: with p, and while the terminal is in the background."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot

import console.app
from console.app import SlurmConsole
from console.replaying import runner_for
from console.settings import Settings
from tui.conftest import screen_text, until


class Clock:
    """A monotonic clock that a test sets forward."""

    ahead = 0.0

    def monotonic(self) -> float:
        """Seconds."""
        return time.monotonic() + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(console.app, "time", clock)
    return clock


@pytest.fixture
def app(private_home: Path, clock: Clock) -> Iterator[SlurmConsole]:  # noqa: ARG001
    with runner_for("messy") as runner:
        yield SlurmConsole(Settings(jobs_interval=3000, nodes_interval=3000), runner=runner)


async def asked(pilot: Pilot[None], app: SlurmConsole, clock: Clock) -> bool:
    """Whether an hour brings a new picture."""
    before, clock.ahead = app.snapshot.number, clock.ahead + 3600
    app._tick()
    await app.workers.wait_for_complete()
    await pilot.pause()
    return app.snapshot.number > before


async def test_nothing_is_asked_while_paused_but_on_r(app: SlurmConsole, clock: Clock) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.snapshot.number == 1, "the first picture")
        assert await asked(pilot, app, clock)
        await pilot.press("p")
        await until(pilot, lambda: "paused, p goes on" in screen_text(app).splitlines()[-2], "it says so")
        assert not await asked(pilot, app, clock)
        before = app.snapshot.number
        await pilot.press("r")
        await until(pilot, lambda: app.snapshot.number == before + 1, "r asks once")
        assert not await asked(pilot, app, clock)
        await pilot.press("p")
        await until(pilot, lambda: app.snapshot.number == before + 2, "it goes on at once with what is due")
        assert "paused" not in screen_text(app)


async def test_nothing_is_asked_in_the_background(app: SlurmConsole, clock: Clock) -> None:
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: app.snapshot.number == 1, "the first picture")
        app.post_message(events.AppBlur())
        await until(pilot, lambda: "paused in the background" in screen_text(app), "it says so")
        assert not await asked(pilot, app, clock)
        app.post_message(events.AppFocus())
        await until(pilot, lambda: app.snapshot.number == 2, "what is due is asked when somebody looks again")
        assert "paused" not in screen_text(app)
