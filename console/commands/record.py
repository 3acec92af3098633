"""record: a cluster's answers into a file, for a bug report or to look around later."""

from __future__ import annotations

import argparse

from console.commands.common import OK
from console.tables import complain
from console.text import plural
from jobs.errors import UsageError
from jobs.files import write_atomic
from jobs.slurm.recorded import compress, encode, record
from jobs.slurm.run import failure_sentence


def record_to(args: argparse.Namespace) -> int:
    """Write a recording that only its owner may read. Raises SlurmError, UsageError and OSError."""
    path = args.file
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} is not a file.")
    if not path.parent.is_dir():
        raise UsageError(f"There is no folder {path.parent}.")
    recording = record(args.runner)
    if args.anonymize:
        from jobs.slurm.anonymize import anonymize

        recording = anonymize(recording)
    for answer in recording.answers:
        if answer.returncode:
            complain(f"recorded all the same: {failure_sentence(answer)}")
    content = encode(recording)
    write_atomic(path, compress(content) if path.name.endswith(".gz") else content)
    complain(f"{path} holds the answers to {plural(len(recording.answers), 'command')}.")
    return OK
