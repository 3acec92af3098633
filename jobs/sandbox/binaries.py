"""Where Slurm's and munge's programs are, and what to install where they are missing."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess

from jobs.sandbox.errors import SandboxError

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins", "munge")
"""Debian's and Ubuntu's names."""


ACCOUNTING = ("mariadb-install-db", "mariadbd", "my_print_defaults", "sacctmgr", "slurmdbd")
ACCOUNTING_PACKAGES = ("slurmdbd", "mariadb-server-core", "mariadb-client-core")
"""Those of MariaDB that start no service."""


def search_path() -> str:
    """PATH, and the directories where Debian keeps daemons: an ordinary user's PATH does not have them."""
    return os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/local/sbin", "/usr/sbin", "/sbin"])


def find(program: str) -> str:
    """The program's full path. Raises SandboxError with the line that installs everything the sandbox needs."""
    found = shutil.which(program, path=search_path())
    if found is None:
        raise SandboxError(install_sentence([program]), 3)
    return found


def require_all(*, accounting: bool = False) -> None:
    """Raise SandboxError that names every missing program at once; with `accounting` also those that it needs."""
    wanted = (*DAEMONS, *CLIENTS, *(ACCOUNTING if accounting else ()))
    missing = [name for name in wanted if shutil.which(name, path=search_path()) is None]
    if missing:
        raise SandboxError(install_sentence(missing), 3)


def install_sentence(missing: list[str]) -> str:
    """What is missing, which Debian and Ubuntu packages bring it, and the one line to run."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    packages = (*PACKAGES, *(ACCOUNTING_PACKAGES if set(missing) & set(ACCOUNTING) else ()))
    return (
        f"The sandbox needs Slurm's programs, and {', '.join(missing)} cannot be found. On Debian and Ubuntu the "
        f"packages {', '.join(packages)} bring them; run: {sudo}apt-get install -y {' '.join(packages)}"
    )


@functools.cache
def release() -> tuple[int, int, str]:
    """Slurm's release as (22, 5, "22.05.8"), from `slurmctld -V`, which needs no configuration."""
    answer = subprocess.run([find("slurmctld"), "-V"], capture_output=True, text=True, timeout=20, check=False)
    match = re.search(r"(\d+)\.(\d+)(\.\S+)?", answer.stdout)
    if match is None:
        raise SandboxError(f"`slurmctld -V` did not say a release: {(answer.stdout + answer.stderr).strip()!r}.")
    return int(match[1]), int(match[2]), match[0]
