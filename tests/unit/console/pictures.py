"""Records and snapshots for the tests of this folder."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone
from typing import Any

from jobs.slurm.records import Job, Node, Partition
from jobs.slurm.snapshot import Part, Snapshot
from jobs.slurm.tres import Gres

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
NOW = NOON.timestamp()
HOSTILE_NAMES = [
    "\x1b[31mred",
    "a\nb\tc",
    "\x9b2J",
    "bad \udcff\udcfe bytes",
    "\u202eevil",
    "[red]x[/red]",
    "日本語の名前",
]

_JOB = Job(
    job_id="7", display_id="7", array_job_id=None, array_task_id=None, name="train", user="alice", account=None,
    qos=None, partition="a100", state="RUNNING", reason="None", nodes=1, node_list="n1", cpus=4, tasks=1, gpus=2,
    gpu_type="a100", memory="4G", submit_time=NOON - timedelta(hours=2), start_time=NOON - timedelta(hours=1),
    end_time=NOON + timedelta(hours=1), time_limit=timedelta(hours=2), unlimited=False, priority=1, dependency=None,
    work_dir="/home/alice", stdout="/home/alice/slurm-7.out", stderr="/home/alice/slurm-7.out", batch_host="n1",
    restarts=0,
)  # fmt: skip
_NODE = Node(
    name="n1", state="IDLE", flags=frozenset(), partitions=("a100",), cpus=64, cpus_allocated=0, memory=512_000,
    memory_allocated=0, gres=(), gres_used=(), features=(), reason="", version=None,
)  # fmt: skip
_PARTITION = Partition(
    name="a100", is_default=True, state="UP", node_list="n1", total_nodes=1, total_cpus=64, max_time=None,
    default_time=None, max_nodes=None, oversubscribe="NO", default_mem_per_cpu=None, default_mem_per_node=None,
    default_mem_per_gpu=None, default_cpus_per_gpu=None, priority_tier=1, hidden=False,
)  # fmt: skip


def job(**changes: Any) -> Job:
    """A running job of one node and two GPUs, half way through its two hours at NOON."""
    return dataclasses.replace(_JOB, **changes)


def node(name: str = "n1", gpus: int = 4, used: int = 0, gpu_type: str | None = "a100", **changes: Any) -> Node:
    """An idle node of 64 CPUs, unless told otherwise."""
    held: dict[str, Any] = {"gres": _gpus(gpus, gpu_type), "gres_used": _gpus(used, gpu_type)} if gpus else {}
    return dataclasses.replace(_NODE, name=name, **{**held, **changes})


def partition(name: str = "a100", **changes: Any) -> Partition:
    """The open default partition without limits, unless told otherwise."""
    return dataclasses.replace(_PARTITION, name=name, **changes)


def snapshot(
    nodes: tuple[Node, ...] = (),
    partitions: tuple[Partition, ...] = (),
    jobs: tuple[Job, ...] = (),
    taken_at: float = NOW,
) -> Snapshot:
    """A complete picture of the cluster `lab`, taken at NOON."""
    return Snapshot(1, "lab", "22.05.8", Part(jobs, taken_at), Part(nodes, taken_at), Part(partitions, taken_at))


def _gpus(count: int, gpu_type: str | None) -> tuple[Gres, ...]:
    return (Gres("gpu", gpu_type, count),)
