"""Makes console/data/messy.jsonl.gz: a large, messy cluster that never was, in the shapes of Slurm 23.11.

    python tests/make_recording.py

Every node is made in a condition whose effect on its GPUs is known beforehand, so that `counts` can add up what is
usable without any of the code that is to be tested with it. Equal runs give equal recordings.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from jobs.slurm import commands  # noqa: E402
from jobs.slurm.access import Viewer  # noqa: E402
from jobs.slurm.recorded import Recording, compress, encode, limit_commands, read_commands  # noqa: E402
from jobs.slurm.run import Answer  # noqa: E402

TARGET = ROOT / "console" / "data" / "messy.jsonl.gz"
NOW = int(datetime(2026, 3, 17, 14, 23, 5, tzinfo=timezone.utc).timestamp())
USER = "mara"
VIEWER = Viewer(USER, 5001, frozenset({"ml-research", "users"}))
JOBS = 3000
ACCOUNT_GPUS = 400
QOS = {"normal": {"gres/gpu": 96}, "long": {"gres/gpu": 16}, "low": {}}
"""QOS -> what one user may have of it at a time."""
HOUR, DAY = 3600, 86400
FIELD_END, RECORD_END = "\x1f", "\x1e"

UNAVAILABLE = {
    "drained": "drained", "draining": "draining", "down": "down", "silent": "not responding", "reserved": "reserved",
    "maintenance": "maintenance", "planned": "planned by backfill", "powered down": "powered down",
    "closed": "partition closed",
}  # fmt: skip
STRANDED = {"cpu eaten": "no CPU", "memory eaten": "no memory"}
FLAGS = {
    "drained": "+DRAIN", "draining": "+DRAIN", "silent": "+NOT_RESPONDING", "reserved": "+RESERVED",
    "maintenance": "+MAINTENANCE", "planned": "+PLANNED", "powered down": "+CLOUD+POWERED_DOWN",
    "completing": "+COMPLETING",
}  # fmt: skip
REASONS = {
    "drained": ("Xid 79: GPU has fallen off the bus", "ECC errors on GPU 3, vendor=ACME case=4711", "Kill task failed",
                "gres/gpu count reported lower than configured (7 < 8)", "fan [red]tray[/red]"),
    "draining": ("kernel update", "NHC: check_fs_mount: /scratch not mounted"),
    "down": ("Not responding", "PSU replaced, burn-in | ask ops"),
    "silent": ("Not responding",),
    "maintenance": ("",),
}  # fmt: skip


@dataclass(frozen=True)
class Rack:
    """Nodes of one make; `conditions` says how many are in which, and their sum is how many nodes there are."""

    prefix: str
    digits: int
    gpus: dict[str, int]
    cpus: int
    memory: int
    partitions: tuple[str, ...]
    features: str
    conditions: dict[str, int]


RACKS = (
    Rack("gpu-a", 3, {"a100": 4}, 64, 515_000, ("a100", "preempt"), "a100,nvlink,ib_hdr",
         {"full": 88, "mixed": 30, "idle": 7, "drained": 6, "draining": 4, "down": 3, "silent": 2, "reserved": 8,
          "planned": 4, "cpu eaten": 5, "memory eaten": 3}),
    Rack("hgx", 2, {"h100": 8}, 192, 2_063_000, ("h100", "preempt"), "h100,nvswitch,ib_ndr",
         {"full": 70, "mixed": 8, "idle": 1, "drained": 3, "draining": 2, "planned": 6, "maintenance": 4,
          "memory eaten": 2}),
    Rack("ada", 3, {"l40s": 8}, 128, 1_031_000, ("l40s", "preempt"), "l40s,roce",
         {"full": 50, "mixed": 36, "idle": 6, "powered down": 16, "drained": 4, "cpu eaten": 6, "completing": 2}),
    Rack("mig", 2, {"a100_1g.5gb": 14, "a100_3g.20gb": 4}, 128, 1_031_000, ("mig",), "a100,mig",
         {"mixed": 8, "idle": 2, "drained": 1, "full": 1}),
    Rack("old-gpu", 2, {"": 4}, 48, 385_000, ("legacy",), "(null)",
         {"mixed": 20, "full": 10, "idle": 8, "down": 6, "silent": 4}),
    Rack("k80-", 2, {"k80": 2}, 24, 128_000, ("retired",), "(null)", {"closed": 14}),
    Rack("c", 3, {}, 128, 515_000, ("cpu",), "avx512",
         {"full": 90, "mixed": 40, "idle": 12, "drained": 5, "down": 3}),
)  # fmt: skip
PARTITIONS = {
    "a100": "Default=YES MaxTime=2-00:00:00", "h100": "MaxTime=1-00:00:00", "l40s": "MaxTime=3-00:00:00",
    "mig": "MaxTime=08:00:00", "legacy": "MaxTime=UNLIMITED", "cpu": "MaxTime=7-00:00:00",
    "preempt": "MaxTime=12:00:00 PriorityTier=0 Hidden=YES", "retired": "MaxTime=1-00:00:00 State=DOWN",
}  # fmt: skip
PEOPLE = (
    "amir", "anneke", "bo", "chidi", "dmitri", "eun-ji", "f.moreau", "guadalupe", "hana", "ivo", "jlopez42", "kasia",
    "linus", "m_schmidt", "nkechi", "oyvind", "priya", "qiang", "rosa", "svc-nightly", "tomoko", "uli", "vera", "wei",
    "xavi", "yusuf", "zofia",
)  # fmt: skip
NAMES = (
    "train", "gpt-1b3-sweep", "eval", "sd-lora", "wrap", "interactive", "bert_ft", "nerf_%a", "preprocess", "vit-l16",
    "jupyter", "bench.nccl", "rl_ppo_seed", "llama ft (copy 2)", "x",
)  # fmt: skip
HOSTILE = (
    "a\x1b[31mred\x1b[0m", "two\nlines", "pipe|and=equals", "[bold]markup[/bold]", "tab\there", "\u202egnp.exe",
    "bad\udcff\udcfeutf8", "深度学习训练", "émile's run", "$(reboot)", "x" * 120, "\x1f\x1f", "🚀🚀", " ",
    "Name=evil NodeName=gpu-a001", "\x9b2J", "-rf", "a\x1eb",
)  # fmt: skip
WAITING = (
    "Priority", "Priority", "Priority", "Resources", "QOSMaxJobsPerUserLimit", "AssocGrpGRES", "JobHeldUser",
    "JobHeldAdmin", "BeginTime", "Licenses", "PartitionTimeLimit", "ReqNodeNotAvail, UnavailableNodes:gpu-a[003,007]",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions", "Reservation",
    "DependencyNeverSatisfied", "launch failed requeued held", "QOSMaxGRESPerUser", "MaxGRESPerAccount",
)  # fmt: skip
ENDED = (
    "COMPLETED", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED",
    "DEADLINE", "BOOT_FAIL",
)  # fmt: skip


@dataclass
class Node:
    """A node and what jobs hold of it; `used` GPUs by type, memory in MiB."""

    name: str
    rack: Rack
    condition: str
    used: dict[str, int]
    cpus: int = 0
    memory: int = 0

    @property
    def state(self) -> str:
        """As scontrol prints it."""
        if self.condition in ("down", "silent"):
            base = "DOWN"
        else:
            base = "ALLOCATED" if self.cpus == self.rack.cpus else "MIXED" if self.cpus else "IDLE"
        return base + FLAGS.get(self.condition, "")


@dataclass
class Count:
    """GPUs of one type."""

    total: int = 0
    allocated: int = 0
    usable: int = 0
    whole_nodes: int = 0
    unavailable: dict[str, int] = field(default_factory=dict)
    stranded: dict[str, int] = field(default_factory=dict)


@dataclass
class Cluster:
    """Nodes, and jobs by squeue's fields."""

    nodes: list[Node]
    jobs: list[dict[str, str]]


