"""A Runner that answers from a recording, by what a command asks; nothing is started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jobs.slurm.access import Viewer
from jobs.slurm.array_tasks import task_ranges
from jobs.slurm.clock import wall_clock
from jobs.slurm.recorded import Recording
from jobs.slurm.records import ENDED_STATES
from jobs.slurm.run import DEFAULT_BYTE_CAP, DEFAULT_TIMEOUT, Answer, CommandMissing, LogEntry, Runner

Row = Mapping[str, bytes]
_ARRAY_ID = re.compile(r"(\d+)_(\d{1,9})\Z", re.ASCII)


class Replay(Runner):
    """Has a runner's interface. The queue is filtered as squeue would have done it, and printed with the fields and
    terminators that are asked for, whatever those of the recording are."""

    def __init__(self, recording: Recording) -> None:
        super().__init__({})
        self.recording = recording
        self.replay_of = recording.taken_at
        self._queue = next((answer for answer in recording.answers if answer.argv[:1] == ("squeue",)), None)
        self._others = {_subject(answer.argv): answer for answer in recording.answers if answer is not self._queue}

    @property
    def user(self) -> str:
        """Who recorded it."""
        return self.recording.viewer.user

    @property
    def viewer(self) -> Viewer:
        """Who recorded it, with the groups of then."""
        return self.recording.viewer

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        byte_cap: int = DEFAULT_BYTE_CAP,
        stdin: bytes = b"",
        cwd: Path | None = None,
    ) -> Answer:
        """The recorded answer. Raises CommandMissing for whatever was not recorded, and for all that is not reading."""
        answer = self._answer(tuple(argv))
        if answer is None:
            words = " ".join(word for word in argv[:3] if word.isprintable())
            raise CommandMissing(f"A replay only answers what was recorded, and {words} is not in the recording.")
        milliseconds, size = answer.seconds * 1000, len(answer.stdout)
        self.log.add(LogEntry(wall_clock(), answer.argv, answer.returncode, milliseconds, size, "replayed"))
        return answer

    def _answer(self, argv: tuple[str, ...]) -> Answer | None:
        if self._queue is not None and argv[:1] == ("squeue",) and squeue_fields(argv):
            return _queue_answer(self._queue, argv, self.user)
        found = self._others.get(_subject(argv))
        return None if found is None else Answer(argv, found.returncode, found.stdout, found.stderr, found.seconds)


def squeue_fields(argv: Sequence[str]) -> dict[str, bytes]:
    """Field -> what squeue prints after it, of the argument `-O Field:<end>,...`; empty where there is none."""
    given = argv[argv.index("-O") + 1] if "-O" in argv[:-1] else ""
    pairs = (part.partition(":") for part in given.split(",") if part)
    return {name: end.encode("utf-8", "surrogateescape") for name, _, end in pairs}


def squeue_rows(output: bytes, fields: Mapping[str, bytes]) -> Iterator[Row]:
    """The records of squeue's output; a record that lacks fields is left out. The last field may hold anything."""
    *names, last = fields
    for chunk in output.split(fields[last] + b"\n"):
        row, rest = {}, chunk
        for name in names:
            row[name], found, rest = rest.partition(fields[name])
            if not found:
                break
        else:
            yield row | {last: rest}


def _subject(argv: tuple[str, ...]) -> tuple[str, ...]:
    """What a command asks about: `scontrol show node`, however it is to be printed."""
    words = tuple(word for word in argv if not word.startswith("-"))
    if argv[:1] == ("sacctmgr",):
        return words[:3]
    return words if len(words) > 1 else argv


def _queue_answer(queue: Answer, argv: tuple[str, ...], user: str) -> Answer:
    if queue.returncode:
        return Answer(argv, queue.returncode, queue.stdout, queue.stderr, queue.seconds)
    rows = list(squeue_rows(queue.stdout, squeue_fields(queue.argv)))
    wanted = [word.partition("=")[2].split(",") for word in argv if word.startswith("--jobs=")]
    if wanted:
        rows = [found for row in rows if (found := _named(row, wanted[0])) is not None]
        if not rows and len(wanted[0]) == 1:
            return Answer(argv, 1, b"", b"slurm_load_jobs error: Invalid job id specified\n", queue.seconds)
    if "--me" in argv:
        rows = [row for row in rows if row.get("UserName") == user.encode("utf-8", "surrogateescape")]
    if "--states=all" not in argv:
        rows = [row for row in rows if row.get("State", b"").decode("ascii", "replace") not in ENDED_STATES]
    fields = squeue_fields(argv)
    lines = (b"".join(row.get(name, b"N/A") + end for name, end in fields.items()) + b"\n" for row in rows)
    return Answer(argv, 0, b"".join(lines), b"", queue.seconds)


def _named(row: Row, wanted: Sequence[str]) -> Row | None:
    """The row if one of the ids means it: a job's, an array's or a heterogeneous job's id, a task 7_3, a part 7+1.

    A task of tasks that still wait in one record makes a row of that task alone, as in squeue.
    """
    ids = {row.get(name, b"").decode("ascii", "replace") for name in ("JobID", "ArrayJobID", "HetJobID")}
    part = b"+".join(row.get(name, b"") for name in ("HetJobID", "HetJobOffset")).decode("ascii", "replace")
    array, tasks = row.get("ArrayJobID", b"").decode("ascii", "replace"), row.get("ArrayTaskID", b"")
    for job_id in wanted:
        if job_id in ids or job_id == part:
            return row
        task = _ARRAY_ID.match(job_id)
        named = task_ranges(tasks.decode("ascii", "replace"))
        if task and task[1] == array and any(int(task[2]) in part for part in named):
            if tasks.isdigit():
                return row
            return {**row, "ArrayTaskID": task[2].encode(), "JobArrayID": job_id.encode()}
    return None
