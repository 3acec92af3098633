"""Whether limits of accounts and QOS let a shape start, and which limit a pending reason means."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from jobs.slurm.limits import SPENT, TO_GO, Limits, LimitUse, amount
from jobs.slurm.reason_limits import counted, limited_resource

_RESOURCES = {
    "Cpu": "cpu", "CPU": "cpu", "Mem": "mem", "Memory": "mem", "Node": "node", "GRES": "gres/", "License": "license/",
    "Billing": "billing",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Demand:
    """What one job asks for; `gpus`, `cpus`, `memory` (MiB) per node. None is unknown and breaks no limit.

    A job that names no GPU type is held to no limit on one (tried on 22.05). `minutes` is its time limit.
    """

    nodes: int
    gpus: int
    gpu_type: str | None
    cpus: int | None
    memory: int | None
    minutes: int | None

    def of(self, use: LimitUse) -> int | None:
        """How much of a limit's resource the job asks for, in all or, where the limit is for each node, on one."""
        if use.resource in ("jobs", "submitted"):
            return 1
        if use.resource == "minutes":
            return self.minutes if use.planned else 1
        for suffix in (TO_GO, SPENT):
            if use.resource.endswith(suffix):
                wanted = self._amount(use.resource.removesuffix(suffix), self.nodes)
                minutes = self.minutes if use.planned else 1
                return None if wanted is None or minutes is None else wanted * minutes
        return self._amount(use.resource, 1 if use.scope == "node" else self.nodes)

    def _amount(self, resource: str, nodes: int) -> int | None:
        if resource in ("gres/gpu", f"gres/gpu:{self.gpu_type}"):
            return self.gpus * nodes
        found = {"cpu": self.cpus, "mem": self.memory, "node": 1}.get(resource)
        return None if found is None else found * nodes

    def breaks(self, use: LimitUse) -> bool:
        """Whether the limit keeps the job from starting. Nodes where jobs of the same group run are not counted again,
        and Slurm then chooses those.
        """
        wanted = self.of(use)
        if not wanted:
            return False
        if use.resource == "node":
            return wanted > use.limit
        return wanted > use.left if use.planned else not use.left


def exceeded(uses: Iterable[LimitUse], demand: Demand) -> list[tuple[str, bool]]:
    """A sentence for each limit that keeps the job from starting, and whether waiting cannot help."""
    return [
        (told(use, demand.of(use)), use.planned and (demand.of(use) or 0) > use.limit)
        for use in uses
        if demand.breaks(use)
    ]


def only_on_used_nodes(uses: Iterable[LimitUse], demand: Demand) -> bool:
    """Whether a limit on nodes lets the job start only where jobs that it counts run already."""
    nodes = [use for use in uses if use.resource == "node" and use.used is not None]
    return any(not demand.breaks(use) and (demand.of(use) or 0) > use.left for use in nodes)


def longest(uses: Iterable[LimitUse], demand: Demand) -> float:
    """The longest time limit in minutes that no limit forbids; infinite where none does."""
    found = float("inf")
    for use in uses:
        if use.resource == "minutes" and use.planned:
            found = min(found, use.left)
        elif use.resource.endswith((TO_GO, SPENT)) and use.planned:
            each = dataclasses.replace(demand, minutes=1).of(use)
            found = min(found, use.left // each) if each else found
    return found


def told(use: LimitUse, wanted: int | None) -> str:
    """A limit as a sentence, with what a job asks for of it."""
    asks = ""
    if wanted and use.planned and use.resource not in ("jobs", "submitted"):
        asks = f"; this job asks for {amount(use.resource.removesuffix(' to go'), wanted)}"
    return f"{use.words[0].upper()}{use.words[1:]}{asks}."


def limits_sentence(limits: Limits) -> str:
    """What a person's own limits leave to one more job of the default account and QOS; empty without such limits."""
    account = limits.default_account()
    uses = limits.of_job("", None)
    if account is None or not uses:
        return ""
    full = [use for use in uses if use.used is not None and not use.left and not use.resource.startswith("gres/gpu")]
    of_gpus = [use for use in uses if use.resource.startswith("gres/gpu") and use.scope != "node"]
    tight: dict[str, LimitUse] = {}
    for use in sorted(of_gpus, key=lambda use: use.left):
        tight.setdefault(use.resource, use)
    sentences = [told(use, None) for use in (*full[:1], *tight.values())]
    qos = limits.default_qos(account, "")
    named = f"account {account}" + (f", QOS {qos}" if qos else "; its QOS is not known")
    return f"Your limits ({named}): {' '.join(sentences)}" if sentences else f"No limit on your GPUs ({named})."


def limits_of_reason(reason: str, uses: Iterable[LimitUse]) -> list[LimitUse]:
    """The limits that a reason such as QOSMaxGRESPerUser or AssocGrpCpuLimit can mean, the tightest first."""
    word = reason.partition(",")[0]
    if limited_resource(word) is None:
        return []
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
        if use.scope in scopes and _is_meant(use.resource, word) and of_account == ("QOS" not in use.whose)
    ]  # fmt: skip
    return sorted(found, key=lambda use: use.left)


def _is_meant(resource: str, word: str) -> bool:
    """Whether a limit on `resource` is what a reason speaks of."""
    name = counted(word)
    if name is None:
        return resource == ("minutes" if "Wall" in word else "submitted" if "Submit" in word else "jobs")
    suffix = TO_GO if "RunMin" in word else SPENT if "Minutes" in word else ""
    plain = resource.removesuffix(TO_GO).removesuffix(SPENT)
    return resource == plain + suffix and plain.startswith(_RESOURCES.get(name, name))