def make() -> Cluster:
    """The cluster."""
    dice = random.Random(20260317)
    nodes = [node for rack in RACKS for node in _nodes(rack, dice)]
    ids = count(8_410_000)
    jobs = list(_running(nodes, dice, ids))
    _give_mine(jobs)
    jobs += _special(ids)
    while len(jobs) < JOBS - 600:
        jobs.append(_pending(dice, ids, jobs))
    while len(jobs) < JOBS:
        jobs.append(_ended(dice, ids, nodes))
    for job, name in zip(jobs[5::37], HOSTILE * 3, strict=False):
        job["Name"] = name
    return Cluster(nodes, jobs)


def counts(nodes: Sequence[Node]) -> dict[str, Count]:
    """What `slurmconsole gpus` must say, by type ("" has none), from the conditions alone."""
    found: dict[str, Count] = {}
    for node in nodes:
        for kind, total in node.rack.gpus.items():
            sums = found.setdefault(kind, Count())
            free = total - node.used[kind]
            sums.total += total
            sums.allocated += node.used[kind]
            if not free:
                continue
            for causes, into in ((UNAVAILABLE, sums.unavailable), (STRANDED, sums.stranded)):
                if node.condition in causes:
                    cause = causes[node.condition]
                    into[cause] = into.get(cause, 0) + free
            if node.condition not in UNAVAILABLE and node.condition not in STRANDED:
                sums.usable += free
                sums.whole_nodes += node.condition == "idle"
    return found


