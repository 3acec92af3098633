"""Quoting for the two readers of a batch script: bash, and sbatch for the #SBATCH lines."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "'": "\\'"}


def quote(value: str) -> str:
    """One bash word that is exactly `value`, on one line: control characters become `$'\\n'` escapes.

    sbatch refuses a script with a carriage return before a newline, so these must not appear raw.
    """
    if not _CONTROL.search(value):
        return shlex.quote(value)
    escaped = "".join(_ESCAPES.get(c) or (f"\\{ord(c):03o}" if _CONTROL.match(c) else c) for c in value)
    return f"$'{escaped}'"


def join(argv: Iterable[str]) -> str:
    """The words of a command, quoted, with blanks between them."""
    return " ".join(quote(word) for word in argv)


def directive(option: str, value: object = None) -> str:
    """One #SBATCH line. sbatch undoes backslashes and quotes, takes a bare # as a comment, and expands nothing. In
    20.11 a line with `hetjob` or `packjob` anywhere begins another component of a heterogeneous job (sbatch(1))."""
    if value is None:
        return f"#SBATCH --{option}"
    text = str(value)
    if not _PLAIN.fullmatch(text):
        text = '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    text = text.replace("hetjob", "het\\job").replace("packjob", "pack\\job")
    return f"#SBATCH --{option}={text}"
