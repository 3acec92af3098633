"""What the ranks run in: one module per runtime, each with the two functions of `Runtime`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from jobs.containers import apptainer, none
from jobs.spec import JobSpec


class Runtime(Protocol):
    """A runtime's part of the batch script."""

    def checks(self, spec: JobSpec, job_dir: Path) -> list[str]:
        """Shell lines before the launch that stop the job with a sentence when something is missing."""

    def prefix(self, spec: JobSpec, job_dir: Path) -> list[str]:
        """Shell words, already quoted, that come before the command of a rank. Raises SpecError."""


RUNTIMES: Mapping[str, Runtime] = {"none": none, "apptainer": apptainer}
"""By `runtime.kind`."""