def recording(cluster: Cluster) -> Recording:
    """The cluster as the answers of Slurm's commands."""
    ends = [FIELD_END] * (len(commands.JOB_FIELDS) - 1) + [RECORD_END]
    squeue_format = ",".join(map("{}:{}".format, commands.JOB_FIELDS, ends))
    queue = "".join(
        "".join(job.get(name, "N/A") + end for name, end in zip(commands.JOB_FIELDS, ends, strict=True)) + "\n"
        for job in cluster.jobs
    )
    texts = {
        "config": _CONFIG, "node": "".join(map(_node_text, cluster.nodes)),
        "partition": "".join(_partition_text(name, cluster.nodes) for name in PARTITIONS),
        "reservation": _reservations(cluster.nodes), "--version": "slurm 23.11.10\n", "--states=all": queue,
        commands.show_assoc_mgr()[-1]: _assoc_mgr(cluster.jobs),
        commands.sacctmgr_associations(USER)[-1]: "messy|proj1||long,low,normal|normal\n",
        commands.sacctmgr_qos()[-1]: "".join(f"{name}||{_limits(QOS[name])}|||\n" for name in QOS),
    }  # fmt: skip
    answers = []
    for argv in (*read_commands(), *limit_commands(USER)):
        if argv[0] == "squeue":
            argv = [*argv[: argv.index("-O")], "-O", squeue_format, *argv[argv.index("-O") + 2 :]]
        output = texts[argv[-1]].encode("utf-8", "surrogateescape")
        answers.append(Answer(tuple(argv), 0, output, b"", 0.05))
    return Recording(float(NOW), VIEWER, tuple(answers))


def _nodes(rack: Rack, dice: random.Random) -> Iterator[Node]:
    conditions = [name for name, number in rack.conditions.items() for _ in range(number)]
    dice.shuffle(conditions)
    for number, condition in enumerate(conditions, 1):
        used = {}
        for kind, total in rack.gpus.items():
            some = dice.randint(1, total - 1)
            used[kind] = {
                "full": total, "mixed": some, "draining": some, "completing": some, "cpu eaten": some - 1,
                "memory eaten": some - 1, "reserved": number % 2,
            }.get(condition, 0)  # fmt: skip
        yield Node(f"{rack.prefix}{number:0{rack.digits}}", rack, condition, used)


