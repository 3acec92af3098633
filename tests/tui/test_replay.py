"""The console on the recording that comes with it; the numbers are those of the script that made it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import make_recording
import pytest

from console.app import SlurmConsole
from console.replaying import runner_for
from console.screens.queue import QueueScreen
from console.settings import Settings
from jobs import history
from tui.conftest import screen_text, until

MADE = make_recording.make()
COUNTS = make_recording.counts(MADE.nodes)
GONE = set(make_recording.ENDED)


@pytest.fixture
def app(private_home: Path) -> Iterator[SlurmConsole]:  # noqa: ARG001
    """The console as `slurmconsole --replay messy` makes it."""
    with runner_for("messy") as runner:
        yield SlurmConsole(Settings(jobs_interval=1, nodes_interval=1, read_only=True), runner=runner)


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_overview_counts_and_the_status_line_says_that_it_is_a_replay(
    app: SlurmConsole, size: tuple[int, int]
) -> None:
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.snapshot.nodes.taken_at is not None, "nodes are known")
        lines = screen_text(app).splitlines()
        for kind in ("a100", "h100", "l40s"):
            count = COUNTS[kind]
            bar = next(line for line in lines if line.lstrip().startswith(f"{kind} ") and "usable of" in line)
            assert f" {count.usable} usable of {count.total}" in bar
        at = datetime.fromtimestamp(make_recording.NOW)
        assert f"REPLAY of {at:%Y-%m-%d %H:%M} · cluster messy · Slurm 23.11.10" in lines[-2]
        assert "ago" not in lines[-2]
        assert "2 running on" in "\n".join(lines)


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_queue_and_nodes_count_what_was_made(app: SlurmConsole, size: tuple[int, int]) -> None:
    queue = [job for job in MADE.jobs if job["State"] not in GONE]
    running = sum(1 for job in queue if job["NodeList"] or job["State"] == "SIGNALING")
    pending = sum(1 for job in queue if job["State"] == "PENDING")
    nodes_away = sum(1 for node in MADE.nodes if node.condition in make_recording.UNAVAILABLE)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.snapshot.jobs.taken_at is not None, "jobs are known")
        await pilot.press("2")
        told = f"All jobs: {len(queue)} jobs, {running} running, {pending} pending"
        await until(pilot, lambda: told in screen_text(app), told)
        assert not set(screen_text(app)) & set("\x1b\x1e\x1f\x9b\u202e\udcff")
        await pilot.press("m")
        await until(pilot, lambda: "Your jobs: 5 jobs, 2 running, 3 pending" in screen_text(app), "my jobs")
        await pilot.press("3")
        idle = sum(1 for node in MADE.nodes if node.state.partition("+")[0] == "IDLE")
        told = f"600 nodes, {idle} idle, {nodes_away} take no jobs"
        await until(pilot, lambda: told in screen_text(app), told)
        assert all(len(line) <= size[0] for line in screen_text(app).splitlines())


async def test_a_job_has_the_used_time_of_the_recording_and_no_log(app: SlurmConsole) -> None:
    mine = next(job for job in MADE.jobs if job["Name"] == "gpt-7b-pretrain")
    used = make_recording.NOW - int(mine["StartTime"])
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: app.snapshot.jobs.taken_at is not None, "jobs are known")
        app.open_job(mine["JobID"])
        await until(pilot, lambda: "A recording holds no logs." in screen_text(app), "the job is shown")
        assert f"used {used // 3600}:{used // 60 % 60:02}:{used % 60:02} of" in screen_text(app)
        assert "following" not in screen_text(app)
        assert "No progress lines" not in screen_text(app)


async def test_polling_on_and_on_changes_nothing_and_starts_nothing(
    app: SlurmConsole, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a command was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.press("2")
        await until(pilot, lambda: app.snapshot.number >= 3 and "All jobs" in screen_text(app), "the queue is laid out")
        assert isinstance(app.screen, QueueScreen)
        first, number = screen_text(app), app.snapshot.number
        await until(pilot, lambda: app.snapshot.number >= number + 2, "two more pictures")
        assert screen_text(app) == first
        assert all(entry.at == make_recording.NOW for entry in app.cluster.runner.log.entries)


async def test_a_replay_submits_nothing_and_leaves_the_draft_alone(app: SlurmConsole) -> None:
    mine = '{"values": {"name": "my-own"}, "step": 0}'
    history.save_draft(mine)
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, lambda: app.snapshot.nodes.taken_at is not None, "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: "Job name" in screen_text(app), "the wizard")
        for _ in range(4):
            await pilot.press("enter")
            await pilot.pause(0.2)
        await until(pilot, lambda: "read-only: it submits nothing" in screen_text(app), "the refusal")
        assert "my-own" not in screen_text(app)
    assert history.load_draft() == mine
