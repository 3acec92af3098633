"""Whom the commands ask: Slurm, or with --replay a recording in its place, at the time at which it was taken."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jobs.errors import UsageError
from jobs.slurm.run import Runner

SHIPPED = Path(__file__).parent / "data"


@contextmanager
def runner_for(replay: str | None) -> Iterator[Runner]:
    """A runner on this machine's Slurm, or on the recording of that name. Raises UsageError."""
    if replay is None:
        yield Runner()
        return
    from jobs.slurm.clock import stopped_at
    from jobs.slurm.recorded import RecordingError, load
    from jobs.slurm.replay import Replay

    try:
        recording = load(recording_path(replay))
    except RecordingError as error:
        raise UsageError(str(error)) from None
    with stopped_at(recording.taken_at):
        yield Replay(recording)


def recording_path(name: str) -> Path:
    """The file of that name; a bare word, such as `messy`, may be a recording that comes with slurmconsole."""
    shipped = SHIPPED / f"{name}.jsonl.gz"
    return shipped if name.isidentifier() and shipped.is_file() else Path(name)
