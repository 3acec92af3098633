"""Start, stop and ask a sandbox. Every function works from what is on disk and in /proc; there is no other state."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from jobs.sandbox import accounting, binaries, client, config, lock, ports, processes
from jobs.sandbox.errors import SandboxError
from jobs.sandbox.layout import Layout
from jobs.sandbox.place import Place, place_at

Say = Callable[[str], None]

START_TIMEOUT_S = 60.0
CANCEL_TIMEOUT_S = 10.0
_UP = ("idle", "mixed", "allocated", "completing", "planned", "reserved", "draining", "drained", "maint")


@dataclass(frozen=True)
class Status:
    """A sandbox at one moment. `pids`: role (munged, slurmctld, slurmd-NODE) -> pid; `missing`: roles that should
    run and do not; `job_processes`: pids of steps and jobs; `message`: a sentence for people."""

    directory: Path
    conf: Path
    release: str | None
    layout: Layout | None
    pids: dict[str, int]
    missing: tuple[str, ...]
    job_processes: tuple[int, ...]
    nodes_up: int
    nodes_total: int
    message: str

    @property
    def running(self) -> bool:
        """Whether every daemon runs and every node is up."""
        return bool(self.pids) and not self.missing and self.nodes_up == self.nodes_total

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            "running": self.running,
            "directory": str(self.directory),
            "conf": str(self.conf),
            "release": self.release,
            "layout": self.layout and self.layout.to_dict(),
            "pids": self.pids,
            "missing": list(self.missing),
            "job_processes": list(self.job_processes),
            "nodes_up": self.nodes_up,
            "nodes_total": self.nodes_total,
            "message": self.message,
        }


def start(layout: Layout | None = None, directory: Path | None = None, say: Say = lambda _: None) -> Status:
    """Start the cluster, or what is missing of it, and wait until every node is up. `layout` None: what runs, or the
    default. Raises SandboxError with the daemon's own last errors where it does not come up."""
    binaries.require_all(accounting=layout is not None and layout.accounting)
    place = place_at(directory)
    place.make()
    with lock.held(place.lock):
        _check_host(place)
        before = _status(place)
        if before.pids and layout is not None and before.layout not in (None, layout):
            raise SandboxError(
                f"A sandbox with another layout ({before.layout}) runs in {place.directory}; stop it first: "
                "slurmconsole sandbox stop"
            )
        if before.running:
            return before
        alive = bool(before.pids or before.job_processes)
        if alive and before.layout is None:
            raise SandboxError(f"A sandbox runs in {place.directory}, but its record is lost; stop it first.")
        wanted = layout or (before.layout if alive else None) or Layout()
        if alive:
            say(f"Repairing the sandbox in {place.directory}: {', '.join(before.missing) or 'nodes'} not running.")
        else:
            count = len(wanted.nodes())
            say(f"Starting Slurm {binaries.release()[2]}, {count} node{'s'[: count > 1]}, in {place.directory}.")
            _write(place, wanted, fresh=before.layout != wanted)
        _start_missing(place, wanted)
        _wait_until_up(place, wanted)
        return _status(place)


def stop(directory: Path | None = None, say: Say = lambda _: None) -> Status:
    """Cancel every job, end every process of the sandbox, and wait until none is left. Raises SandboxError that names
    those that would not end. Nothing to do is no error."""
    place = place_at(directory)
    if not place.directory.is_dir():
        if not processes.find(place):
            return _status(place)
        place.make()
    with lock.held(place.lock):
        _check_host(place)
        found = processes.find(place)
        if not found:
            return _status(place)
        say(f"Stopping the sandbox in {place.directory}.")
        _cancel_jobs(place)
        last = ("munged", accounting.DATABASE)
        slurm = processes.end(lambda: [process for process in processes.find(place) if process.role not in last])
        left = slurm or processes.end(lambda: processes.find(place))
        if left:
            names = ", ".join(f"{process.role} (pid {process.pid})" for process in left)
            raise SandboxError(f"These processes of the sandbox in {place.directory} would not end: {names}.")
        if place.run.parent != place.directory:
            shutil.rmtree(place.run, ignore_errors=True)
        return _status(
            place, f"The sandbox in {place.directory} is stopped; {len(found)} processes ended, none is left."
        )


def status(directory: Path | None = None) -> Status:
    """What runs at this moment; starts and changes nothing."""
    place = place_at(directory)
    _check_host(place)
    return _status(place)


def environment(directory: Path | None = None) -> dict[str, str]:
    """The variables that point Slurm's commands at the sandbox: SLURM_CONF and SLURMCONSOLE_SANDBOX."""
    return client.exports(place_at(directory))


