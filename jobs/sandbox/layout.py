"""What the sandbox cluster consists of: groups of GPU nodes, CPU nodes, and the partitions that follow from them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from jobs.sandbox.errors import SandboxError

CPUS_PER_NODE = 64
MEMORY_PER_NODE = 512000
"""MiB. Both are declared sizes; the machine itself may be far smaller."""

MOST_NODES = 64
MOST_GPUS_PER_NODE = 16
_TAKEN_NAMES = ("all", "cpu", "debug", "default", "gpu")
_GROUP = re.compile(r"(?P<gpu_type>[^=]*)=(?P<nodes>\d{1,6})x(?P<gpus>\d{1,6})")
_GPU_TYPE = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True)
class NodeGroup:
    """`nodes` nodes that each hold `gpus` GPUs of one type; written `TYPE=NODESxGPUS`, as in `a100=4x4`."""

    gpu_type: str
    nodes: int
    gpus: int

    def __post_init__(self) -> None:
        if not _GPU_TYPE.fullmatch(self.gpu_type):
            raise SandboxError(
                f"GPU type {self.gpu_type!r}: use lower case letters, digits, '-' and '_', a letter first.", 2
            )
        if self.gpu_type in _TAKEN_NAMES:
            raise SandboxError(f"GPU type {self.gpu_type!r}: the name is taken by a partition; choose another.", 2)
        if not 1 <= self.nodes <= MOST_NODES:
            raise SandboxError(f"Group {self.gpu_type}: {self.nodes} nodes; use 1 to {MOST_NODES}.", 2)
        if not 1 <= self.gpus <= MOST_GPUS_PER_NODE:
            raise SandboxError(f"Group {self.gpu_type}: {self.gpus} GPUs per node; use 1 to {MOST_GPUS_PER_NODE}.", 2)

    def __str__(self) -> str:
        return f"{self.gpu_type}={self.nodes}x{self.gpus}"


@dataclass(frozen=True)
class Node:
    """One node of the cluster; `gpu_type` is None and `gpus` 0 on a CPU node."""

    name: str
    gpu_type: str | None
    gpus: int


@dataclass(frozen=True)
class Partition:
    """One partition; times as Slurm writes them, D-HH:MM:SS."""

    name: str
    nodes: tuple[str, ...]
    max_time: str
    default_time: str = "1:00:00"
    default: bool = False
    priority_tier: int = 1


@dataclass(frozen=True)
class Layout:
    """The whole cluster. Nodes are numbered through: gpu01, gpu02, ... over all groups, then cpu01, ...

    `accounting`: with slurmdbd, accounts, QOS and limits.
    """

    groups: tuple[NodeGroup, ...] = (NodeGroup("a100", 4, 4), NodeGroup("h100", 2, 8))
    cpu_nodes: int = 2
    accounting: bool = False

    def __post_init__(self) -> None:
        if not self.groups:
            raise SandboxError("The sandbox needs at least one group of GPU nodes, such as --group a100=4x4.", 2)
        gpu_types = [group.gpu_type for group in self.groups]
        for gpu_type in gpu_types:
            if gpu_types.count(gpu_type) > 1:
                raise SandboxError(f"GPU type {gpu_type} is given twice; give one --group for each type.", 2)
        if self.cpu_nodes < 0:
            raise SandboxError(f"{self.cpu_nodes} CPU nodes: use 0 or more.", 2)
        total = sum(group.nodes for group in self.groups) + self.cpu_nodes
        if total > MOST_NODES:
            raise SandboxError(f"{total} nodes in all: one machine runs at most {MOST_NODES}.", 2)

    def nodes(self) -> tuple[Node, ...]:
        """Every node, in the order of its number."""
        shapes = [(group.gpu_type, group.gpus) for group in self.groups for _ in range(group.nodes)]
        gpu_nodes = [Node(f"gpu{i:02d}", gpu_type, gpus) for i, (gpu_type, gpus) in enumerate(shapes, start=1)]
        return (*gpu_nodes, *(Node(f"cpu{i:02d}", None, 0) for i in range(1, self.cpu_nodes + 1)))

    def partitions(self) -> tuple[Partition, ...]:
        """One per GPU type (the first is the default), then cpu, debug (first GPU and first CPU node) and all."""
        nodes = self.nodes()
        cpu_names = tuple(node.name for node in nodes if node.gpu_type is None)
        partitions = []
        for index, group in enumerate(self.groups):
            names = tuple(node.name for node in nodes if node.gpu_type == group.gpu_type)
            max_time = "2-00:00:00" if index == 0 else "1-00:00:00"
            partitions.append(Partition(group.gpu_type, names, max_time, default=index == 0))
        if cpu_names:
            partitions.append(Partition("cpu", cpu_names, "1-00:00:00"))
        debug_names = (nodes[0].name, *cpu_names[:1])
        partitions.append(Partition("debug", debug_names, "0-00:30:00", default_time="0:10:00", priority_tier=10))
        partitions.append(Partition("all", tuple(node.name for node in nodes), "2-00:00:00"))
        return tuple(partitions)

    def __str__(self) -> str:
        accounting = ["--accounting"] if self.accounting else []
        return " ".join([*(f"--group {group}" for group in self.groups), f"--cpu-nodes {self.cpu_nodes}", *accounting])

    def to_dict(self) -> dict[str, Any]:
        """The layout as JSON values; `from_options` reads them back."""
        return {
            "groups": [str(group) for group in self.groups],
            "cpu_nodes": self.cpu_nodes,
            "accounting": self.accounting,
        }

    @classmethod
    def from_options(cls, groups: Iterable[str] = (), cpu_nodes: int | None = None, accounting: bool = False) -> Layout:
        """The layout that `--group TYPE=NODESxGPUS` (repeated), `--cpu-nodes N` and `--accounting` ask for; what is
        not given is the default. Raises SandboxError with one sentence for each kind of mistake."""
        default = cls()
        parsed = tuple(parse_group(text) for text in groups)
        return cls(parsed or default.groups, default.cpu_nodes if cpu_nodes is None else cpu_nodes, accounting)


def parse_group(text: str) -> NodeGroup:
    """Read `a100=4x4`: 4 nodes of 4 a100 each."""
    match = _GROUP.fullmatch(text)
    if match is None:
        raise SandboxError(
            f"--group {text!r}: write TYPE=NODESxGPUS, such as a100=4x4 for 4 nodes of 4 a100 GPUs each.", 2
        )
    return NodeGroup(match["gpu_type"], int(match["nodes"]), int(match["gpus"]))
