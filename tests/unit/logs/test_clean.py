import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.logs.clean import clean_line, segments, shown_part, strip_escapes


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("Überschrift 数据", "Überschrift 数据"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPq#0;2\x1b\\after", "after"),
        ("\x9b31mred", "red"),
        ("\x1b(Bascii", "ascii"),
        ("\x1b]0;never ends", "0;never ends"),
        ("\x1b\x1b[31m[32mnested", "[32mnested"),
        ("a\x00\x00b\x07c\x7f", "abc"),
        ("a\tb", "a       b"),
        ("dos line\r", "dos line"),
        (" 10%|#   | 1/10\r 20%|##  | 2/10", " 20%|##  | 2/10"),
        (" 90%\r          \r", " 90%"),
        ("1/18 ====\b\b\b\b\b\b\b\b\b2/18 ----", "2/18 ----"),
        ("working |\b/\b-", "working -"),
        ("kept\b", "kept"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("bad\udce9name", "bad\ufffdname"),
        ("one\u2028two", "one two"),
        ("\r\r\r", ""),
    ],
)
def test_a_line_is_shown_as_a_terminal_would_leave_it(line: str, shown: str) -> None:
    assert clean_line(line) == shown


@given(st.text(st.characters(), max_size=200) | st.text("\x1b\x9b\x9d[]0m;\r\b\x07\\ab\t", max_size=60))
def test_clean_text_has_no_control_characters(line: str) -> None:
    assert not [c for c in clean_line(line) if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}]


@given(st.text(st.characters(codec="utf-8"), max_size=100))
def test_cleaning_twice_changes_nothing(line: str) -> None:
    once = clean_line(line)
    assert clean_line(once) == once


def test_every_state_of_a_bar_is_kept_in_order() -> None:
    assert segments("\r1/3\r2/3\r3/3\r   \r") == ["1/3", "2/3", "3/3"]


def test_printable_text_with_brackets_is_no_escape() -> None:
    assert strip_escapes("[31m tensor[0] ]0;x") == "[31m tensor[0] ]0;x"


def test_a_long_line_keeps_its_head_and_a_long_bar_its_end() -> None:
    assert shown_part(b"h" + b"x" * 10_000, 100) == b"h" + b"x" * 99
    assert shown_part(b"\r".join(b"%d/99" % i for i in range(100)) + b"\r", 20) == b"97/99\r98/99\r99/99"[-17:]
    assert len(shown_part(b"y" * 5000 + b"\r", 4096)) == 4096
