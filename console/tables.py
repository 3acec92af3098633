"""The same answers as text: a table on a terminal, whole unpadded lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any, NoReturn, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from console.bars import bar_lines, largest, subtraction
from console.columns.column import Column, layout
from console.text import fit, safe
from jobs.slurm.availability import GpuCount

R = TypeVar("R")

USABLE = "Usable: idle, on a node that takes your jobs, with a CPU core and memory left for each."

_PIPE_WIDTH = 100_000


class _Output(Console):
    """Leaves a closed pipe to the caller; Rich would end the program with exit code 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def out(*, color: bool = True) -> Console:
    """Standard output; colours only on a terminal, and not with --no-color or NO_COLOR."""
    return _Output(no_color=not color, highlight=False, markup=False, emoji=False)


def print_rows(columns: Sequence[Column[R]], rows: Sequence[R], console: Console) -> None:
    """Fit to the terminal's width; in a pipe every column is whole and shown."""
    if console.is_terminal:
        placed = layout(columns, rows, console.width)
    else:
        placed = [(column, max(cell_len(text) for text in _texts(column, rows))) for column in columns]
    _line(console, [(column.title, w, column.right, "bold") for column, w in placed])
    for row in rows:
        cells = [(column.cell(row), w, column.right) for column, w in placed]
        _line(console, [(text, w, right, style) for (text, style), w, right in cells])


def print_gpus(counts: Sequence[GpuCount], console: Console) -> None:
    """Bars, the subtraction behind each, and what the words mean; in a pipe nothing is cut off."""
    if not counts:
        console.print("This cluster has no GPUs, or hides them.", soft_wrap=True)
        return
    *bars, legend = bar_lines(tuple(counts), min(100, console.width) if console.is_terminal else _PIPE_WIDTH)
    for bar, count in zip(bars, counts, strict=True):
        console.print(bar, soft_wrap=True)
        told = "; ".join(filter(None, (subtraction(count), largest(count))))
        console.print(Text(f"  {told}", "dim"), soft_wrap=True)
    console.print(legend, soft_wrap=True)
    console.print(USABLE, soft_wrap=True)


def print_facts(facts: Sequence[tuple[str, str]], console: Console) -> None:
    """Name and value pairs, one a line; control characters in values are shown, not sent."""
    width = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        console.print(Text(f"{name:<{width}}  ", "bold").append(safe(value), "not bold"), soft_wrap=True)


def complain(sentence: str, stream: IO[str] | None = None) -> None:
    """A sentence on standard error, with control characters neutralised."""
    print(f"slurmconsole: {safe(sentence)}", file=stream or sys.stderr)


def _texts(column: Column[R], rows: Sequence[R]) -> list[str]:
    """The column's title and the text of its cells."""
    return [column.title, *(column.cell(row)[0] for row in rows)]


def _line(console: Console, cells: Sequence[tuple[str, int, bool, Any]]) -> None:
    line = Text()
    for text, width, right, style in cells:
        line.append(fit(text, width, right=right), style)
        line.append("  " if not console.is_terminal else " ")
    line.rstrip()
    console.print(line, soft_wrap=True)
