"""What was submitted from here, and the draft of what is yet to be."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from jobs.files import data_folder, state_folder, write_atomic

RECORD = "submission.json"


def default_root() -> Path:
    """Where the folders of submissions are, unless the setting `job_root` says otherwise."""
    return data_folder() / "jobs"


@dataclass(frozen=True, slots=True)
class Entry:
    """One submitted job. `folder` holds spec.toml, job.sh and, for the payload, payload/."""

    folder: Path
    job_id: int
    cluster: str | None
    name: str
    submitted_at: datetime
    stdout: Path
    stderr: Path


def record(entry: Entry) -> None:
    """Write `submission.json` into the entry's folder. Raises OSError."""
    fields = {**asdict(entry), "submitted_at": entry.submitted_at.isoformat()}
    del fields["folder"]
    write_atomic(entry.folder / RECORD, json.dumps(fields, default=str, indent=2) + "\n")


def submissions(root: Path | None = None) -> list[Entry]:
    """Every submission below `root`, newest first. Folders without a readable record are left out."""
    found = [_read(path) for path in (root or default_root()).glob(f"*/{RECORD}")]
    return sorted((e for e in found if e), key=lambda e: (e.submitted_at, e.job_id), reverse=True)


def find(job_id: int, root: Path | None = None, cluster: str | None = None) -> Entry | None:
    """The newest submission with this job id, for ids come again on another cluster or a new sandbox."""
    for entry in submissions(root):
        if entry.job_id == job_id and (cluster is None or entry.cluster in (None, cluster)):
            return entry
    return None


def save_draft(text: str) -> None:
    """Keep the wizard's half-filled spec. Raises OSError."""
    write_atomic(_draft(), text)


def load_draft() -> str | None:
    """The kept text, or None where there is none."""
    try:
        return _draft().read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def clear_draft() -> None:
    """Forget the draft, once it was submitted."""
    _draft().unlink(missing_ok=True)


def _draft() -> Path:
    return state_folder() / "draft.toml"


def _read(path: Path) -> Entry | None:
    try:
        fields = json.loads(path.read_text("utf-8"))
        cluster = fields["cluster"]
        return Entry(
            folder=path.parent,
            job_id=int(fields["job_id"]),
            cluster=None if cluster is None else str(cluster),
            name=str(fields["name"]),
            submitted_at=datetime.fromisoformat(fields["submitted_at"]).astimezone(),
            stdout=Path(fields["stdout"]),
            stderr=Path(fields["stderr"]),
        )
    except (OSError, ValueError, TypeError, KeyError, OverflowError, RecursionError):
        return None
