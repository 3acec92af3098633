"""Text of Slurm's commands -> records. Nothing here raises on any input: what cannot be read is counted."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from jobs.slurm import hostlist
from jobs.slurm.commands import FIELD_END, JOB_FIELDS, RECORD_END, SACCT_FIELDS
from jobs.slurm.records import Job, Node, Partition, Reservation
from jobs.slurm.times import is_unlimited, parse_duration, parse_time
from jobs.slurm.tres import gpus_by_type, parse_gres, parse_memory, parse_tres, tres_gpus, tres_gres

T = TypeVar("T")
Record = dict[str, str]

_NOTHING = {"", "N/A", "n/a", "(null)", "None", "NONE", "None assigned", "Unknown"}
_LINE_KEYS = ("OS", "Reason", "Comment", "Extra")
_PAIR = re.compile(r"(?<!\S)([^\s=]+)=(\S*)")
_CORES = re.compile(r"^ +NodeName=(\S+) CoreIDs=(\S+)$", re.MULTILINE)
_MOST_CORES = 1 << 16
_OLD_FLAGS = {"POWER": "POWERED_DOWN", "MAINT": "MAINTENANCE", "POWERED": "POWERED_DOWN"}
_SUFFIX_FLAGS = {
    "*": "NOT_RESPONDING", "~": "POWERED_DOWN", "#": "POWERING_UP", "%": "POWERING_DOWN", "!": "POWER_DOWN",
    "$": "MAINTENANCE", "@": "REBOOT_REQUESTED", "^": "REBOOT_ISSUED", "-": "PLANNED",
}  # fmt: skip


def parse_jobs(text: str, fields: tuple[str, ...] = JOB_FIELDS) -> tuple[tuple[Job, ...], int]:
    """Jobs of `commands.squeue` with these fields, and how many records could not be read."""
    return _collect(_squeue_records(text, fields), _job)


def parse_sacct(text: str) -> tuple[tuple[Job, ...], int]:
    """Jobs of `commands.sacct_job`, and how many lines could not be read."""
    last = len(SACCT_FIELDS) - 1
    rows = (line.split(FIELD_END, last) for line in text.split("\n") if line)
    return _collect(
        (dict(zip(SACCT_FIELDS, row, strict=True)) if len(row) > last else None for row in rows), _sacct_job
    )


def parse_nodes(text: str) -> tuple[tuple[Node, ...], int]:
    """Nodes of `commands.show_nodes`, each name once, and how many records could not be read."""
    nodes, skipped = _collect(scontrol_records(text, "NodeName"), _node)
    return tuple({node.name: node for node in nodes}.values()), skipped


def parse_partitions(text: str) -> tuple[tuple[Partition, ...], int]:
    """Partitions of `commands.show_partitions`, and how many records could not be read."""
    return _collect(scontrol_records(text, "PartitionName"), _partition)


def with_cluster_defaults(partition: Partition, config: Record) -> Partition:
    """The partition with slurm.conf's default CPUs and memory where it sets none; `show partition` leaves those out."""
    cluster = _partition({"PartitionName": "", **config})
    memory = partition if partition.default_mem_per_cpu or partition.default_mem_per_node else cluster
    return dataclasses.replace(
        partition,
        default_mem_per_cpu=memory.default_mem_per_cpu,
        default_mem_per_node=memory.default_mem_per_node,
        default_mem_per_gpu=partition.default_mem_per_gpu or cluster.default_mem_per_gpu,
        default_cpus_per_gpu=partition.default_cpus_per_gpu or cluster.default_cpus_per_gpu,
    )


def parse_reservations(text: str) -> tuple[tuple[Reservation, ...], int]:
    """Reservations of `commands.show_reservations`, and how many records could not be read."""
    chunks = re.split(r"^(?=ReservationName=)", text, flags=re.MULTILINE)
    found = (
        {**record, "": chunk.partition("\n\n")[0]}
        for chunk in chunks
        for record in scontrol_records(chunk, "ReservationName")
    )
    return _collect(found, _reservation)


def parse_config(text: str) -> Record:
    """`scontrol show config` as a mapping; the first of two equal keys wins."""
    config: Record = {}
    for line in text.splitlines():
        key, found, value = line.partition("=")
        if found:
            config.setdefault(key.strip(), value.strip())
    return config


