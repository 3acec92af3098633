from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.slurm.rate_limit import calls_per_minute, was_limited


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ("(null)", None),
        ("", None),
        ("enable_configless,cloud_dns", None),
        ("rl_refill_rate=4", None),
        ("rl_enable", 120.0),
        ("enable_configless,rl_enable,rl_bucket_size=40,rl_refill_period=60,rl_refill_rate=4", 4.0),
        ("RL_ENABLE, rl_refill_rate=10", 600.0),
        ("rl_enable,rl_refill_rate=0,rl_refill_period=x", 120.0),
    ],
)
def test_calls_that_are_refilled_in_a_minute(parameters: str, expected: float | None) -> None:
    assert calls_per_minute(parameters) == expected


@given(st.text())
def test_no_text_makes_it_fail(text: str) -> None:
    calls_per_minute("rl_enable," + text)


@pytest.mark.parametrize(
    ("stderr", "expected"),
    [
        (b"squeue: RPC rate limited 3 time(s). Sleeping then trying again.\n", True),
        (b"slurm_load_jobs error: Rate limit exceeded, please retry momentarily\n", True),
        (b"", False),
        (b"slurm_load_jobs error: Invalid job id specified\n", False),
    ],
)
def test_what_a_limited_command_says(stderr: bytes, expected: bool) -> None:
    assert was_limited(stderr) is expected
