"""GPUs that one can get: total = allocated + unavailable + stranded + usable, always, each GPU counted once."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import RELEASES, capture, node, node_text, partition

from jobs.slurm.access import Viewer
from jobs.slurm.availability import GpuCount, availability, contradictions, count_gpus
from jobs.slurm.parse import parse_nodes, parse_partitions
from jobs.slurm.records import Node, Partition
from jobs.slurm.snapshot import EMPTY, Part, Snapshot

MAIN = partition()


def count(found: Node, *partitions: Partition) -> GpuCount:
    """The one GPU type of a node."""
    (gpus,) = count_gpus([found], list(partitions or (MAIN,)))
    return gpus


def picture(nodes: tuple[Node, ...], partitions: tuple[Partition, ...]) -> Snapshot:
    return dataclasses.replace(EMPTY, nodes=Part(nodes), partitions=Part(partitions))


def recorded(release: str) -> Snapshot:
    nodes, _ = parse_nodes(capture(release, "node.txt"))
    partitions, _ = parse_partitions(capture(release, "partition.txt"))
    return picture(nodes, partitions)


def test_of_32_recorded_gpus_four_are_usable() -> None:
    # 22.05: two nodes full, one without memory, one drained, one with 4 of 64 CPUs left, one exclusive.
    assert availability(recorded("22.05.8")).gpu_types == (
        GpuCount("a100", total=16, allocated=8, unavailable={"drained": 4}, stranded={"no memory": 4}),
        GpuCount("h100", total=16, allocated=9, stranded={"no CPU": 3}, usable=4),
    )


def test_of_32_recorded_gpus_of_26_05_seven_are_usable() -> None:
    # 26.05: 1 and 2 a100 left on two nodes with CPUs and memory; the others as on 22.05.
    assert availability(recorded("26.05.5")).gpu_types == (
        GpuCount("a100", 16, allocated=5, unavailable={"drained": 4}, stranded={"no memory": 4}, usable=3),
        GpuCount("h100", 16, allocated=9, stranded={"no CPU": 3}, usable=4),
    )


@pytest.mark.parametrize("release", RELEASES)
def test_a_partition_counts_its_own_nodes(release: str) -> None:
    found = {part.partition.name: {g.gpu_type: g.total for g in part.gpu_types} for part in
             availability(recorded(release)).partitions}  # fmt: skip
    assert found == {
        "a100": {"a100": 16}, "h100": {"h100": 16}, "cpu": {}, "debug": {"a100": 4}, "all": {"a100": 16, "h100": 16},
    }  # fmt: skip


def test_an_idle_node_is_usable_and_whole() -> None:
    assert count(node()) == GpuCount("a100", total=4, usable=4, whole_nodes=1)


def test_allocated_gpus_are_not_free() -> None:
    taken = count(node(State="MIXED", GresUsed="gpu:a100:3(IDX:0-2)", CPUAlloc="3", AllocMem="3000"))
    assert taken == GpuCount("a100", total=4, allocated=3, usable=1)
    assert taken.free == 1


STATES = [
    ("DOWN", "down"), ("DOWN*", "not responding"), ("DOWN+NOT_RESPONDING", "not responding"), ("UNKNOWN", "down"),
    ("ERROR", "down"), ("FUTURE", "down"), ("INVALID", "down"), ("SOMETHING_NEW", "down"),
    ("IDLE+DRAIN", "drained"), ("IDLE+DRAIN+COMPLETING", "draining"), ("MIXED+DRAIN", "draining"),
    ("ALLOCATED+DRAIN", "draining"), ("IDLE+FAIL", "drained"), ("IDLE*", "not responding"),
    ("IDLE+INVALID_REG", "down"), ("IDLE+MAINTENANCE", "maintenance"), ("IDLE$", "maintenance"),
    ("IDLE+RESERVED", "reserved"), ("IDLE+BLOCKED", "reserved"), ("IDLE+POWERED_DOWN", "powered down"),
    ("IDLE~", "powered down"), ("IDLE+CLOUD+POWER", "powered down"), ("IDLE+POWERING_DOWN", "powered down"),
    ("IDLE+POWER_DOWN", "powered down"), ("IDLE+POWER_DRAIN", "powered down"), ("IDLE+POWERING_UP", "powering up"),
    ("IDLE#", "powering up"), ("IDLE+REBOOT_ISSUED", "rebooting"), ("IDLE+DYNAMIC_FUTURE", "down"),
    ("IDLE+PLANNED", "planned by backfill"), ("MIXED-", "planned by backfill"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "cause"), STATES)
def test_a_node_whose_state_forbids_new_jobs_gives_none(state: str, cause: str) -> None:
    assert count(node(State=state)) == GpuCount("a100", total=4, unavailable={cause: 4})


@pytest.mark.parametrize(
    "state", ["IDLE", "MIXED", "IDLE+CLOUD", "IDLE@", "IDLE+REBOOT_REQUESTED", "IDLE+DYNAMIC_NORM", "MIXED+COMPLETING"]
)
def test_a_node_in_other_states_gives_its_gpus(state: str) -> None:
    assert count(node(State=state)).usable == 4


def test_the_gpus_that_jobs_still_hold_on_a_draining_node_are_allocated() -> None:
    draining = count(node(State="MIXED+DRAIN", GresUsed="gpu:a100:1(IDX:0)", CPUAlloc="1"))
    assert draining == GpuCount("a100", total=4, allocated=1, unavailable={"draining": 3})


@pytest.mark.parametrize("state", ["DOWN", "DRAIN", "INACTIVE"])
def test_a_closed_partition_gives_none(state: str) -> None:
    closed = count(node(), partition(State=state))
    assert closed == GpuCount("a100", total=4, unavailable={"partition closed": 4})


def test_a_node_in_no_partition_or_in_one_that_could_not_be_read_gives_none() -> None:
    for found in (node(Partitions=""), node(Partitions="unread")):
        assert count(found) == GpuCount("a100", total=4, unavailable={"no partition known": 4})


def test_one_open_partition_is_enough() -> None:
    both = [partition("shut", State="DOWN"), partition("open")]
    snapshot = picture((node(Partitions="shut,open"),), tuple(both))
    assert availability(snapshot).gpu_types == (GpuCount("a100", total=4, usable=4, whole_nodes=1),)
    assert [part.gpu_types[0].usable for part in availability(snapshot).partitions] == [0, 4]


def test_a_node_in_two_partitions_counts_once() -> None:
    snapshot = picture((node(Partitions="a,b"),), (partition("a"), partition("b")))
    assert availability(snapshot).gpu_types[0].total == 4


@pytest.mark.parametrize(("idle", "usable"), [(0, 0), (1, 1), (3, 3), (4, 4), (64, 4)])
def test_each_gpu_takes_one_cpu(idle: int, usable: int) -> None:
    found = count(node(State="MIXED", CPUAlloc=str(64 - idle)))
    assert (found.usable, found.stranded) == (usable, {"no CPU": 4 - usable} if usable < 4 else {})


def test_each_gpu_takes_the_partitions_cpus_per_gpu() -> None:
    found = count(node(State="MIXED", CPUAlloc="40"), partition(JobDefaults="DefCpuPerGPU=8"))
    assert (found.usable, found.stranded) == (3, {"no CPU": 1})


@pytest.mark.parametrize(
    ("limits", "usable"),
    [
        ({"JobDefaults": "DefMemPerGPU=50000"}, 2),
        ({"JobDefaults": "DefMemPerGPU=50001"}, 1),
        ({"DefMemPerCPU": "40000"}, 2),
        ({"JobDefaults": "DefCpuPerGPU=2", "DefMemPerCPU": "25000"}, 2),
        ({"DefMemPerNode": "100000"}, 4),
        ({"DefMemPerNode": "100001"}, 0),
        ({"DefMemPerNode": "UNLIMITED"}, 4),
    ],
)
def test_each_gpu_takes_the_partitions_default_memory(limits: dict[str, str], usable: int) -> None:
    found = count(node(State="MIXED", CPUAlloc="2", AllocMem="412000"), partition(**limits))  # 100,000 MiB are free
    assert (found.usable, found.stranded) == (usable, {"no memory": 4 - usable} if usable < 4 else {})


def test_a_node_without_free_memory_strands_its_gpus() -> None:
    found = count(node(State="MIXED", CPUAlloc="2", AllocMem="512000"))
    assert found == GpuCount("a100", total=4, stranded={"no memory": 4})


def test_what_the_system_keeps_is_not_free_memory() -> None:
    found = count(node(State="MIXED", CPUAlloc="2", AllocMem="500000", MemSpecLimit="12000"))
    assert found.stranded == {"no memory": 4}


def test_a_partly_used_node_gives_none_in_an_exclusive_partition() -> None:
    exclusive = partition(OverSubscribe="EXCLUSIVE")
    used = count(node(State="MIXED", CPUAlloc="1", GresUsed="gpu:a100:1(IDX:0)"), exclusive)
    assert used == GpuCount("a100", total=4, allocated=1, stranded={"exclusive": 3})
    assert count(node(), exclusive).usable == 4


def test_the_most_generous_partition_decides() -> None:
    parts = [partition("poor", JobDefaults="DefCpuPerGPU=32"), partition("rich")]
    snapshot = picture((node(Partitions="poor,rich"),), tuple(parts))
    assert availability(snapshot).gpu_types[0].usable == 4
    assert [part.gpu_types[0].usable for part in availability(snapshot).partitions] == [2, 4]


def test_a_node_that_does_not_say_what_is_used_gives_nothing_and_claims_nothing() -> None:
    silent = dataclasses.replace(node(), gres_used=None)
    assert count(silent) == GpuCount("a100", total=4, unavailable={"use unknown": 4})


def test_types_are_counted_apart_and_the_largest_comes_first() -> None:
    nodes = [node("a"), node("b", Gres="gpu:h100:8", GresUsed="gpu:h100:0"), node("c", Gres="gpu:2", GresUsed="gpu:0")]
    assert [(g.gpu_type, g.total) for g in count_gpus(nodes, [MAIN])] == [("h100", 8), ("a100", 4), (None, 2)]


def test_whole_nodes_are_those_without_a_job() -> None:
    nodes = [node("a"), node("b", State="MIXED", CPUAlloc="1"), node("c", State="IDLE+DRAIN"), node("d")]
    assert count_gpus(nodes, [MAIN])[0].whole_nodes == 2


FLAGS = ["DRAIN", "FAIL", "MAINTENANCE", "RESERVED", "POWERED_DOWN", "PLANNED", "NOT_RESPONDING", "COMPLETING", "CLOUD"]
GRES = st.lists(st.tuples(st.sampled_from(["a100", "A100", "h100", "", "(null)"]), st.integers(0, 16)), max_size=4).map(
    lambda entries: ",".join(f"gpu:{kind}:{number}" if kind else f"gpu:{number}" for kind, number in entries)
)


def numbers(largest: int) -> st.SearchStrategy[str]:
    return st.integers(0, largest).map(str)


NODES = st.builds(
    node,
    name=st.uuids().map(str),
    State=st.tuples(
        st.sampled_from(["IDLE", "MIXED", "ALLOCATED", "DOWN", "UNKNOWN", "NEW"]),
        st.lists(st.sampled_from(FLAGS), max_size=2),
    ).map(lambda state: "+".join([state[0], *state[1]])),
    Gres=GRES, GresUsed=GRES, CPUAlloc=numbers(80), CPUEfctv=numbers(80), AllocMem=numbers(600_000),
    RealMemory=numbers(600_000), MemSpecLimit=numbers(1000), Partitions=st.sampled_from(["", "a", "b", "a,b", "gone"]),
)  # fmt: skip


def partitions(name: str) -> st.SearchStrategy[Partition]:
    return st.builds(
        partition,
        name=st.just(name),
        State=st.sampled_from(["UP", "UP", "DOWN", "DRAIN", "INACTIVE"]),
        OverSubscribe=st.sampled_from(["NO", "EXCLUSIVE", "FORCE:4"]),
        JobDefaults=st.sampled_from(["(null)", "DefCpuPerGPU=8", "DefMemPerGPU=64000", "DefCpuPerGPU=0"]),
        DefMemPerNode=st.sampled_from(["UNLIMITED", "100000", "0"]),
        DefMemPerCPU=st.sampled_from(["", "4000", "0"]),
    )


@given(st.lists(NODES, max_size=6), partitions("a"), partitions("b"))
def test_the_parts_always_add_up_to_the_total(nodes: list[Node], first: Partition, second: Partition) -> None:
    counted = availability(picture(tuple(nodes), (first, second)))
    assert sum(g.total for g in counted.gpu_types) == sum(sum(found.gpus.values()) for found in nodes)
    per_partition = [gpus for part in counted.partitions for gpus in part.gpu_types]
    for gpus in [*counted.gpu_types, *per_partition]:
        parts = [gpus.allocated, gpus.usable, *gpus.unavailable.values(), *gpus.stranded.values()]
        assert gpus.total == sum(parts)
        assert min(parts) >= 0
        assert gpus.free == gpus.total - gpus.allocated


@given(NODES, partitions("a"), partitions("b"))
def test_a_partition_never_gives_more_than_the_cluster(found: Node, first: Partition, second: Partition) -> None:
    counted = availability(picture((found,), (first, second)))
    usable = {gpus.gpu_type: gpus.usable for gpus in counted.gpu_types}
    for part in counted.partitions:
        assert all(gpus.usable <= usable[gpus.gpu_type] for gpus in part.gpu_types)


@pytest.mark.parametrize(("used", "allocated"), [
    ("gpu:a100:0(IDX:N/A),shard:a100:6(4/8,2/8,0/8,0/8)", 2),  # since 23.11: used/total of each device
    ("gpu:a100:1(IDX:3),shard:a100:4(4/8,0/8,0/8,0/8)", 2),
    ("gpu:a100:0(IDX:N/A),shard:6(IDX:0-1)", 2),  # before
    ("gpu:a100:0(IDX:N/A),mps:a100:100(IDX:2)", 1),
    ("gpu:a100:0(IDX:N/A),shard:a100:0(0/8,0/8,0/8,0/8)", 0),
])  # fmt: skip
def test_a_gpu_that_is_shared_out_is_not_free(used: str, allocated: int) -> None:
    found = count(node(Gres="gpu:a100:4,shard:a100:32", GresUsed=used, State="MIXED"))
    assert (found.allocated, found.usable) == (allocated, 4 - allocated)


def test_drained_gpus_of_an_open_node_are_unavailable() -> None:
    found = count(node(GresDrain="gpu:a100:1"))
    assert (found.usable, found.unavailable, found.whole_nodes) == (3, {"drained": 1}, 0)


@pytest.mark.parametrize(("select", "usable"), [("CR_CORE_MEMORY", 2), ("CR_CPU_MEMORY", 4), ("", 2)])
def test_a_gpu_needs_a_whole_core_where_cores_are_given_out(select: str, usable: int) -> None:
    # 64 CPUs of 2 threads each, 60 taken: 4 CPUs are 2 cores.
    found = node(ThreadsPerCore="2", CPUAlloc="60", State="MIXED", GresUsed="gpu:a100:0(IDX:N/A)")
    seen = dataclasses.replace(picture((found,), (MAIN,)), select_parameters=select)
    (gpus,) = availability(seen).gpu_types
    assert gpus.usable == usable


@pytest.mark.parametrize(("select", "usable"), [("CR_CORE_MEMORY", 0), ("CR_CORE", 4)])
def test_memory_counts_only_where_the_scheduler_counts_it(select: str, usable: int) -> None:
    found = node(AllocMem="512000", CPUAlloc="1", State="MIXED")
    (gpus,) = availability(dataclasses.replace(picture((found,), (MAIN,)), select_parameters=select)).gpu_types
    assert gpus.usable == usable


def test_max_cpus_per_node_bounds_the_gpus_of_a_partition() -> None:
    assert count(node(), partition("main", MaxCPUsPerNode="3")).usable == 3


@pytest.mark.parametrize(("owner", "usable"), [("N/A", 4), ("alice(1000)", 4), ("bob(1001)", 0)])
def test_a_node_owned_by_another_user_has_no_room(owner: str, usable: int) -> None:
    found = node(Owner=owner, CPUAlloc="1", State="MIXED")
    seen = dataclasses.replace(picture((found,), (MAIN,)), viewer=Viewer("alice", 1000, frozenset()))
    (gpus,) = availability(seen).gpu_types
    assert gpus.usable == usable


TRACKED = {"CfgTRES": "cpu=64,mem=500G,billing=64,gres/gpu=4,gres/gpu:a100=4"}


def test_without_gres_used_the_accounted_gpus_count() -> None:
    found = node(**TRACKED, AllocTRES="cpu=3,mem=9G,gres/gpu=3,gres/gpu:a100=3", State="MIXED", CPUAlloc="3")
    told = dataclasses.replace(found, gres_used=None)
    text = node_text(**TRACKED, AllocTRES="cpu=3,mem=9G,gres/gpu=3,gres/gpu:a100=3", State="MIXED", CPUAlloc="3")
    (without,), _ = parse_nodes(text.replace("   GresUsed=gpu:a100:0(IDX:N/A)\n", ""))
    assert (count(without).allocated, count(without).usable) == (3, 1)
    assert count(told).unavailable == {"use unknown": 4}


@pytest.mark.parametrize(
    ("used", "allocated", "told"),
    [
        ("gpu:a100:3(IDX:0-2)", "cpu=3,gres/gpu=3,gres/gpu:a100=3", False),
        ("gpu:a100:3(IDX:0-2)", "cpu=3,gres/gpu=1,gres/gpu:a100=1", True),
        ("gpu:a100:0(IDX:N/A)", "", False),
        ("gpu:a100:2(IDX:0-1)", "", True),
    ],
)
def test_two_different_answers_are_told_and_gres_used_counts(used: str, allocated: str, told: bool) -> None:
    found = node("gpu07", **TRACKED, GresUsed=used, AllocTRES=allocated, State="MIXED")
    assert bool(contradictions([found])) is told
    assert count(found).allocated == int(used.split(":")[2][0])
    assert not contradictions([node(GresUsed=used, AllocTRES="cpu=3", State="MIXED")])
