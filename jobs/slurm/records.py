"""What Slurm tells, as frozen records. Memory in MiB, durations as timedelta, times aware; None is unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from jobs.slurm.tres import Gres, gpus_by_type, gpus_taken

ENDED_STATES = frozenset(
    {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "BOOT_FAIL", "DEADLINE", "OUT_OF_MEMORY"}
)
"""Base states of a job that will not run again; squeue's man page, JOB STATE CODES."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job, or one task of an array. `job_id` is the raw id as text; `display_id` is what squeue shows: 7_[3-20].

    `memory_per_node` is in MiB; None is unknown, or the partition's default.
    """

    job_id: str
    display_id: str
    array_job_id: str | None
    array_task_id: str | None
    name: str
    user: str
    account: str | None
    qos: str | None
    partition: str
    state: str
    reason: str
    nodes: int | None
    node_list: str
    cpus: int | None
    tasks: int | None
    gpus: int | None
    gpu_type: str | None
    memory: str
    submit_time: datetime | None
    start_time: datetime | None
    end_time: datetime | None
    time_limit: timedelta | None
    unlimited: bool
    priority: int | None
    dependency: str | None
    work_dir: str
    stdout: str
    stderr: str
    batch_host: str | None
    restarts: int | None
    memory_per_node: int | None = None

    @property
    def ended(self) -> bool:
        """Whether the job is over for good."""
        return self.state in ENDED_STATES

    @property
    def running(self) -> bool:
        """Whether the job holds nodes at this moment."""
        return self.state in ("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING")


@dataclass(frozen=True, slots=True)
class Node:
    """A node. `state` is the base state, `flags` the rest (DRAIN, NOT_RESPONDING, ...), spelled as since 21.08.

    `gpus_accounted` are the GPUs of AllocTRES, None where the site does not track gres/gpu, as most do not.
    """

    name: str
    state: str
    flags: frozenset[str]
    partitions: tuple[str, ...]
    cpus: int | None
    cpus_allocated: int | None
    memory: int | None
    memory_allocated: int | None
    gres: tuple[Gres, ...]
    gres_used: tuple[Gres, ...] | None
    features: tuple[str, ...]
    reason: str
    version: str | None
    gres_drain: tuple[Gres, ...] = ()
    threads_per_core: int = 1
    owner: str | None = None
    gpus_accounted: int | None = None

    @property
    def state_text(self) -> str:
        """`MIXED+DRAIN`, as scontrol writes it."""
        return "+".join([self.state, *sorted(self.flags)])

    @property
    def gpus(self) -> dict[str | None, int]:
        """Configured GPUs per type."""
        return gpus_by_type(self.gres)

    @property
    def gpus_used(self) -> dict[str | None, int] | None:
        """GPUs held by jobs per configured type, or None when Slurm did not say.

        A used entry is matched to its type without regard to case; an untyped one fills the node's types in order.
        """
        return None if self.gres_used is None else _match_used(self.gpus, gpus_taken(self.gres_used))

    @property
    def contradicts(self) -> bool:
        """Whether GresUsed and AllocTRES disagree, though both come in one answer."""
        if self.gres_used is None or self.gpus_accounted is None:
            return False
        return sum(gpus_by_type(self.gres_used).values()) != self.gpus_accounted

    @property
    def gpus_drained(self) -> dict[str | None, int]:
        """Configured GPUs per type that take no new jobs (GresDrain)."""
        return _match_used(self.gpus, gpus_by_type(self.gres_drain))


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes kept for some people or for maintenance. Names in `users` and the like may start with `-` to deny.

    `cores` has the ids of the cores that are kept, by node; where it is empty, the nodes are kept whole.
    """

    name: str
    start: datetime | None
    end: datetime | None
    node_list: str
    flags: frozenset[str]
    users: tuple[str, ...]
    groups: tuple[str, ...]
    accounts: tuple[str, ...]
    cores: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def active(self, now: float) -> bool:
        """Whether it holds its nodes at `now`, an epoch second."""
        if self.start is None or self.end is None:
            return False
        return self.start.timestamp() <= now < self.end.timestamp()


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition with the limits that decide whether a job may start there. None is "no limit" or unknown.

    `alloc_nodes` are the hosts from which jobs are taken; none means all.
    """

    name: str
    is_default: bool
    state: str
    node_list: str
    total_nodes: int | None
    total_cpus: int | None
    max_time: timedelta | None
    default_time: timedelta | None
    max_nodes: int | None
    oversubscribe: str
    default_mem_per_cpu: int | None
    default_mem_per_node: int | None
    default_mem_per_gpu: int | None
    default_cpus_per_gpu: int | None
    priority_tier: int | None
    hidden: bool
    max_cpus_per_node: int | None = None
    exclusive_user: bool = False
    root_only: bool = False
    reservation_only: bool = False
    allow: tuple[tuple[str, frozenset[str]], ...] = ()
    deny: tuple[tuple[str, frozenset[str]], ...] = ()
    alloc_nodes: frozenset[str] = frozenset()
    qos: str | None = None


def _match_used(configured: dict[str | None, int], used: dict[str | None, int]) -> dict[str | None, int]:
    result = dict.fromkeys(configured, 0)
    by_lower = {kind.lower(): kind for kind in configured if kind}
    untyped = 0
    for kind, count in used.items():
        key = kind if kind is None or kind in configured else by_lower.get(kind.lower())
        if key in configured:
            result[key] += count
        else:
            untyped += count
    for kind, total in configured.items():
        taken = min(untyped, total - result[kind])
        result[kind] += max(0, taken)
        untyped -= max(0, taken)
    return {kind: min(count, configured[kind]) for kind, count in result.items()}
