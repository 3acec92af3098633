"""Asking the sandbox's own controller, in an environment that no variable of another cluster reaches."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping

from jobs.sandbox.binaries import find
from jobs.sandbox.place import VARIABLE, Place

# Each of Slurm's commands takes its options from variables that begin with its name (sbatch(1), squeue(1), ...).
_PREFIXES = ("SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SINFO_", "SCANCEL_", "SCONTROL_", "MUNGE_")


def clean_environment(place: Place, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """`environ` without anything of Slurm's, and with SLURM_CONF of this sandbox."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_PREFIXES)}
    return kept | exports(place)


def exports(place: Place) -> dict[str, str]:
    """What a shell must export for Slurm's commands to speak to this sandbox."""
    return {"SLURM_CONF": str(place.conf), VARIABLE: str(place.directory)}


def ask(place: Place, *argv: str, timeout_s: float = 5.0) -> str | None:
    """The output of one of Slurm's commands, or None where it failed or took longer than `timeout_s`."""
    try:
        answer = subprocess.run(
            [find(argv[0]), *argv[1:]],
            env=clean_environment(place),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    return answer.stdout if answer.returncode == 0 else None


def node_states(place: Place) -> dict[str, str]:
    """Node -> state as sinfo writes it in long form, such as idle or down*; empty where the controller is silent."""
    answer = ask(place, "sinfo", "--noheader", "--Node", "--format=%N %T") or ""
    return {name: state for name, _, state in (line.partition(" ") for line in answer.splitlines())}


def has_accounting(place: Place) -> bool:
    """Whether slurmdbd answers."""
    return ask(place, "sacctmgr", "--noheader", "show", "cluster") is not None


def has_tres(place: Place, names: Iterable[str]) -> bool:
    """Whether slurmdbd knows these resources (`gres/gpu:a100`), as the controller tells it when it starts."""
    known = ask(place, "sacctmgr", "--noheader", "--parsable2", "show", "tres", "format=type,name") or ""
    return {name.replace("/", "|", 1) for name in names} <= set(known.split())


def is_answering(place: Place) -> bool:
    """Whether the controller answers at all."""
    return "is UP" in (ask(place, "scontrol", "ping") or "")
