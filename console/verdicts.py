"""What sbatch --test-only says, in words."""

from __future__ import annotations

from console.text import clock, safe
from jobs.sbatch import Verdict
from jobs.slurm.clock import wall_clock


def verdict_words(verdict: Verdict) -> str:
    """When and where the job would start; Slurm's own text where that is not understood.

    The id of the job in Slurm's text is left out: it looks like a submission, and there is none.
    """
    if verdict.start is None or verdict.nodes is None:
        return verdict.text
    at_once = verdict.start.timestamp() - wall_clock() < 60
    when = "at once" if at_once else f"at {clock(verdict.start)}"
    where = f"on {safe(verdict.nodes)}" + (f" in {safe(verdict.partition)}" if verdict.partition else "")
    return f"Slurm expects it to start {when} {where}. Nothing was submitted."
