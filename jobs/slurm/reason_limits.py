"""Reasons that name a limit: whose, over what, counted how. Some 160 of Slurm's reasons are built by these rules.

Meanings: the limits of associations and QOS as slurmctld's acct_policy.c applies them (releases 20.11 to 26.05).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from jobs.slurm.reason_words import Explanation, Kind


class _Resource(NamedTuple):
    """How a sentence speaks of a resource: "so many CPUs", "fewer CPUs", "CPU minutes"."""

    what: str
    minutes: str
    counted: bool = False


_RESOURCES = {
    "BB": _Resource("burst buffer space (fast storage)", "burst buffer minutes"),
    "Billing": _Resource("billing units (what a job costs)", "billing minutes", counted=True),
    "Cpu": _Resource("CPUs", "CPU minutes", counted=True),
    "Energy": _Resource("energy", "energy minutes"),
    "GRES": _Resource("GPUs or other generic resources", "minutes of GPUs or other generic resources", True),
    "License": _Resource("licences", "licence minutes", counted=True),
    "Mem": _Resource("memory", "memory minutes"),
    "Node": _Resource("nodes", "node minutes", counted=True),
    "Unknown": _Resource("of a resource that Slurm does not name", "minutes of a resource that Slurm does not name"),
}
_RESOURCES |= {"CPU": _RESOURCES["Cpu"], "Memory": _RESOURCES["Mem"]}

_OWNERS = {"Assoc": "account", "QOS": "QOS"}
_WHERE = {
    "Assoc": "sacctmgr show assoc lists the limits, also those of the accounts above and of your part in it.",
    "QOS": "sacctmgr show qos lists the limits of each QOS (class of service); a partition may have one of its own.",
}
_PER = {"User": "one user", "Account": "one account"}


class _Rule(NamedTuple):
    pattern: str
    text: str
    action: str
    kind: Kind


_OWNER = "(?P<owner>Assoc|QOS)"
_R = r"(?P<resource>[A-Z]\w*?)"
_ONE = "(?P<per>User|Account)"
_RULES = (
    _Rule(
        f"{_OWNER}Grp(?P<state>Submit)?JobsLimit",
        "All users of its {owner} together have as many jobs {state} as they may.",
        "Wait for jobs to end.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}GrpWallLimit",
        "All jobs of its {owner} together have used the run time that they may use.",
        "Wait until past usage counts less, or ask the head of your account for more.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}Grp{_R}RunMinutes(?:Limit)?",
        "All running jobs of its {owner} together may have only so many {minutes} (amount times time left) to go.",
        "Wait for jobs to end, take a shorter time limit, or ask for {fewer} {what}.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}Grp{_R}Minutes(?:Limit)?",
        "All jobs of its {owner} together, past and present, may use only so many {minutes} (amount times run time).",
        "Wait until past usage counts less, take a shorter time limit, or ask the head of your account for more.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}Grp{_R}(?:Limit)?",
        "All running jobs of its {owner} together may have only {so} {what}.",
        "Wait for jobs to end, or ask for {fewer} {what}.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}Max(?P<state>Jobs|SubmitJob)(?:PerUser)?Limit",
        "Its {owner} lets one user have only so many jobs {state} at a time.",
        "Wait for your own jobs to end.",
        "limit",
    ),
    _Rule(
        "Max(?P<state>Jobs|SubmitJobs)PerAccount",
        "Its QOS lets one account have only so many jobs {state} at a time.",
        "Wait for jobs of your account to end.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}MaxWallDurationPerJobLimit",
        "Its time limit is longer than its {owner} allows.",
        "Take a shorter time limit.",
        "never",
    ),
    _Rule(
        f"{_OWNER}Max{_R}MinutesPerJob(?:Limit)?",
        "Its {owner} lets one job use only so many {minutes} (amount times time limit), and it asks for more.",
        "Take a shorter time limit, or ask for {fewer} {what}.",
        "never",
    ),
    _Rule(
        f"Max{_R}RunMinsPer{_ONE}",
        "Its QOS lets the running jobs of {one} have only so many {minutes} (amount times time left) to go.",
        "Wait for {yours} to end, take a shorter time limit, or ask for {fewer} {what}.",
        "limit",
    ),
    _Rule(
        f"(?:QOS)?Max{_R}Per{_ONE}(?:Limit)?",
        "Its QOS lets {one} have only {so} {what} at a time.",
        "Wait for {yours} to end, or ask for {fewer} {what}.",
        "limit",
    ),
    _Rule(
        f"{_OWNER}Max{_R}Per(?P<per>Job|Node)(?:Limit)?",
        "Its {owner} lets one job have only {so} {what}{each}, and it asks for more.",
        "Ask for {fewer} {what}{each}.",
        "never",
    ),
    _Rule(
        f"(?P<owner>QOS)Min{_R}(?:NotSatisfied)?",
        "Its QOS demands that a job asks for more {what}.",
        "Ask for more {what}, or choose another QOS.",
        "never",
    ),
)


def limit(word: str) -> Explanation | None:
    """What a reason that names a limit means; None for other words. A resource of a later release keeps its name."""
    rule, parts = _rule_of(word)
    if rule is None:
        return None
    owner = parts.get("owner", "QOS")
    words = _words(parts, owner)
    if word == "AssocMaxBBMinutesPerJob":  # slurmctld prints it for the limit of a QOS too
        words["owner"] = "account or QOS"
    return Explanation(rule.text.format(**words), f"{rule.action.format(**words)} {_WHERE[owner]}", rule.kind)


def limited_resource(word: str) -> str | None:
    """Slurm's name of what a reason limits: "GRES", "Cpu", "Mem", "Node", ..., "Wall", "Jobs"; None for other words."""
    rule, parts = _rule_of(word)
    if rule is None:
        return None
    return "Wall" if re.search("Minutes|RunMins|Wall", word) else parts.get("resource", "Jobs")


def counted(word: str) -> str | None:
    """Slurm's name of the resource, also where its minutes are limited: "GRES", "CPU"; None where none is named."""
    return _rule_of(word)[1].get("resource")


def _rule_of(word: str) -> tuple[_Rule | None, dict[str, str]]:
    """The first rule that fits, and the parts of the word that it names."""
    for rule in _RULES:
        found = re.fullmatch(rule.pattern, word)
        if found:
            return rule, {name: value for name, value in found.groupdict().items() if value}
    return None, {}


def _words(parts: dict[str, str], owner: str) -> dict[str, str]:
    """What a rule's sentences are filled with."""
    name = parts.get("resource", "")
    resource = _RESOURCES.get(name, _Resource(name, f"{name} minutes"))
    per = parts.get("per", "")
    return {
        "owner": _OWNERS[owner],
        "state": "queued or running" if "Submit" in parts.get("state", "") else "running",
        "what": resource.what,
        "minutes": resource.minutes,
        "so": "so many" if resource.counted else "so much",
        "fewer": "fewer" if resource.counted else "less",
        "one": _PER.get(per, ""),
        "yours": "your own jobs" if per == "User" else "jobs of your account",
        "each": " on each node" if per == "Node" else "",
    }
