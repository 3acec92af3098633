"""Fixtures for all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from helpers import processes_naming

from jobs import sandbox
from jobs.sandbox.client import clean_environment
from jobs.sandbox.place import place_at


@pytest.fixture(scope="session")
def slurm_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a private cluster of the default layout, which lives as long as the test session."""
    directory = tmp_path_factory.mktemp("sandbox")
    try:
        sandbox.start(sandbox.Layout(), directory)
    except sandbox.SandboxError as error:
        sandbox.stop(directory)
        pytest.fail(str(error))
    yield clean_environment(place_at(directory))
    sandbox.stop(directory)
    assert processes_naming(directory) == {}
