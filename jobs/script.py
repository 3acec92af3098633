"""JobSpec -> batch script. Pure: the same spec, folder and versions give the same text."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from jobs.containers import RUNTIMES
from jobs.launch import RENDEZVOUS, forwards_signal, launch_lines, shape
from jobs.shell import directive, quote
from jobs.spec import SIGNAL_SECONDS, JobSpec, SpecError

_MAKES_LOG_FOLDERS = (23, 2)
"""Slurm creates the directories of a job's log since 23.02 (its CHANGELOG)."""

_STRICT = """\
# Whatever is in single quotes is meant as it stands.
# shellcheck disable=SC1003,SC2016

set -euo pipefail
stop() { echo "slurmconsole on $HOSTNAME: $1" >&2; exit 3; }

# These come from the shell that submitted the job and are not this job's.
unset RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE TORCHELASTIC_RUN_ID SLURM_TIME_FORMAT SLURM_BITSTR_LEN"""


def render(spec: JobSpec, job_dir: Path, *, console_version: str, slurm_version: tuple[int, int] | None) -> str:
    """The batch script that runs `spec` in `job_dir`, a folder that every node sees. Raises SpecError.

    `slurm_version` is (major, minor), such as (22, 5); None means unknown, and then the oldest behaviour is assumed.
    """
    _check_folder(job_dir)
    _check_output(spec.output, slurm_version)
    ranks = f"{spec.resources.nodes} nodes x {spec.resources.ranks_per_node} ranks by {spec.launch.launcher}"
    blocks = [
        ["#!/bin/bash", *_directives(spec, job_dir)],
        [f"# {ranks}. Written by slurmconsole {console_version} from spec.toml in the job's folder.", _STRICT],
        _setup(spec),
        _environment(spec),
        RUNTIMES[spec.runtime.kind].checks(spec, job_dir),
        [RENDEZVOUS],
        [f"cd -- {quote(spec.run.work_dir)}"] if spec.run.work_dir else [],
        launch_lines(spec, job_dir),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _directives(spec: JobSpec, job_dir: Path) -> list[str]:
    need, tasks = spec.resources, shape(spec)
    gpus = f"{need.gpu_type}:{need.gpus_per_node}" if need.gpu_type else need.gpus_per_node
    wanted = {
        "job-name": spec.name,
        "chdir": job_dir,
        "output": spec.output,
        "open-mode": "append" if spec.append else "truncate",
        "partition": need.partition,
        "account": need.account,
        "qos": need.qos,
        "reservation": need.reservation,
        "constraint": need.constraint,
        "exclude": need.exclude,
        "nodes": need.nodes,
        "ntasks-per-node": tasks.ntasks_per_node,
        "cpus-per-task": tasks.cpus_per_task,
        "gpus-per-node": gpus or None,
        "mem": need.mem,
        "time": need.time_limit,
        "signal": f"B:USR1@{SIGNAL_SECONDS}" if forwards_signal(spec) else None,
    }
    lines = [directive(option, value) for option, value in wanted.items() if value is not None]
    return [*lines, directive("requeue" if spec.requeue else "no-requeue")]


def _setup(spec: JobSpec) -> list[str]:
    """The user's own lines. Activation scripts of modules, conda and venv read variables that are not set."""
    if not spec.runtime.setup:
        return []
    return ["set +u  # environment scripts read variables that are not set", *spec.runtime.setup, "set -u"]


def _environment(spec: JobSpec) -> list[str]:
    """One thread pool per rank as large as its CPUs, unbuffered output, then the user's variables, which win."""
    values = {"PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": str(spec.resources.cpus_per_task), **spec.env}
    return [f"export {name}={quote(value)}" for name, value in values.items()]


def _check_folder(job_dir: Path) -> None:
    text = str(job_dir)
    if not job_dir.is_absolute():
        raise SpecError(f"The job's folder {text} is not an absolute path.")
    if set(text) & set("%\\") or any(unicodedata.category(c) == "Cc" for c in text):
        raise SpecError(f"The job's folder {text!r} cannot be used: it has a %, a backslash or a control character.")


def _check_output(output: str, slurm_version: tuple[int, int] | None) -> None:
    if log_folder_has_job_id(output) and (slurm_version or (0, 0)) < _MAKES_LOG_FOLDERS:
        raise SpecError(f"output {output} needs a folder named by the job id, which Slurm makes since 23.02.")


def log_folder_has_job_id(output: str) -> bool:
    """Whether the log's folder is known only when the job has its id, so that nobody can make it beforehand."""
    return "%j" in output.rpartition("/")[0].replace("%%", "")
