"""Slurm's node list expressions: `gpu[01-03,05],rack[0-1]n[1-2]-ib`.

The grammar is that of `scontrol show hostnames`; text after the last bracket is legal since 23.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

LIMIT = 100_000
_ITEM = re.compile(r"(?:[^\[\],\s]|\[[^\]]*\])+")
_PART = re.compile(r"\[([^\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?\Z", re.ASCII)
_NOTHING = {"", "(null)", "None assigned", "n/a", "N/A", "None"}


def expand(text: str) -> list[str]:
    """All names in order. Raises ValueError when the text is not a host list or names more than LIMIT hosts."""
    if text in _NOTHING:
        return []
    if text.count("[") != text.count("]"):
        raise ValueError(f"unclosed bracket in node list {text[:60]!r}")
    names: list[str] = []
    for item in _ITEM.findall(text):
        for name in _expand_item(item):
            names.append(name)
            if len(names) > LIMIT:
                raise ValueError(f"node list names more than {LIMIT} nodes")
    return names


def first(text: str) -> str | None:
    """The first name of a list, or None when it is empty or cannot be read."""
    try:
        return next(iter(expand(text)), None)
    except ValueError:
        return None


def _expand_item(item: str) -> Iterator[str]:
    parts: list[Iterable[str]] = []
    for ranges, literal in _PART.findall(item):
        parts.append([literal] if literal else _expand_ranges(ranges))
    return map("".join, product(*parts))


def _expand_ranges(ranges: str) -> list[str]:
    values: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.match(part.strip())
        if match is None:
            raise ValueError(f"{part[:30]!r} is not a range of a node list")
        low, high = int(match[1]), int(match[2] or match[1])
        if high - low >= LIMIT:
            raise ValueError(f"node list names more than {LIMIT} nodes")
        width = len(match[1])
        values.extend(f"{number:0{width}d}" for number in range(low, high + 1))
    return values
