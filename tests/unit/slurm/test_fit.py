from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import node, partition

from jobs.slurm.access import Viewer
from jobs.slurm.availability import availability
from jobs.slurm.commands import sbatch_test
from jobs.slurm.fit import Placement, nodes_fitting, other_types, placements
from jobs.slurm.parse import parse_reservations
from jobs.slurm.records import Node, Partition, Reservation
from jobs.slurm.shape import UNLIMITED, Shape
from jobs.slurm.snapshot import Part, Snapshot

NOW = 1_800_000_000.0


def picture(nodes: list[Node], *partitions: Partition) -> Snapshot:
    known = partitions or (partition("main", Default="YES"),)
    return Snapshot(1, "lab", "22.05.8", Part(), Part(tuple(nodes)), Part(known))


def counts(snapshot: Snapshot, gpus: int = 0, gpu_type: str | None = None, cpus: int = 1) -> tuple[int, int]:
    """(fitting, possible) nodes of `main`."""
    fit = nodes_fitting(snapshot, "main", Shape(gpus_per_node=gpus, gpu_type=gpu_type, cpus_per_task=cpus))
    assert fit is not None
    return fit.fitting, fit.possible


def test_a_node_fits_up_to_its_free_gpus() -> None:
    half = picture([node(GresUsed="gpu:a100:2(IDX:0-1)", State="MIXED", CPUAlloc="2")])
    assert [counts(half, gpus) for gpus in (0, 1, 2, 3, 4, 5)] == [(1, 1), (1, 1), (1, 1), (0, 1), (0, 1), (0, 0)]


def test_the_type_decides_and_no_type_is_any_mixture() -> None:
    """Slurm 22.05 started 8 GPUs without a type on a node with gpu:a100:1,gpu:1g.10gb:7 (tests/slurm/test_truth.py)."""
    nodes = picture(
        [
            node("n1"),
            node("n2", Gres="gpu:h100:8", GresUsed="gpu:h100:0(IDX:N/A)"),
            node("n3", Gres="gpu:a100:2,gpu:h100:2", GresUsed="gpu:a100:0(IDX:N/A),gpu:h100:0(IDX:N/A)"),
        ]
    )
    assert counts(nodes, 4, "a100") == (1, 1)
    assert counts(nodes, 2, "h100") == (2, 2)
    assert counts(nodes, 4) == (3, 3)
    assert counts(nodes, 5) == (1, 1)
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
    fit = nodes_fitting(asked, None, Shape(gpus_per_node=1))
    assert fit == Placement(partition("main", Default="YES"), "a100", 1, 1, 1)
    for name in ("nowhere", "main,other"):
        assert nodes_fitting(asked, name, Shape(gpus_per_node=1)) is None
    assert nodes_fitting(picture([], other), None, Shape(gpus_per_node=1)) is None


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


def reservation(name: str, start_in: float, nodes: str, flags: str = "SPEC_NODES", users: str = "alice") -> Reservation:
    start = datetime.fromtimestamp(NOW + start_in, timezone.utc)
    return Reservation(name, start, start + timedelta(hours=2), nodes, frozenset(flags.split(",")), (users,), (), ())


def place(snapshot: Snapshot, shape: Shape) -> Placement:
    (found,) = placements(snapshot, shape, "main", NOW)
    return found


def test_each_shortfall_is_said_with_its_node_and_numbers() -> None:
    nodes = [
        node("n1"),
        node("n2", GresUsed="gpu:a100:3(IDX:0-2)", State="MIXED", CPUAlloc="3"),
        node("n3", AllocMem="512000", State="MIXED", CPUAlloc="2"),
        node("n4", CPUAlloc="62", State="MIXED"),
        node("n5", State="IDLE+DRAIN"),
    ]
    found = place(picture(nodes), Shape(nodes=2, gpus_per_node=4, ntasks_per_node=4))
    assert (found.fitting, found.possible, found.starts_now) == (1, 5, False)
    (why,) = found.why
    assert why.startswith("1 of 5 nodes has room, 2 are needed: ")
    for text in ("n2 has 1 of 4 GPUs free", "n3 has 4 GPUs free but no memory left",
                 "n4 has 4 GPUs free but only 2 of 4 CPUs", "n5 is drained"):  # fmt: skip
        assert text in why
    assert found.levers == ("With 2 GPUs per node it starts now.", "On 1 node it starts now.")


