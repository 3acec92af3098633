from __future__ import annotations

import json
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE_NAMES, NOON, job, node, partition, snapshot

from console.plain import gpus_data, job_data, job_detail_data, nodes_data, partitions_data
from jobs.slurm.snapshot import EMPTY

GPU = {"gpu_type", "total", "allocated", "unavailable", "stranded", "usable", "whole_nodes", "largest_block"}
JOB = {
    "job_id", "array_job_id", "array_task_id", "name", "user", "partition", "state", "reason", "nodes", "gpus",
    "submit_time", "start_time", "time_limit_s",
}  # fmt: skip
DETAIL = JOB | {"stdout", "stderr", "work_dir", "why_pending", "estimated_start", "progress"}
NODES = (
    node("n1", 4, used=1, state="MIXED", cpus_allocated=8),
    node("n2", 8, gpu_type="h100", partitions=("h100", "all"), state="DOWN"),
    node("n3", 4, partitions=("a100", "all"), cpus_allocated=63),
    node("n4", 2, gpu_type=None, gres_used=None),
    node("c1", 0, partitions=("all",)),
)
PARTS = (partition("a100"), partition("h100", is_default=False), partition("all", is_default=False, hidden=True))


def assert_adds_up(count: dict[str, Any]) -> None:
    assert set(count) >= GPU
    parts = [count["allocated"], *count["unavailable"].values(), *count["stranded"].values(), count["usable"]]
    assert count["total"] == sum(parts)


def test_gpus_have_the_fields_that_scripts_read_and_add_up() -> None:
    data = gpus_data(snapshot(NODES, PARTS))
    assert set(data) >= {"cluster", "taken_at", "gpu_types", "partitions"}
    assert (data["cluster"], data["taken_at"]) == ("lab", "2026-03-01T12:00:00+00:00")
    for place in data["partitions"]:
        assert set(place) >= {"partition", "state", "access", "gpu_types"}
    for count in [*data["gpu_types"], *(count for place in data["partitions"] for count in place["gpu_types"])]:
        assert_adds_up(count)
    assert {count["gpu_type"]: count["total"] for count in data["gpu_types"]} == {"a100": 8, "h100": 8, None: 2}


def test_a_node_in_several_partitions_is_counted_once_in_the_cluster() -> None:
    data = gpus_data(snapshot(NODES, PARTS))
    by_part = {place["partition"]: sum(g["total"] for g in place["gpu_types"]) for place in data["partitions"]}
    assert by_part == {"a100": 10, "h100": 8, "all": 12}
    assert sum(count["total"] for count in data["gpu_types"]) == 18


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.sampled_from(["IDLE", "MIXED", "DOWN"]),
                          st.integers(0, 64)), max_size=8))  # fmt: skip
def test_any_nodes_add_up(made: list[tuple[int, int, str, int]]) -> None:
    nodes = tuple(
        node(f"n{number}", gpus, used=min(gpus, used), state=state, cpus_allocated=cpus)
        for number, (gpus, used, state, cpus) in enumerate(made)
    )
    for count in gpus_data(snapshot(nodes, PARTS))["gpu_types"]:
        assert_adds_up(count)


def test_an_empty_cluster_is_empty_lists() -> None:
    data = gpus_data(snapshot())
    assert (data["gpu_types"], data["partitions"], data["problems"]) == ([], [], [])
    assert partitions_data(snapshot()) == nodes_data(snapshot()) == []
    assert (gpus_data(EMPTY)["cluster"], gpus_data(EMPTY)["taken_at"]) == (None, None)


def test_a_hidden_partition_is_listed_as_hidden() -> None:
    assert [(part["partition"], part["hidden"]) for part in partitions_data(snapshot(NODES, PARTS))] == [
        ("a100", False), ("h100", False), ("all", True),
    ]  # fmt: skip


def test_partitions_count_nodes_jobs_and_seconds() -> None:
    limited = partition("a100", max_time=timedelta(days=2))
    data = partitions_data(snapshot(NODES, (limited,), (job(), job(state="PENDING"))))[0]
    assert (data["nodes_total"], data["nodes_idle"], data["jobs_running"], data["jobs_pending"]) == (3, 2, 1, 1)
    assert (data["max_time_s"], data["default"], data["state"]) == (172_800, True, "UP")


def test_nodes_tell_what_is_used_and_null_where_it_is_unknown() -> None:
    data = {record["node"]: record for record in nodes_data(snapshot(NODES, PARTS))}
    assert data["n1"]["gpus"] == [{"gpu_type": "a100", "total": 4, "allocated": 1}]
    assert data["n4"]["gpus"] == [{"gpu_type": None, "total": 2, "allocated": None}]
    assert data["c1"]["gpus"] == []
    assert (data["n1"]["memory_mib"], data["n1"]["cpus_allocated"], data["n1"]["reason"]) == (512_000, 8, None)


def test_a_job_has_the_fields_that_scripts_read() -> None:
    data = job_data(job())
    assert set(data) >= JOB
    assert (data["job_id"], data["gpus"], data["time_limit_s"]) == ("7", 2, 7200)
    assert data["start_time"] == "2026-03-01T11:00:00+00:00"
    unknown = job_data(job(gpus=None, time_limit=None, submit_time=None, nodes=None, node_list="", reason=""))
    assert [unknown[name] for name in ("gpus", "time_limit_s", "submit_time", "nodes", "node_list", "reason")] == [
        None
    ] * 6


def test_the_start_of_a_pending_job_is_an_estimate() -> None:
    data = job_detail_data(
        job(state="PENDING", reason="Priority", start_time=NOON), ("It waits.", "Behind 3."), (), "/a.out", None, None
    )
    assert set(data) >= DETAIL
    assert (data["start_time"], data["estimated_start"]) == (None, "2026-03-01T12:00:00+00:00")
    assert data["why_pending"] == "It waits. Behind 3."
    running = job_detail_data(job(), (), (), "/a.out", "/a.err", {"step": 1})
    assert (running["why_pending"], running["estimated_start"], running["stderr"]) == (None, None, "/a.err")


def test_every_time_is_iso_with_an_offset() -> None:
    times = [value for name, value in job_data(job()).items() if name.endswith("_time")]
    assert len(times) == 3
    for text in (*times, gpus_data(snapshot())["taken_at"]):
        assert datetime.fromisoformat(text).utcoffset() == timedelta(0)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", text)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_any_name_is_json_in_plain_ascii_and_comes_back(name: str) -> None:
    picture = snapshot((node(name, gpu_type=name),), (partition(name),), (job(name=name, user=name),))
    data = [gpus_data(picture), partitions_data(picture), nodes_data(picture), job_data(picture.jobs.records[0])]
    text = json.dumps(data)
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text) == data
    assert json.loads(text)[3]["name"] == name
