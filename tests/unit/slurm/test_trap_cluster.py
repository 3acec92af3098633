"""A small cluster on which many tools count wrong: 76 GPUs and slices, of which 23 can be had."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone

from slurm_text import node, partition

from jobs.slurm.access import Viewer
from jobs.slurm.availability import availability
from jobs.slurm.records import Reservation
from jobs.slurm.snapshot import EMPTY, Part

NOW = datetime.now(timezone.utc)
H100 = {"Gres": "gpu:h100:8(S:0-1)", "Partitions": "gpu"}


def h100(name: str, used: int = 0, **fields: str) -> object:
    return node(name, **H100, GresUsed=f"gpu:h100:{used}(IDX:N/A)", **fields)


NODES = (
    h100("n1"),
    h100("n2", 2, State="MIXED", CPUAlloc="8", AllocMem="512000"),
    h100("n3", 2, State="ALLOCATED", CPUAlloc="64", AllocMem="64000"),
    h100("n4", State="IDLE+DRAIN", Reason="disk"),
    h100("n5", 4, State="MIXED+DRAIN", CPUAlloc="4", AllocMem="4000"),
    h100("n6", State="IDLE+RESERVED"),
    node("n7", Gres="gpu:1g.10gb:14(S:0-1),gpu:3g.40gb:2(S:0-1)", Partitions="gpu", State="MIXED", CPUAlloc="4",
         AllocMem="4000", GresUsed="gpu:1g.10gb:3(IDX:0-2),gpu:3g.40gb:1(IDX:14)"),
    node("n8", Gres="gpu:l40s:4(S:0-1)", Partitions="gpu", State="MIXED", CPUAlloc="1", AllocMem="4000",
         GresUsed="gpu:l40s:1(IDX:0)"),
    node("n9", Gres="gpu:h100:8(S:0-1)", GresUsed="gpu:h100:0(IDX:N/A)", Partitions="private"),
)  # fmt: skip


def test_of_76_gpus_and_slices_23_can_be_had() -> None:
    kept = Reservation(
        "course", NOW - timedelta(hours=1), NOW + timedelta(hours=1), "n6", frozenset(), ("bob",), (), ()
    )
    picture = dataclasses.replace(
        EMPTY,
        nodes=Part(NODES),
        partitions=Part((partition("gpu"), partition("private", AllowGroups="staff"))),
        reservations=Part((kept,)),
        viewer=Viewer("alice", 1000, frozenset({"users"})),
    )
    counts = {count.gpu_type: count for count in availability(picture).gpu_types}
    assert {kind: count.usable for kind, count in counts.items()} == {"h100": 8, "l40s": 3, "1g.10gb": 11, "3g.40gb": 1}
    assert sum(count.usable for count in counts.values()) == 23
    assert sum(count.total for count in counts.values()) == 76
    assert counts["h100"].allocated == 8
    assert counts["h100"].unavailable == {"drained": 8, "draining": 4, "reserved": 8, "no access": 8}
    assert counts["h100"].stranded == {"no memory": 6, "no CPU": 6}
    for count in counts.values():
        parts = sum(count.unavailable.values()) + sum(count.stranded.values())
        assert count.total == count.allocated + parts + count.usable