def test_another_type_is_named_where_it_would_start() -> None:
    nodes = picture([
        node("n1", State="DOWN"),
        node("n2", Gres="gpu:h100:8", GresUsed="gpu:h100:0(IDX:N/A)"),
        node("n3", Gres="gpu:l40s:2", GresUsed="gpu:l40s:0(IDX:N/A)"),
        node("n4", Gres="gpu:4", GresUsed="gpu:0"),
    ])  # fmt: skip
    found = other_types(nodes, Shape(gpus_per_node=4, gpu_type="a100"), NOW)
    assert [(place.partition.name, place.gpu_type) for place in found] == [("main", "h100")]
    assert other_types(nodes, Shape(gpus_per_node=4), NOW) == []


def test_a_limit_over_the_partitions_names_the_limit() -> None:
    main = partition("main", Default="YES", MaxTime="1-00:00:00")
    found = place(picture([node()], main), Shape(time_limit=timedelta(days=2)))
    assert found.why == ("The time limit is over the 1-00:00:00 that the partition allows.",)
    assert found.levers == ("With a time limit of at most 1-00:00:00 it starts now.",)


def test_a_reservation_to_come_bounds_the_time_limit() -> None:
    nodes = picture([node("n1"), node("n2")])
    nodes = dataclasses.replace(nodes, reservations=Part((reservation("maint", 7200, "n[1-2]", "MAINT"),)))
    assert place(nodes, Shape(gpus_per_node=1, time_limit=timedelta(hours=1))).starts_now
    found = place(nodes, Shape(gpus_per_node=1, time_limit=timedelta(hours=3)))
    assert "n1, n2 are kept by reservation maint from" in found.why[0]
    assert found.levers[0] == "With a time limit of at most 2:00:00 it starts now."


@pytest.mark.parametrize("flags", ["SPEC_NODES", "SPEC_NODES,FLEX", "SPEC_NODES,MAGNETIC", "SPEC_NODES,TIME_FLOAT"])
@pytest.mark.parametrize("user", ["alice", "bob"])
def test_a_reservation_to_come_stands_in_everyones_way(flags: str, user: str) -> None:
    """Tried on 22.05.8: a job that does not name it never runs into it, its own users' neither."""
    nodes = dataclasses.replace(
        picture([node("n1")]),
        reservations=Part((reservation("course", 600, "n1", flags),)),
        viewer=Viewer(user, 1000, frozenset({"users"})),
    )
    assert not place(nodes, Shape(time_limit=timedelta(hours=3))).starts_now
    assert place(nodes, Shape(time_limit=timedelta(minutes=10))).starts_now


@pytest.mark.parametrize(
    ("flags", "user", "starts"),
    [("SPEC_NODES", "alice", False), ("MAGNETIC", "alice", True), ("MAGNETIC", "bob", False)],
)
def test_a_running_reservation_of_mine_takes_my_jobs_by_itself_only_if_magnetic(
    flags: str, user: str, starts: bool
) -> None:
    nodes = dataclasses.replace(
        picture([node("n1")]),
        reservations=Part((reservation("mine", -600, "n1", flags),)),
        viewer=Viewer(user, 1000, frozenset({"users"})),
    )
    found = place(nodes, Shape(time_limit=timedelta(minutes=3)))
    assert found.starts_now is starts
    told = "Nodes of your reservation mine are left out: name it with --reservation=mine."
    assert (told in found.notes) is (user == "alice" and not starts)


# Tried on 22.05.8: with 61 of 64 cores kept for others, a job of 3 tasks runs on the node and one of 4 waits.
CORES = """ReservationName=cores StartTime={start} EndTime={end} Duration=01:00:00
   Nodes=n1 NodeCnt=1 CoreCnt=61 Features=(null) PartitionName=main Flags=SPEC_NODES
     NodeName=n1 CoreIDs=0-60
   TRES=cpu=61
   Users=nobody Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

"""


@pytest.mark.parametrize("start", [NOW - 60, NOW + 600])
def test_a_reservation_of_cores_leaves_the_rest_of_its_node(start: float) -> None:
    found, skipped = parse_reservations(CORES.format(start=int(start), end=int(NOW + 3600)))
    assert skipped == 0
    nodes = dataclasses.replace(picture([node("n1"), node("n2", State="DOWN")]), reservations=Part(found))
    for tasks, starts in ((3, True), (4, False)):
        shape = Shape(ntasks_per_node=tasks, time_limit=timedelta(minutes=30))
        assert place(nodes, shape).starts_now is starts
    short = Shape(ntasks_per_node=4, time_limit=timedelta(minutes=10))
    assert place(nodes, short).starts_now is (start > NOW)


def test_gpus_that_reserved_cores_leave_without_cpus_are_reserved() -> None:
    found, _ = parse_reservations(CORES.format(start=int(NOW - 60), end=int(NOW + 3600)))
    nodes = dataclasses.replace(picture([node("n1"), node("n2")]), reservations=Part(found))
    (count,) = availability(nodes, NOW).gpu_types
    assert (count.usable, count.unavailable, count.stranded) == (7, {"reserved": 1}, {})


