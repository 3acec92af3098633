"""Slurm's node list expressions: `gpu[01-03,05],rack[0-1]n[1-2]-ib`.

The grammar is that of `scontrol show hostnames`; text after the last bracket is legal since 23.11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

LIMIT = 100_000
_LIST = re.compile(r"(?:[^\[\]]|\[[^\[\]]*\])*\Z")
_ITEM = re.compile(r"(?:[^\[\],\s]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\]]*)\]|([^\[\]]+)")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?\Z", re.ASCII)
_NOTHING = {"", "(null)", "None assigned", "n/a", "N/A", "None"}


def expand(text: str) -> list[str]:
    """All names in order. Raises ValueError when the text is not a host list or names more than LIMIT hosts."""
    if text in _NOTHING:
        return []
    if not _LIST.match(text):
        raise ValueError(f"unbalanced brackets in node list {text[:60]!r}")
    names: list[str] = []
    for item in _ITEM.findall(text):
        names.extend(_expand_item(item))
        if len(names) > LIMIT:
            raise _too_many()
    return names


def first(text: str) -> str | None:
    """The first name of a list, or None when it is empty or cannot be read."""
    try:
        return next(iter(expand(text)), None)
    except ValueError:
        return None


def _expand_item(item: str) -> Iterator[str]:
    parts: list[list[str]] = []
    size = 1
    for ranges, literal in _PART.findall(item):
        values = [literal] if literal else _expand_ranges(ranges)
        size *= len(values)
        if size > LIMIT:
            raise _too_many()
        parts.append(values)
    return map("".join, product(*parts))


def _expand_ranges(ranges: str) -> list[str]:
    values: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.match(part)
        numbers = range(int(match[1]), int(match[2] or match[1]) + 1) if match else ()
        if match is None or not numbers:
            raise ValueError(f"{part[:30]!r} is not a range of a node list")
        if len(values) + len(numbers) > LIMIT:
            raise _too_many()
        width = len(match[1])
        values.extend(f"{number:0{width}d}" for number in numbers)
    return values


def _too_many() -> ValueError:
    return ValueError(f"node list names more than {LIMIT} nodes")
