"""One process at a time starts or stops a sandbox: an O_EXCL file, which also holds on network file systems."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from jobs.sandbox.errors import SandboxError

_TAKEOVER_S = 30.0
"""Seconds after which whoever was taking over must have died at it."""


@contextlib.contextmanager
def held(path: Path, timeout_s: float = 90.0) -> Iterator[None]:
    """Hold the lock file; wait for its holder, take it over where that process is dead. Raises SandboxError that
    names the holder after `timeout_s`."""
    mine = f"{os.getpid()} {_start_time(os.getpid())} {socket.gethostname()}"
    deadline = time.monotonic() + timeout_s
    while not _create(path, mine):
        holder = _content(path)
        if holder is not None and _is_dead(holder):
            _remove_stale(path, holder)
            continue
        if time.monotonic() > deadline:
            raise SandboxError(f"Another command holds {path} (process, start, host: {holder}); try again later.")
        time.sleep(0.1)
    try:
        yield
    finally:
        if _content(path) == mine:
            path.unlink(missing_ok=True)


def _create(path: Path, content: str) -> bool:
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return False
    except OSError as error:
        raise SandboxError(f"The lock {path} cannot be made: {error.strerror}.") from None
    with os.fdopen(descriptor, "w") as file:
        file.write(content)
    return True


def _content(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _is_dead(holder: str) -> bool:
    """Whether the holder ran on this host and is gone; a holder elsewhere, or one that is still writing, is not."""
    pid, _, rest = holder.partition(" ")
    start, _, host = rest.partition(" ")
    if not pid.isdigit() or not host:
        return False
    return host == socket.gethostname() and _start_time(int(pid)) != start


def _start_time(pid: int) -> str | None:
    """Field 22 of proc(5)'s stat: a pid alone may have been given away again."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


def _remove_stale(path: Path, holder: str) -> None:
    """Remove the dead holder's file and no other: only who has made the takeover file may look again and remove."""
    takeover = path.with_name(f"{path.name}.takeover")
    try:
        os.close(os.open(takeover, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            if time.time() - takeover.stat().st_mtime > _TAKEOVER_S:
                takeover.unlink()
        time.sleep(0.05)
        return
    try:
        if _content(path) == holder:
            path.unlink(missing_ok=True)
    finally:
        takeover.unlink(missing_ok=True)
