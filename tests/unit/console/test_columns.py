from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE_NAMES, NOON, job, node, partition, snapshot

from console.columns.column import Column, layout
from console.columns.jobs import JOB_COLUMNS, gpus_text, limit_text, used_time, where_or_why
from console.columns.nodes import NODE_COLUMNS, gpus_free
from console.columns.nodes import gpus_text as node_gpus_text
from console.columns.partitions import PARTITION_COLUMNS, partition_rows
from console.columns.states import job_style, node_style
from jobs.slurm.tres import Gres


@st.composite
def columns(draw: st.DrawFn) -> list[Column[str]]:
    made = draw(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 60), st.integers(0, 9), st.booleans()),
                         min_size=1, max_size=12))  # fmt: skip
    return [
        Column("T" * title, lambda row: (row, ""), str, max_width=width, rank=rank, grow=grow)
        for title, width, rank, grow in made
    ]


ROWS = st.lists(st.text("ab日", max_size=70), max_size=6)


@given(columns(), ROWS, st.integers(1, 200))
def test_a_layout_is_never_wider_than_the_table(made: list[Column[str]], rows: list[str], width: int) -> None:
    placed = layout(made, rows, width)
    assert placed
    assert sum(w for _, w in placed) + len(placed) - 1 <= width
    assert [column for column, _ in placed] == [column for column in made if column in dict(placed)]
    assert min(w for _, w in placed) >= 1


@given(columns(), ROWS, st.integers(1, 200))
def test_no_column_goes_before_one_of_lower_rank(made: list[Column[str]], rows: list[str], width: int) -> None:
    shown = [column for column, _ in layout(made, rows, width)]
    gone = [column.rank for column in made if column not in shown]
    assert max(gone, default=0) <= min(column.rank for column in shown)


def test_what_is_left_over_goes_to_the_column_that_grows() -> None:
    made: list[Column[str]] = [
        Column("A", lambda row: (row, ""), str),
        Column("B", lambda row: (row, ""), str, grow=True),
    ]
    assert [width for _, width in layout(made, ["xxxx"], 50)] == [4, 45]


def test_a_title_has_room_for_the_sign_of_its_order() -> None:
    made: list[Column[str]] = [Column("NODES", lambda row: (row, ""), str, max_width=5)]
    assert layout(made, ["1"], 80)[0][1] == 7


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_cell_holds_what_a_terminal_obeys(name: str) -> None:
    odd_job = job(name=name, user=name, partition=name, state=name, reason=name, node_list="", gpu_type=name)
    odd_node = node(name, gpu_type=name, state=name, partitions=(name,), features=(name,), reason=name)
    rows = partition_rows(snapshot((odd_node,), (partition(name, state=name),), (odd_job,)))
    tables: list[tuple[tuple[Column[Any], ...], Any]] = [
        (JOB_COLUMNS, odd_job), (JOB_COLUMNS, job(node_list=name)), (NODE_COLUMNS, odd_node),
        (PARTITION_COLUMNS, rows[0]),
    ]  # fmt: skip
    for table, row in tables:
        text = "".join(column.cell(row)[0] for column in table)
        assert not set(text) & set("\x1b\n\t\x9b\udcff\udcfe\u202e")


def test_gpus_of_a_job() -> None:
    texts = [gpus_text(job(gpus=n, gpu_type=kind)) for n, kind in [(None, "a100"), (0, None), (2, None), (4, "a100")]]
    assert texts == ["?", "—", "2", "4 a100"]


def test_the_time_of_a_job_is_that_of_its_state() -> None:
    ended = job(state="COMPLETED", start_time=NOON, end_time=NOON + timedelta(minutes=5))
    assert used_time(ended) == timedelta(minutes=5)
    assert used_time(job(state="PENDING", start_time=NOON)) is None
    assert used_time(job(state="CANCELLED", start_time=None)) is None
    assert [limit_text(job(time_limit=limit, unlimited=not limit)) for limit in (timedelta(hours=2), None)] == [
        "2:00:00",
        "unlimited",
    ]
    assert limit_text(job(time_limit=None)) == "—"


def test_a_job_without_nodes_says_why() -> None:
    assert where_or_why(job(node_list="n[1-2]", reason="None")) == "n[1-2]"
    assert where_or_why(job(node_list="", reason="Priority")) == "(Priority)"
    assert where_or_why(job(node_list="", reason="None")) == ""


def test_jobs_sort_by_number_and_an_odd_id_sorts_too() -> None:
    key = next(column.sort for column in JOB_COLUMNS if column.title == "JOBID")
    assert sorted(["10", "9", "²", "x"], key=lambda job_id: key(job(job_id=job_id)))[2:] == ["9", "10"]


def test_gpus_of_a_node() -> None:
    mixed = node(gres=(Gres("gpu", "a100", 4), Gres("gpu", "h100", 2)), gres_used=(Gres("gpu", "a100", 1),))
    assert (node_gpus_text(mixed), gpus_free(mixed)) == ("1/4 a100, 0/2 h100", 5)
    assert (node_gpus_text(node(gres_used=None)), gpus_free(node(gres_used=None))) == ("?/4 a100", None)
    assert (node_gpus_text(node(gpus=0)), gpus_free(node(gpus=0))) == ("—", 0)


def test_a_node_that_fails_is_red_and_one_that_drains_yellow() -> None:
    assert node_style(node(state="DOWN")) == node_style(node(flags=frozenset({"NOT_RESPONDING"}))) == "bold red"
    assert node_style(node(flags=frozenset({"DRAIN"}))) == "yellow"
    assert node_style(node()) == "green"
    assert job_style(job(state="FAILED")) == job_style(job(state="OUT_OF_MEMORY")) == "bold red"


def test_a_job_in_several_partitions_waits_in_each() -> None:
    picture = snapshot(
        (node("n1"), node("n2", used=1, state="MIXED"), node("n3", flags=frozenset({"DRAIN"}))),
        (partition("a100"), partition("b", is_default=False)),
        (job(state="PENDING", partition="a100,b"), job(state="RUNNING"), job(state="COMPLETED")),
    )
    first, second = partition_rows(picture)
    assert (first.running, first.pending, first.idle_nodes, first.usable_nodes, first.total_nodes) == (1, 1, 1, 2, 3)
    assert (second.running, second.pending, second.total_nodes) == (0, 1, 0)
