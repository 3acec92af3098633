"""`scontrol -d show node`: two recorded clusters, and lines of the shapes that other releases and sites print."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import RELEASES, capture, changed, node, node_text

from jobs.slurm.parse import parse_node_state, parse_nodes
from jobs.slurm.tres import Gres

# What was running on the recorded clusters: (state, CPUs taken, MiB taken, GPUs, GPUs taken).
RECORDED = {
    "22.05.8": {
        "cpu01": ("MIXED", 5, 5120, {}, {}),
        "cpu02": ("IDLE", 0, 0, {}, {}),
        "gpu01": ("MIXED", 10, 34816, {"a100": 4}, {"a100": 4}),
        "gpu02": ("MIXED", 10, 34816, {"a100": 4}, {"a100": 4}),
        "gpu03": ("MIXED", 2, 512000, {"a100": 4}, {"a100": 0}),
        "gpu04": ("IDLE+DRAIN", 0, 0, {"a100": 4}, {"a100": 0}),
        "gpu05": ("MIXED", 60, 10240, {"h100": 8}, {"h100": 1}),
        "gpu06": ("ALLOCATED", 64, 512000, {"h100": 8}, {"h100": 8}),
    },
    "26.05.5": {
        "cpu01": ("MIXED", 4, 4096, {}, None),
        "cpu02": ("DOWN", 0, 0, {}, None),
        "gpu01": ("MIXED", 9, 33792, {"a100": 4}, {"a100": 3}),
        "gpu02": ("MIXED", 8, 32768, {"a100": 4}, {"a100": 2}),
        "gpu03": ("MIXED", 2, 512000, {"a100": 4}, {"a100": 0}),
        "gpu04": ("IDLE+DRAIN", 0, 0, {"a100": 4}, {"a100": 0}),
        "gpu05": ("MIXED", 60, 10240, {"h100": 8}, {"h100": 1}),
        "gpu06": ("ALLOCATED", 64, 512000, {"h100": 8}, {"h100": 8}),
    },
}


@pytest.mark.parametrize("release", RELEASES)
def test_a_recorded_cluster_has_the_numbers_that_were_running(release: str) -> None:
    nodes, skipped = parse_nodes(capture(release, "node.txt"))
    assert skipped == 0
    found = {n.name: (n.state_text, n.cpus_allocated, n.memory_allocated, n.gpus, n.gpus_used) for n in nodes}
    assert found == RECORDED[release]
    assert {(n.cpus, n.memory, n.version) for n in nodes} == {(64, 512000, release)}


@pytest.mark.parametrize("release", RELEASES)
def test_a_recorded_cluster_has_its_partitions_features_and_reasons(release: str) -> None:
    nodes = {n.name: n for n in parse_nodes(capture(release, "node.txt"))[0]}
    assert nodes["gpu01"].partitions == ("a100", "debug", "all")
    assert nodes["gpu01"].features == ("nvlink", "ib")
    assert nodes["cpu01"].features == ()
    assert nodes["gpu04"].reason.startswith("bad GPU 2 | xid 79 [root@")
    assert nodes["gpu01"].reason == ""


STATES = [
    ("IDLE", "IDLE", set()),
    ("MIXED+DRAIN", "MIXED", {"DRAIN"}),
    ("IDLE*", "IDLE", {"NOT_RESPONDING"}),
    ("DOWN*+DRAIN", "DOWN", {"NOT_RESPONDING", "DRAIN"}),
    ("DOWN+NOT_RESPONDING", "DOWN", {"NOT_RESPONDING"}),
    ("IDLE~+CLOUD", "IDLE", {"POWERED_DOWN", "CLOUD"}),
    ("IDLE+CLOUD+POWER", "IDLE", {"CLOUD", "POWERED_DOWN"}),
    ("IDLE+CLOUD+POWERED_DOWN", "IDLE", {"CLOUD", "POWERED_DOWN"}),
    ("DOWN+CLOUD+MAINTENANCE+POWERED_DOWN+RESERVED", "DOWN", {"CLOUD", "MAINTENANCE", "POWERED_DOWN", "RESERVED"}),
    ("MIXED+MAINT", "MIXED", {"MAINTENANCE"}),
    ("IDLE#", "IDLE", {"POWERING_UP"}),
    ("IDLE%", "IDLE", {"POWERING_DOWN"}),
    ("IDLE!", "IDLE", {"POWER_DOWN"}),
    ("IDLE$", "IDLE", {"MAINTENANCE"}),
    ("IDLE@", "IDLE", {"REBOOT_REQUESTED"}),
    ("IDLE^", "IDLE", {"REBOOT_ISSUED"}),
    ("MIXED-", "MIXED", {"PLANNED"}),
    ("ALLOCATED+", "ALLOCATED", set()),
    ("ALLOCATED+COMPLETING", "ALLOCATED", {"COMPLETING"}),
    (
        "MIXED+DYNAMIC_NORM+MAINTENANCE+RESERVED+PLANNED",
        "MIXED",
        {"DYNAMIC_NORM", "MAINTENANCE", "RESERVED", "PLANNED"},
    ),
]


@pytest.mark.parametrize(("text", "state", "flags"), STATES)
def test_a_state_is_a_base_and_flags_named_as_since_21_08(text: str, state: str, flags: set[str]) -> None:
    assert parse_node_state(text) == (state, frozenset(flags))


def test_a_oneliner_of_25_11_is_read_too() -> None:
    text = (
        "NodeName=c1 Arch=x86_64 CoresPerSocket=16  CPUAlloc=6 CPUEfctv=32 CPUTot=32 CPULoad=1.07 "
        "ActiveFeatures=cpu Gres=(null) NodeAddr=10.0.0.7 NodeHostName=c1 Version=25.11.2 "
        "OS=Linux 6.18.33.2 #1 SMP PREEMPT_DYNAMIC Thu Jun 18 21:54:43 UTC 2026  RealMemory=15867 AllocMem=12288 "
        "State=MIXED+DRAIN+DYNAMIC_NORM ThreadsPerCore=2 Partitions=cpu,debug  CfgTRES=cpu=32,mem=15867M,billing=32 "
        "AllocTRES=cpu=6,mem=12G Reason=planned [root@2026-07-22T23:31:17] ReservationName=maintenance\n"
    )
    (c1,), skipped = parse_nodes(text * 2)
    assert skipped == 0
    assert (c1.state_text, c1.cpus, c1.cpus_allocated) == ("MIXED+DRAIN+DYNAMIC_NORM", 32, 6)
    assert (c1.memory, c1.memory_allocated, c1.partitions) == (15867, 12288, ("cpu", "debug"))


def test_a_reason_that_looks_like_fields_changes_none() -> None:
    reason = "State=IDLE Gres=gpu:a100:99 ticket=5 <b>|[red]  [root@1796095650]"
    hostile = node(State="DOWN+DRAIN", Reason=reason)
    assert (hostile.state_text, hostile.gpus, hostile.reason) == ("DOWN+DRAIN", {"a100": 4}, reason)


def test_a_reason_over_several_lines_is_joined() -> None:
    text = node_text(State="DOWN").rstrip("\n") + "\n   Reason=fan broken [root@1796095650]\n       waits for parts\n"
    (broken,), _ = parse_nodes(text)
    assert broken.reason == "fan broken [root@1796095650] waits for parts"


def test_a_node_without_partitions_is_read() -> None:
    text = node_text("lost", State="IDLE+CLOUD+POWER").replace("   Partitions=main\n", "")
    (lost,), skipped = parse_nodes(text)
    assert (lost.name, lost.partitions, skipped) == ("lost", (), 0)


def test_a_node_printed_twice_counts_once() -> None:
    nodes, skipped = parse_nodes(node_text("a") + node_text("b") + node_text("a", State="DOWN"))
    assert ([n.name for n in nodes], nodes[0].state, skipped) == (["a", "b"], "DOWN", 0)


def test_a_record_that_cannot_be_read_is_counted() -> None:
    nodes, skipped = parse_nodes(node_text("a") + "NodeName=broken\n   Arch=x86_64\n\n" + node_text("b"))
    assert ([n.name for n in nodes], skipped) == (["a", "b"], 1)


def test_before_22_05_the_cores_of_corespeccount_are_taken_from_the_cpus() -> None:
    text = node_text(CoreSpecCount="2", ThreadsPerCore="2").replace("   CPUEfctv=64\n", "")
    assert parse_nodes(text)[0][0].cpus == 60


def test_memory_kept_for_the_system_is_not_for_jobs() -> None:
    assert node(RealMemory="512000", MemSpecLimit="12000").memory == 500000


def test_what_slurm_does_not_say_is_unknown_and_not_zero() -> None:
    (bare,), _ = parse_nodes("NodeName=bare\n   State=IDLE Gres=gpu:4\n")
    assert (bare.cpus, bare.cpus_allocated, bare.memory, bare.memory_allocated) == (None, None, None, None)
    assert (bare.gpus, bare.gres_used, bare.gpus_used) == ({None: 4}, None, None)


USED = [
    ("gpu:a100:4", "gpu:a100:3(IDX:0-2)", {"a100": 3}),
    ("gpu:A100:4", "gpu:a100:3(IDX:0-2)", {"A100": 3}),
    ("gpu:4", "gpu:(null):2(IDX:0-1)", {None: 2}),
    ("gpu:4(S:0-1)", "gpu:2", {None: 2}),
    ("gpu:4", "gpu:a100:2(IDX:0-1)", {None: 2}),
    ("gpu:a100:4,gpu:h100:2", "gpu:a100:1(IDX:0)", {"a100": 1, "h100": 0}),
    ("gpu:a100:4,gpu:h100:2", "gpu:5", {"a100": 4, "h100": 1}),
    ("gpu:a100:2,gpu:A100:2", "gpu:a100:1,gpu:A100:2", {"a100": 1, "A100": 2}),
    ("gpu:a100:2(S:0),gpu:a100:2(S:1)", "gpu:a100:3(IDX:0-2)", {"a100": 3}),
    ("gpu:a100:4", "gpu:a100:9", {"a100": 4}),
    ("gpu:nvidia_a100_1g.5gb:21(S:0-1)", "gpu:nvidia_a100_1g.5gb:7(IDX:0-6)", {"nvidia_a100_1g.5gb": 7}),
    ("(null)", "gpu:0", {}),
]


@pytest.mark.parametrize(("configured", "used", "expected"), USED)
def test_used_gpus_are_matched_to_the_configured_types(
    configured: str, used: str, expected: dict[str | None, int]
) -> None:
    assert node(Gres=configured, GresUsed=used).gpus_used == expected


def test_other_resources_are_kept_beside_the_gpus() -> None:
    both = node(Gres="gpu:a100:2,shard:a100:8", GresUsed="gpu:a100:0(IDX:N/A),shard:a100:4(4/4,0/4)")
    assert both.gres == (Gres("gpu", "a100", 2), Gres("shard", "a100", 8))
    assert both.gpus == {"a100": 2}


def test_a_record_is_frozen() -> None:
    first = node()
    assert changed(first, state="DOWN") != first
    with pytest.raises(AttributeError):
        first.state = "DOWN"  # type: ignore[misc]


@given(st.text())
def test_no_text_makes_the_parser_raise(text: str) -> None:
    for whole in (text, f"NodeName=a State=IDLE\n {text}", f"NodeName={text}\n   State={text} Gres={text}\n"):
        parse_nodes(whole)


CUTS = st.tuples(st.integers(0, 9000), st.integers(0, 9000), st.integers(0, 9000))


@given(st.sampled_from(RELEASES), st.sampled_from(RELEASES), CUTS)
def test_no_cut_doubled_or_spliced_recording_makes_the_parser_raise(
    one: str, other: str, cuts: tuple[int, int, int]
) -> None:
    first, second, third = cuts
    text, more = capture(one, "node.txt"), capture(other, "node.txt")
    for mutant in (text[:first], text[first:], text[:first] + text[second:], text[:first] + more[second:third] + text):
        nodes, _ = parse_nodes(mutant)
        assert len({n.name for n in nodes}) == len(nodes)
        for found in nodes:
            assert all(0 <= (found.gpus_used or {}).get(kind, 0) <= total for kind, total in found.gpus.items())