def scontrol_records(text: str, first_key: str) -> Iterator[Record]:
    """Records of `scontrol show` in its multi-line form. OS, Reason, Comment and Extra reach to the end of their line.

    A line without `Key=` continues the free text before it. Lines whose record has no beginning make an empty one.
    """
    record: Record | None = None
    free_key = ""
    for line in text.split("\n"):
        begins = line.startswith(f"{first_key}=")
        if (begins or not line) and record is not None:
            yield record
            record, free_key = None, ""
        if not begins and not line.startswith(" "):
            continue
        record = {} if record is None else record
        stripped = line.strip()
        key, found, value = stripped.partition("=")
        if found and key in _LINE_KEYS:
            record[key], free_key = value, key
            continue
        pairs = _PAIR.findall(stripped)
        if pairs:
            record.update((key, value) for key, value in pairs if key not in record)
            free_key = ""
        elif stripped and free_key:
            record[free_key] += " " + stripped
    if record is not None:
        yield record


def _collect(
    records: Iterator[Record | None] | Iterator[Record], build: Callable[[Record], T]
) -> tuple[tuple[T, ...], int]:
    built: list[T] = []
    skipped = 0
    for record in records:
        try:
            if record is None:
                raise ValueError
            built.append(build(record))
        except (KeyError, ValueError, OverflowError):
            skipped += 1
    return tuple(built), skipped


def _squeue_records(text: str, fields: tuple[str, ...]) -> Iterator[Record | None]:
    last = len(fields) - 1
    for chunk in text.split(RECORD_END + "\n"):
        if not chunk.strip("\n"):
            continue
        row = chunk.split(FIELD_END, last)
        yield dict(zip(fields, row, strict=True)) if len(row) > last else None


def _some(text: str) -> str | None:
    return None if text in _NOTHING else text


def _int(text: str) -> int | None:
    digits = text.partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _job_gpus(record: Record) -> tuple[int | None, str | None]:
    """(GPUs, type) of a job. tres-alloc only has them where the site tracks gres/gpu; the requests are what is left.

    How many sockets a job has is not told, so that GPUs per socket make an unknown number, and so does --exclusive
    (OverSubscribe=NO, since 26.05 Exclusive=NODE), by which a job holds all GPUs of its nodes without asking for one.
    """
    count, kind = tres_gpus(parse_tres(record["tres-alloc"]))
    if count is not None:
        return count, kind
    requests = (
        ("tres-per-job", 1),
        ("tres-per-node", _int(record["NumNodes"])),
        ("tres-per-task", _int(record["NumTasks"])),
        ("tres-per-socket", None),
    )
    for key, times in requests:
        types = gpus_by_type(parse_gres(record[key]))
        if types:
            kind = next(iter(types)) if len(types) == 1 else None
            return (None if times is None else sum(types.values()) * times), kind
    whole_nodes = record.get("OverSubscribe") == "NO" or record.get("Exclusive") in ("NODE", "TOPO")
    return (None if whole_nodes else 0), None


