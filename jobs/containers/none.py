"""No container: the ranks run in a Python environment of the nodes."""

from __future__ import annotations

from pathlib import Path

from jobs.shell import quote
from jobs.spec import JobSpec


def checks(spec: JobSpec, job_dir: Path) -> list[str]:  # noqa: ARG001
    """The interpreter exists on the first node."""
    if spec.run.kind == "command" and spec.launch.launcher == "srun":
        return []
    python = spec.runtime.python
    return [f"command -v {quote(python)} >/dev/null || stop {quote(f'{python} was not found.')}"]


def prefix(spec: JobSpec, job_dir: Path) -> list[str]:  # noqa: ARG001
    """Nothing: the command is run as it is."""
    return []
