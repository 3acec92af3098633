"""Hand the terminal to the person's editor and take back the text."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from textual.app import App, SuspendNotSupported


def edit_text(app: App[None], text: str, name: str) -> str | None:
    """The text after $VISUAL or $EDITOR (vi without either) has been closed; None when it could not be edited."""
    command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="slurmconsole-") as folder:
        path = Path(folder) / name
        path.write_text(text, "utf-8")
        try:
            with app.suspend():
                code = subprocess.call([*shlex.split(command), str(path)])
        except (OSError, ValueError, SuspendNotSupported) as error:
            app.notify(f"The editor {command!r} could not be started: {error}.", severity="error", markup=False)
            return None
        app.refresh(layout=True)
        if code:
            app.notify(
                f"{command} ended with exit code {code}; the script is as before.", severity="warning", markup=False
            )
            return None
        return path.read_text("utf-8", "replace")
