"""Colours of states. The word is always there; the colour only helps the eye, and is one of the 16 basic ones."""

from __future__ import annotations

from jobs.slurm.records import Job, Node

_JOB = {
    "RUNNING": "green",
    "COMPLETING": "cyan",
    "CONFIGURING": "cyan",
    "PENDING": "yellow",
    "SUSPENDED": "magenta",
    "COMPLETED": "blue",
    "CANCELLED": "bright_black",
}


def job_style(job: Job) -> str:
    """Rich style of a job's state."""
    if job.state in _JOB:
        return _JOB[job.state]
    return "bold red" if job.ended else "magenta"


def node_style(node: Node) -> str:
    """Rich style of a node's state."""
    if node.state in ("DOWN", "ERROR", "UNKNOWN", "INVALID") or "NOT_RESPONDING" in node.flags:
        return "bold red"
    if node.flags & {"DRAIN", "FAIL", "MAINTENANCE", "RESERVED", "REBOOT_ISSUED"}:
        return "yellow"
    if node.flags & {"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN", "POWERING_UP", "PLANNED"}:
        return "magenta"
    return {"IDLE": "green", "MIXED": "cyan", "ALLOCATED": "blue"}.get(node.state, "")
