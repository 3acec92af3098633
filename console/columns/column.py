"""One column of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from rich.cells import cell_len

R = TypeVar("R")
Cell = tuple[str, str]
"""(text, Rich style). The text is harmless already."""


@dataclass(frozen=True, slots=True)
class Column(Generic[R]):
    """`cell` gives text and style of a row, `sort` a comparable key.

    Widths are in cells, the title included. When the table is too narrow, columns with the lowest `rank` vanish first;
    `grow` takes what is left over.
    """

    title: str
    cell: Callable[[R], Cell]
    sort: Callable[[R], Any]
    max_width: int = 20
    right: bool = False
    rank: int = 5
    grow: bool = False


def layout(columns: Sequence[Column[R]], rows: Sequence[R], width: int) -> list[tuple[Column[R], int]]:
    """The columns that fit into `width` cells with their widths, one blank between two. Widths come from a sample."""
    sample = rows[:200]
    wanted = {}
    for column in columns:
        longest = max((cell_len(column.cell(row)[0]) for row in sample), default=0)
        wanted[column] = max(len(column.title) + 2, min(column.max_width, longest))
    chosen = list(columns)
    while len(chosen) > 1 and sum(_least(c, wanted[c]) for c in chosen) + len(chosen) - 1 > width:
        chosen.remove(min(reversed(chosen), key=lambda column: column.rank))
    spare = width - (len(chosen) - 1) - sum(_least(c, wanted[c]) for c in chosen)
    widths = {}
    for column in chosen:
        least = _least(column, wanted[column])
        extra = min(spare, wanted[column] - least)
        widths[column] = least + extra
        spare -= extra
    growing = [column for column in chosen if column.grow]
    if growing:
        widths[growing[-1]] += spare
    return [(column, widths[column]) for column in chosen]


def _least(column: Column[Any], wanted: int) -> int:
    """A column that grows may be squeezed down to twelve cells before others must go."""
    return min(wanted, 12) if column.grow else wanted
