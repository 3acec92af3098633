"""example, render, submit."""

from __future__ import annotations

import argparse
import sys

from console.commands.common import INTERRUPTED, NO, OK, UNREACHABLE, USAGE, ask, print_json
from console.settings import load_settings
from console.tables import complain
from console.text import safe, safe_lines
from console.verdicts import verdict_words
from console.wizard_choices import never_starts, starting_spec
from jobs.errors import UsageError
from jobs.sbatch import SubmitRefused
from jobs.slurm import commands, refusals
from jobs.slurm.cluster import Cluster, version_tuple
from jobs.slurm.run import CommandTimeout, Runner, SlurmError
from jobs.spec import JobSpec, dumps, load
from jobs.submit import Submission, Submitted, find_job, new_folder, prepare, script_for, submit, test_only


def example(args: argparse.Namespace) -> int:
    """A spec for this cluster that trains the payload on two nodes of two ranks. Raises nothing without a cluster."""
    snapshot, _ = ask(args.runner, jobs=False, nodes=True)
    sys.stdout.write(dumps(starting_spec(snapshot)))
    return OK


def render(args: argparse.Namespace) -> int:
    """The batch script of a spec, as submit would write it. Raises SpecError."""
    spec = load(args.spec)
    folder = new_folder(spec, load_settings(args.config).job_root)
    sys.stdout.write(script_for(spec, folder, _slurm_version(args.runner)))
    return OK


def send(args: argparse.Namespace) -> int:
    """Submit a spec, or with --test-only ask what would become of it. Raises UsageError and SlurmError."""
    if args.runner.replay_of is not None:
        raise UsageError("A replay submits nothing and cannot ask when a job would start.")
    settings = load_settings(args.config, read_only=args.read_only)
    spec = load(args.spec)
    runner = args.runner
    version = _slurm_version(runner)
    folder = new_folder(spec, settings.job_root)
    try:
        if args.test_only:
            verdict = test_only(script_for(spec, folder, version), runner)
            start = verdict.start.isoformat() if verdict.start else None
            data = {"would_start": start, "nodes": verdict.nodes, "partition": verdict.partition, "text": verdict.text}
            print_json(data) if args.json else print(safe_lines(verdict_words(verdict)))
            _warn_of_never(spec, runner)
            return OK
        if settings.read_only:
            complain("this console is read-only: it submits nothing.")
            return USAGE
        submission = prepare(spec, folder=folder, slurm_version=version)
        code = _report(submit(submission, runner), args)
        _warn_of_never(spec, runner)
        return code
    except SubmitRefused as refused:
        complain(str(refused))
        for line in refused.lines:
            print(f"  {safe(line)}", file=sys.stderr)
        meaning = refusals.understand(refused.lines)
        print(safe(f"{meaning.text} {meaning.action}"), file=sys.stderr)
        return NO
    except CommandTimeout as error:
        complain(str(error))
        if not args.test_only:
            complain(_what_became(submission, runner))
        return UNREACHABLE
    except KeyboardInterrupt:
        if not args.test_only:
            complain(f"interrupted. {_what_became(submission, runner)}")
        return INTERRUPTED


def _report(done: Submitted, args: argparse.Namespace) -> int:
    submission = done.submission
    if done.note:
        complain(done.note)
    if args.json:
        paths = {"stdout": str(done.stdout_path), "stderr": str(done.stderr_path)}
        files = {"script": str(submission.script), "spec": str(submission.folder / "spec.toml")}
        print_json({"job_id": str(done.job_id), **files, **paths})
    else:
        print(f"Submitted as job {done.job_id}. Watch it: slurmconsole logs {done.job_id} -f")
        print(f"Its folder: {safe(str(submission.folder))}")
    return OK


def _warn_of_never(spec: JobSpec, runner: Runner) -> None:
    """Slurm takes jobs that none of its nodes can ever run, and says nothing."""
    sentence = never_starts(Cluster(runner).refresh(jobs=False, nodes=True), spec)
    if sentence:
        complain(f"this job can never start: {sentence}")


def _what_became(submission: Submission, runner: Runner) -> str:
    """Whether the job of a submission without an answer exists."""
    try:
        job_id = find_job(submission, runner)
    except SlurmError:
        return "Whether the job is in the queue is not known: look before you submit it again."
    if job_id:
        return f"Job {job_id} was submitted all the same."
    return "Slurm knows no job of this submission; if sbatch goes on in the background, one may still come."


def _slurm_version(runner: Runner) -> tuple[int, int] | None:
    """The release of the commands here; None when it cannot be told."""
    try:
        return version_tuple(runner.check(commands.release()).text)
    except SlurmError:
        return None
