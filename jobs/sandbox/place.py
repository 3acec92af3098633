"""Where a sandbox lives: its directory, the files in it, and a short private directory for sockets if need be."""

from __future__ import annotations

import hashlib
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from jobs.sandbox.errors import SandboxError

VARIABLE = "SLURMCONSOLE_SANDBOX"
"""Names the sandbox's directory in the environment of `sandbox env`."""

_MARK = ".slurmconsole-sandbox"
_SOCKET_PATH_LIMIT = 107
_LONGEST_SOCKET = "gpu00/gpu00_4294967295.4294967295.4294967295"
_SAFE = re.compile(r"[A-Za-z0-9/._+@-]+")
_NETWORK_FILESYSTEMS = ("nfs", "cifs", "smb", "lustre", "gpfs", "beegfs", "ceph", "9p", "fuse")


@dataclass(frozen=True)
class Place:
    """The paths of one sandbox. `directory` is absolute with links resolved; `run` holds pid files and sockets."""

    directory: Path
    run: Path

    @property
    def conf(self) -> Path:
        """What SLURM_CONF names."""
        return self.directory / "slurm.conf"

    @property
    def state(self) -> Path:
        """Slurm's StateSaveLocation: jobs and their numbers."""
        return self.directory / "state"

    @property
    def logs(self) -> Path:
        """The daemons' logs."""
        return self.directory / "log"

    @property
    def devices(self) -> Path:
        """The links that stand for GPUs."""
        return self.directory / "dev"

    @property
    def munge_key(self) -> Path:
        """The secret of this sandbox alone."""
        return self.directory / "munge.key"

    @property
    def munge_socket(self) -> Path:
        """Where clients find this sandbox's munged."""
        return self.run / "munge.socket"

    @property
    def database(self) -> Path:
        """MariaDB's data, where the sandbox keeps accounts."""
        return self.directory / "db"

    @property
    def database_conf(self) -> Path:
        """MariaDB's configuration."""
        return self.directory / "db.cnf"

    @property
    def init_sql(self) -> Path:
        """What MariaDB does at each start."""
        return self.directory / "db.sql"

    @property
    def record(self) -> Path:
        """The layout, host and release that the sandbox was started with, as JSON."""
        return self.directory / "sandbox.json"

    @property
    def lock(self) -> Path:
        """Held by the one process that starts or stops the sandbox."""
        return self.directory / "lock"

    def log(self, daemon: str) -> Path:
        """The log file of a role: `munged`, `slurmctld`, `slurmd-NODE`, ..."""
        return self.logs / f"{daemon}.log"

    def make(self) -> None:
        """Make the directories, for this user alone. Raises SandboxError where that cannot be, or is not ours."""
        self._refuse_foreign()
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The mark comes first, so that who starts at the same moment sees whose the rest is.
            (self.directory / _MARK).touch()
            for path in (self.logs, self.state, self.devices):
                path.mkdir(mode=0o700, exist_ok=True)
            self.run.mkdir(mode=0o700, exist_ok=True)
            found = self.run.lstat()
        except OSError as error:
            raise SandboxError(f"The sandbox's directory cannot be made: {error.filename}: {error.strerror}.") from None
        if self.run.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise SandboxError(f"{self.run} is not a private directory of this user; remove it, then start again.")

    def _refuse_foreign(self) -> None:
        """A folder with content that no sandbox made stays as it is."""
        try:
            names = {entry.name for entry in self.directory.iterdir()}
        except OSError:
            return
        if names and not names & {_MARK, self.record.name}:
            raise SandboxError(
                f"{self.directory} holds files that are not a sandbox's; name an empty or new directory.", 2
            )


def default_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """$SLURMCONSOLE_SANDBOX, or slurmconsole/sandbox under the XDG state home (~/.local/state)."""
    if environ.get(VARIABLE):
        return Path(environ[VARIABLE])
    state_home = environ.get("XDG_STATE_HOME", "")
    # The XDG base directory specification: a relative path is to be ignored.
    base = Path(state_home) if Path(state_home).is_absolute() else Path("~/.local/state").expanduser()
    return base / "slurmconsole" / "sandbox"


def place_at(directory: Path | None) -> Place:
    """The sandbox in `directory`, None: the default one. Raises SandboxError for a path slurm.conf cannot hold."""
    directory = (directory or default_directory()).expanduser().resolve()
    if not _SAFE.fullmatch(str(directory)):
        raise SandboxError(
            f"The sandbox's directory {str(directory)!r} has characters that slurm.conf cannot hold; choose one of "
            "letters, digits and '/._+@-' with --directory.",
            2,
        )
    run = directory / "run"
    if len(f"{run}/{_LONGEST_SOCKET}") > _SOCKET_PATH_LIMIT or _on_network_filesystem(directory):
        digest = hashlib.sha256(f"{socket.gethostname()}:{directory}".encode()).hexdigest()[:10]
        run = Path(f"/tmp/slurmconsole-{os.geteuid()}-{digest}")
    return Place(directory, run)


def _on_network_filesystem(directory: Path) -> bool:
    """Whether /proc/self/mounts says so: munged locks its socket, which such filesystems may not allow."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    best = ("", "")
    for fields in (line.split(" ") for line in mounts):
        inside = directory == Path(fields[1]) or Path(fields[1]) in directory.parents
        if inside and len(fields[1]) >= len(best[0]):
            best = (fields[1], fields[2])
    return best[1].startswith(_NETWORK_FILESYSTEMS)
