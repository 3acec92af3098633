"""Finding, starting and ending the processes of one sandbox. Nothing is remembered: /proc is asked each time."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.sandbox.place import Place

_DAEMONS = ("slurmctld", "slurmdbd", "slurmd", "slurmstepd", "slurmscriptd", "slurm_script")
_CLIENTS = ("srun", "salloc")


@dataclass(frozen=True)
class Process:
    """One process of the sandbox. `role`: munged, mariadbd, slurmdbd, slurmctld, slurmd-NODE, or job for the rest."""

    pid: int
    role: str


@dataclass(frozen=True)
class _Entry:
    pid: int
    parent: int
    command: str
    argv: list[bytes]
    environ: list[bytes]


def _read_entry(pid: int) -> _Entry | None:
    """What /proc tells of a process; None where it is gone, a zombie, or not ours to read."""
    folder = Path(f"/proc/{pid}")
    try:
        stat = (folder / "stat").read_text(errors="replace")
        # proc(5): the command is in parentheses and may itself hold some.
        command, rest = stat[stat.index("(") + 1 : stat.rindex(")")], stat[stat.rindex(")") + 2 :].split()
        if rest[0] in "ZX":
            return None
        argv = (folder / "cmdline").read_bytes().split(b"\0")
        environ = (folder / "environ").read_bytes().split(b"\0")
    except (OSError, ValueError, IndexError):
        return None
    return _Entry(pid, int(rest[1]), command, argv, environ)


def _role(entry: _Entry, place: Place) -> str | None:
    """The part that a process plays in this sandbox, None for a stranger. A shell in which a person only exported
    SLURM_CONF is a stranger; slurmd gives SLURMD_NODENAME to the processes of jobs alone (srun(1))."""
    if f"--socket={place.munge_socket}".encode() in entry.argv:
        return "munged"
    if f"--datadir={place.database}".encode() in entry.argv:
        return "mariadbd"
    if f"SLURM_CONF={place.conf}".encode() not in entry.environ:
        return None
    if entry.command == "slurmd" and b"-N" in entry.argv[:-1]:
        return "slurmd-" + os.fsdecode(entry.argv[entry.argv.index(b"-N") + 1])
    if entry.command == "slurmdbd":
        return "slurmdbd"
    if entry.command == "slurmctld" and b"-f" in entry.argv:
        return "slurmctld"
    in_job = any(variable.startswith(b"SLURMD_NODENAME=") for variable in entry.environ)
    return "job" if in_job or entry.command in (*_DAEMONS, *_CLIENTS) else None


def find(place: Place) -> list[Process]:
    """Every process of this sandbox, also those whose daemon is dead, and their descendants; never this one."""
    entries = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and (entry := _read_entry(int(folder.name))) is not None:
            entries[entry.pid] = entry
    roles = {pid: role for pid, entry in entries.items() if (role := _role(entry, place)) is not None}
    grown = True
    while grown:
        # A job may clear its environment: what descends from a process of ours is ours.
        below = {pid: "job" for pid, entry in entries.items() if pid not in roles and entry.parent in roles}
        roles |= below
        grown = bool(below)
    return [Process(pid, role) for pid, role in sorted(roles.items()) if pid != os.getpid()]


def start_daemon(argv: list[str], environ: Mapping[str, str], place: Place, name: str) -> int:
    """Run a daemon that puts itself in the background; its early words go to its log. Returns the exit status."""
    with place.log(name).open("ab") as log:
        return subprocess.run(
            argv,
            env=dict(environ),
            cwd=place.directory,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            umask=0o077,
            timeout=60,
            check=False,
        ).returncode


def start_server(argv: list[str], environ: Mapping[str, str], place: Place, name: str) -> int:
    """Run a program that stays in the foreground in the background; whether it lives is to be seen later."""
    return start_daemon(["/bin/sh", "-c", '"$@" &', "sh", *argv], environ, place, name)


def end(find_them: Callable[[], Iterable[Process]], patience_s: float = 5.0) -> list[Process]:
    """TERM every process found, KILL those left after `patience_s`, until a look finds none; what is left after
    another `patience_s` comes back."""
    started = time.monotonic()
    asked: set[int] = set()
    while left := list(find_them()):
        waited = time.monotonic() - started
        for process in left:
            if waited > patience_s:
                _signal(process.pid, signal.SIGKILL)
            elif process.pid not in asked:
                asked.add(process.pid)
                _signal(process.pid, signal.SIGTERM)
        if waited > 2 * patience_s:
            return left
        time.sleep(0.05)
    return []


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
