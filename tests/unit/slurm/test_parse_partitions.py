"""`scontrol show partition`, and `scontrol show config`, of two recorded clusters and of other releases and sites."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import RELEASES, capture, partition

from jobs.slurm.parse import parse_config, parse_partitions, with_cluster_defaults

DAY = timedelta(days=1)


@pytest.mark.parametrize("release", RELEASES)
def test_a_recorded_cluster_has_the_limits_of_its_configuration(release: str) -> None:
    partitions, skipped = parse_partitions(capture(release, "partition.txt"))
    assert skipped == 0
    assert [(p.name, p.is_default, p.node_list, p.total_nodes, p.total_cpus, p.max_time) for p in partitions] == [
        ("a100", True, "gpu[01-04]", 4, 256, 2 * DAY),
        ("h100", False, "gpu[05-06]", 2, 128, DAY),
        ("cpu", False, "cpu[01-02]", 2, 128, None),
        ("debug", False, "cpu01,gpu01", 2, 128, timedelta(minutes=30)),
        ("all", False, "cpu[01-02],gpu[01-06]", 8, 512, None),
    ]
    assert partitions[0].default_time == timedelta(hours=1)
    assert {p.default_time for p in partitions[1:]} == {None}
    assert {(p.state, p.max_nodes, p.oversubscribe, p.hidden) for p in partitions} == {("UP", None, "NO", False)}
    assert {p.name: p.priority_tier for p in partitions}["debug"] == 10
    assert {(p.default_mem_per_cpu, p.default_mem_per_node, p.default_mem_per_gpu) for p in partitions} == {
        (None, None, None)
    }


@pytest.mark.parametrize("release", RELEASES)
def test_the_configuration_tells_name_and_release(release: str) -> None:
    config = parse_config(capture(release, "config.txt"))
    assert config["SLURM_VERSION"] == release
    assert config["ClusterName"] == {"22.05.8": "h22", "26.05.5": "s26"}[release]


def test_of_two_equal_keys_of_the_configuration_the_first_wins() -> None:
    assert parse_config("A = 1\nno pair\nA=2\nB   = x = y\n") == {"A": "1", "B": "x = y"}


def test_defaults_per_gpu_and_per_cpu_are_read() -> None:
    part = partition(JobDefaults="DefCpuPerGPU=8,DefMemPerGPU=64000", DefMemPerCPU="4000")
    assert (part.default_cpus_per_gpu, part.default_mem_per_gpu, part.default_mem_per_cpu) == (8, 64000, 4000)


@pytest.mark.parametrize(
    ("own", "config", "per_cpu", "per_node", "per_gpu", "cpus"),
    [
        ({}, {}, None, None, None, None),
        ({}, {"DefMemPerCPU": "4000", "JobDefaults": "(null)"}, 4000, None, None, None),
        ({}, {"DefMemPerNode": "8000"}, None, 8000, None, None),
        ({"DefMemPerCPU": "100"}, {"DefMemPerCPU": "4000"}, 100, None, None, None),
        ({"DefMemPerCPU": "100"}, {"DefMemPerNode": "8000"}, 100, None, None, None),
        ({"DefMemPerNode": "900"}, {"DefMemPerCPU": "4000"}, None, 900, None, None),
        ({}, {"JobDefaults": "DefCpuPerGPU=8,DefMemPerGPU=64000"}, None, None, 64000, 8),
        ({"JobDefaults": "DefCpuPerGPU=2"}, {"JobDefaults": "DefCpuPerGPU=8,DefMemPerGPU=64000"}, None, None, 64000, 2),
    ],
)
def test_where_a_partition_sets_no_default_the_clusters_counts(
    own: dict[str, str],
    config: dict[str, str],
    per_cpu: int | None,
    per_node: int | None,
    per_gpu: int | None,
    cpus: int | None,
) -> None:
    found = with_cluster_defaults(partition(**own), config)
    assert (found.default_mem_per_cpu, found.default_mem_per_node) == (per_cpu, per_node)
    assert (found.default_mem_per_gpu, found.default_cpus_per_gpu) == (per_gpu, cpus)


def test_a_default_per_node_is_read() -> None:
    assert partition(DefMemPerNode="128000").default_mem_per_node == 128000


def test_limits_and_marks_are_read() -> None:
    part = partition(State="DRAIN", MaxNodes="64", Hidden="YES", OverSubscribe="FORCE:4", MaxTime="14-00:00:00")
    assert (part.state, part.max_nodes, part.hidden, part.oversubscribe) == ("DRAIN", 64, True, "FORCE:4")
    assert part.max_time == 14 * DAY


def test_a_oneliner_is_read_too() -> None:
    text = (
        "PartitionName=big AllowGroups=ALL Default=YES QoS=q1 DefaultTime=00:05:00 Hidden=NO MaxNodes=64 "
        "MaxTime=3-00:00:00 Nodes=node[1-855],node[856-1171] PriorityTier=25 OverSubscribe=NO State=UP "
        "TotalCPUs=141024 TotalNodes=1171 JobDefaults=(null) DefMemPerNode=UNLIMITED "
        "TRES=cpu=141024,mem=1776T,node=1171,gres/gpu=22384 TRESBillingWeights=cpu=2,mem=0.25G,gres/gpu=32\n"
    )
    (big, small), skipped = parse_partitions(text + text.replace("=big", "=small").replace("Default=YES", "Default=NO"))
    assert (skipped, big.name, small.name, big.is_default, small.is_default) == (0, "big", "small", True, False)
    assert (big.node_list, big.total_nodes, big.total_cpus) == ("node[1-855],node[856-1171]", 1171, 141024)


def test_a_partition_without_nodes_is_read() -> None:
    part = partition(Nodes="(null)", TotalNodes="0", TotalCPUs="0")
    assert (part.node_list, part.total_nodes, part.total_cpus) == ("", 0, 0)


@given(st.text())
def test_no_text_makes_the_parsers_raise(text: str) -> None:
    parse_config(text)
    for whole in (text, f"PartitionName={text}", f"PartitionName=a\n   JobDefaults={text} MaxTime={text}\n"):
        parse_partitions(whole)


@given(st.sampled_from(RELEASES), st.integers(0, 4000), st.integers(0, 4000))
def test_no_cut_or_spliced_recording_makes_the_parser_raise(release: str, first: int, second: int) -> None:
    text = capture(release, "partition.txt")
    for mutant in (text[:first], text[first:], text[:first] + text[second:], text + text[first:second] + text):
        parse_partitions(mutant)


@pytest.mark.parametrize(("fields", "whole_nodes", "one_user"), [
    ({"OverSubscribe": "EXCLUSIVE", "ExclusiveUser": "NO"}, True, False),
    ({"OverSubscribe": "NO", "ExclusiveUser": "YES"}, False, True),
    ({"OverSubscribe": "NO", "Exclusive": "NODE"}, True, False),
    ({"OverSubscribe": "NO", "Exclusive": "TOPO"}, True, False),
    ({"OverSubscribe": "NO", "Exclusive": "USER"}, False, True),
    ({"OverSubscribe": "NO", "Exclusive": "NO"}, False, False),
])  # fmt: skip
def test_exclusive_partitions_are_read_in_the_words_of_every_release(
    fields: dict[str, str], whole_nodes: bool, one_user: bool
) -> None:
    """26.05 tells a partition of OverSubscribe=EXCLUSIVE as OverSubscribe=NO Exclusive=NODE."""
    part = partition(**fields)
    assert (part.oversubscribe == "EXCLUSIVE", part.exclusive_user) == (whole_nodes, one_user)
