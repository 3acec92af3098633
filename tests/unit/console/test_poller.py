from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st
from pictures import snapshot

from console.poller import BACK_OFF_LIMIT, COST_FACTOR, Schedule
from jobs.slurm.snapshot import Part, Snapshot

SECONDS = st.floats(0, 100)


def answers(jobs: float = 0.0, nodes: float = 0.0, *, jobs_fail: bool = False, nodes_fail: bool = False) -> Snapshot:
    """A picture whose answers took so many seconds."""
    return dataclasses.replace(
        snapshot(),
        jobs=Part(seconds=jobs, problem="no" if jobs_fail else None),
        nodes=Part(seconds=nodes, problem="no" if nodes_fail else None),
        partitions=Part(seconds=0.0),
    )


def test_everything_is_due_at_first_and_when_in_a_hurry() -> None:
    schedule = Schedule(5.0, 15.0)
    assert schedule.due(0.0) == (True, True)
    schedule.answered(answers(), 0.0, jobs=True, nodes=True)
    assert [schedule.due(now) for now in (4.9, 5.0, 15.0)] == [(False, False), (True, False), (True, True)]
    schedule.hurry()
    assert schedule.due(0.0) == (True, True)


@given(SECONDS, SECONDS, st.floats(1, 60))
def test_the_interval_is_at_least_twenty_times_the_cost(jobs: float, nodes: float, base: float) -> None:
    schedule = Schedule(base, base)
    schedule.answered(answers(jobs, nodes), 0.0, jobs=True, nodes=True)
    assert COST_FACTOR == 20
    assert schedule.jobs_due == max(base, 20 * jobs)
    assert schedule.nodes_due == max(base, 20 * nodes)


def test_the_cost_of_partitions_counts_as_that_of_nodes() -> None:
    schedule = Schedule(5.0, 15.0)
    picture = dataclasses.replace(answers(nodes=1.0), partitions=Part(seconds=2.0))
    schedule.answered(picture, 0.0, jobs=False, nodes=True)
    assert (schedule.jobs_due, schedule.nodes_due) == (0.0, 60.0)


def test_failures_double_the_interval_up_to_five_minutes_and_an_answer_brings_it_back() -> None:
    schedule = Schedule(5.0, 15.0)
    waits = []
    for _ in range(8):
        schedule.answered(answers(jobs_fail=True, nodes_fail=True), 100.0, jobs=True, nodes=True)
        waits.append((schedule.jobs_due - 100, schedule.nodes_due - 100))
    assert [jobs for jobs, _ in waits] == [10, 20, 40, 80, 160, 300, 300, 300]
    assert [nodes for _, nodes in waits] == [30, 60, 120, 240, 300, 300, 300, 300]
    schedule.answered(answers(), 100.0, jobs=True, nodes=True)
    assert (schedule.jobs_due, schedule.nodes_due) == (105.0, 115.0)


def test_a_problem_with_nodes_does_not_slow_the_queue_down() -> None:
    schedule = Schedule(5.0, 15.0)
    schedule.answered(answers(nodes_fail=True), 0.0, jobs=True, nodes=True)
    for _ in range(3):
        schedule.answered(answers(nodes_fail=True), 0.0, jobs=True, nodes=False)
    assert (schedule.jobs_due, schedule.nodes_due) == (5.0, 30.0)
    schedule.answered(answers(nodes_fail=True), 0.0, jobs=True, nodes=True)
    assert schedule.nodes_due == 60.0


@given(st.floats(0, 1000), st.integers(1, 2000))
def test_failures_never_ask_sooner_nor_later_than_the_limit(cost: float, times: int) -> None:
    schedule = Schedule(5.0, 15.0, jobs_failures=times)
    schedule.answered(answers(cost, jobs_fail=True), 0.0, jobs=True, nodes=False)
    usual = max(5.0, 20 * cost)
    assert usual <= schedule.jobs_due <= max(usual, BACK_OFF_LIMIT)
