"""Text of the shapes that Slurm's commands print, and records, for the tests of this folder."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from jobs.slurm.commands import FIELD_END, JOB_FIELDS, RECORD_END
from jobs.slurm.parse import parse_nodes, parse_partitions
from jobs.slurm.records import Node, Partition

CAPTURES = Path(__file__).parents[2] / "data" / "captures"
RELEASES = ("22.05.8", "26.05.5")

# What squeue of 22.05 prints for a one-node job without GPUs.
_JOB = {
    "JobID": "100", "JobArrayID": "100", "ArrayJobID": "100", "ArrayTaskID": "N/A", "HetJobID": "N/A",
    "HetJobOffset": "N/A", "UserName": "alice", "Account": "(null)", "QOS": "(null)", "Partition": "a100",
    "State": "RUNNING", "Reason": "None", "NumNodes": "1", "NumCPUs": "1", "NumTasks": "1",
    "tres-alloc": "cpu=1,mem=1G,node=1,billing=1", "tres-per-job": "N/A", "tres-per-node": "N/A",
    "tres-per-task": "N/A", "tres-per-socket": "N/A", "MinMemory": "1G", "SubmitTime": "1796095650",
    "StartTime": "1796095651", "EndTime": "1796099251", "TimeLimit": "1:00:00", "NodeList": "gpu01",
    "PriorityLong": "4294901759", "Dependency": "(null)", "BatchHost": "gpu01", "RestartCnt": "0",
    "OverSubscribe": "OK",
    "WorkDir": "/scratch/alice", "STDOUT": "/scratch/alice/slurm-%j.out", "STDERR": "/scratch/alice/slurm-%j.out",
    "Name": "wrap",
}  # fmt: skip


def capture(release: str, name: str) -> str:
    """A recorded answer of a real cluster of that release."""
    return (CAPTURES / release / name).read_text(encoding="utf-8")


def job_text(**fields: str) -> str:
    """One record of `commands.squeue`; `tres_per_node="x"` sets the field tres-per-node."""
    values = _JOB | {key.replace("_", "-"): value for key, value in fields.items()}
    return FIELD_END.join(values[name] for name in JOB_FIELDS) + RECORD_END + "\n"


def node_text(name: str = "n1", **fields: str) -> str:
    """One record of `scontrol -d show node`: 64 CPUs, 512,000 MiB and four idle GPUs, unless told otherwise."""
    values = {
        "CPUAlloc": "0", "CPUEfctv": "64", "CPUTot": "64", "Gres": "gpu:a100:4", "GresUsed": "gpu:a100:0(IDX:N/A)",
        "RealMemory": "512000", "AllocMem": "0", "State": "IDLE", "Partitions": "main",
    } | fields  # fmt: skip
    return f"NodeName={name} Arch=x86_64 \n" + "".join(f"   {key}={value}\n" for key, value in values.items()) + "\n"


def partition_text(name: str = "main", **fields: str) -> str:
    """One record of `scontrol show partition`: open to everyone, memory by default the whole node."""
    values = {"OverSubscribe": "NO", "State": "UP", "JobDefaults": "(null)", "DefMemPerNode": "UNLIMITED"} | fields
    return f"PartitionName={name}\n" + "".join(f"   {key}={value}\n" for key, value in values.items()) + "\n"


def node(name: str = "n1", **fields: str) -> Node:
    """The record of `node_text`."""
    nodes, skipped = parse_nodes(node_text(name, **fields))
    assert (len(nodes), skipped) == (1, 0)
    return nodes[0]


def partition(name: str = "main", **fields: str) -> Partition:
    """The record of `partition_text`."""
    partitions, skipped = parse_partitions(partition_text(name, **fields))
    assert (len(partitions), skipped) == (1, 0)
    return partitions[0]


def changed(record: Node, **fields: Any) -> Node:
    """The same node with other values."""
    return dataclasses.replace(record, **fields)
