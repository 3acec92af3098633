"""Slurm's durations and points in time as text -> timedelta and aware datetime."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_DURATION = re.compile(r"(?:(\d{1,9})-)?(\d{1,18})(?::(\d{1,9}))?(?::(\d{1,9}))?(?:\.\d+)?\Z", re.ASCII)
_EPOCH = re.compile(r"\d{1,18}\Z", re.ASCII)
_LAST_EPOCH = 253_402_214_400  # 9999-12-31 in UTC; the last day of datetime is left to time zones


def parse_duration(text: str) -> timedelta | None:
    """`M:SS`, `H:MM:SS`, `D-HH:MM:SS` as Slurm prints them; None for UNLIMITED, NOT_SET, INVALID, N/A, empty."""
    match = _DURATION.match(text)
    if match is None:
        return None
    days, *rest = match.groups()
    parts = [int(part) for part in rest if part is not None]
    if days is not None:
        hours, minutes, seconds = (*parts, 0, 0)[:3]
    else:
        hours, minutes, seconds = (*([0] * (3 - len(parts))), *parts)
    try:
        return timedelta(days=int(days or 0), hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        return None


def parse_time(text: str) -> datetime | None:
    """Epoch seconds or `YYYY-MM-DDTHH:MM:SS` local time; None for Unknown, None, N/A, 0 and the like."""
    if _EPOCH.match(text):
        epoch = int(text)
        if not 0 < epoch <= _LAST_EPOCH:
            return None
        return datetime.fromtimestamp(epoch, timezone.utc)
    try:
        return datetime.fromisoformat(text).astimezone() if "T" in text else None
    except (ValueError, OverflowError):
        return None


def is_unlimited(text: str) -> bool:
    """Whether a limit's text says that there is none."""
    return text.upper() in ("UNLIMITED", "INFINITE")


def format_duration(duration: timedelta | None) -> str:
    """`2-03:04:05`, `3:04:05` or `4:05`, as squeue writes it; an em dash when unknown."""
    if duration is None:
        return "—"
    seconds = max(0, int(duration.total_seconds()))
    days, seconds = divmod(seconds, 86400)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
