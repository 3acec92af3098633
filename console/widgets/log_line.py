"""One row of a log, drawn: progress records dim with their bar coloured, matches marked, folded records counted."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from jobs.logs.lines import Row

_STAMP = re.compile(r" run=\S+ rank=\d+ seq=\d+ t=\S+ crc=[0-9a-f]{8}")
_DRAWN_BAR = re.compile(r"\[[#\-]+\]")


@dataclass(frozen=True)
class LineStyles:
    """The styles of a line's parts; all but `base` are laid over it."""

    base: Style
    progress: Style
    bar: Style
    folded: Style
    match: Style
    found: Style


def draw_row(row: Row, needle: str, found: bool, styles: LineStyles) -> Strip:
    """`row` uncropped; `found` marks its matches as those that the last search went to."""
    text = row.text
    spans: list[tuple[int, int, Style]] = []
    spans += [(*stamp.span(), styles.progress) for stamp in _STAMP.finditer(text)]
    if row.progress:
        spans.append((0, len(text), styles.progress))
        bar = _DRAWN_BAR.search(text)
        if bar:
            spans.append((*bar.span(), styles.bar))
    if needle:
        mark = styles.match + styles.found if found else styles.match
        flags = re.IGNORECASE if needle == needle.lower() else 0
        spans += [(*match.span(), mark) for match in re.finditer(re.escape(needle), text, flags)]
    segments = _segments(text, spans, styles.base)
    if row.count > 1:
        segments.insert(0, Segment(folded_note(row), styles.base + styles.folded))
    return Strip(segments, sum(cell_len(segment.text) for segment in segments))


def mark_cut(strip: Strip, style: Style) -> Strip:
    """`strip` with its last cell taken by a mark: the line goes on to the right."""
    width = strip.cell_length
    return Strip([*strip.crop(0, width - 1), Segment("›", style + Style(dim=True))], width) if width else strip


def folded_note(row: Row) -> str:
    """How many records lie under this one, and the key that shows them; in front, where a narrow screen shows it."""
    return f"(+{row.count - 1}, z) " if row.count > 1 else ""


def _segments(text: str, spans: list[tuple[int, int, Style]], base: Style) -> list[Segment]:
    """`text` cut where a span begins or ends, each part in the styles that cover it."""
    cuts = sorted({0, len(text), *(at for start, end, _ in spans for at in (start, end))})
    segments = []
    for start, end in itertools.pairwise(cuts):
        style = base
        for first, last, extra in spans:
            if first <= start and end <= last:
                style += extra
        segments.append(Segment(text[start:end], style))
    return segments