def test_overlapping_reservations_of_cores_keep_each_core_once() -> None:
    text = CORES.format(start=int(NOW - 60), end=int(NOW + 3600))
    other = text.replace("=cores", "=more").replace("0-60", "60-61")
    found, skipped = parse_reservations(text + other)
    assert ([sorted(r.cores["n1"])[-1] for r in found], skipped) == ([60, 61], 0)
    nodes = dataclasses.replace(picture([node("n1")]), reservations=Part(found))
    assert [place(nodes, Shape(ntasks_per_node=tasks)).starts_now for tasks in (2, 3)] == [True, False]


def test_a_partition_that_refuses_the_user_starts_nothing_of_theirs() -> None:
    main = partition("main", Default="YES", AllowGroups="staff")
    refused = dataclasses.replace(picture([node()], main), viewer=Viewer("bob", 1001, frozenset({"users"})))
    assert place(refused, Shape()).why[0] == "It takes only the groups staff."


def test_memory_that_is_asked_for_must_be_free_and_the_lever_says_how_much_is() -> None:
    nodes = picture([node("n1", AllocMem="500000", State="MIXED", CPUAlloc="1")])
    found = place(nodes, Shape(memory=64_000))
    assert "n1 has only 11G of memory left" in found.why[0]
    assert found.levers == ("With --mem=11G it starts now.",)


@pytest.mark.parametrize(("gpus", "tasks", "cpus", "starts_on_20_11"), [
    (1, 1, 8, True), (1, 1, 6, True), (1, 1, 5, False), (2, 2, 6, True), (2, 2, 5, False), (2, 1, 12, True),
    (1, 1, None, False), (1, 4, None, False), (1, 8, None, True), (1, 8, 1, True), (1, 4, 1, False), (0, 1, 1, True),
])  # fmt: skip
def test_slurm_20_11_refuses_fewer_cpus_than_the_default_for_the_gpus(
    gpus: int, tasks: int, cpus: int | None, starts_on_20_11: bool
) -> None:
    """As sbatch of 20.11.4 answered for each of these with DefCpuPerGPU=6."""
    main = partition("main", Default="YES", JobDefaults="DefCpuPerGPU=6")
    shape = Shape(gpus_per_node=gpus, ntasks_per_node=tasks, cpus_per_task=cpus)
    newer = picture([node()], main)
    assert place(newer, shape).starts_now
    found = place(dataclasses.replace(newer, slurm_version="20.11.4"), shape)
    assert (found.starts_now, found.never) == (starts_on_20_11, not starts_on_20_11)


def test_a_wish_beyond_all_nodes_is_answered_for_every_partition_with_what_they_have() -> None:
    known = partition("main", Default="YES"), partition("other", MaxCPUsPerNode="16")
    nodes = picture([node("n1", Partitions="main,other")], *known)
    for shape in (
        Shape(gpus_per_node=99_999_999_999_999),
        Shape(nodes=10**23, gpus_per_node=5),
        Shape(cpus_per_task=65),
        Shape(memory=513_000),
    ):
        found = placements(nodes, shape, now=NOW)
        assert [place.partition.name for place in found] == ["main", "other"]
        assert all(place.never for place in found)
        assert found[0].why[0] == "No node could ever hold this shape."
        assert found[0].why[1] == "One node has at most: 4 GPUs, 64 CPUs, 500G of memory."
        assert found[1].why[1] == "One node has at most: 4 GPUs, 16 CPUs, 500G of memory."
    huge = placements(nodes, Shape(gpus_per_node=99_999_999_999_999), now=NOW)
    assert huge[0].levers == ("With 4 GPUs per node it starts now.",)
    assert huge[0].notes == ()


def test_several_partitions_are_named_with_commas() -> None:
    nodes = picture([node("n1", Partitions="a,b,c")], *map(partition, "abc"))
    assert [place.partition.name for place in placements(nodes, Shape(), "c,a", NOW)] == ["a", "c"]


def test_no_time_limit_is_over_every_partitions_and_runs_into_every_reservation() -> None:
    nodes = picture([node("n1")], partition("main", MaxTime="1-00:00:00"))
    assert "over the 1-00:00:00" in place(nodes, Shape(time_limit=UNLIMITED)).why[0]
    free = picture([node("n1")])
    assert place(free, Shape(time_limit=UNLIMITED)).starts_now
    kept = dataclasses.replace(free, reservations=Part((reservation("r", 10**7, "n1"),)))
    assert not place(kept, Shape(time_limit=UNLIMITED)).starts_now
    assert "--time=UNLIMITED" in sbatch_test(Shape(time_limit=UNLIMITED), "main")
