"""Apptainer and Singularity: `apptainer exec [--nv] IMAGE COMMAND` in every task.

The host's environment enters the image by itself (an image's own %environment wins), the network and /dev/shm are the
host's. Apptainer's binds are comma-separated lists with colons inside, so such a folder cannot be bound.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from jobs.shell import quote
from jobs.spec import JobSpec, SpecError


def checks(spec: JobSpec, job_dir: Path) -> list[str]:  # noqa: ARG001
    """The program and the image are there. ~/.local of the host must not hide the image's own packages."""
    image = quote(spec.runtime.image or "")
    return [
        "container=$(command -v apptainer || command -v singularity) ||",
        "    stop 'neither apptainer nor singularity was found: does it need a module load?'",
        f"[[ -r {image} ]] || stop {quote(f'the image {spec.runtime.image} cannot be read.')}",
        "# ~/.local of the host would hide the image's own packages.",
        "export PYTHONNOUSERSITE=1",
    ]


def prefix(spec: JobSpec, job_dir: Path) -> list[str]:
    """`"$container" exec …`: the job's folder and the working directory keep their names inside the image."""
    work_dir = spec.run.work_dir or str(job_dir)
    own = [str(job_dir)] if work_dir == str(job_dir) else [str(job_dir), work_dir]
    for path in own:
        if set(path) & set(',:"'):
            raise SpecError(f"{path} cannot be bound into an image: its name has a comma, colon or quote.")
    words = ['"$container"', "exec"]
    if _wants_gpus(spec):
        words.append("--nv")
    for path in (*own, *spec.runtime.binds):
        words += ["--bind", quote(path)]
    return [*words, "--pwd", quote(work_dir), quote(spec.runtime.image or "")]


def _wants_gpus(spec: JobSpec) -> bool:
    """GPUs are asked for and the payload was not told to train on CPUs."""
    args = spec.run.args if spec.run.kind == "payload" else ()
    on_cpu = "--device=cpu" in args or ("--device", "cpu") in pairwise(args)
    return spec.resources.gpus_per_node > 0 and not on_cpu
