"""What pydantic found wrong with a spec, in words for people."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_FIXED: Mapping[str, str] = {
    "missing": "is required",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be valid Unicode text",
    "tuple_type": "must be a list",
    "dict_type": "must be a table of names and values",
    "model_type": "must be a table",
}


def described(error: ValidationError, names: Sequence[str]) -> list[tuple[str, str]]:
    """(dotted field, what is wrong) pairs: field and text together read as a sentence without its full stop.

    `names` are the known fields, to guess what an unknown one was meant to be.
    """
    return [(_dotted(item["loc"]), _text(item, names)) for item in error.errors(include_url=False)]


def sentence(found: Sequence[tuple[str, str]]) -> str:
    """The first problem as a sentence, and how many more there are."""
    field, text = found[0]
    more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
    return f"{field} {text}{more}."


def _dotted(location: Sequence[int | str]) -> str:
    """`resources.nodes`, `run.args[2]`, `env.RANK`."""
    parts = ""
    for part in location:
        if isinstance(part, int):
            parts += f"[{part + 1}]"
        elif part != "[key]":
            parts += f".{part}" if parts else part
    return parts or "the spec"


def _text(item: ErrorDetails, names: Sequence[str]) -> str:
    kind, context = item["type"], item.get("ctx", {})
    if kind in _FIXED:
        return _FIXED[kind]
    if kind == "value_error":
        return str(context["error"])
    if kind == "extra_forbidden":
        close = difflib.get_close_matches(str(item["loc"][-1]), names, n=1)
        return "is not a field of a job spec" + (f": did you mean {close[0]}?" if close else "")
    return _by_limit(kind, context) or item["msg"][:1].lower() + item["msg"][1:]


def _by_limit(kind: str, context: Mapping[str, Any]) -> str | None:
    if kind == "greater_than_equal":
        return f"must be {context['ge']} or more"
    if kind == "less_than_equal":
        return f"must be {context['le']} or less"
    if kind == "string_too_long":
        return f"must have {context['max_length']} characters or fewer"
    if kind == "literal_error":
        return f"must be one of {context['expected']}"
    return None
