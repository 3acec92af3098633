"""A real Slurm of several nodes on this machine, run by the ordinary user, for trying and testing."""

from __future__ import annotations

from jobs.sandbox.control import Status, environment, start, status, stop
from jobs.sandbox.errors import SandboxError
from jobs.sandbox.layout import Layout, NodeGroup, Partition

__all__ = ["Layout", "NodeGroup", "Partition", "SandboxError", "Status", "environment", "start", "status", "stop"]
