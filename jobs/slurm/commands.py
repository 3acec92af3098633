"""argv builders: the only place with Slurm's flags and formats.

Fields are printed by `squeue -O 'Field:<US>'`: without a size nothing is cut or padded, on every release from 20.11
(squeue's man page, --Format). The name comes last, since it may hold anything, newlines included; it ends with <RS> and
a token of this process alone, so that no name can end its record and forge another.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from jobs.slurm.shape import UNLIMITED, Shape

FIELD_END = "\x1f"
RECORD_END = "\x1e" + secrets.token_hex(4)

JOB_FIELDS = (
    "JobID", "JobArrayID", "ArrayJobID", "ArrayTaskID", "HetJobID", "HetJobOffset", "UserName", "Account", "QOS",
    "Partition",
    "State", "Reason", "NumNodes", "NumCPUs", "NumTasks", "tres-alloc", "tres-per-job", "tres-per-node",
    "tres-per-task", "tres-per-socket", "MinMemory", "SubmitTime", "StartTime", "EndTime", "TimeLimit", "NodeList",
    "PriorityLong", "Dependency", "BatchHost", "RestartCnt", "OverSubscribe", "WorkDir", "STDOUT", "STDERR", "Name",
)  # fmt: skip

_OWN_EXCLUSIVE = (26, 5)


def job_fields(release: tuple[int, int] | None) -> tuple[str, ...]:
    """What is asked of each job. Since 26.05 Exclusive tells of --exclusive, and OverSubscribe does not (squeue(1))."""
    if release is None or release < _OWN_EXCLUSIVE:
        return JOB_FIELDS
    return tuple("Exclusive" if name == "OverSubscribe" else name for name in JOB_FIELDS)


def _job_format(fields: tuple[str, ...]) -> str:
    last = len(fields) - 1
    return ",".join(f"{name}:{RECORD_END if i == last else FIELD_END}" for i, name in enumerate(fields))


def squeue(
    fields: tuple[str, ...] = JOB_FIELDS, *, me: bool = False, job_ids: Sequence[str] = (), all_states: bool = False
) -> list[str]:
    """The queue: everyone's jobs, or mine, or the named ones; with `all_states` also those that just ended."""
    argv = ["squeue", "--local", "--noheader", "--all", "-O", _job_format(fields)]
    if me:
        argv.append("--me")
    if job_ids:
        argv.append("--jobs=" + ",".join(job_ids))
    if all_states:
        argv.append("--states=all")
    return argv


def show_nodes() -> list[str]:
    """All nodes; GresUsed is printed with --details only."""
    return ["scontrol", "--all", "--details", "show", "node"]


def show_partitions() -> list[str]:
    """All partitions, hidden ones too."""
    return ["scontrol", "--all", "show", "partition"]


def show_reservations() -> list[str]:
    """All reservations, running and to come."""
    return ["scontrol", "--all", "show", "reservation"]


def release() -> list[str]:
    """The release of the commands here: `slurm 22.05.8`."""
    return ["sinfo", "--version"]


def show_config() -> list[str]:
    """The controller's configuration: ClusterName, SLURM_VERSION, SelectTypeParameters, ..."""
    return ["scontrol", "show", "config"]


def calls(argv: Sequence[str]) -> int:
    """How many calls (RPCs) of slurmctld a command makes, as its sources have it; sacct and sacctmgr ask slurmdbd."""
    words = [word for word in argv if not word.startswith("-")]
    if argv[0] == "scontrol":
        return 2 if words[1:3] == ["show", "node"] else 1
    return 0 if argv[0] in ("sacct", "sacctmgr") or list(argv) == release() else 1


def show_assoc_mgr() -> list[str]:
    """Associations and QOS with limits and what is used of them, from slurmctld's memory."""
    return ["scontrol", "show", "assoc_mgr", "flags=users,assoc,qos"]


def sacctmgr_associations(user: str) -> list[str]:
    """A user's accounts with the QOS of each, from slurmdbd; the fields are those of ASSOCIATION_FIELDS."""
    fields = ",".join(ASSOCIATION_FIELDS)
    return ["sacctmgr", "-n", "-P", "show", "assoc", f"user={user}", f"format={fields}"]


def sacctmgr_qos() -> list[str]:
    """What slurmdbd alone tells of each QOS; the fields are those of QOS_FIELDS."""
    return ["sacctmgr", "-n", "-P", "show", "qos", f"format={','.join(QOS_FIELDS)}"]


ASSOCIATION_FIELDS = ("cluster", "account", "partition", "qos", "defaultqos")
QOS_FIELDS = ("name", "flags", "maxtrespu", "maxtrespa", "maxjobspu", "maxjobspa")


def sacct_job(job_id: str) -> list[str]:
    """One job from accounting, for when squeue has forgotten it; the fields are those of SACCT_FIELDS."""
    return ["sacct", "-n", "-P", "-X", "--delimiter", FIELD_END, "-j", job_id, "-o", ",".join(SACCT_FIELDS)]


SACCT_FIELDS = (
    "JobIDRaw", "JobID", "User", "Account", "QOS", "Partition", "State", "NNodes", "NCPUS", "AllocTRES", "ReqMem",
    "Submit", "Start", "End", "Timelimit", "NodeList", "WorkDir", "JobName",
)  # fmt: skip


def sbatch_test(shape: Shape, partition: str) -> list[str]:
    """Ask the controller when a job of this shape would start; nothing is submitted."""
    argv = ["sbatch", "--test-only", f"--partition={partition}", f"--nodes={shape.nodes}"]
    argv.append(f"--ntasks-per-node={shape.ntasks_per_node}")
    if shape.gpus_per_node:
        kind = f"{shape.gpu_type}:" if shape.gpu_type else ""
        argv.append(f"--gres=gpu:{kind}{shape.gpus_per_node}")
    if shape.cpus_per_task is not None:
        argv.append(f"--cpus-per-task={shape.cpus_per_task}")
    if shape.memory is not None:
        argv.append(f"--mem={shape.memory}M")
    if shape.time_limit is not None:
        minutes = int(shape.time_limit.total_seconds() // 60)
        argv.append(f"--time={'UNLIMITED' if shape.time_limit == UNLIMITED else minutes}")
    if shape.account is not None:
        argv.append(f"--account={shape.account}")
    if shape.qos is not None:
        argv.append(f"--qos={shape.qos}")
    return [*argv, "--wrap=true"]


def scancel(job_ids: Sequence[str]) -> list[str]:
    """Cancel jobs."""
    return ["scancel", *job_ids]


def scontrol_jobs(verb: str, job_ids: Sequence[str]) -> list[str]:
    """hold, release or requeue jobs."""
    return ["scontrol", verb, ",".join(job_ids)]
