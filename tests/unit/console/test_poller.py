from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import snapshot

from console.poller import BACK_OFF_LIMIT, IDLE_AFTER, Schedule
from jobs.slurm import commands
from jobs.slurm.snapshot import Part, Snapshot

SECONDS = st.floats(0, 100)


def answers(
    jobs: float = 0.0,
    nodes: float = 0.0,
    *,
    jobs_fail: bool = False,
    nodes_fail: bool = False,
    size: int = 0,
    rate_limit: float | None = None,
) -> Snapshot:
    """A picture whose answers took so many seconds, of a cluster with `size` nodes."""
    return dataclasses.replace(
        snapshot(),
        jobs=Part(seconds=jobs, problem="no" if jobs_fail else None),
        nodes=Part((None,) * size, seconds=nodes, problem="no" if nodes_fail else None),
        partitions=Part(seconds=0.0),
        rate_limit=rate_limit,
    )


def waits(schedule: Schedule, now: float, idle_for: float = 0.0) -> tuple[float, float]:
    """Seconds from `now` until jobs, and until nodes, are due; to a tenth."""
    found = []
    for kind in (0, 1):
        tenths = 0
        while not schedule.due(now + tenths / 10, idle_for)[kind]:
            tenths += 1
        found.append(tenths / 10)
    return found[0], found[1]


def calls_in(seconds: int, picture: Snapshot, *, idle_for: float) -> int:
    """Calls of the controller that a console makes in so many seconds, with a look at the schedule in each."""
    schedule, made = Schedule.of(5.0, 15.0), 0
    for now in range(seconds):
        jobs, nodes = schedule.due(float(now), idle_for)
        if jobs or nodes:
            schedule.answered(picture, float(now), jobs=jobs, nodes=nodes)
        made += jobs * commands.calls(commands.squeue())
        if nodes:
            argvs = commands.show_nodes(), commands.show_partitions(), commands.show_reservations()
            made += sum(map(commands.calls, argvs))
    return made


def test_everything_is_due_at_first_and_when_in_a_hurry() -> None:
    schedule = Schedule.of(5.0, 15.0)
    assert schedule.due(0.0) == schedule.hurried() == (True, True)
    schedule.answered(answers(), 0.0, jobs=True, nodes=True)
    assert [schedule.due(now) for now in (4.9, 5.0, 15.0)] == [(False, False), (True, False), (True, True)]
    assert schedule.hurried() == (False, False)
    schedule.hurry()
    assert schedule.due(0.0) == schedule.hurried() == (True, True)


@given(SECONDS, SECONDS, st.floats(1, 60))
def test_the_interval_is_at_least_twenty_times_the_cost(jobs: float, nodes: float, base: float) -> None:
    schedule = Schedule.of(base, base)
    schedule.answered(answers(jobs, nodes), 0.0, jobs=True, nodes=True)
    for kind, cost in ((0, jobs), (1, nodes)):
        interval = max(base, 20 * cost)
        assert schedule.due(interval)[kind]
        assert not schedule.due(interval * 0.999)[kind]


def test_the_cost_of_partitions_counts_as_that_of_nodes() -> None:
    schedule = Schedule.of(5.0, 15.0)
    schedule.answered(answers(), 0.0, jobs=True, nodes=False)
    picture = dataclasses.replace(answers(nodes=1.0), partitions=Part(seconds=2.0))
    schedule.answered(picture, 0.0, jobs=False, nodes=True)
    assert waits(schedule, 0.0) == (5.0, 60.0)


def test_failures_double_the_interval_up_to_five_minutes_and_an_answer_brings_it_back() -> None:
    schedule = Schedule.of(5.0, 15.0)
    for expected in ((10, 30), (20, 60), (40, 120), (80, 240), (160, 300), (300, 300), (300, 300)):
        schedule.answered(answers(jobs_fail=True, nodes_fail=True), 100.0, jobs=True, nodes=True)
        for wait, least in zip(waits(schedule, 100.0), expected, strict=True):
            assert least <= wait <= least * 1.25 + 0.1
    schedule.answered(answers(), 100.0, jobs=True, nodes=True)
    assert waits(schedule, 100.0) == (5.0, 15.0)


def test_consoles_that_failed_together_do_not_ask_again_together() -> None:
    found = set()
    for _ in range(20):
        schedule = Schedule.of(5.0, 15.0)
        schedule.answered(answers(nodes_fail=True), 0.0, jobs=True, nodes=True)
        found.add(waits(schedule, 0.0)[1])
    assert len(found) > 5


def test_a_problem_with_nodes_does_not_slow_the_queue_down() -> None:
    schedule = Schedule.of(5.0, 15.0)
    schedule.answered(answers(nodes_fail=True), 0.0, jobs=True, nodes=True)
    for _ in range(3):
        schedule.answered(answers(nodes_fail=True), 0.0, jobs=True, nodes=False)
    jobs, nodes = waits(schedule, 0.0)
    assert jobs == 5.0
    assert 30.0 <= nodes <= 37.6


@given(st.floats(0, 1000), st.integers(1, 40))
def test_failures_never_ask_sooner_than_usual_nor_much_later_than_the_limit(cost: float, times: int) -> None:
    schedule = Schedule.of(5.0, 15.0)
    for _ in range(times):
        schedule.answered(answers(cost, jobs_fail=True), 0.0, jobs=True, nodes=True)
    usual = max(5.0, 20 * cost)
    assert not schedule.due(usual * 0.999)[0]
    assert schedule.due(max(usual, BACK_OFF_LIMIT) * 1.26)[0]


@pytest.mark.parametrize("costs", [(0.001, 0.001), (1.1, 0.08)])
def test_an_idle_console_on_a_large_cluster_makes_at_most_four_calls_a_minute(costs: tuple[float, float]) -> None:
    minutes = 60
    assert calls_in(minutes * 60, answers(*costs, size=5000), idle_for=IDLE_AFTER) <= 4 * minutes + 5


def test_a_large_cluster_is_asked_as_usual_while_somebody_looks() -> None:
    schedule = Schedule.of(5.0, 15.0)
    schedule.answered(answers(size=5000), 0.0, jobs=True, nodes=True)
    assert waits(schedule, 0.0, idle_for=IDLE_AFTER) == (30.0, 120.0)
    assert waits(schedule, 0.0, idle_for=1.0) == (5.0, 15.0)


def test_a_console_uses_half_of_what_the_controller_allows() -> None:
    four_a_minute = answers(rate_limit=4.0)
    assert calls_in(3600, four_a_minute, idle_for=0.0) <= 2 * 60 + 5
    assert calls_in(3600, answers(rate_limit=120.0), idle_for=0.0) == calls_in(3600, answers(), idle_for=0.0)


def test_a_controller_that_made_a_command_wait_is_asked_less_often() -> None:
    schedule = Schedule.of(5.0, 15.0)
    limited = dataclasses.replace(answers(), jobs=Part(rate_limited=True))
    schedule.answered(limited, 0.0, jobs=True, nodes=True)
    jobs, nodes = waits(schedule, 0.0)
    assert 10.0 <= jobs <= 12.6
    assert nodes == 15.0
