"""Slurm's GRES and TRES strings: how many GPUs of which type.

Grammars: gres.conf, slurm.conf and scontrol man pages of 20.11 to 26.05; forms seen in the field in
SlurmCommander#5, #11, slurm-usage#11, jupyterhub_moss#104.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FACTORS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}
_COUNT = re.compile(r"(\d{1,18})([KMGTP]?)\Z", re.ASCII | re.IGNORECASE)
_MEMORY = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)([KMGTP]?)[cn]?\Z", re.ASCII | re.IGNORECASE)
_ENTRIES = re.compile(r"(?:[^,(]|\([^)]*\)?)+")
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_SHARE = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
_MIG = re.compile(r"(?:^|[^0-9a-z])\d+g\.\d+gb", re.IGNORECASE)
_SHARED = ("shard", "mps")
_MIB = {"K": 2**-10, "": 1, "M": 1, "G": 2**10, "T": 2**20, "P": 2**30}


@dataclass(frozen=True, slots=True)
class Gres:
    """`count` devices of a generic resource. `type` is None when Slurm gives none or writes "(null)".

    `busy` is how many GPUs a used entry of shards or MPS has shared out, as its brackets name them.
    """

    name: str
    type: str | None
    count: int
    busy: int = 0


def parse_gres(text: str) -> tuple[Gres, ...]:
    """All entries of a node's Gres or GresUsed, or of a job's request; entries that cannot be read are left out."""
    if text in ("", "(null)", "N/A"):
        return ()
    entries = (_entry(part.strip()) for part in _ENTRIES.findall(text))
    return tuple(entry for entry in entries if entry is not None)


def _entry(text: str) -> Gres | None:
    text, _, brackets = text.replace(":(null)", ":\0").partition("(")
    text = text.removeprefix("gres/").removeprefix("gres:")
    name, *tokens = text.replace("=", ":").split(":")
    tokens = [token for token in tokens if token != "no_consume"]
    count = 1
    if tokens and (number := _number(tokens[-1])) is not None:
        count = number
        tokens.pop()
    if not name or len(tokens) > 1:
        return None
    kind = tokens[0] if tokens else None
    return Gres(name, None if kind in ("\0", "") else kind, count, _busy(brackets) if name in _SHARED else 0)


def _busy(brackets: str) -> int:
    """Devices in use of `IDX:0-1,3`, or since 23.11 of `2/4,0/4` (used/total of each)."""
    if brackets.startswith("IDX:"):
        ranges = _RANGE.findall(brackets[4:])
        return sum(max(0, int(high or low) - int(low) + 1) for low, high in ranges)
    return sum(1 for used, _ in _SHARE.findall(brackets) if int(used))


def is_mig(gpu_type: str | None) -> bool:
    """Whether a type is a MIG profile: `1g.10gb`, `nvidia_a100_80gb_pcie_1g.10gb`."""
    return gpu_type is not None and _MIG.search(gpu_type) is not None


def gpus_by_type(entries: tuple[Gres, ...]) -> dict[str | None, int]:
    """GPUs per type; the same type twice is a sum."""
    counts: dict[str | None, int] = {}
    for entry in entries:
        if entry.name == "gpu":
            counts[entry.type] = counts.get(entry.type, 0) + entry.count
    return counts


def gpus_taken(used: tuple[Gres, ...]) -> dict[str | None, int]:
    """GPUs per type that no job can have whole: held by jobs, or shared out as shards or MPS (gres.conf's man page)."""
    counts = gpus_by_type(used)
    for entry in used:
        if entry.name in _SHARED and entry.busy:
            counts[entry.type] = counts.get(entry.type, 0) + entry.busy
    return counts


def parse_tres(text: str) -> dict[str, str]:
    """`cpu=4,mem=8G,gres/gpu:a100=2` as a mapping; values stay text, since their units differ by key."""
    if text in ("", "(null)", "N/A"):
        return {}
    return dict(pair.split("=", 1) for pair in text.split(",") if "=" in pair)


def tres_gpus(tres: dict[str, str]) -> tuple[int | None, str | None]:
    """GPUs in a TRES mapping as (count, type).

    gres/gpu is the total and its types are contained in it. (None, None) when GPUs are not tracked, which is the
    default of AccountingStorageTRES; never 0 then. The type is None when there are several.
    """
    types = {key.split(":", 1)[1]: value for key, value in tres.items() if key.startswith("gres/gpu:")}
    counts = [count for value in types.values() if (count := _number(value)) is not None]
    kind = next(iter(types)) if len(types) == 1 else None
    total = _number(tres.get("gres/gpu", ""))
    if total is not None:
        return total, kind
    return (sum(counts), kind) if counts else (None, None)


def tres_gres(text: str) -> tuple[Gres, ...]:
    """The GPUs of a TRES string by type, as entries of GresUsed; those without a type as one without."""
    tres = parse_tres(text)
    typed = [Gres("gpu", key.split(":", 1)[1], _number(value) or 0) for key, value in tres.items()
             if key.startswith("gres/gpu:")]  # fmt: skip
    return tuple(typed) or (Gres("gpu", None, _number(tres.get("gres/gpu", "")) or 0),)


def _number(text: str) -> int | None:
    match = _COUNT.match(text)
    return int(match[1]) * _FACTORS[match[2].upper()] if match else None


def parse_memory(text: str) -> int | None:
    """Memory in MiB; a number without a unit is MiB already. None for "N/A", "UNLIMITED" and the like."""
    match = _MEMORY.match(text)
    return round(float(match[1]) * _MIB[match[2].upper()]) if match else None