def _memory_per_node(record: Record) -> int | None:
    """MiB of tres-alloc over the nodes; None for a default of whole nodes, which squeue shows as 0."""
    memory = parse_memory(parse_tres(record["tres-alloc"]).get("mem", ""))
    nodes = _int(record["NumNodes"])
    return None if memory is None or not nodes or record["MinMemory"] == "0" else -(-memory // nodes)


def _job(record: Record) -> Job:
    job_id = record["JobID"]
    if not job_id:
        raise ValueError("no job id")
    gpus, gpu_type = _job_gpus(record)
    array = _some(record["ArrayTaskID"])
    hetero = _some(record["HetJobOffset"])
    return Job(
        job_id=job_id,
        display_id=f"{record['HetJobID']}+{hetero}" if hetero else record["JobArrayID"] or job_id,
        array_job_id=record["ArrayJobID"] if array else None,
        array_task_id=array,
        name=record["Name"],
        user=record["UserName"],
        account=_some(record["Account"]),
        qos=_some(record["QOS"]),
        partition=record["Partition"],
        state=record["State"],
        reason=record["Reason"],
        nodes=_int(record["NumNodes"]),
        node_list=_some(record["NodeList"]) or "",
        cpus=_int(record["NumCPUs"]),
        tasks=_int(record["NumTasks"]),
        gpus=gpus,
        gpu_type=gpu_type,
        memory=record["MinMemory"],
        submit_time=parse_time(record["SubmitTime"]),
        start_time=parse_time(record["StartTime"]),
        end_time=parse_time(record["EndTime"]),
        time_limit=parse_duration(record["TimeLimit"]),
        unlimited=is_unlimited(record["TimeLimit"]),
        priority=_int(record["PriorityLong"]),
        dependency=_some(record["Dependency"]),
        work_dir=record["WorkDir"],
        stdout=_some(record["STDOUT"]) or "",
        stderr=_some(record["STDERR"]) or "",
        batch_host=_some(record["BatchHost"]),
        restarts=_int(record["RestartCnt"]),
        memory_per_node=_memory_per_node(record),
    )


def _sacct_job(record: Record) -> Job:
    gpus, gpu_type = tres_gpus(parse_tres(record["AllocTRES"]))
    display_id = record["JobID"]
    array_job_id, _, array_task_id = display_id.partition("_")
    return Job(
        job_id=record["JobIDRaw"],
        display_id=display_id,
        array_job_id=array_job_id if array_task_id else None,
        array_task_id=array_task_id or None,
        name=record["JobName"],
        user=record["User"],
        account=_some(record["Account"]),
        qos=_some(record["QOS"]),
        partition=record["Partition"],
        state=record["State"].partition(" ")[0],
        reason="",
        nodes=_int(record["NNodes"]),
        node_list=_some(record["NodeList"]) or "",
        cpus=_int(record["NCPUS"]),
        tasks=None,
        gpus=gpus,
        gpu_type=gpu_type,
        memory=record["ReqMem"],
        submit_time=parse_time(record["Submit"]),
        start_time=parse_time(record["Start"]),
        end_time=parse_time(record["End"]),
        time_limit=parse_duration(record["Timelimit"]),
        unlimited=is_unlimited(record["Timelimit"]),
        priority=None,
        dependency=None,
        work_dir=record["WorkDir"],
        stdout="",
        stderr="",
        batch_host=None,
        restarts=None,
    )


def _node(record: Record) -> Node:
    state, flags = parse_node_state(record["State"])
    used, allocated = record.get("GresUsed"), record.get("AllocTRES", "")
    tracked = any(key.partition(":")[0] == "gres/gpu" for key in parse_tres(record.get("CfgTRES", "")))
    unknown = tres_gres(allocated) if tracked else None
    return Node(
        name=record["NodeName"],
        state=state,
        flags=flags,
        partitions=tuple(part for part in record.get("Partitions", "").split(",") if part),
        cpus=_node_cpus(record),
        cpus_allocated=_int(record.get("CPUAlloc", "")),
        memory=_node_memory(record),
        memory_allocated=_int(record.get("AllocMem", "")),
        gres=parse_gres(record.get("Gres", "")),
        gres_used=unknown if used is None else parse_gres(used),
        gres_drain=parse_gres(record.get("GresDrain", "")),
        threads_per_core=_int(record.get("ThreadsPerCore", "")) or 1,
        owner=_some(record.get("Owner", "")),
        gpus_accounted=(tres_gpus(parse_tres(allocated))[0] or 0) if tracked else None,
        features=tuple(part for part in (_some(record.get("ActiveFeatures", "")) or "").split(",") if part),
        reason=_some(record.get("Reason", "")) or "",
        version=_some(record.get("Version", "")),
    )


def _node_cpus(record: Record) -> int | None:
    """CPUs that jobs can have: CPUEfctv, or before 22.05 all but the cores of CoreSpecCount."""
    effective = _int(record.get("CPUEfctv", ""))
    if effective is not None:
        return effective
    total = _int(record.get("CPUTot", ""))
    reserved = (_int(record.get("CoreSpecCount", "")) or 0) * (_int(record.get("ThreadsPerCore", "")) or 1)
    return None if total is None else total - reserved


def _node_memory(record: Record) -> int | None:
    """MiB that jobs can have: RealMemory without MemSpecLimit, as the scheduler counts it."""
    total = _int(record.get("RealMemory", ""))
    return None if total is None else total - (_int(record.get("MemSpecLimit", "")) or 0)


def parse_node_state(text: str) -> tuple[str, frozenset[str]]:
    """Base state and flags of `MIXED+DRAIN`, `IDLE*`, `DOWN*+DRAIN` (20.11) and the like; scontrol's man page."""
    base, *words = text.upper().split("+")
    flags = {_OLD_FLAGS.get(word, word) for word in words if word}
    while base and base[-1] in _SUFFIX_FLAGS:
        flags.add(_SUFFIX_FLAGS[base[-1]])
        base = base[:-1]
    if not base:
        raise ValueError("no node state")
    return base, frozenset(flags)


def _lists(record: Record, verb: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """(what, names) of AllowGroups, AllowAccounts, AllowQos and their Deny forms; ALL is no restriction."""
    found = []
    for what in ("Groups", "Accounts", "Qos"):
        names = record.get(verb + what, "ALL")
        if names not in ("ALL", "(null)", ""):
            found.append((what.lower(), frozenset(names.split(","))))
    return tuple(found)


def _hosts(text: str) -> frozenset[str]:
    """The hosts of a list; none for ALL, and for a list that cannot be read."""
    try:
        return frozenset() if text == "ALL" or text in _NOTHING else frozenset(hostlist.expand(text))
    except ValueError:
        return frozenset()


def _reservation(record: Record) -> Reservation:
    def names(key: str) -> tuple[str, ...]:
        return tuple((_some(record.get(key, "")) or "").split(",")) if _some(record.get(key, "")) else ()

    return Reservation(
        name=record["ReservationName"],
        start=parse_time(record.get("StartTime", "")),
        end=parse_time(record.get("EndTime", "")),
        node_list=_some(record.get("Nodes", "")) or "",
        flags=frozenset(record.get("Flags", "").split(",")),
        users=names("Users"),
        groups=names("Groups"),
        accounts=names("Accounts"),
        cores={name: _ids(ids) for name, ids in _CORES.findall(record.get("", ""))},
    )


def _ids(text: str) -> frozenset[int]:
    """Core ids of `0-3,8`. Raises ValueError for other text, and for more ids than any node has cores."""
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        ids = range(int(low), int(high or low) + 1)
        if len(ids) > _MOST_CORES:
            raise ValueError(f"too many cores: {part}")
        found.update(ids)
    return frozenset(found)


def _partition(record: Record) -> Partition:
    """Since 26.05 Exclusive=NODE and Exclusive=USER stand for OverSubscribe=EXCLUSIVE and ExclusiveUser=YES."""
    exclusive = record.get("Exclusive", "").split(",")
    defaults = dict(pair.split("=", 1) for pair in record.get("JobDefaults", "").split(",") if "=" in pair)
    return Partition(
        name=record["PartitionName"],
        is_default=record.get("Default") == "YES",
        state=record.get("State", ""),
        node_list=_some(record.get("Nodes", "")) or "",
        total_nodes=_int(record.get("TotalNodes", "")),
        total_cpus=_int(record.get("TotalCPUs", "")),
        max_time=parse_duration(record.get("MaxTime", "")),
        default_time=parse_duration(record.get("DefaultTime", "")),
        max_nodes=_int(record.get("MaxNodes", "")),
        oversubscribe="EXCLUSIVE" if {"NODE", "TOPO"} & set(exclusive) else record.get("OverSubscribe", ""),
        default_mem_per_cpu=_int(record.get("DefMemPerCPU", "")),
        default_mem_per_node=parse_memory(record.get("DefMemPerNode", "")),
        default_mem_per_gpu=_int(defaults.get("DefMemPerGPU", "")),
        default_cpus_per_gpu=_int(defaults.get("DefCpuPerGPU", "")),
        priority_tier=_int(record.get("PriorityTier", "")),
        hidden=record.get("Hidden") == "YES",
        max_cpus_per_node=_int(record.get("MaxCPUsPerNode", "")),
        exclusive_user=record.get("ExclusiveUser") == "YES" or bool({"USER", "YES"} & set(exclusive)),
        root_only=record.get("RootOnly") == "YES",
        reservation_only=record.get("ReqResv") == "YES",
        allow=_lists(record, "Allow"),
        deny=_lists(record, "Deny"),
        alloc_nodes=_hosts(record.get("AllocNodes", "ALL")),
        qos=_some(record.get("QoS", "")),
    )
