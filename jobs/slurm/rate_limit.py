"""Controllers that limit how often one person may ask (SlurmctldParameters=rl_enable, from 23.02)."""

from __future__ import annotations

import re

_DEFAULT_RATE, _DEFAULT_PERIOD = 2, 1
_LIMITED = re.compile(rb"rate[ -]?limit", re.IGNORECASE)


def calls_per_minute(parameters: str) -> float | None:
    """Calls that the controller lets one person make in the long run, per minute; None where it sets no limit.

    `parameters` is SlurmctldParameters; the defaults are those of slurm.conf's man page.
    """
    pairs = dict(part.partition("=")[::2] for part in parameters.replace(" ", "").lower().split(","))
    if "rl_enable" not in pairs:
        return None
    rate = _number(pairs.get("rl_refill_rate", ""), _DEFAULT_RATE)
    return 60.0 * rate / _number(pairs.get("rl_refill_period", ""), _DEFAULT_PERIOD)


def was_limited(stderr: bytes) -> bool:
    """Whether a command says that the controller told it to wait and to try again."""
    return bool(_LIMITED.search(stderr))


def _number(text: str, default: int) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text) else default
