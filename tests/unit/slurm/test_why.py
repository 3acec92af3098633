from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import job_text, node, partition

from jobs.slurm.array_tasks import task_count, task_ranges
from jobs.slurm.parse import parse_jobs
from jobs.slurm.queue_place import QueuePlace, place_in_queue
from jobs.slurm.records import Job
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Part, Snapshot
from jobs.slurm.why import may_start, shape_of_job, what_to_do, why_pending

NOW = 1_800_000_000.0


def pending(job_id: str, priority: int, reason: str = "Priority", **fields: str) -> Job:
    text = job_text(
        JobID=job_id, JobArrayID=job_id, State="PENDING", Reason=reason, PriorityLong=str(priority), NodeList="",
        **{"Partition": "main", "StartTime": "N/A", "EndTime": "N/A", **fields},
    )  # fmt: skip
    (found,), skipped = parse_jobs(text)
    assert skipped == 0
    return found


def test_the_commands_of_the_advice_name_the_job() -> None:
    assert what_to_do(pending("4711", 1, "JobHeldUser")) == "Release it: scontrol release 4711."


@pytest.mark.parametrize(
    ("reason", "starts"),
    [("Priority", True), ("Resources", True), ("JobHeldUser", False), ("DependencyNeverSatisfied", False)],
)
def test_an_estimate_is_only_awaited_for_jobs_that_start_by_themselves(reason: str, starts: bool) -> None:
    assert may_start(pending("1", 1, reason)) is starts


@pytest.mark.parametrize(
    ("text", "count"),
    [("3-20", 18), ("1-4,7,10-20:5%2", 8), ("5", 1), ("12-99%4", 88), ("", 1), ("3-4,…", 2), ("x", 1)],
)
def test_tasks_of_an_array_are_counted(text: str, count: int) -> None:
    assert task_count(text) == count


@given(st.text())
def test_no_text_of_tasks_makes_it_fail(text: str) -> None:
    task_ranges(text)


def test_the_place_counts_who_is_looked_at_first() -> None:
    queue = [
        pending("10", 500),
        pending("11", 500, tres_per_node="gres:gpu:2"),
        pending("12", 900, "Resources", Partition="other,main", NumNodes="2", tres_per_node="gres:gpu:4"),
        pending("13", 900, Partition="other"),
        pending("14", 900, "Dependency"),
        pending("15", 900, "JobHeldUser"),
        pending("16", 800, ArrayTaskID="1-5", tres_per_node="gres:gpu:1"),
        dataclasses.replace(pending("17", 900), state="RUNNING"),
        pending("18", 100),
    ]
    # Two nodes of 4 GPUs, five tasks of one: 13. Job 10 asks for none and comes first among equals.
    assert place_in_queue(queue[1], queue) == QueuePlace(7, 13)
    assert place_in_queue(queue[0], queue) == QueuePlace(6, 13)
    assert place_in_queue(queue[2], queue) == QueuePlace(0, 0)
    assert place_in_queue(queue[4], queue) is None
    assert place_in_queue(queue[7], queue) is None


def test_gpus_that_squeue_does_not_tell_leave_the_sum_unknown() -> None:
    queue = [pending("1", 5, tres_per_socket="gres:gpu:1"), pending("2", 1)]
    assert place_in_queue(queue[1], queue) == QueuePlace(1, None)


@pytest.mark.parametrize(
    ("place", "words"),
    [
        (QueuePlace(0, 0), "No job of higher priority waits for the same partition."),
        (QueuePlace(1, 1), "1 job of higher priority waits for the same partition; it asks for 1 GPU in all."),
        (QueuePlace(7, 13), "7 jobs of higher priority wait for the same partition; they ask for 13 GPUs in all."),
        (QueuePlace(2, None), "2 jobs of higher priority wait for the same partition."),
    ],
)
def test_the_place_is_said_in_words(place: QueuePlace, words: str) -> None:
    assert place.words == words


def picture(*jobs: Job, nodes: tuple[Any, ...] = ()) -> Snapshot:
    parts = Part(jobs, NOW), Part(nodes, NOW), Part((partition("main"), partition("debug")), NOW)
    return Snapshot(1, "lab", "22.05.8", *parts)


def test_the_shape_of_a_waiting_job_is_what_squeue_tells_of_it() -> None:
    found = pending(
        "1", 5, NumNodes="2", NumCPUs="12", NumTasks="4", tres_per_node="gres:gpu:a100:2", MinMemory="10G",
        tres_alloc="cpu=12,mem=20G,node=2,billing=12", TimeLimit="2:00:00",
    )  # fmt: skip
    shape = shape_of_job(found)
    assert shape == Shape(2, 2, "a100", 1, 6, 10_240, found.time_limit)
    default = pending("1", 5, MinMemory="0", tres_alloc="cpu=1,mem=500G,node=1")
    assert default.memory_per_node is None
    assert shape_of_job(pending("1", 5, tres_per_socket="gres:gpu:1")) is None


def test_a_job_that_waits_for_nodes_is_told_what_they_lack() -> None:
    waiting = pending("1", 5, "Resources", tres_per_node="gres:gpu:4", MinMemory="0")
    nodes = (
        node("n1", GresUsed="gpu:a100:3(IDX:0-2)", State="MIXED", CPUAlloc="3"),
        node("n2", State="IDLE+DRAIN"),
    )
    reason, place, room = why_pending(waiting, picture(waiting, nodes=nodes), NOW)
    assert reason.endswith("(Resources)")
    assert place == "No job of higher priority waits for the same partition."
    assert room == "In main: 0 of 2 nodes have room, 1 is needed: n1 has 1 of 4 GPUs free; n2 is drained."


def test_a_node_that_is_planned_is_not_held_against_the_job_that_it_may_be_planned_for() -> None:
    waiting = pending("1", 5, "Priority", Partition="main,debug", MinMemory="0")
    found = why_pending(waiting, picture(waiting, nodes=(node("n1", State="IDLE+PLANNED"),)), NOW)
    assert found[2] == "In main there is room for it, which jobs of higher priority may take first."
    assert found[3] == "In debug: No node could ever hold this shape."


def test_what_is_not_known_is_not_told() -> None:
    waiting = pending("1", 5, "Resources")
    assert len(why_pending(waiting, Snapshot(1, "", "", Part(), Part(), Part()))) == 1
    held = pending("2", 5, "JobHeldUser")
    assert len(why_pending(held, picture(waiting, held, nodes=(node("n1"),)))) == 1
