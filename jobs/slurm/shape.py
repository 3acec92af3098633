"""The shape of a job as the scheduler sees it: nodes, GPUs, CPUs, memory, time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from jobs.slurm.records import Node, Partition
from jobs.slurm.rules import Rules

UNLIMITED = timedelta.max
"""A time limit that is none."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a job asks for, per node where the name says so. Memory in MiB; 0 is all of a node's, None the default."""

    nodes: int = 1
    gpus_per_node: int = 0
    gpu_type: str | None = None
    ntasks_per_node: int = 1
    cpus_per_task: int | None = None
    memory: int | None = None
    time_limit: timedelta | None = None
    account: str | None = None
    qos: str | None = None

    def cpus_on(self, node: Node, part: Partition, rules: Rules) -> int:
        """CPUs on a node: of all tasks, no fewer than the partition's DefCpuPerGPU gives, in whole cores."""
        cpus = self.ntasks_per_node * (self.cpus_per_task or 1)
        if self.cpus_per_task is None and part.default_cpus_per_gpu:
            cpus = max(cpus, self.gpus_per_node * part.default_cpus_per_gpu)
        threads = node.threads_per_core if rules.whole_cores else 1
        return -(-cpus // threads) * threads

    def memory_on(self, node: Node, part: Partition, cpus: int) -> int:
        """MiB on a node. Where the default is the whole node, Slurm starts the job on whatever is left, if anything."""
        if self.memory is not None:
            return self.memory or (node.memory or 1)
        if part.default_mem_per_gpu and self.gpus_per_node:
            return part.default_mem_per_gpu * self.gpus_per_node
        if part.default_mem_per_cpu:
            return part.default_mem_per_cpu * cpus
        return part.default_mem_per_node or 1

    def limit_in(self, part: Partition) -> timedelta | None:
        """How long the job may run there; None is without end."""
        return self.time_limit or part.default_time or part.max_time
