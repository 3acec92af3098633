"""What sbatch says: a job id, a refusal, or the verdict of --test-only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from jobs.slurm.run import Answer, CommandFailed, SlurmError, is_unreachable

SBATCH_TIMEOUT = 150.0
"""Seconds. sbatch itself retries for up to two minutes when Slurm cannot take jobs."""

_JOB_ID = re.compile(r"(\d+)(?:;(\S+))?")
_VERDICT = re.compile(
    r"Job \d+ to start at (?P<start>\S+)(?: on cluster \S+)?(?: a)? using (?P<processors>\d+) processors"
    r" on (?:nodes )?(?P<nodes>\S+)(?: in partition (?P<partition>\S+))?"
)
_PREFIX = re.compile(r"^(?:sbatch: )?(?:(?:error|fatal): )?(?:Batch job submission failed: |allocation failure: )?")


class SubmitRefused(SlurmError):
    """Slurm does not take the job. `lines` is all that sbatch said; `reason` is its own word for it."""

    def __init__(self, reason: str, lines: tuple[str, ...]) -> None:
        self.reason = reason
        self.lines = lines
        super().__init__(f"Slurm refused the job: {reason.rstrip('.')}.")


@dataclass(frozen=True, slots=True)
class Verdict:
    """--test-only's word: when the job would start, were nothing else submitted, and where. Unknown is None."""

    start: datetime | None
    processors: int | None
    nodes: str | None
    partition: str | None
    text: str


def parse_job_id(answer: Answer) -> tuple[int, str | None]:
    """(job id, cluster) of `sbatch --parsable`: "123" or "123;cluster". Raises SlurmError on anything else."""
    lines = answer.text.split()
    found = _JOB_ID.fullmatch(lines[-1]) if lines else None
    if not found:
        raise SlurmError(f"sbatch ended well but named no job id; it said {answer.text.strip()[:80]!r}.")
    return int(found[1]), found[2]


def parse_verdict(stderr: str) -> Verdict:
    """The line of --test-only on standard error, in the wordings of 20.11 to 26.05; its time may be epoch seconds."""
    text = "\n".join(_lines(stderr))
    found = _VERDICT.search(text)
    if not found:
        return Verdict(None, None, None, None, text)
    start = _time(found["start"])
    if start:
        text = text[: found.start("start")] + f"{start:%Y-%m-%dT%H:%M:%S}" + text[found.end("start") :]
    return Verdict(start, int(found["processors"]), found["nodes"], found["partition"], text)


def refusal(answer: Answer) -> SlurmError:
    """SubmitRefused with all lines kept, or SlurmError when the controller could not be asked."""
    lines = tuple(_lines(answer.error_text))
    telling = [line for line in lines if "error:" in line or "failure:" in line or "fatal:" in line][-1:] or lines[:1]
    reason = _PREFIX.sub("", telling[0]) if telling else f"sbatch ended with code {answer.returncode} and said nothing"
    if is_unreachable(CommandFailed(answer)):
        return SlurmError(f"Slurm could not be asked: {reason.rstrip('.')}.")
    return SubmitRefused(reason, lines)


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def _time(text: str) -> datetime | None:
    """ISO local time, or epoch seconds where SLURM_TIME_FORMAT=%s."""
    try:
        return (
            datetime.fromtimestamp(int(text)).astimezone()
            if text.isdigit()
            else datetime.fromisoformat(text).astimezone()
        )
    except (ValueError, OverflowError, OSError):
        return None
