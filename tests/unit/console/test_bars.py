from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from console.bars import PARTS, bar_lines, count_parts, largest, subtraction
from jobs.slurm.availability import GpuCount
from jobs.slurm.blocks import Block

CAUSES = st.dictionaries(st.sampled_from(["down", "drained", "no CPU"]), st.integers(1, 5000), max_size=3)
NUMBERS = st.integers(0, 50_000)


@st.composite
def gpu_counts(draw: st.DrawFn) -> GpuCount:
    usable, allocated, unavailable, stranded = draw(NUMBERS), draw(NUMBERS), draw(CAUSES), draw(CAUSES)
    total = usable + allocated + sum(unavailable.values()) + sum(stranded.values())
    kind = draw(st.none() | st.sampled_from(["a100", "nvidia_a100_80gb_pcie_1g.10gb", "\x1b[31mx", "日本"]))
    return GpuCount(kind, total, allocated, unavailable, stranded, usable)


COUNTS = st.lists(gpu_counts(), min_size=1, max_size=5)


def cells(line: str) -> dict[str, int]:
    """How many cells each part has in a line."""
    return {what: line.count(glyph) for what, glyph, _ in PARTS}


@given(gpu_counts())
def test_the_parts_are_the_total(count: GpuCount) -> None:
    assert sum(count_parts(count)) == count.total


@given(gpu_counts(), st.integers(20, 200))
def test_every_part_that_is_not_zero_has_a_cell_and_no_other(count: GpuCount, width: int) -> None:
    drawn = cells(bar_lines((count,), width)[0].plain)
    parts = dict(zip((what for what, _, _ in PARTS), count_parts(count), strict=True))
    assert {what for what, number in drawn.items() if number} == {what for what, number in parts.items() if number}


@given(COUNTS, st.integers(60, 200))
def test_no_line_is_wider_than_the_terminal_and_the_numbers_are_in_one_column(
    counts: list[GpuCount], width: int
) -> None:
    *bars, legend = bar_lines(tuple(counts), width)
    assert len({line.cell_len for line in bars}) == 1
    assert max(line.cell_len for line in (*bars, legend)) <= width
    assert "\x1b" not in "".join(line.plain for line in bars)


@given(COUNTS)
def test_the_largest_type_has_the_longest_bar(counts: list[GpuCount]) -> None:
    lengths = [sum(cells(line.plain).values()) for line in bar_lines(tuple(counts), 100)[:-1]]
    largest = max(counts, key=lambda count: count.total)
    assert not largest.total or lengths[counts.index(largest)] == max(lengths)


@pytest.mark.parametrize(("parts", "drawn"), [
    ((64, 0, 0, 0), (64, 0, 0, 0)),
    ((32, 16, 8, 8), (32, 16, 8, 8)),
    ((1, 99999, 1, 1), (1, 61, 1, 1)),
    ((0, 3, 0, 1), (0, 48, 0, 16)),
    ((0, 0, 0, 0), (0, 0, 0, 0)),
])  # fmt: skip
def test_cells_are_shared_out_in_proportion(parts: tuple[int, ...], drawn: tuple[int, ...]) -> None:
    usable, allocated, stranded, unavailable = parts
    count = GpuCount("a100", sum(parts), allocated, {"down": unavailable}, {"no CPU": stranded}, usable)
    assert tuple(cells(bar_lines((count,), 200)[0].plain).values()) == drawn


def test_the_legend_adds_up_the_causes() -> None:
    counts = (
        GpuCount("a100", 10, 4, {"down": 3}, {"no CPU": 2}, 1),
        GpuCount("h100", 4, 0, {"down": 1, "drained": 3}, {}, 0),
    )
    legend = bar_lines(counts, 200)[-1].plain
    assert legend == "█ 1 usable   ░ 4 allocated   ▒ 2 stranded (2 no CPU)   ╳ 7 unavailable (4 down, 3 drained)"
    assert cell_len(bar_lines(counts, 40)[-1].plain) <= 40


def test_a_wide_terminal_shows_the_whole_nodes() -> None:
    count = GpuCount("a100", 8, usable=8, whole_nodes=1)
    assert "8 usable of 8" in bar_lines((count,), 80)[0].plain
    assert "1 whole node" in bar_lines((count,), 100)[0].plain
    assert "whole" not in bar_lines((count,), 99)[0].plain


def test_the_subtraction_is_shown_with_the_largest_cause_first() -> None:
    count = GpuCount("a100", 16, 6, {"drained": 1, "down": 3}, {"no CPU": 2}, 4)
    assert subtraction(count) == "16 - 6 allocated - 3 down - 2 no CPU - 1 drained = 4 usable"
    assert subtraction(GpuCount("a100", 4, usable=4)) == "4 = 4 usable"


@given(gpu_counts())
def test_the_subtraction_adds_up(count: GpuCount) -> None:
    left, _, right = subtraction(count).partition(" = ")
    first, *others = left.split(" - ")
    assert int(first) - sum(int(part.partition(" ")[0]) for part in others) == int(right.partition(" ")[0])


def test_the_largest_job_is_told_where_there_is_one() -> None:
    count = GpuCount("a100", 16, usable=4, largest_block=Block(1, 4, "main"))
    assert largest(count) == "one job could have 1 node x 4 GPUs in main"
    assert largest(GpuCount("a100", 16)) == ""


def test_where_the_causes_push_a_sum_out_the_sums_stay() -> None:
    causes = {f"cause {number}": 10 for number in range(8)}
    count = GpuCount("a100", 240, 50, causes, causes, 30)
    assert bar_lines((count,), 80)[-1].plain == "█ 30 usable   ░ 50 allocated   ▒ 80 stranded   ╳ 80 unavailable"
    assert "(10 cause 0" in bar_lines((count,), 300)[-1].plain
