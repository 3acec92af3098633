"""The one exception of the sandbox."""

from __future__ import annotations


class SandboxError(Exception):
    """A sentence for people. `exit_code`: 1 it did not work, 2 wrong options, 3 Slurm is not installed."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code
