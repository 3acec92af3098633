"""Clusters of random make for the truth tests: several kinds of nodes, overlapping partitions with limits."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from jobs import sandbox
from jobs.sandbox import Layout, NodeGroup, config
from jobs.sandbox.client import clean_environment
from jobs.sandbox.place import Place, place_at

NODES = 7
KINDS: tuple[dict[str, int], ...] = (
    {"a100": 4}, {"h100": 8}, {"a100": 2, "h100": 2}, {"a100": 1, "1g.10gb": 7}, {"1g.10gb": 4}, {"": 4}, {},
)  # fmt: skip
"""GPUs of a node by type, at most 8; "" is a GPU without a type."""
SIZES = (
    "",
    " CPUs=64 Sockets=2 CoresPerSocket=16 ThreadsPerCore=2 RealMemory=256000",
    " CPUs=32 Sockets=2 CoresPerSocket=16 ThreadsPerCore=1 RealMemory=128000",
)
LIMITS = (
    "MaxTime=30", "MaxNodes=2", "MaxCPUsPerNode=16", "DefMemPerNode=100000", "DefMemPerCPU=8000",
    "OverSubscribe=EXCLUSIVE", "DefCpuPerGPU=6", "DefMemPerGPU=30000", "", "",
)  # fmt: skip
SELECT = ("CR_Core_Memory", "CR_Core_Memory", "CR_CPU_Memory", "CR_Core")


class RandomCluster:
    """The configuration that `chance` makes. `nodes`: name -> GPUs by type; `partitions`: names."""

    def __init__(self, chance: random.Random) -> None:
        names = [f"gpu{i:02d}" for i in range(1, NODES + 1)]
        kinds = [*chance.sample(KINDS, len(KINDS)), *chance.choices(KINDS, k=NODES)][:NODES]
        self.nodes = dict(zip(names, kinds, strict=True))
        self._sizes = {name: chance.choice(SIZES) for name in names}
        self._select = chance.choice(SELECT)
        self._partitions = {"all": (names, "Default=YES MaxTime=2-00:00:00")}
        for index, limit in enumerate(chance.sample(LIMITS, 4)):
            members = sorted(chance.sample(names, chance.randint(2, 5)))
            self._partitions[f"part{index}"] = (members, limit)
        self.partitions = list(self._partitions)

    def slurm_conf(self, text: str) -> str:
        """The sandbox's slurm.conf with these nodes and partitions, a scheduler that looks every second, and nodes that
        stay down when they are set so (ReturnToService=2 brings them back when they next register)."""
        text = text.replace("sched_interval=2,bf_interval=2", "sched_interval=1,bf_interval=1")
        text = text.replace("ReturnToService=2", "ReturnToService=1")
        text = text.replace("SelectTypeParameters=CR_Core_Memory", f"SelectTypeParameters={self._select}")
        lines = [line for line in text.splitlines() if not line.startswith("PartitionName=")]
        for index, line in enumerate(lines):
            name = re.match(r"NodeName=(gpu\d\d) ", line)
            if name is not None:
                gres = ",".join(_gres(kind, count) for kind, count in self.nodes[name[1]].items())
                bare = line.partition(" Gres=")[0]
                lines[index] = f"{bare}{self._sizes[name[1]]}{' Gres=' * bool(gres)}{gres}"
        lines += [
            f"PartitionName={name} Nodes={','.join(members)} DefaultTime=60 {options}"
            for name, (members, options) in self._partitions.items()
        ]
        return "\n".join(lines) + "\n"

    def gres_conf(self, place: Place) -> str:
        """One line for each type on each node; every GPU has a device of its own."""
        lines = ["AutoDetect=off"]
        for name, kinds in self.nodes.items():
            first = 0
            for kind, count in kinds.items():
                devices = f"gpu[{first}-{first + count - 1}]" if count > 1 else f"gpu{first}"
                lines.append(f"NodeName={name} Name=gpu{' Type=' * bool(kind)}{kind} File={place.devices}/{devices}")
                first += count
        return "\n".join(lines) + "\n"

    @contextmanager
    def running(self, directory: Path) -> Iterator[Mapping[str, str]]:
        """The environment of the cluster, which runs as long as the context."""
        plain = config.files

        def files(layout: Layout, place: Place, machine: config.Machine) -> dict[str, str]:
            texts = plain(layout, place, machine)
            return texts | {
                "slurm.conf": self.slurm_conf(texts["slurm.conf"]),
                "gres.conf": self.gres_conf(place),
            }

        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(config, "files", files)
                sandbox.start(Layout((NodeGroup("any", NODES, 8),), cpu_nodes=0), directory)
            yield clean_environment(place_at(directory))
        finally:
            sandbox.stop(directory)


def _gres(kind: str, count: int) -> str:
    return f"gpu:{kind}:{count}" if kind else f"gpu:{count}"
