"""The console on a live Slurm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from helpers import job_state, sbatch, slurm, wait_for_state
from textual.pilot import Pilot
from textual.widgets import Button, Input

from console.app import SlurmConsole
from console.screens.queue import QueueScreen
from console.screens.wizard import WizardScreen
from console.widgets.form_row import FormRow
from console.widgets.log_view import LogView
from console.widgets.row_table import RowTable
from jobs import history
from tui.conftest import screen_text, until

pytestmark = pytest.mark.slurm
MakeConsole = Callable[[], SlurmConsole]


def nodes_known(app: SlurmConsole) -> Callable[[], bool]:
    return lambda: app.snapshot.nodes.taken_at is not None


def form_row(app: SlurmConsole, path: str) -> FormRow:
    return next(row for row in app.screen.query(FormRow) if row.field.path == path)


async def go_to_step(pilot: Pilot[None], app: SlurmConsole, step: int) -> None:
    """Press Enter as often as it takes, as fast as can be."""
    await pilot.press(*["enter"] * (step - wizard(app).step))
    await until(pilot, lambda: wizard(app).step == step, f"step {step}")


def wizard(app: SlurmConsole) -> WizardScreen:
    assert isinstance(app.screen, WizardScreen)
    return app.screen


async def test_overview_shows_the_sandbox_as_it_was_laid_out(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(size=(160, 50)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        text = screen_text(app)
        for words in ("of 16", "a100*", "h100", "debug", "gpu01", "gpu06", "2 nodes without GPUs", "cluster sandbox"):
            assert words in text


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_every_mode_fits_the_terminal(live_console: MakeConsole, size: tuple[int, int]) -> None:
    app = live_console()
    async with app.run_test(size=size) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        for key, words in (
            ("1", "Partitions"),
            ("2", "NODES OR REASON"),
            ("3", "GPUS USED"),
            ("4", ""),
            ("n", "Job name"),
        ):
            await pilot.press(key)
            await pilot.pause(0.3)
            lines = screen_text(app).splitlines()
            assert len(lines) == size[1]
            assert all(len(line) <= size[0] for line in lines)
            assert words in "\n".join(lines)
            assert "cluster sandbox" in lines[-2]


async def test_queue_shows_a_hostile_name_harmless_and_says_why_a_job_waits(
    live_console: MakeConsole, slurm_env: Mapping[str, str], tmp_path: Path
) -> None:
    held = sbatch(slurm_env, "-H", "-J", "a\x1b[31m[red]b\nc", "-o", "/dev/null", script="true", cwd=tmp_path)
    app = live_console()
    try:
        async with app.run_test(size=(160, 50)) as pilot:
            await pilot.press("2")
            await until(pilot, lambda: any(j.job_id == held for j in app.snapshot.jobs.records), "the job is listed")
            screen = app.screen
            assert isinstance(screen, QueueScreen)
            screen.table.cursor_key = held
            await pilot.pause(0.3)
            text = screen_text(app)
            assert "a␛[31m[red]b␊c" in text
            assert "\x1b" not in text
            assert "release it to let it start" in text
    finally:
        slurm(slurm_env, "scancel", held)


async def test_filter_narrows_the_queue_and_escape_clears_it(
    live_console: MakeConsole, slurm_env: Mapping[str, str], tmp_path: Path
) -> None:
    ids = [
        sbatch(slurm_env, "-H", "-J", name, "-o", "/dev/null", script="true", cwd=tmp_path)
        for name in ("alpha", "beta")
    ]
    app = live_console()
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("2")
            await until(pilot, lambda: set(ids) <= {j.job_id for j in app.snapshot.jobs.records}, "both are listed")
            await pilot.press("slash", *"alpha", "enter")
            table = app.screen.query_one("#rows", RowTable)
            assert [row.name for row in table.rows] == ["alpha"]
            await pilot.press("escape")
            assert {row.job_id for row in table.rows} >= set(ids)
    finally:
        slurm(slurm_env, "scancel", *ids)


async def test_wizard_defaults_submit_a_two_by_two_job_and_show_its_log(
    live_console: MakeConsole, slurm_env: Mapping[str, str]
) -> None:
    app = live_console()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: bool(wizard(app).values), "the form is filled")
        form_row(app, "run.args").text = "--model linear --steps 30 --device cpu"
        await go_to_step(pilot, app, 3)
        assert "#SBATCH --ntasks-per-node=2" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: app.job_id is not None, "sbatch answered")
        job_id = app.job_id or ""
        try:
            show = slurm(slurm_env, "scontrol", "show", "job", job_id)
            assert "NumNodes=2" in show
            assert "NumTasks=4" in show
            await until(pilot, lambda: "COMPLETED" in screen_text(app), "the screen says COMPLETED", 120)
            assert job_state(slurm_env, job_id) == "COMPLETED"
            await until(pilot, lambda: "100.0%" in screen_text(app), "the bar is full")
            assert any("sc1 end" in row.text for row in app.screen.query_one(LogView).rows)
            assert history.load_draft() is None
        finally:
            slurm(slurm_env, "scancel", job_id)


async def test_enter_submits_from_the_script_and_what_never_starts_is_said_there(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: bool(wizard(app).values), "the form is filled")
        form_row(app, "resources.nodes").text = "9"
        await until(pilot, lambda: wizard(app).values["resources.nodes"] == "9", "the form has 9 nodes")
        await pilot.press("ctrl+n", "ctrl+n", "ctrl+n")
        await until(pilot, lambda: wizard(app).step == 3, "the review")
        await until(pilot, lambda: "It could never start: Only 4 nodes" in screen_text(app), "the review says so")
        app.screen.query_one("#step-Review").focus()
        await pilot.press("enter")
        await until(pilot, lambda: "Submitting" in screen_text(app) or app.job_id is not None, "Enter submits")
        await until(pilot, lambda: not app.workers or app.job_id is not None, "sbatch answered")
        if app.job_id is not None:
            app.cluster.runner.run(["scancel", app.job_id])


async def test_a_wrong_field_is_named_and_stops_the_wizard(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: bool(wizard(app).values), "the form is filled")
        await go_to_step(pilot, app, 1)
        form_row(app, "resources.nodes").text = "two"
        await pilot.pause(0.2)
        await pilot.press("ctrl+n")
        await pilot.pause(0.2)
        assert wizard(app).step == 1
        assert "must be a whole number" in screen_text(app)
        form_row(app, "resources.nodes").text = "3"
        await pilot.pause(0.2)
        assert "3 nodes x 2 ranks = world size 6" in screen_text(app).replace("\n", " ")
        await pilot.press("ctrl+n")
        await pilot.pause(0.2)
        assert wizard(app).step == 2


async def test_a_half_filled_wizard_is_there_after_a_crash(live_console: MakeConsole) -> None:
    first = live_console()
    async with first.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(first), "nodes are known")
        await pilot.press("n")
        await pilot.pause(0.2)
        form_row(first, "name").query_one(Input).focus()
        await pilot.press(*"-mine", "ctrl+n")
        await pilot.pause(0.3)
    second = live_console()
    async with second.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(second), "nodes are known")
        await pilot.press("n")
        await pilot.pause(0.3)
        assert wizard(second).step == 1
        assert wizard(second).values["name"] == "gpt-tiny-mine"
        await pilot.press("ctrl+r")
        await pilot.pause(0.3)
        assert wizard(second).values["name"] == "gpt-tiny"


async def test_a_refusal_keeps_the_wizard_and_every_line_of_sbatch(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: bool(wizard(app).values), "the form is filled")
        await go_to_step(pilot, app, 1)
        form_row(app, "resources.gpus_per_node").text = "9"
        await pilot.pause(0.2)
        assert "It could never start" in screen_text(app)
        await pilot.press("ctrl+n", "ctrl+n")
        await pilot.pause(0.2)
        app.screen.query_one("#next", Button).press()
        await until(pilot, lambda: "Slurm refused the job" in screen_text(app), "the refusal is shown")
        assert "sbatch: error: Batch job submission failed" in screen_text(app)
        assert "No node of the partition can ever satisfy what the job asks for." in screen_text(app)
        assert wizard(app).values["resources.gpus_per_node"] == "9"
        assert app.job_id is None
        await pilot.press("escape")
        assert wizard(app).step == 1
        assert app.focused is not None
        assert app.focused in form_row(app, "resources.partition").query("*")


async def test_review_asks_slurm_when_it_would_start(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: bool(wizard(app).values), "the form is filled")
        await go_to_step(pilot, app, 3)
        await pilot.press("t")
        await until(pilot, lambda: "to start at" in screen_text(app), "the verdict is shown")
        assert wizard(app).step == 3


async def test_a_job_whose_log_is_not_there_yet_says_where_it_will_be(
    live_console: MakeConsole, slurm_env: Mapping[str, str], tmp_path: Path
) -> None:
    held = sbatch(slurm_env, "-H", "-o", str(tmp_path / "later.out"), script="echo hello; sleep 60", cwd=tmp_path)
    app = live_console()
    try:
        async with app.run_test(size=(160, 40)) as pilot:
            app.open_job(held)
            await until(pilot, lambda: "The log is not there yet" in screen_text(app), "the missing log is told")
            assert "later.out" in screen_text(app)
            slurm(slurm_env, "scontrol", "release", held)
            await until(pilot, lambda: "hello" in screen_text(app), "the log appears")
            slurm(slurm_env, "scancel", held)
            await until(pilot, lambda: "CANCELLED" in screen_text(app), "the end is told")
    finally:
        slurm(slurm_env, "scancel", held)


async def test_an_unknown_job_is_said_to_be_unknown(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("colon", *"job 99999", "enter")
        await until(pilot, lambda: "does not know job 99999" in screen_text(app), "it is told")
        assert "There is no log to show." in screen_text(app)


async def test_prompt_help_and_command_log(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(notifications=True, size=(160, 50)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        await pilot.press("colon", *"nodes", "enter")
        await pilot.pause(0.2)
        assert app.current_mode == "nodes"
        await pilot.press("colon", *"nonsense", "enter")
        await pilot.pause(0.2)
        assert "There is no command 'nonsense'" in screen_text(app)
        await pilot.press("question_mark")
        await pilot.pause(0.2)
        assert "a new job could have it at this moment" in screen_text(app)
        await pilot.press("escape", "at")
        await pilot.pause(0.2)
        assert "scontrol --all --details show node" in screen_text(app)
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert app.current_mode == "nodes"


async def test_ctrl_c_in_every_mode_says_how_to_leave_and_nothing_ends(live_console: MakeConsole) -> None:
    app = live_console()
    async with app.run_test(notifications=True, size=(100, 30)) as pilot:
        await until(pilot, nodes_known(app), "nodes are known")
        for key in ("1", "2", "3", "4", "n"):
            await pilot.press(key)
            await pilot.pause(0.2)
            app.clear_notifications()
            await pilot.press("ctrl+c")
            await pilot.pause(0.2)
            assert "Press q to quit" in screen_text(app)
            assert app.is_running


async def test_a_job_can_be_watched_that_was_cancelled_outside(
    live_console: MakeConsole, slurm_env: Mapping[str, str], tmp_path: Path
) -> None:
    job_id = sbatch(slurm_env, "-o", str(tmp_path / "x.out"), script="echo begun; sleep 100", cwd=tmp_path)
    wait_for_state(slurm_env, job_id, "RUNNING")
    app = live_console()
    async with app.run_test(size=(120, 40)) as pilot:
        app.open_job(job_id)
        await until(pilot, lambda: "begun" in screen_text(app), "the log is shown")
        slurm(slurm_env, "scancel", job_id)
        await until(pilot, lambda: "CANCELLED" in screen_text(app), "the end is told")
