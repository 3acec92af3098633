"""GPUs by type drawn as bars; used by the console and by the plain commands."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from console.text import fit, plural, safe
from jobs.slurm.availability import GpuCount

PARTS = (
    ("usable", "█", "green"),
    ("allocated", "░", "blue"),
    ("stranded", "▒", "yellow"),
    ("unavailable", "╳", "red"),
)
"""(what, cell, colour): told apart by shape as well as by colour."""


def bar_lines(counts: tuple[GpuCount, ...], width: int) -> list[Text]:
    """The bars for a given width, then a legend."""
    names = [safe(count.gpu_type or "gpu") for count in counts]
    longest = max(count.total for count in counts)
    digits = max(4, len(str(longest)))
    numbers = [_numbers(count, width, digits) for count in counts]
    room = width - max(map(len, numbers)) - 3
    name_width = min(max(8, room - 8), max(map(cell_len, names)))
    bar_width = max(8, min(64, room - name_width))
    lines = []
    for name, number, count in zip(names, numbers, counts, strict=True):
        line = Text(fit(name, name_width) + " ", "bold")
        line.append(_bar(count, max(4, min(bar_width, round(bar_width * count.total / max(1, longest))))))
        line.append(" " * (bar_width - line.cell_len + name_width + 1))
        line.append(f" {number}", "bold green" if count.usable else "yellow")
        lines.append(line)
    lines.append(_legend(counts, width))
    return lines


def _numbers(count: GpuCount, width: int, digits: int) -> str:
    """`12 usable of 16`, and where there is room how many nodes are wholly free, which is what DDP jobs look for."""
    text = f"{count.usable:>{digits}} usable of {count.total:<{digits}}"
    return text + f" {plural(count.whole_nodes, 'whole node'):<14}" if width >= 100 else text


def subtraction(count: GpuCount) -> str:
    """`16 - 6 allocated - 4 drained - 2 no CPU = 4 usable`, the largest cause first."""
    causes = [*count.unavailable.items(), *count.stranded.items()]
    parts = [(what, number) for what, number in sorted(causes, key=lambda pair: -pair[1]) if number]
    if count.allocated:
        parts.insert(0, ("allocated", count.allocated))
    taken = "".join(f" - {number} {what}" for what, number in parts)
    return f"{count.total}{taken} = {count.usable} usable"


def largest(count: GpuCount) -> str:
    """`one job could have 3 nodes x 4 GPUs in a100`; empty where it could have none."""
    block = count.largest_block
    if block is None:
        return ""
    size = f"{plural(block.nodes, 'node')} x {plural(block.gpus_per_node, 'GPU')}"
    return f"one job could have {size} in {safe(block.partition)}"


def count_parts(count: GpuCount) -> tuple[int, int, int, int]:
    """Usable, allocated, stranded, unavailable, as in PARTS; their sum is the total."""
    return count.usable, count.allocated, sum(count.stranded.values()), sum(count.unavailable.values())


def _bar(count: GpuCount, width: int) -> Text:
    """Largest remainders: every part that is not zero gets a cell."""
    parts = count_parts(count)
    total = max(1, sum(parts))
    cells = [max(1, part * width // total) if part else 0 for part in parts]
    while sum(cells) > width and max(cells) > 1:
        cells[cells.index(max(cells))] -= 1
    while sum(cells) < width and any(parts):
        short = [part * width / total - cell for part, cell in zip(parts, cells, strict=True)]
        cells[short.index(max(short))] += 1
    bar = Text()
    for number, (_, glyph, colour) in zip(cells, PARTS, strict=True):
        bar.append(glyph * number, colour)
    return bar


def _legend(counts: tuple[GpuCount, ...], width: int) -> Text:
    """The legend as far as there is room: without causes where these would push one of the sums out."""
    legend = legend_line(counts)
    last = max((legend.plain.rfind(f" {what}") + len(what) for what, _, _ in PARTS), default=0)
    if last >= width - 1:
        legend = legend_line(counts, causes=False)
    legend.truncate(max(10, width), overflow="ellipsis")
    return legend


def legend_line(counts: tuple[GpuCount, ...], *, causes: bool = True) -> Text:
    """What the shapes mean, with the sums and the causes."""
    sums = [sum(values) for values in zip(*map(count_parts, counts), strict=True)]
    legend = Text()
    for number, (what, glyph, colour) in zip(sums, PARTS, strict=True):
        if number:
            legend.append("   " if legend else "")
            legend.append(f"{glyph} ", colour)
            legend.append(f"{number} {what}{_causes(counts, what) if causes else ''}", "dim")
    return legend


def _causes(counts: tuple[GpuCount, ...], what: str) -> str:
    if what not in ("stranded", "unavailable"):
        return ""
    causes: dict[str, int] = {}
    for count in counts:
        for cause, number in getattr(count, what).items():
            causes[cause] = causes.get(cause, 0) + number
    ordered = sorted(causes.items(), key=lambda pair: -pair[1])
    return f" ({', '.join(f'{number} {cause}' for cause, number in ordered)})"
