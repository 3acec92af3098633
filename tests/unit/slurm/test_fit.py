from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import node, partition

from jobs.slurm.fit import Fit, nodes_fitting
from jobs.slurm.records import Node, Partition
from jobs.slurm.snapshot import Part, Snapshot


def picture(nodes: list[Node], *partitions: Partition) -> Snapshot:
    known = partitions or (partition("main", Default="YES"),)
    return Snapshot(1, "lab", "22.05.8", Part(), Part(tuple(nodes)), Part(known))


def counts(snapshot: Snapshot, gpus: int = 0, gpu_type: str | None = None, cpus: int = 1) -> tuple[int, int]:
    """(fitting, possible) nodes of `main`."""
    fit = nodes_fitting(snapshot, "main", gpus_per_node=gpus, gpu_type=gpu_type, cpus_per_node=cpus)
    assert fit is not None
    return fit.fitting, fit.possible


def test_a_node_fits_up_to_its_free_gpus() -> None:
    half = picture([node(GresUsed="gpu:a100:2(IDX:0-1)", State="MIXED", CPUAlloc="2")])
    assert [counts(half, gpus) for gpus in (0, 1, 2, 3, 4, 5)] == [(1, 1), (1, 1), (1, 1), (0, 1), (0, 1), (0, 0)]


def test_the_type_decides_and_no_type_is_any_one_type() -> None:
    nodes = picture(
        [
            node("n1"),
            node("n2", Gres="gpu:h100:8", GresUsed="gpu:h100:0(IDX:N/A)"),
            node("n3", Gres="gpu:a100:2,gpu:h100:2", GresUsed="gpu:a100:0(IDX:N/A),gpu:h100:0(IDX:N/A)"),
        ]
    )
    assert counts(nodes, 4, "a100") == (1, 1)
    assert counts(nodes, 2, "h100") == (2, 2)
    assert counts(nodes, 4) == (2, 2)
    assert counts(nodes, 1, "v100") == (0, 0)


def test_cpus_decide_too() -> None:
    nodes = picture([node(CPUAlloc="60", State="MIXED"), node("n2")])
    assert [counts(nodes, cpus=cpus) for cpus in (4, 5, 64, 65)] == [(2, 2), (1, 2), (1, 2), (0, 0)]


@pytest.mark.parametrize("fields", [
    {"State": "IDLE+DRAIN"}, {"State": "DOWN"}, {"State": "IDLE+PLANNED"}, {"State": "IDLE+MAINTENANCE"},
    {"State": "DOWN*"},
])  # fmt: skip
def test_a_node_that_takes_no_jobs_could_but_does_not_fit(fields: dict[str, str]) -> None:
    assert counts(picture([node(**fields), node("n2")]), 1) == (1, 2)


def test_memory_that_is_gone_leaves_no_room_for_gpus() -> None:
    assert counts(picture([node(AllocMem="512000", State="MIXED")]), 1) == (0, 1)


def test_nodes_of_other_partitions_do_not_count() -> None:
    assert counts(picture([node(), node("n2", Partitions="other")]), 1) == (1, 1)


def test_a_closed_partition_has_no_room() -> None:
    assert counts(picture([node()], partition("main", State="DOWN")), 1) == (0, 1)


@pytest.mark.parametrize("gpus", [0, 1])
def test_where_jobs_have_nodes_for_themselves_a_busy_node_has_no_room(gpus: int) -> None:
    nodes = [node(State="MIXED", CPUAlloc="1"), node("n2")]
    assert counts(picture(nodes, partition("main", OverSubscribe="EXCLUSIVE")), gpus) == (1, 2)
    assert counts(picture(nodes), gpus) == (2, 2)


def test_no_name_means_the_default_partition_and_an_unknown_one_is_none() -> None:
    other = partition("other")
    asked = picture([node(), node("n2", Partitions="other")], other, partition("main", Default="YES"))
    fit = nodes_fitting(asked, None, gpus_per_node=1, gpu_type=None, cpus_per_node=1)
    assert fit == Fit(partition("main", Default="YES"), 1, 1)
    for name in ("nowhere", "main,other"):
        assert nodes_fitting(asked, name, gpus_per_node=1, gpu_type=None, cpus_per_node=1) is None
    assert nodes_fitting(picture([], other), None, gpus_per_node=1, gpu_type=None, cpus_per_node=1) is None


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 64), st.sampled_from(["IDLE", "MIXED", "DOWN"])), max_size=6),
    st.integers(0, 5), st.integers(1, 65),
)  # fmt: skip
def test_asking_for_more_never_fits_better(nodes: list[tuple[int, int, str]], gpus: int, cpus: int) -> None:
    made = picture(
        [
            node(f"n{i}", GresUsed=f"gpu:a100:{used}(IDX:N/A)", CPUAlloc=str(taken), State=state)
            for i, (used, taken, state) in enumerate(nodes)
        ]
    )
    fitting, possible = counts(made, gpus, cpus=cpus)
    assert 0 <= fitting <= possible <= len(nodes)
    for more in (counts(made, gpus + 1, cpus=cpus), counts(made, gpus, cpus=cpus + 1)):
        assert more[0] <= fitting
        assert more[1] <= possible
