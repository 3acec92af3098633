"""The same answers as text: a table on a terminal, whole unpadded lines in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import IO, Any, NoReturn, TypeVar

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from console.bars import bar_lines, largest, legend_line, subtraction
from console.causes import meanings
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


def say(console: Console, text: str | Text, style: str = "", indent: int = 0) -> None:
    """A sentence: on a terminal broken between words, with `indent` blanks before each line; in a pipe one line."""
    line = Text(text, style) if isinstance(text, str) else text
    if console.is_terminal:
        console.print(Padding.indent(line, indent), soft_wrap=False)
    else:
        console.print(Text(" " * indent).append_text(line), soft_wrap=True)


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
    """Bars, the subtraction behind each, and what the shapes mean; in a pipe nothing is cut off."""
    if not counts:
        console.print("This cluster has no GPUs, or hides them.", soft_wrap=True)
        return
    width = min(100, console.width) if console.is_terminal else _PIPE_WIDTH
    bars, legend = bar_lines(tuple(counts), width)[:-1], legend_line(tuple(counts))
    for bar, count in zip(bars, counts, strict=True):
        console.print(bar, soft_wrap=True)
        sum_up = "all usable" if 0 < count.usable == count.total else subtraction(count)
        told = "; ".join(filter(None, (sum_up, largest(count))))
        say(console, told, "dim", indent=2)
    say(console, legend)
    say(console, USABLE)


def print_meanings(counts: Sequence[GpuCount], console: Console) -> None:
    """What each cause in the subtractions means, one a line."""
    print_facts(meanings(counts), console)


def print_facts(facts: Sequence[tuple[str, str]], console: Console) -> None:
    """Name and value pairs, one a line; control characters in values are shown, not sent."""
    width = max((len(name) for name, _ in facts), default=0)
    for name, value in facts:
        if not console.is_terminal:
            console.print(Text().append(f"{name:<{width}}  ", "bold").append(safe(value)), soft_wrap=True)
            continue
        lines = Text(safe(value)).wrap(console, max(10, console.width - width - 2))
        for number, line in enumerate(lines or [Text()]):
            label = f"{'' if number else name:<{width}}  "
            console.print(Text().append(label, "bold").append_text(line), soft_wrap=True)


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
