from __future__ import annotations

import unicodedata
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE_NAMES, NOON, NOW
from rich.cells import cell_len

from console.text import age, clock, duration, fit, memory, number, plural, safe, safe_lines, since

ANYTHING = st.text(st.characters() | st.characters(categories=["Cc", "Cs", "Cf", "Mn", "Lo"])) | st.sampled_from(
    HOSTILE_NAMES
)
DIRECTION = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANYTHING)
def test_safe_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    shown = safe(text)
    assert {unicodedata.category(char) for char in shown}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert {unicodedata.bidirectional(char) for char in shown}.isdisjoint(DIRECTION)
    assert len(shown) == len(text)
    shown.encode()


def test_safe_text_shows_what_was_there() -> None:
    assert safe("\x1b[31m") == "␛[31m"
    assert safe("a\nb\x00\x7f") == "a␊b␀␡"
    assert safe("gpu-01 [x] 日本 é") == "gpu-01 [x] 日本 é"


def test_safe_lines_keep_their_lines() -> None:
    assert safe_lines("a\tb\n\x1bc") == "a   b\n␛c"


@given(ANYTHING, st.integers(0, 40), st.booleans())
def test_fit_gives_exactly_the_width(text: str, width: int, right: bool) -> None:
    assert cell_len(fit(safe(text), width, right=right)) == width


@given(st.text("日本語のn"), st.integers(0, 12))
def test_fit_gives_exactly_the_width_of_double_width_text(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) == width


def test_fit_pads_cuts_and_aligns() -> None:
    assert fit("ab", 4) == "ab  "
    assert fit("ab", 4, right=True) == "  ab"
    assert fit("abcdef", 4) == "abc…"
    assert fit("日本語", 4) == "日 …"
    assert fit("abc", 3) == "abc"
    assert fit("abc", 0) == ""


@pytest.mark.parametrize(("seconds", "text"), [
    (-3, "0 s"), (4.9, "4 s"), (99, "99 s"), (180, "3 min"), (7200, "2 h"), (86400 * 5, "5 d"),
    (float("inf"), "decades"),
])  # fmt: skip
def test_an_age_has_one_unit(seconds: float, text: str) -> None:
    assert age(seconds) == text


@pytest.mark.parametrize(("mib", "text"), [
    (None, "—"), (0, "0M"), (512, "512M"), (1024, "1G"), (16384, "16G"), (1536, "1.5G"), (512_000, "500G"),
    (1_572_864, "1.5T"),
])  # fmt: skip
def test_memory_is_in_binary_units(mib: int | None, text: str) -> None:
    assert memory(mib) == text


def test_time_that_lies_ahead_has_not_passed() -> None:
    assert since(NOON, NOW + 90) == timedelta(seconds=90)
    assert since(NOON, NOW - 1) is None
    assert since(None) is None
    assert clock(None) == "—"


@pytest.mark.parametrize(("value", "text"), [
    (None, "—"), (0.0, "0"), (2.30259, "2.303"), (123456.7, "123 457"), (-1234.0, "-1 234"), (1e-9, "1e-09"),
    (1e300, "1e+300"), (float("nan"), "nan"), (float("inf"), "inf"), (-float("inf"), "-inf"),
])  # fmt: skip
def test_numbers_are_short(value: float | None, text: str) -> None:
    assert number(value) == text


@given(st.floats(min_value=0) | st.none())
def test_a_duration_of_any_size_has_a_text(seconds: float | None) -> None:
    assert 1 <= len(duration(seconds)) <= 14


def test_a_duration_is_as_squeue_writes_it() -> None:
    assert duration(90_061.0) == "1-01:01:01"
    assert duration(float("inf")) == "decades"
    assert duration(float("nan")) == duration(None) == "—"


def test_one_is_singular() -> None:
    assert (plural(1, "job"), plural(2, "job"), plural(0, "job")) == ("1 job", "2 jobs", "0 jobs")
