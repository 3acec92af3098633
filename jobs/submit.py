"""A folder per submission, and sbatch."""

from __future__ import annotations

import getpass
import importlib.util
import re
import secrets
import shutil
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from jobs.history import Entry, default_root, record
from jobs.logs.paths import JobFacts, expand
from jobs.sbatch import SBATCH_TIMEOUT, Verdict, parse_job_id, parse_verdict, refusal
from jobs.script import log_folder_has_job_id, render
from jobs.slurm.run import CommandTimeout, Runner
from jobs.spec import JobSpec, SpecError, dumps
from jobs.version import installed_version

_COMMENT = "slurmconsole:"


@dataclass(frozen=True, slots=True)
class Submission:
    """A folder that is ready to be submitted: spec.toml, job.sh and, for the payload, payload/."""

    folder: Path
    spec: JobSpec

    @property
    def script(self) -> Path:
        """The batch script. It may be edited before it is submitted."""
        return self.folder / "job.sh"

    @property
    def comment(self) -> str:
        """The job's comment in Slurm, by which a submission whose answer was lost is found again."""
        return _COMMENT + self.folder.name


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that Slurm took. `note` says what went wrong afterwards, if anything did."""

    job_id: int
    cluster: str | None
    submission: Submission
    stdout_path: Path
    stderr_path: Path
    note: str = ""


def new_folder(spec: JobSpec, root: Path | None = None) -> Path:
    """A name for the folder of a submission, such as 20260102-030405-gpt-tiny-1f3a9c07. Nothing is created."""
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", spec.name).strip("-.")[:40] or "job"
    return (root or default_root()) / f"{datetime.now():%Y%m%d-%H%M%S}-{slug}-{secrets.token_hex(4)}"


def script_for(spec: JobSpec, folder: Path, slurm_version: tuple[int, int] | None = None) -> str:
    """The batch script of `spec` in `folder`, by the installed version of slurmconsole. Raises SpecError."""
    return render(spec, folder, console_version=installed_version(), slurm_version=slurm_version)


def prepare(
    spec: JobSpec,
    *,
    root: Path | None = None,
    folder: Path | None = None,
    script: str | None = None,
    slurm_version: tuple[int, int] | None = None,
) -> Submission:
    """Make the private folder of a submission. Raises SpecError with a sentence.

    `folder` comes from `new_folder` when the script was shown before; `script` is that script as edited by hand.
    """
    folder = folder or new_folder(spec, root)
    text = script_for(spec, folder, slurm_version) if script is None else script
    payload = _payload_folder() if spec.run.kind == "payload" else None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700)
        (folder / "spec.toml").write_text(dumps(spec), "utf-8")
        (folder / "job.sh").write_text(text, "utf-8")
        (folder / "job.sh").chmod(0o700)
        if payload:
            shutil.copytree(
                payload, folder / "payload", ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "ruff.toml")
            )
        _make_log_folder(Submission(folder, spec))
    except OSError as error:
        raise SpecError(f"The job's folder {folder} could not be made: {error.strerror or error}.") from None
    return Submission(folder, spec)


def submit(submission: Submission, runner: Runner) -> Submitted:
    """Hand the script to sbatch, once. May take two minutes, for sbatch retries by itself when Slurm is busy.

    Raises SubmitRefused when Slurm says no; the folder is then removed. After CommandTimeout the job may exist: ask
    `find_job`.
    """
    argv = ("sbatch", "--parsable", f"--comment={submission.comment}", submission.script.name)
    answer = runner.run(argv, timeout=SBATCH_TIMEOUT, cwd=submission.folder)
    if answer.returncode < 0:
        raise CommandTimeout("sbatch was stopped before it answered.")
    if answer.returncode:
        shutil.rmtree(submission.folder, ignore_errors=True)
        raise refusal(answer)
    job_id, cluster = parse_job_id(answer)
    output = log_path(submission, job_id)
    entry = Entry(submission.folder, job_id, cluster, submission.spec.name, datetime.now(timezone.utc), output, output)
    note = ""
    try:
        record(entry)
    except OSError as error:
        note = f"Job {job_id} runs, but its record in {submission.folder} could not be written: {error.strerror}."
    return Submitted(job_id, cluster, submission, output, output, note)


def test_only(script: str, runner: Runner) -> Verdict:
    """What sbatch --test-only says of a script; no folder is needed. Raises SubmitRefused when it could never run."""
    answer = runner.run(("sbatch", "--test-only"), stdin=script.encode(), timeout=SBATCH_TIMEOUT)
    if answer.returncode:
        raise refusal(answer)
    return parse_verdict(answer.error_text)


def find_job(submission: Submission, runner: Runner) -> int | None:
    """The id of the job that came from this submission, running or just ended: for when sbatch's answer was lost.

    None is no proof that there was none: Slurm forgets ended jobs after MinJobAge, 300 s by default.
    """
    user = f"--user={getpass.getuser()}"
    answer = runner.check(("squeue", "--noheader", "--all", "--states=all", user, "--format=%A %k"))
    for line in answer.text.splitlines():
        job_id, _, comment = line.partition(" ")
        if comment.strip() == submission.comment and job_id.isdigit():
            return int(job_id)
    return None


def log_path(submission: Submission, job_id: int) -> Path:
    """The log of all ranks, with the output pattern filled in as Slurm does."""
    facts = JobFacts(str(job_id), str(submission.folder), user=getpass.getuser(), name=submission.spec.name)
    return expand(submission.spec.output, facts)


def _payload_folder() -> Path:
    found = importlib.util.find_spec("payload")
    if not found or not found.submodule_search_locations:
        raise SpecError(
            "The payload is not installed beside slurmconsole, so it cannot be copied into the job's folder."
        )
    return Path(found.submodule_search_locations[0])


def _make_log_folder(submission: Submission) -> None:
    """Slurm before 23.02 fails a job whose log folder is missing."""
    if not log_folder_has_job_id(submission.spec.output):
        log_path(submission, 0).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
