"""Text from Slurm made harmless for a terminal, and small formats that all views share."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from rich.cells import cell_len, set_cell_size

from jobs.slurm.clock import wall_clock
from jobs.slurm.times import format_duration

_CONTROLS = {code: 0x2400 + code for code in range(0x20)}
_CONTROLS[0x7F] = 0x2421
_CONTROLS.update(dict.fromkeys(range(0x80, 0xA0), 0xFFFD))
_CONTROLS.update(dict.fromkeys(range(0xD800, 0xE000), 0xFFFD))
_CONTROLS.update(dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029, 0xFEFF], 0xFFFD))

_DECADES = 1e9
"""Seconds. A log may claim times of any size, infinity included."""


def safe(text: str) -> str:
    """Control characters as pictures (ESC is ␛); C1 controls, lone surrogates and direction overrides as U+FFFD."""
    return text if text.isascii() and text.isprintable() else text.translate(_CONTROLS)


def safe_lines(text: str) -> str:
    """Like `safe`, but newlines and tabs stay what they are."""
    return "\n".join(safe(line.expandtabs(4)) for line in text.split("\n"))


def fit(text: str, width: int, *, right: bool = False) -> str:
    """Exactly `width` cells; what is cut off is marked with an ellipsis."""
    length = cell_len(text)
    if length > width:
        return set_cell_size(text, width - 1) + "…" if width > 0 else ""
    padding = " " * (width - length)
    return padding + text if right else text + padding


def age(seconds: float) -> str:
    """`4 s`, `3 min`, `2 h`, `5 d`: one unit is enough for an age."""
    if seconds < 100:
        return f"{max(0, int(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    if seconds < 172_800:
        return f"{round(seconds / 3600)} h"
    return f"{round(seconds / 86400)} d" if seconds < _DECADES else "decades"


def clock(moment: datetime | None) -> str:
    """Local time of day, with the date when it is another day; a dash when unknown."""
    if moment is None:
        return "—"
    local = moment.astimezone()
    return local.strftime("%H:%M" if local.date() == datetime.fromtimestamp(wall_clock()).date() else "%b %d %H:%M")


def since(moment: datetime | None, now: float | None = None) -> timedelta | None:
    """Time passed since `moment`, or None when it is unknown or lies ahead."""
    if moment is None:
        return None
    passed = (wall_clock() if now is None else now) - moment.timestamp()
    return timedelta(seconds=passed) if passed >= 0 else None


def memory(mib: int | None) -> str:
    """MiB as `512M`, `16G`, `1.5T`; a dash when unknown."""
    if mib is None:
        return "—"
    for unit, size in (("T", 2**20), ("G", 2**10)):
        if mib >= size:
            value = mib / size
            return f"{value:.0f}{unit}" if value >= 10 or value == int(value) else f"{value:.1f}{unit}"
    return f"{mib}M"


def number(value: float | None) -> str:
    """Four significant digits, thousands with a blank; a dash when unknown."""
    if value is None:
        return "—"
    if not 1000 <= abs(value) < 1e12:
        return f"{value:.4g}"
    return f"{value:,.0f}".replace(",", " ")


def duration(seconds: float | None) -> str:
    """Seconds as `3:04:05`; a dash when unknown. Guesses of an ETA may be of any size."""
    if seconds is None or math.isnan(seconds):
        return "—"
    return format_duration(timedelta(seconds=seconds)) if seconds < _DECADES else "decades"


def plural(count: int, word: str) -> str:
    """`1 job`, `2 jobs`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
