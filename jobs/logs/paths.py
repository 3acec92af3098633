"""Where a job's log is: Slurm's file name patterns (sbatch(1)) and what its releases make of them."""

import glob
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.logs.opening import LogMissing, LogProblem, open_log
from jobs.slurm.records import Job

__all__ = ["JobFacts", "LogMissing", "LogPaths", "LogProblem", "expand", "facts_of", "open_log", "resolve"]

_NO_TASK = "4294967294"  # NO_VAL, which Slurm prints for "not an array task"
_MAX_WIDTH = 10
_PATTERN = re.compile(r"%(%|\d*[AaJjbNnrstux]|\d+)")
_UNCERTAIN = "Nbr"  # %N is the host's own name, which may not be the node's; %b needs release 24.11, %r 25.11
_NUMERIC = "AaJjbnrt"
_UNSET = frozenset({"", "(null)", "(none)", "N/A", "Unknown"})


@dataclass(frozen=True)
class JobFacts:
    """What a log's name is made of. `job_id` is the raw number (`%j`), `work_dir` absolute.

    An array's record without one task number is its template: its logs have no names yet.
    """

    job_id: str
    work_dir: str
    user: str = ""
    name: str = ""
    array_job_id: str | None = None
    array_task_id: str | None = None
    batch_host: str | None = None
    restarts: int | None = None
    batch: bool = True


@dataclass(frozen=True)
class LogPaths:
    """A job's two logs, often the same file; None where Slurm keeps none (salloc and srun without --output)."""

    stdout: Path | None
    stderr: Path | None


def facts_of(job: Job) -> JobFacts:
    """The facts of a job as squeue or scontrol told them."""
    return JobFacts(
        job.job_id, job.work_dir, job.user, job.name, job.array_job_id, job.array_task_id, job.batch_host, job.restarts
    )


def expand(pattern: str, facts: JobFacts) -> Path:
    """The file that the batch step opens for `pattern`. What cannot be known (`%N` of a pending job) stays as it is."""
    return _expand(pattern, _values(facts), facts.work_dir)


def resolve(stdout_raw: str | None, stderr_raw: str | None, facts: JobFacts) -> LogPaths:
    """The logs by what Slurm said, expanded or not: those that exist, otherwise those that the job will open."""
    stdout = _resolve_one(_given(stdout_raw), facts)
    stderr_text = _given(stderr_raw)
    stderr = _resolve_one(stderr_text, facts, defaults=False) if stderr_text else stdout
    return LogPaths(stdout, stderr)


def _expand(pattern: str, values: Mapping[str, str | None], work_dir: str) -> Path:
    if "\\" in pattern:
        # A backslash anywhere switches expansion off; a doubled one is one backslash (slurmstepd).
        name = re.sub(r"\\(\\?)", r"\1", pattern)
    else:
        name = _PATTERN.sub(lambda match: _value(match, values), pattern)
    return Path(work_dir) / name


def _given(raw: str | None) -> str:
    text = raw or ""
    return "" if text.strip() in _UNSET else text


def _value(match: re.Match[str], values: Mapping[str, str | None]) -> str:
    code = match[1]
    if code == "%":
        return "%"
    if code.isdecimal():
        return code[-1]  # a width for an unknown letter: slurmstepd keeps its last digit
    letter, width = code[-1], min(int(code[:-1][:9] or 0), _MAX_WIDTH)
    value = values[letter]
    if value is None:
        return match[0]
    return value.zfill(width) if letter in _NUMERIC else value


def _values(facts: JobFacts) -> dict[str, str | None]:
    task = _task(facts) if facts.array_job_id else _NO_TASK
    host = facts.batch_host.partition(".")[0] if facts.batch_host else None
    return {
        "A": facts.array_job_id or facts.job_id,
        "a": task,
        "b": str(int(task) % 10) if task else None,
        "J": facts.job_id,
        "j": facts.job_id,
        "N": host,
        "n": "0",
        "r": None if facts.restarts is None else str(facts.restarts),
        "s": "batch",
        "t": "0",
        "u": facts.user or None,
        "x": facts.name or None,
    }


def _task(facts: JobFacts) -> str | None:
    """The array task's number; None for a template, whose ids are none or a range (`3-20`)."""
    task = facts.array_task_id
    return task if task and task.isdecimal() else None


def _resolve_one(given: str, facts: JobFacts, *, defaults: bool = True) -> Path | None:
    if not given and not facts.batch:
        return None
    pattern = given or ("slurm-%A_%a.out" if facts.array_job_id else "slurm-%j.out")  # sbatch(1), --output
    if facts.array_job_id and _NO_TASK in pattern:
        pattern = pattern.replace(_NO_TASK, "%a")  # a template's name, as releases up to 23.11 print it
    expanded = expand(pattern, facts)
    candidates = [Path(facts.work_dir) / pattern, expanded]
    if defaults:
        candidates.append(expand("slurm-%j.out", facts))
        if _task(facts):
            candidates.append(expand("slurm-%A_%a.out", facts))
    for path in candidates:
        if _exists(path):
            return path
    known = {**_values(facts), **dict.fromkeys(_UNCERTAIN)}
    return _only_match(_expand(pattern, known, facts.work_dir), facts) or expanded


def _only_match(path: Path, facts: JobFacts) -> Path | None:
    """The one file that fits a name with unknown parts left, if the name holds the job's id; no guess among several."""
    known = _PATTERN.sub("", path.name)
    ids = {facts.job_id, facts.array_job_id or facts.job_id}
    if known == path.name or "%" in str(path.parent) or not any(job_id in known for job_id in ids):
        return None
    found = list(path.parent.glob("*".join(glob.escape(part) for part in re.split(r"%\d*[A-Za-z]", path.name))))
    return found[0] if len(found) == 1 else None


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False
