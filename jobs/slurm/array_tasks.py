"""The tasks of an array as Slurm writes them: `1-4,7,10-20:5%2` (sbatch's man page, --array)."""

from __future__ import annotations

import re

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::([1-9]\d{0,8}))?)?\Z", re.ASCII)


def task_ranges(text: str) -> tuple[range, ...]:
    """The tasks as ranges; parts that cannot be read are left out."""
    matches = (_RANGE.match(part) for part in text.partition("%")[0].split(","))
    return tuple(range(int(m[1]), int(m[2] or m[1]) + 1, int(m[3] or 1)) for m in matches if m)


def task_count(text: str | None) -> int:
    """How many tasks; 1 where the text is not one of tasks."""
    return sum(map(len, task_ranges(text or ""))) or 1
