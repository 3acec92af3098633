"""Fixtures for the trainer's tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from launches import Ranks


@pytest.fixture
def ranks(tmp_path: Path) -> Iterator[Ranks]:
    """Ranks as processes; none of them outlives the test."""
    group = Ranks(tmp_path / "job.log")
    yield group
    for process in group.processes:
        process.kill()
        process.wait()
