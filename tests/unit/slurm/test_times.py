"""Durations and points in time, as the man pages of squeue, scontrol, sinfo and sacct describe them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.slurm.times import format_duration, is_unlimited, parse_duration, parse_time


def duration(days: int = 0, hours: int = 0, minutes: int = 0, seconds: int = 0) -> timedelta:
    return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:00", duration()),
        ("0:09", duration(seconds=9)),
        ("20:00", duration(minutes=20)),
        ("1:02:03", duration(hours=1, minutes=2, seconds=3)),
        ("00:30:00", duration(minutes=30)),
        ("2-00:00:00", duration(days=2)),
        ("365-00:00:00", duration(days=365)),
        ("14-23:59:59", duration(days=14, hours=23, minutes=59, seconds=59)),
        ("1-02:03", duration(days=1, hours=2, minutes=3)),
        ("1-12", duration(days=1, hours=12)),
        ("00:12.345", duration(seconds=12)),
        ("100:00:00", duration(hours=100)),
    ],
)
def test_a_duration_is_read(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "UNLIMITED", "infinite", "NOT_SET", "INVALID", "Partition_Limit", "N/A", "n/a", "NONE", "None", "-1:00",
     "1:2:3:4", "1-", "999999999-24:00:00", "9" * 5000, "²:00"],
)  # fmt: skip
def test_a_word_is_no_duration(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(("text", "answer"), [("UNLIMITED", True), ("infinite", True), ("N/A", False), ("1:00", False)])
def test_no_limit_is_told_from_an_unknown_one(text: str, answer: bool) -> None:
    assert is_unlimited(text) is answer


@pytest.fixture
def new_york(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_epoch_seconds_are_a_time_in_utc() -> None:
    assert parse_time("1796095650") == datetime(2026, 12, 1, 3, 27, 30, tzinfo=timezone.utc)


@pytest.mark.usefixtures("new_york")
def test_a_stamp_is_local_time_of_this_machine() -> None:
    assert parse_time("2026-12-01T03:27:30") == datetime(2026, 12, 1, 8, 27, 30, tzinfo=timezone.utc)
    assert parse_time("2026-07-01T03:27:30") == datetime(2026, 7, 1, 7, 27, 30, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    "text",
    ["", "0", "Unknown", "None", "NONE", "N/A", "(null)", "INVALID", "Ystday 10:00", "2026-13-01T00:00:00",
     "4294967295999", "9" * 5000, "²", "T", "-5"],
)  # fmt: skip
def test_a_word_is_no_time(text: str) -> None:
    assert parse_time(text) is None


@given(st.one_of(st.text(), st.text("0123456789-:T."), st.from_regex(r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:00:00\Z")))
def test_any_text_gives_a_duration_and_an_aware_time_or_none(text: str) -> None:
    parsed = parse_time(text)
    assert parsed is None or parsed.tzinfo is not None
    assert (parse_duration(text) or timedelta()) >= timedelta()


@given(st.integers(0, 10**8))
def test_a_formatted_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(timedelta(seconds=seconds))) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(seconds=9), "0:09"),
        (timedelta(hours=3, minutes=4, seconds=5), "3:04:05"),
        (timedelta(days=2, hours=3, minutes=4, seconds=5), "2-03:04:05"),
        (None, "—"),
    ],
)
def test_durations_are_written_as_squeue_writes_them(length: timedelta | None, text: str) -> None:
    assert format_duration(length) == text
