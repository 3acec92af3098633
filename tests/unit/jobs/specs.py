"""Specs and hostile values for several tests."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from jobs.spec import JobSpec

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
"""Everything that a process can receive as an argument."""

NASTY = [
    "two words", "", "'", '"', "it's \"quoted\"", "$(touch pwned)", "`id`", "$HOME", "a\nb", "a\r\nb", "\t", "\x1b[31m",
    "-n", "--", "--nnodes=9", "--n", "*", "~", "!x", "\\", "end\\", "#x", "a;b|c&d>e", "Zeile für 日本", "\u2028",
    "$'\\n'", "{a,b}", "\x7f",
]  # fmt: skip

HOSTILE = st.sampled_from(NASTY) | ANY_TEXT


def spec(**changes: Any) -> JobSpec:
    """The default spec with some fields changed; a table's fields are merged into it."""
    data: dict[str, Any] = JobSpec(name="test").model_dump()
    for name, value in changes.items():
        data[name] = {**data[name], **value} if isinstance(value, dict) else value
    return JobSpec.model_validate(data)
