"""The lines that widgets show: status, progress, the map of nodes."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE_NAMES, NOON, NOW, job, node, partition, snapshot
from rich.cells import cell_len

from console.widgets.node_map import map_text
from console.widgets.progress_panel import progress_text, sparkline
from console.widgets.status_bar import status_text
from jobs.logs.progress import Ended, Progress
from jobs.slurm.run import CommandLog, LogEntry
from jobs.slurm.snapshot import EMPTY, Part, Snapshot


def log_of(*ages: float) -> CommandLog:
    """Commands that were started so many seconds before NOON and took 12 ms each."""
    log = CommandLog()
    for age in ages:
        log.add(LogEntry(NOW - age, ("squeue",), 0, 12.4, 100))
    return log


def with_problem(text: str, picture: Snapshot | None = None) -> Snapshot:
    picture = picture or snapshot()
    return dataclasses.replace(picture, jobs=dataclasses.replace(picture.jobs, problem=text))


def test_the_status_has_cluster_release_age_and_calls() -> None:
    line = status_text(snapshot(), log_of(90, 59, 1), NOW + 0)
    assert line.plain == " cluster lab · Slurm 22.05.8 · 0 s ago · 2 calls/min · last 12 ms"
    assert "4 min ago" in status_text(snapshot(), log_of(), NOW + 240).plain


def test_a_problem_comes_first_with_the_age_of_what_is_shown() -> None:
    line = status_text(with_problem("squeue: no answer"), log_of(), NOW + 300)
    assert line.plain.startswith(" ✗ squeue: no answer  showing what was known 5 min ago ")
    assert line.spans[0].style == "bold red"


def test_before_the_first_answer_nothing_has_an_age() -> None:
    assert status_text(EMPTY, log_of(), NOW).plain == " asking Slurm … · 0 calls/min"
    failed = dataclasses.replace(EMPTY, jobs=Part(problem="squeue was not found on PATH."))
    assert "ago" not in status_text(failed, log_of(), NOW).plain


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_reaches_the_terminal_as_it_is(name: str) -> None:
    picture = dataclasses.replace(snapshot((node(name),), (partition(),)), cluster=name, slurm_version=name)
    told = status_text(with_problem(name, picture), log_of(), NOW).plain + map_text(picture, 80).plain
    ended = Progress(format="sc1", phase=name, ended=Ended(name, 1))
    told += progress_text(ended, None, "", 80, NOW).plain + progress_text(None, None, name, 80, NOW).plain
    assert not set(told.replace("\n", "")) & set("\x1b\t\x9b\udcff\udcfe\u202e")


def progress(**changes: Any) -> Progress:
    """Half of 100 steps, told at NOON."""
    known = {"format": "sc1", "step": 50, "total": 100, "loss": 2.5, "rate": 1234.5, "rate_unit": "tok/s"}
    return Progress(**{**known, "eta_s": 60.0, "updated_at": NOON, "ranks": 4, "losses": (4.0, 2.5), **changes})


def panel(found: Progress | None, job_changes: dict[str, Any] | None = None, now: float = NOW, width: int = 80) -> str:
    return progress_text(found, job(**(job_changes or {})), "", width, now).plain


def test_a_running_job_shows_step_share_eta_loss_and_rate() -> None:
    first, second = panel(progress()).splitlines()
    assert first == "training " + "█" * 14 + "░" * 14 + "  50.0%  step 50/100  ETA 1:00"
    assert second.startswith("loss 2.5 █▁ ")
    assert "rate 1 234 tok/s" in second
    assert second.endswith("4 ranks")


def test_a_finished_run_is_full_and_has_no_eta() -> None:
    first = panel(progress(step=100, eta_s=None, ended=Ended("done", 0))).splitlines()[0]
    assert first == "✓ finished " + "█" * 28 + " 100.0%  step 100/100"


def test_a_failed_run_says_why_with_its_code() -> None:
    assert panel(progress(ended=Ended("fault", 78))).startswith("✗ fault (exit code 78) ")
    assert panel(progress(ended=Ended("fault", None))).startswith("✗ fault █")


def test_a_failed_run_shows_its_last_words() -> None:
    told = panel(progress(ended=Ended("fault", 78, "argument --model: invalid choice"))).splitlines()
    assert told[-1] == "argument --model: invalid choice"
    assert "bye" not in panel(progress(ended=Ended("done", 0, "bye")))


def test_without_progress_lines_the_panel_says_what_it_waits_for() -> None:
    assert panel(None, {"state": "PENDING"}) == "The job waits; training has not begun."
    assert panel(None) == "No progress lines in the log yet. It is read all the same."
    assert progress_text(None, None, "You may not read the log x.", 80, NOW).plain == "You may not read the log x."


def test_an_eta_after_the_time_limit_is_warned_of() -> None:
    ends = {"end_time": NOON + timedelta(minutes=30)}
    late = panel(progress(eta_s=3600.0), ends).splitlines()
    assert late[2] == "At this rate it ends 30 min after its time limit."
    assert len(panel(progress(eta_s=1700.0), ends).splitlines()) == 2
    assert len(panel(progress(eta_s=3600.0), {**ends, "state": "PENDING"}).splitlines()) == 2


def test_a_silent_log_is_warned_of_but_not_after_the_end() -> None:
    assert panel(progress(), now=NOW + 300).splitlines()[2] == "Nothing new in the log for 5 min."
    assert len(panel(progress(), now=NOW + 59).splitlines()) == 2
    assert len(panel(progress(ended=Ended("done", 0)), now=NOW + 300).splitlines()) == 2


def test_a_nan_loss_is_shown_as_such() -> None:
    second = panel(progress(loss=float("nan"), losses=(2.0, float("nan"), 1.0))).splitlines()[1]
    assert second.startswith("loss nan █▁ ")


def test_unknown_numbers_are_dashes() -> None:
    told = panel(Progress(format="tqdm", step=3), width=40)
    assert told.splitlines()[0] == "training   step 3"
    assert told.splitlines()[1].split() == ["loss", "—", "rate", "—"]


FLOATS = st.floats() | st.none()


@given(st.integers(0, 10**18), st.none() | st.integers(1, 10**18), FLOATS, FLOATS, st.floats(min_value=0) | st.none(),
       st.lists(st.floats(), max_size=240), st.integers(1, 200))  # fmt: skip
def test_no_numbers_of_a_log_break_the_panel(
    step: int, total: int | None, loss: float | None, rate: float | None, eta: float | None, losses: list[float],
    width: int,
) -> None:  # fmt: skip
    found = progress(step=step, total=total, loss=loss, rate=rate, eta_s=eta, losses=tuple(losses))
    assert panel(found, width=width)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=300), st.integers(1, 60))
def test_a_course_has_a_block_for_each_share_and_never_more_than_fit(values: list[float], width: int) -> None:
    usable = [value for value in values if abs(value) < 1e300]
    assert len(sparkline(values, width)) == (min(width, len(usable)) if len(usable) > 1 else 0)


def test_a_course_goes_from_the_lowest_to_the_highest() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([3.0, 3.0]) == "▁▁"
    assert sparkline([0, 0, 7, 7], 2) == "▁█"
    assert sparkline([1.0]) == sparkline([]) == ""


def test_the_map_has_a_cell_for_each_gpu_and_counts_the_other_nodes() -> None:
    nodes = (
        node("n1", 4, used=1, state="MIXED"), node("n2", 4, state="DOWN"), node("n3", 4, cpus_allocated=62),
        node("c1", 0), node("c2", 0, state="ALLOCATED"),
    )  # fmt: skip
    lines = map_text(snapshot(nodes, (partition(),)), 16).plain.splitlines()
    assert [line.rstrip() for line in lines] == [
        "n1 ▮▮▮▯", "n2 ╳╳╳╳", "n3 ▮▮▒▒", "2 nodes without GPUs, 1 idle",
    ]  # fmt: skip


def test_many_gpus_of_one_kind_are_a_number() -> None:
    assert map_text(snapshot((node("n1", 64),), (partition(),)), 80).plain.rstrip() == "n1 " + "▮" * 16 + "×64"


@given(st.lists(st.integers(1, 16), min_size=1, max_size=30), st.integers(30, 200))
def test_the_map_shows_each_node_once_and_is_never_wider_than_its_width(gpus: list[int], width: int) -> None:
    nodes = tuple(node(f"gpu{number:02}", count) for number, count in enumerate(gpus))
    shown = map_text(snapshot(nodes, (partition(),)), width).plain
    assert [shown.count(node.name) for node in nodes] == [1] * len(nodes)
    assert shown.count("▮") == sum(gpus)
    assert max(cell_len(line.rstrip()) for line in shown.splitlines()) <= width


def test_one_node_without_gpus_is_one() -> None:
    assert map_text(snapshot((node("c1", 0),), (partition(),)), 80).plain == "1 node without GPUs, 1 idle"
