from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import node, partition

from jobs.slurm.availability import availability
from jobs.slurm.blocks import Block, largest_block
from jobs.slurm.snapshot import Part, Snapshot


@pytest.mark.parametrize(
    ("usable", "max_nodes", "expected"),
    [
        ([], None, None),
        ([0, 0], None, None),
        ([4], None, (1, 4)),
        ([4, 4, 2, 1], None, (2, 4)),
        ([4, 3, 3], None, (3, 3)),
        ([8, 4], None, (1, 8)),
        ([1, 1, 1, 1, 1], 3, (3, 1)),
    ],
)
def test_the_largest_block_has_as_many_gpus_on_each_node(
    usable: list[int], max_nodes: int | None, expected: tuple[int, int] | None
) -> None:
    found = largest_block(usable, partition("main", MaxNodes="UNLIMITED" if max_nodes is None else str(max_nodes)))
    assert found == (None if expected is None else Block(*expected, "main"))


@given(st.lists(st.integers(0, 8), max_size=12), st.integers(1, 12))
def test_no_other_block_is_larger(usable: list[int], max_nodes: int) -> None:
    found = largest_block(usable, partition("main", MaxNodes=str(max_nodes)))
    for nodes, gpus in itertools.product(range(1, max_nodes + 1), range(1, 9)):
        if sum(1 for number in usable if number >= gpus) >= nodes:
            assert found is not None
            assert nodes * gpus <= found.gpus


def test_a_job_stays_within_one_partition() -> None:
    nodes = [
        node("n1", Partitions="a"), node("n2", Partitions="b"), node("n3", Partitions="b"),
        node("n4", Partitions="b", State="MIXED", CPUAlloc="63"),
    ]  # fmt: skip
    known = Part((partition("a"), partition("b")))
    counted = availability(Snapshot(1, "lab", "22.05.8", Part(), Part(tuple(nodes)), known))
    assert counted.gpu_types[0].largest_block == Block(2, 4, "b")
    assert [gpus.gpu_types[0].largest_block for gpus in counted.partitions] == [Block(1, 4, "a"), Block(2, 4, "b")]
