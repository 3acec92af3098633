"""What the words of a subtraction mean: why idle GPUs cannot be had, for people who have never seen sinfo."""

from __future__ import annotations

from collections.abc import Iterable

from jobs.slurm.availability import GpuCount

MEANINGS = {
    "allocated": "in use by jobs.",
    "no CPU": "idle, but their node has no CPU core left to go with them.",
    "no memory": "idle, but their node has no memory left to go with them.",
    "exclusive": "idle, but their node has a job and takes no second one.",
    "planned by backfill": "idle, but kept for a job that waits and comes first.",
    "drained": "taken out of service by the staff; sinfo -R tells why.",
    "draining": "idle, on a node that finishes its jobs and takes no new ones.",
    "down": "their node is out of order.",
    "not responding": "their node does not answer the controller.",
    "maintenance": "their node is reserved for maintenance.",
    "reserved": "kept for others by a reservation.",
    "in your reservation": "kept for you: jobs with --reservation get them.",
    "powered down": "their node sleeps and wakes for a job, within minutes.",
    "powering up": "their node is waking up.",
    "rebooting": "their node restarts.",
    "no access": "in partitions that do not take your jobs.",
    "partition closed": "in partitions that start no jobs (State is not UP).",
    "no partition known": "in no partition that you can see.",
    "use unknown": "Slurm does not tell how many of them are in use.",
}
"""By cause, as availability names it."""


def meanings(counts: Iterable[GpuCount]) -> list[tuple[str, str]]:
    """(cause, meaning) of what occurs in the counts, the causes with the most GPUs first."""
    numbers: dict[str, int] = {}
    for count in counts:
        for cause, number in (*count.unavailable.items(), *count.stranded.items()):
            if number and cause in MEANINGS:
                numbers[cause] = numbers.get(cause, 0) + number
    return [(cause, MEANINGS[cause]) for cause in sorted(numbers, key=lambda cause: -numbers[cause])]