def _roles(layout: Layout) -> list[str]:
    keepers = [accounting.DATABASE, accounting.DBD] if layout.accounting else []
    return ["munged", *keepers, "slurmctld", *(f"slurmd-{node.name}" for node in layout.nodes())]


def _status(place: Place, message: str | None = None) -> Status:
    record = _read_record(place)
    layout = Layout.from_options(**record["layout"]) if record else None
    found = processes.find(place)
    pids = {process.role: process.pid for process in found if process.role != "job"}
    missing = tuple(role for role in _roles(layout) if role not in pids) if layout and found else ()
    total = len(layout.nodes()) if layout else 0
    states = client.node_states(place) if "munged" in pids and "slurmctld" in pids else {}
    up = sum(state in _UP for state in states.values())
    release = record["release"] if record else None
    if message is None:
        message = _sentence(place, release, missing, bool(found), up, total)
    jobs = tuple(process.pid for process in found if process.role == "job")
    return Status(place.directory, place.conf, release, layout, pids, missing, jobs, up, total, message)


def _sentence(
    place: Place, release: str | None, missing: tuple[str, ...], any_process: bool, up: int, total: int
) -> str:
    if not any_process:
        return f"No sandbox is running in {place.directory}."
    if missing:
        return f"The sandbox in {place.directory} is broken: {', '.join(missing)} not running. `start` repairs it."
    return f"The sandbox in {place.directory} is running: Slurm {release}, {up} of {total} nodes up."


def _read_record(place: Place) -> dict[str, Any] | None:
    """What `_write` left; None where there is none or it cannot be read."""
    try:
        record: dict[str, Any] = json.loads(place.record.read_text(encoding="utf-8"))
        Layout.from_options(**record["layout"])
        return {name: record[name] for name in ("layout", "host", "release")}
    except (OSError, ValueError, KeyError, TypeError, SandboxError):
        return None


def _write_record(place: Place, record: dict[str, Any]) -> None:
    place.record.write_text(json.dumps(record) + "\n", encoding="utf-8")


def _check_host(place: Place) -> None:
    """A state directory may be shared between hosts, whose processes cannot be seen from here; `stop` frees it."""
    record = _read_record(place)
    if record and record["host"] not in ("", socket.gethostname()):
        raise SandboxError(
            f"The sandbox in {place.directory} belongs to host {record['host']}; use it there, remove that directory, "
            "or choose another with --directory."
        )


def _write(place: Place, layout: Layout, fresh: bool) -> None:
    """Write the configuration with new free ports. `fresh`: forget the jobs of a cluster of another shape."""
    if fresh:
        shutil.rmtree(place.state, ignore_errors=True)
        shutil.rmtree(place.database, ignore_errors=True)
    shutil.rmtree(place.devices, ignore_errors=True)
    shutil.rmtree(place.logs, ignore_errors=True)
    place.make()
    for index in range(max(group.gpus for group in layout.groups)):
        (place.devices / f"gpu{index}").symlink_to(os.devnull)
    if not place.munge_key.exists():
        _write_secret(place.munge_key, os.urandom(128))
    host = socket.gethostname()
    release = binaries.release()
    keepers = [accounting.DATABASE, accounting.DBD] if layout.accounting else []
    free = ports.free_ports([config.CONTROLLER, *keepers, *(node.name for node in layout.nodes())])
    machine = config.Machine(host.partition(".")[0], accounting.user_name(), free, release[:2])
    if layout.accounting:
        _write_accounting(place, machine)
    for name, text in config.files(layout, place, machine).items():
        (place.directory / name).write_text(text, encoding="utf-8")
    _write_record(place, {"layout": layout.to_dict(), "host": host, "release": release[2]})


def _write_secret(path: Path, content: bytes) -> None:
    """A file that only this user may read, from its first byte on."""
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _write_accounting(place: Place, machine: config.Machine) -> None:
    """slurmdbd.conf and the database's first commands, with new passwords; the database itself where there is none."""
    password, unknown = secrets.token_hex(16), secrets.token_hex(16)
    database_port, port = machine.ports[accounting.DATABASE], machine.ports[accounting.DBD]
    conf = accounting.slurmdbd_conf(place, machine.host, port, database_port, password)
    _write_secret(place.directory / "slurmdbd.conf", conf.encode())
    _write_secret(place.init_sql, accounting.init_sql(password, unknown).encode())
    place.database_conf.write_text(accounting.database_conf(place, database_port), encoding="utf-8")
    if not place.database.exists():
        argv = accounting.install_argv(place)
        code = processes.start_daemon(argv, client.clean_environment(place), place, accounting.DATABASE)
        if code != 0:
            shutil.rmtree(place.database, ignore_errors=True)
            raise SandboxError(_failure(place, accounting.DATABASE, f"mariadb-install-db ended with exit code {code}"))


