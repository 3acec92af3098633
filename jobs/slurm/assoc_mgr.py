"""Text of `scontrol show assoc_mgr` -> associations and QOS with limits and what is used of them.

A limit is written `limit(used)`, `N(used)` where there is none, and without brackets where a single job is limited
(info_assoc_mgr.c of scontrol, releases 20.11 to 26.05). Nothing here raises on any input.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_VALUE = re.compile(r"(\d{1,18}|N)(?:\((\d{1,18})(?:\.\d+)?\))?\Z", re.ASCII)
_NAME = re.compile(r"([^(]*)(?:\((\d{1,18})\))?\Z", re.ASCII)
_PAIR = re.compile(r"(?<!\S)([^\s=]+)=(\S*)")


@dataclass(frozen=True, slots=True)
class Use:
    """`limit` None: there is none. `used` None: it is not counted, since it limits each job by itself."""

    limit: int | None
    used: int | None


Uses = Mapping[str, Use]
"""By resource as TRES are written: cpu, mem (MiB), node, gres/gpu, gres/gpu:a100, ..."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What limits one group of jobs. `tres` by resource; `jobs` run, `submitted` ones also wait."""

    jobs: Use = Use(None, None)
    submitted: Use = Use(None, None)
    tres: Uses = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Association:
    """A user in an account, or with `user` empty an account. `group` counts all below it, `own` the user's jobs.

    `wall` is in minutes. `partition` is empty unless the association is for one partition.
    """

    cluster: str
    account: str
    user: str
    partition: str
    parent: str
    group: Counts
    own: Counts
    per_job: Uses
    per_node: Uses
    wall: int | None


@dataclass(frozen=True, slots=True)
class Qos:
    """A QOS. `by_user` and `by_account` are keyed by name or, in older releases, by the user's number."""

    name: str
    group: Counts
    by_user: Mapping[str, Counts]
    by_account: Mapping[str, Counts]
    per_job: Uses
    per_node: Uses
    wall: int | None


@dataclass(frozen=True, slots=True)
class AssocMgr:
    """Everything that was printed: associations of accounts and of one user, QOS, and the user's default account."""

    default_account: str | None
    associations: tuple[Association, ...]
    qos: Mapping[str, Qos]


def parse_assoc_mgr(text: str, user: str) -> AssocMgr:
    """Read the answer; associations of other users are left out."""
    default, associations, qos = None, [], {}
    for block in _blocks(text):
        first = dict(_PAIR.findall(block[0]))
        if "ClusterName" in first:
            owner = _name(first.get("UserName", ""))
            if owner in ("", user):
                associations.append(_association(_pairs(block), owner))
        elif block[0].startswith("QOS="):
            name = _name(block[0][4:].strip())
            qos[name] = _qos(name, block)
        elif _name(first.get("UserName", "")) == user:
            default = first.get("DefAccount") or None
    return AssocMgr(default, tuple(associations), qos)


def _blocks(text: str) -> list[list[str]]:
    """A line that is not indented and has a pair begins a record; the indented ones after it belong to it."""
    blocks: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith(" "):
            if blocks:
                blocks[-1].append(line)
        elif "=" in line:
            blocks.append([line])
    return blocks


def _pairs(lines: list[str]) -> dict[str, str]:
    return {key: value for line in lines for key, value in _PAIR.findall(line)}


def _association(pairs: Mapping[str, str], user: str) -> Association:
    return Association(
        cluster=pairs.get("ClusterName", ""),
        account=pairs.get("Account", ""),
        user=user,
        partition=pairs.get("Partition", ""),
        parent=_name(pairs.get("ParentAccount", "")),
        group=Counts(_use(pairs, "GrpJobs"), _use(pairs, "GrpSubmitJobs"), _uses(pairs.get("GrpTRES", ""))),
        own=Counts(_use(pairs, "MaxJobs"), _use(pairs, "MaxSubmitJobs")),
        per_job=_uses(pairs.get("MaxTRESPJ", "")),
        per_node=_uses(pairs.get("MaxTRESPN", "")),
        wall=_use(pairs, "MaxWallPJ").limit,
    )


def _qos(name: str, block: list[str]) -> Qos:
    own: list[str] = []
    parts: dict[str, dict[str, list[str]]] = {"Account Limits": {}, "User Limits": {}}
    part: dict[str, list[str]] | None = None
    owner = ""
    for line in block[1:]:
        words = line.strip()
        if words in parts:
            part = parts[words]
        elif part is None:
            own.append(line)
        elif "=" not in words:
            owner = words
        else:
            part.setdefault(owner, []).append(line)
    pairs = _pairs(own)
    return Qos(
        name=name,
        group=Counts(_use(pairs, "GrpJobs"), _use(pairs, "GrpSubmitJobs"), _uses(pairs.get("GrpTRES", ""))),
        by_user={_name(who): _counts(_pairs(lines), "PU") for who, lines in parts["User Limits"].items()},
        by_account={who: _counts(_pairs(lines), "PA") for who, lines in parts["Account Limits"].items()},
        per_job=_uses(pairs.get("MaxTRESPJ", "")),
        per_node=_uses(pairs.get("MaxTRESPN", "")),
        wall=_use(pairs, "MaxWallPJ").limit,
    )


def _counts(pairs: Mapping[str, str], suffix: str) -> Counts:
    jobs, submitted = _use(pairs, f"MaxJobs{suffix}"), _use(pairs, f"MaxSubmitJobs{suffix}")
    return Counts(jobs, submitted, _uses(pairs.get(f"MaxTRES{suffix}", "")))


def _name(text: str) -> str:
    """`root` of `root(0)`."""
    match = _NAME.match(text)
    return match[1] if match else text


def _use(pairs: Mapping[str, str], key: str) -> Use:
    match = _VALUE.match(pairs.get(key, ""))
    if match is None:
        return Use(None, None)
    return Use(None if match[1] == "N" else int(match[1]), int(match[2]) if match[2] else None)


def _uses(text: str) -> dict[str, Use]:
    """`cpu=N(2),gres/gpu=12(6)`; a resource without limit and without use is left out."""
    found = {}
    for part in text.split(","):
        name, _, value = part.rpartition("=")
        use = _use({"": value}, "")
        if name and use != Use(None, None):
            found[name] = use
    return found
