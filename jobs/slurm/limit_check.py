"""Whether limits of accounts and QOS let a shape start, and which limit a pending reason means."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from jobs.slurm.limits import Limits, LimitUse, amount
from jobs.slurm.reason_limits import limited_resource

_RESOURCES = {
    "Cpu": "cpu", "CPU": "cpu", "Mem": "mem", "Memory": "mem", "Node": "node", "GRES": "gres/", "Jobs": "jobs",
    "Wall": "minutes", "License": "license/", "Billing": "billing",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Demand:
    """What one job asks for; `gpus`, `cpus`, `memory` (MiB) per node. None is unknown and breaks no limit."""

    nodes: int
    gpus: int
    gpu_type: str | None
    cpus: int | None
    memory: int | None
    minutes: int | None

    def of(self, use: LimitUse) -> int | None:
        """How much of a limit's resource the job asks for, in all or, where the limit is for each node, on one."""
        times = 1 if use.scope == "node" else self.nodes
        if use.resource == "gres/gpu" or use.resource == f"gres/gpu:{self.gpu_type}":
            return self.gpus * times
        per_node = {"cpu": self.cpus, "mem": self.memory, "node": 1}
        if use.resource in per_node:
            found = per_node[use.resource]
            return None if found is None else found * times
        return {"jobs": 1, "minutes": self.minutes}.get(use.resource)


def exceeded(uses: Iterable[LimitUse], demand: Demand) -> list[tuple[str, bool]]:
    """A sentence for each limit that keeps the job from starting, and whether waiting cannot help."""
    found = []
    for use in uses:
        wanted = demand.of(use)
        if wanted and wanted > use.left:
            found.append((told(use, wanted), wanted > use.limit))
    return found


def told(use: LimitUse, wanted: int | None) -> str:
    """A limit as a sentence, with what a job asks for of it."""
    asks = f"; this job asks for {amount(use.resource, wanted)}" if wanted and use.resource != "jobs" else ""
    return f"{use.words[0].upper()}{use.words[1:]}{asks}."


def limits_sentence(limits: Limits) -> str:
    """What a person's own limits leave to one more job of the default account and QOS; empty without such limits."""
    account = limits.default_account()
    uses = limits.of_job("", None)
    if account is None or not uses:
        return ""
    full = [use for use in uses if use.resource == "jobs" and not use.left]
    counted = [use for use in uses if use.resource.startswith("gres/gpu") and use.scope != "node"]
    tight: dict[str, LimitUse] = {}
    for use in sorted(counted, key=lambda use: use.left):
        tight.setdefault(use.resource, use)
    sentences = [told(use, None) for use in (*full[:1], *tight.values())]
    qos = limits.default_qos(account, "")
    named = f"account {account}" + (f", QOS {qos}" if qos else "; its QOS is not known")
    return f"Your limits ({named}): {' '.join(sentences)}" if sentences else f"No limit on your GPUs ({named})."


def limits_of_reason(reason: str, uses: Iterable[LimitUse]) -> list[LimitUse]:
    """The limits that a reason such as QOSMaxGRESPerUser or AssocGrpCpuLimit can mean, the tightest first."""
    word = reason.partition(",")[0]
    resource = limited_resource(word)
    if resource is None:
        return []
    name = _RESOURCES.get(resource, resource)
    of_account = word.startswith("Assoc")
    if "Grp" in word:
        scopes = {"group"}
    elif "PerNode" in word:
        scopes = {"node"}
    elif "PerAccount" in word:
        scopes = {"account"}
    elif "PerJob" in word:
        scopes = {"job"}
    else:
        scopes = {"user"}
    found = [
        use for use in uses
        if use.scope in scopes and use.resource.startswith(name) and of_account == ("QOS" not in use.whose)
    ]  # fmt: skip
    return sorted(found, key=lambda use: use.left)