def _start_missing(place: Place, layout: Layout) -> None:
    """Start each daemon that does not run, in the order in which they need one another."""
    alive = {process.role for process in processes.find(place)}
    for role in _roles(layout):
        if role not in alive:
            begin = processes.start_server if role == accounting.DATABASE else processes.start_daemon
            code = begin(_argv(place, role), client.clean_environment(place), place, role)
            if code != 0:
                raise SandboxError(_failure(place, role, f"{role} ended at once with exit code {code}"))
        ready = _READY.get(role)
        if ready is not None:
            _wait(partial(ready, place), partial(_failure, place, role, f"{role} does not answer"))
        if role == accounting.DBD:
            _account(place, accounting.registrations())
    if layout.accounting:
        tres = accounting.tracked(layout)
        _wait(lambda: client.has_tres(place, tres), lambda: _failure(place, "slurmctld", "no TRES came to slurmdbd"))
        _account(place, accounting.limitations())


def _account(place: Place, commands: Iterable[Sequence[str]]) -> None:
    """Carry out commands of sacctmgr; it refuses what is there already."""
    for words in commands:
        client.ask(place, "sacctmgr", "--immediate", *words)


_READY: dict[str, Callable[[Place], bool]] = {
    accounting.DATABASE: accounting.database_answers,
    accounting.DBD: client.has_accounting,
    "slurmctld": client.is_answering,
}
"""Roles that others need, and whether each does its work."""


def _argv(place: Place, role: str) -> list[str]:
    """munged takes --force because it would refuse a socket whose directory is private, and a stale socket."""
    if role == "munged":
        return [
            binaries.find("munged"),
            "--force",
            f"--key-file={place.munge_key}",
            f"--socket={place.munge_socket}",
            f"--pid-file={place.run / 'munged.pid'}",
            f"--seed-file={place.directory / 'munge.seed'}",
            f"--log-file={place.log('munged')}",
        ]
    if role == accounting.DATABASE:
        return accounting.database_argv(place)
    if role == accounting.DBD:
        return [binaries.find(accounting.DBD)]
    if role == "slurmctld":
        return [binaries.find("slurmctld"), "-f", str(place.conf)]
    return [binaries.find("slurmd"), "-N", role.removeprefix("slurmd-"), "-f", str(place.conf)]


def _wait_until_up(place: Place, layout: Layout) -> None:
    def waiting() -> list[str]:
        states = client.node_states(place)
        return [
            f"{node.name} ({states.get(node.name, 'unknown')})"
            for node in layout.nodes()
            if states.get(node.name) not in _UP
        ]

    def failure() -> str:
        left = waiting()
        first = left[0].partition(" ")[0] if left else layout.nodes()[0].name
        return _failure(place, f"slurmd-{first}", f"these nodes did not come up: {', '.join(left)}")

    _wait(lambda: not waiting(), failure)


def _wait(ready: Callable[[], bool], failure: Callable[[], str]) -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while not ready():
        if time.monotonic() > deadline:
            raise SandboxError(failure())
        time.sleep(0.1)


def _failure(place: Place, role: str, what: str) -> str:
    """A sentence with the last errors of the daemon's log, and where to read the rest."""
    text = ""
    with contextlib.suppress(OSError):
        text = place.log(role).read_text(encoding="utf-8", errors="replace")
    errors = [line.strip() for line in text.splitlines() if "error" in line.lower() or "fatal" in line.lower()]
    said = f" It said: {' | '.join(errors[-3:])}" if errors else ""
    return f"The sandbox did not start: {what}.{said} The logs are in {place.logs}."


def _cancel_jobs(place: Place) -> None:
    """Cancel all jobs and wait for their ends, so that a later start does not bring them back; where the controller
    cannot be asked, its memory of them goes instead."""
    if not client.is_answering(place):
        processes.end(lambda: [process for process in processes.find(place) if process.role == "slurmctld"], 0.5)
        shutil.rmtree(place.state, ignore_errors=True)
        return
    jobs = client.ask(place, "squeue", "--noheader", "--all", "--format=%A") or ""
    if not jobs.split():
        return
    client.ask(place, "scancel", *sorted(set(jobs.split())))
    deadline = time.monotonic() + CANCEL_TIMEOUT_S
    while (client.ask(place, "squeue", "--noheader", "--all", "--format=%A") or "").strip():
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)
