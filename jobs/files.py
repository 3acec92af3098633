"""The folders of this program and files that are never half written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def state_folder() -> Path:
    """Private to this machine's user: $XDG_STATE_HOME/slurmconsole."""
    return _xdg("XDG_STATE_HOME", ".local/state")


def data_folder() -> Path:
    """$XDG_DATA_HOME/slurmconsole; usually below $HOME, which compute nodes see too."""
    return _xdg("XDG_DATA_HOME", ".local/share")


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file of mode 0600 so that a crash leaves the old content or the new, never a part. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _xdg(variable: str, default: str) -> Path:
    """The XDG base directory; a relative value is ignored, as its specification says."""
    value = os.environ.get(variable, "")
    base = Path(value) if value.startswith("/") else Path.home() / default
    return base / "slurmconsole"