def _running(nodes: Sequence[Node], dice: random.Random, ids: Iterator[int]) -> Iterator[dict[str, str]]:
    """Jobs that hold exactly what the nodes have in use, one node each or, on full nodes of a kind, several."""
    for rack in RACKS:
        full = [node for node in nodes if node.rack is rack and node.condition == "full"]
        while rack.gpus and full:
            size = dice.choice((1, 1, 2, 4, 8, 16))
            some, full = full[:size], full[size:]
            yield _hold(some, dict(rack.gpus), rack.cpus, rack.memory - 5000, dice, ids)
    for node in nodes:
        if node.condition == "full" and node.rack.gpus:
            continue
        share = node.rack.cpus // max(1, sum(node.rack.gpus.values()))
        memory = node.rack.memory // max(1, sum(node.rack.gpus.values()))
        for kind, used in node.used.items():
            while used:
                gpus = dice.randint(1, used)
                used -= gpus
                cpus, mib = dice.randint(1, share) * gpus, dice.randrange(4000, memory * 9 // 10, 500) * gpus
                yield _hold([node], {kind: gpus}, cpus, mib, dice, ids)
        if node.condition == "cpu eaten":
            yield _hold([node], {}, node.rack.cpus - node.cpus, 4000, dice, ids)
        elif node.condition == "memory eaten":
            yield _hold([node], {}, 2, node.rack.memory - node.memory, dice, ids)
        elif not node.rack.gpus and node.condition in ("full", "mixed"):
            target = node.rack.cpus if node.condition == "full" else dice.randrange(4, node.rack.cpus, 4)
            while node.cpus < target:
                yield _hold([node], {}, min(dice.choice((4, 8, 16, 32)), target - node.cpus), 4000, dice, ids)


def _hold(nodes: Sequence[Node], gpus: dict[str, int], cpus: int, memory: int, dice: random.Random,
          ids: Iterator[int]) -> dict[str, str]:  # fmt: skip
    """A job with so much of each node."""
    for node in nodes:
        node.cpus += cpus
        node.memory += memory
    job = _job(next(ids), dice, len(nodes), gpus, cpus, memory)
    used = dice.randrange(60, 20 * HOUR)
    limit = dice.choice((24, 36, 48)) * HOUR
    state = "COMPLETING" if nodes[0].condition == "completing" else "RUNNING"
    if dice.random() < 0.02:
        state = dice.choice(("SUSPENDED", "CONFIGURING", "STOPPED"))
    return job | {
        "Partition": nodes[0].rack.partitions[0], "State": state, "Reason": "None",
        "NodeList": _hostlist([node.name for node in nodes]), "BatchHost": nodes[0].name,
        "SubmitTime": str(NOW - used - dice.randrange(5, 3 * DAY)), "StartTime": str(NOW - used),
        "EndTime": str(NOW - used + limit), "TimeLimit": _duration(limit),
    }  # fmt: skip


def _job(number: int, dice: random.Random, nodes: int, gpus: dict[str, int], cpus: int, memory: int) -> dict[str, str]:
    """A job's own fields; CPUs, GPUs and memory per node."""
    user = dice.choice(PEOPLE)
    total = sum(gpus.values()) * nodes
    tres = [f"cpu={cpus * nodes}", f"mem={memory * nodes}M", f"node={nodes}", f"billing={cpus * nodes}"]
    if total:
        tres += [f"gres/gpu={total}", *(f"gres/gpu:{kind}={n * nodes}" for kind, n in gpus.items() if kind)]
    per_node = ",".join(f"gres/gpu:{kind}:{n}" if kind else f"gres/gpu:{n}" for kind, n in gpus.items())
    return {
        "JobID": str(number), "JobArrayID": str(number), "ArrayJobID": str(number), "UserName": user,
        "Account": f"proj{len(user) % 7}", "QOS": dice.choice(("normal", "normal", "long", "low")),
        "NumNodes": str(nodes), "NumCPUs": str(cpus * nodes), "NumTasks": str(max(nodes, total)),
        "tres-alloc": ",".join(tres), "tres-per-node": per_node or "N/A", "MinMemory": f"{memory}M",
        "PriorityLong": str(dice.randrange(1000, 400_000)), "Dependency": "(null)", "BatchHost": "n/a", "NodeList": "",
        "RestartCnt": str(int(dice.random() < 0.03)), "WorkDir": f"/home/{user}/runs",
        "STDOUT": f"/home/{user}/runs/slurm-%j.out", "STDERR": f"/home/{user}/runs/slurm-%j.out",
        "Name": dice.choice(NAMES),
    }  # fmt: skip


def _pending(dice: random.Random, ids: Iterator[int], jobs: Sequence[dict[str, str]]) -> dict[str, str]:
    """A job that waits: plain, an array's rest, after another, or in several partitions."""
    rack = dice.choice(RACKS[:5])
    kind = dice.choice(list(rack.gpus))
    gpus = {kind: dice.choice((1, 2, 4))}
    job = _job(next(ids), dice, dice.choice((1, 1, 1, 2, 4, 16)), gpus, sum(gpus.values()) * 4, 64_000)
    job |= _waits(rack.partitions[0], dice.choice(WAITING), dice.randrange(60, 4 * DAY), dice.choice((4, 12, 24, 72)))
    if job["Reason"] == "Resources":
        job["StartTime"] = str(NOW + dice.randrange(300, 5 * HOUR))
    odds = dice.random()
    if odds < 0.15:
        tasks = f"{dice.randrange(1, 50)}-{dice.randrange(60, 900)}%{dice.choice((4, 16))}"
        job |= {"JobArrayID": f"{job['JobID']}_[{tasks}]", "ArrayTaskID": tasks, "Reason": "JobArrayTaskLimit"}
    elif odds < 0.25:
        job |= {"Dependency": f"afterok:{dice.choice(jobs)['JobID']}(unfulfilled)", "Reason": "Dependency"}
    elif odds < 0.3:
        job["Partition"] = ",".join(rack.partitions)
    elif odds < 0.32:
        job |= {"tres-alloc": "cpu=8,mem=64000M,node=1,billing=8", "tres-per-node": "N/A",
                "tres-per-socket": f"gres/gpu:{kind}:1" if kind else "gres/gpu:1"}  # fmt: skip
    return job


def _ended(dice: random.Random, ids: Iterator[int], nodes: Sequence[Node]) -> dict[str, str]:
    node = dice.choice(nodes)
    job = _job(next(ids), dice, 1, dict.fromkeys(node.rack.gpus, 1), 4, 16_000)
    start, took = NOW - dice.randrange(9 * HOUR, 2 * DAY), dice.randrange(1, 8 * HOUR)
    return job | {
        "Partition": node.rack.partitions[0], "State": dice.choice(ENDED), "Reason": "None", "NodeList": node.name,
        "BatchHost": node.name, "SubmitTime": str(start - 900), "StartTime": str(start), "EndTime": str(start + took),
        "TimeLimit": _duration(8 * HOUR),
    }  # fmt: skip


def _waits(partition: str, reason: str, since: int, hours: int) -> dict[str, str]:
    return {
        "Partition": partition, "State": "PENDING", "Reason": reason, "SubmitTime": str(NOW - since),
        "StartTime": "N/A", "EndTime": "N/A", "TimeLimit": _duration(hours * HOUR),
    }  # fmt: skip


def _give_mine(jobs: Sequence[dict[str, str]]) -> None:
    """Two running jobs of USER's: the largest, and one on a single node."""
    largest = max(jobs, key=lambda job: int(job["NumNodes"]))
    single = next(job for job in jobs if job["NumNodes"] == "1" and job["Partition"] == "l40s")
    for job, name in ((largest, "gpt-7b-pretrain"), (single, "eval-7b")):
        job |= {"State": "RUNNING", "Name": name, **_MINE}


_MINE = {
    "QOS": "normal", "UserName": USER, "Account": "proj1", "WorkDir": f"/home/{USER}/gpt",
    "STDOUT": f"/home/{USER}/gpt/%x-%j.out", "STDERR": f"/home/{USER}/gpt/%x-%j.err",
}  # fmt: skip


def _special(ids: Iterator[int]) -> Iterator[dict[str, str]]:
    """Three waiting jobs of USER's, a heterogeneous job, and states that are neither waiting nor running."""
    dice = random.Random(7)
    for name, reason, more in (
        ("gpt-7b-eval", "Dependency", {"Dependency": "afterok:8410000(unfulfilled)"}),
        ("sweep", "JobArrayTaskLimit", {"ArrayTaskID": "12-99%4"}),
        ("gpt-13b", "Priority", {}),
    ):
        job = _job(next(ids), dice, 4, {"a100": 4}, 32, 256_000) | _waits("a100", reason, 5 * HOUR, 24) | _MINE
        job |= {"Name": name, **more}
        if "ArrayTaskID" in more:
            job["JobArrayID"] = f"{job['JobID']}_[{more['ArrayTaskID']}]"
        yield job
    first = 0
    for offset, (partition, gpus) in enumerate((("cpu", {}), ("h100", {"h100": 8}))):
        job = _job(next(ids), dice, 2, gpus, 16, 64_000) | _waits(partition, "Resources", 2 * HOUR, 12)
        first = first or int(job["JobID"])
        yield job | {"HetJobID": str(first), "HetJobOffset": str(offset), "UserName": "priya", "Name": "het"}
    for state in ("SPECIAL_EXIT", "REQUEUE_HOLD", "REQUEUED", "SIGNALING"):
        job = _job(next(ids), dice, 1, {"a100": 1}, 4, 16_000) | _waits("a100", "JobHoldMaxRequeue", DAY, 4)
        yield job | {"State": state}


def _duration(seconds: int) -> str:
    days, rest = divmod(seconds, DAY)
    clock = f"{rest // HOUR:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{clock}" if days else clock


def _hostlist(names: Sequence[str]) -> str:
    """`gpu-a[001-003,007]` of names of one rack in order."""
    if len(names) == 1:
        return names[0]
    prefix = names[0].rstrip("0123456789")
    runs: list[list[str]] = []
    for digits in (name[len(prefix) :] for name in names):
        if runs and int(digits) == int(runs[-1][-1]) + 1:
            runs[-1].append(digits)
        else:
            runs.append([digits])
    return f"{prefix}[{','.join(run[0] if len(run) == 1 else f'{run[0]}-{run[-1]}' for run in runs)}]"


def _gres(counted: dict[str, int], *, used: bool) -> str:
    if not counted:
        return "gpu:0" if used else "(null)"
    parts = []
    for kind, number in counted.items():
        index = f"(IDX:{'N/A' if not number else 0 if number == 1 else f'0-{number - 1}'})" if used else "(S:0-1)"
        parts.append("gpu:" + (f"{kind}:" if kind else "(null):" if used else "") + f"{number}{index}")
    return ",".join(parts)


def _node_text(node: Node) -> str:
    rack, number = node.rack, int(node.name[-2:])
    reasons = REASONS.get(node.condition, ("",))
    reason = reasons[number % len(reasons)]
    taken = f"cpu={node.cpus},mem={node.memory}M" if node.cpus else ""
    gone = node.condition in ("down", "silent", "powered down")
    return (
        f"NodeName={node.name} {'' if gone else 'Arch=x86_64 '}CoresPerSocket={rack.cpus // 2} \n"
        f"   CPUAlloc={node.cpus} CPUEfctv={rack.cpus} CPUTot={rack.cpus} CPULoad={node.cpus * 0.93:.2f}\n"
        f"   AvailableFeatures={rack.features}\n   ActiveFeatures={rack.features}\n"
        f"   Gres={_gres(rack.gpus, used=False)}\n   GresDrain=N/A\n"
        f"   GresUsed={_gres(node.used, used=True)}\n"
        f"   NodeAddr={node.name} NodeHostName={node.name} Version=23.11.10\n"
        "   OS=Linux 5.14.0-427.el9.x86_64 #1 SMP PREEMPT_DYNAMIC @0 \n"
        f"   RealMemory={rack.memory} AllocMem={node.memory} FreeMem={rack.memory // 3} Sockets=2 Boards=1\n"
        f"   State={node.state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A\n"
        f"   Partitions={','.join(rack.partitions)} \n"
        f"   BootTime={NOW - 40 * DAY} SlurmdStartTime={NOW - 9 * DAY}\n   LastBusyTime={NOW - 60}\n"
        f"   CfgTRES=cpu={rack.cpus},mem={rack.memory}M,billing={rack.cpus}\n   AllocTRES={taken}\n"
        + (f"   Reason={reason} [root@{NOW - 2 * DAY}]\n" if reason else "")
        + "\n"
    )


def _reservations(nodes: Sequence[Node]) -> str:
    named = {
        condition: _hostlist([node.name for node in nodes if node.condition == condition])
        for condition in ("reserved", "maintenance")
    }
    return _RESERVATIONS.format(**named)


def _limits(limits: dict[str, int]) -> str:
    return ",".join(f"{name}={number}" for name, number in limits.items())


def in_use(jobs: Sequence[dict[str, str]], **fields: str) -> tuple[int, int]:
    """(jobs, GPUs) of the running jobs with these fields."""
    found = [job for job in jobs if job["NodeList"] and job["State"] not in ENDED
             and all(job[name] == value for name, value in fields.items())]  # fmt: skip
    gpus = (int(part[9:]) for job in found for part in job["tres-alloc"].split(",") if part.startswith("gres/gpu="))
    return len(found), sum(gpus)


def _assoc_mgr(jobs: Sequence[dict[str, str]]) -> str:
    """Accounts below root with group limits, USER in one of them, and the QOS with a limit for each user."""

    def record(account: str, owner: str, parent: str, used: tuple[int, int], limit: str) -> str:
        return (
            f"ClusterName=messy Account={account} UserName={owner} Partition= Priority=0 ID=1\n"
            f"    ParentAccount={parent} Lft=1 DefAssoc={'Yes' if owner else 'No'}\n"
            f"    GrpJobs=N({used[0]}) GrpJobsAccrue=N(0)\n    GrpSubmitJobs=N({used[0]}) GrpWall=N(0.00)\n"
            f"    GrpTRES=cpu=N(0),gres/gpu={limit}({used[1]})\n"
            "    MaxJobs= MaxJobsAccrue= MaxSubmitJobs= MaxWallPJ=\n    MaxTRESPJ=\n    MaxTRESPN=\n"
        )

    user = f"UserName={USER}({VIEWER.uid}) DefAccount=proj1 DefWckey= AdminLevel=None"
    lines = [f"Current Association Manager state\n\nUser Records\n\n{user}\n\nAssociation Records\n\n"]
    lines.append(record("root", "", "", in_use(jobs), "N"))
    for account in sorted({job["Account"] for job in jobs}):
        lines.append(record(account, "", "root(1)", in_use(jobs, Account=account), str(ACCOUNT_GPUS)))
    mine = in_use(jobs, Account="proj1", UserName=USER)
    lines += [record("proj1", f"{USER}({VIEWER.uid})", "", mine, "N"), "\nQOS Records\n\n"]
    for number, (name, limits) in enumerate(QOS.items(), 1):
        used = in_use(jobs, QOS=name, UserName=USER)
        lines.append(
            f"QOS={name}({number})\n    GrpJobs=N(0) GrpSubmitJobs=N(0)\n    GrpTRES=gres/gpu=N(0)\n"
            "    MaxWallPJ=\n    MaxTRESPJ=\n    MaxTRESPN=\n    Account Limits\n    User Limits\n"
            f"      {USER}({VIEWER.uid})\n        MaxJobsPU=N({used[0]}) MaxSubmitJobsPU=N({used[0]})\n"
            f"        MaxTRESPU={','.join(f'{tres}={limit}({used[1]})' for tres, limit in limits.items())}\n"
        )
    return "".join(lines)


def _partition_text(name: str, nodes: Sequence[Node]) -> str:
    own = [node for node in nodes if name in node.rack.partitions]
    lists = [_hostlist([node.name for node in own if node.rack is rack]) for rack in RACKS if name in rack.partitions]
    facts = dict(pair.split("=") for pair in PARTITIONS[name].split())
    default, hidden = facts.get("Default", "NO"), facts.get("Hidden", "NO")
    return (
        f"PartitionName={name}\n   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n"
        f"   AllocNodes=ALL Default={default} QoS=N/A\n"
        f"   DefaultTime=01:00:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden={hidden}\n"
        f"   MaxNodes=UNLIMITED MaxTime={facts['MaxTime']} MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED\n"
        f"   Nodes={','.join(lists)}\n"
        f"   PriorityJobFactor=1 PriorityTier={facts.get('PriorityTier', '1')} RootOnly=NO ReqResv=NO\n"
        f"   OverSubscribe=NO OverTimeLimit=NONE PreemptMode=OFF\n   State={facts.get('State', 'UP')}"
        f" TotalCPUs={sum(node.rack.cpus for node in own)} TotalNodes={len(own)} SelectTypeParameters=NONE\n"
        "   JobDefaults=(null)\n   DefMemPerCPU=4000 MaxMemPerNode=UNLIMITED\n\n"
    )


_CONFIG = f"""Configuration data as of {NOW}
AccountingStorageEnforce = associations,limits,qos
AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu
AccountingStorageType   = accounting_storage/slurmdbd
ClusterName             = messy
DefMemPerCPU            = 4000
GresTypes               = gpu
MinJobAge               = 172800 sec
SelectType              = select/cons_tres
SelectTypeParameters    = CR_CORE_MEMORY
SLURM_VERSION           = 23.11.10
"""

_RESERVATIONS = f"""ReservationName=workshop StartTime={NOW - HOUR} EndTime={NOW + DAY} Duration=1-01:00:00
   Nodes={{reserved}} NodeCnt=8 CoreCnt=512 Features=(null) PartitionName=a100 Flags=SPEC_NODES
   TRES=cpu=512
   Users=anneke,tomoko Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

ReservationName=cooling StartTime={NOW - 2 * HOUR} EndTime={NOW + 4 * HOUR} Duration=06:00:00
   Nodes={{maintenance}} NodeCnt=4 CoreCnt=768 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES
   TRES=cpu=768
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

"""


def main() -> None:
    """Write the file."""
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_bytes(compress(encode(recording(make()))))
    print(f"{TARGET}: {TARGET.stat().st_size} bytes")


if __name__ == "__main__":
    main()
