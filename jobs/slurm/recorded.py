"""A recording: the raw answers of all read commands of a cluster, and the file that keeps them.

The file is JSON lines: a head, then per command its argv, exit code and milliseconds followed by one line for each line
that it printed (`stdout`, `stderr`; base64 where that line is not UTF-8), and at last how many commands there were, so
that a file that was cut is known. JSON escapes whatever a terminal must not see.
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from jobs.slurm import commands
from jobs.slurm.access import Viewer
from jobs.slurm.clock import wall_clock
from jobs.slurm.cluster import version_tuple
from jobs.slurm.parse import parse_config
from jobs.slurm.run import DEFAULT_BYTE_CAP, Answer, CommandMissing, Runner

FORMAT = "slurmconsole recording"
VERSION = 1
_DAMAGED = "is a recording that was cut or damaged."
_GZIP_MAGIC = b"\x1f\x8b"


class RecordingError(Exception):
    """A file is not a recording that can be replayed. The message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a cluster answered around `taken_at` (epoch seconds) to `viewer`, whose jobs `squeue --me` shows."""

    taken_at: float
    viewer: Viewer
    answers: tuple[Answer, ...]
    anonymized: bool = False


def read_commands(fields: tuple[str, ...] = commands.JOB_FIELDS) -> tuple[list[str], ...]:
    """Every command of a recording, the queue with these fields; the configuration comes first, as it tells whether
    Slurm can be asked at all."""
    return (
        commands.show_config(),
        commands.release(),
        commands.show_nodes(),
        commands.show_partitions(),
        commands.show_reservations(),
        commands.squeue(fields, all_states=True),
    )


def limit_commands(user: str) -> tuple[list[str], ...]:
    """What is asked besides where slurmdbd keeps accounts."""
    return commands.show_assoc_mgr(), commands.sacctmgr_associations(user), commands.sacctmgr_qos()


def record(runner: Runner) -> Recording:
    """Ask a cluster everything once. Raises SlurmError when it cannot be asked."""
    config = runner.check(commands.show_config())
    known = parse_config(config.text)
    _, *others = read_commands(commands.job_fields(version_tuple(known.get("SLURM_VERSION", ""))))
    if "slurmdbd" in known.get("AccountingStorageType", ""):
        others += limit_commands(runner.user)
    answers = [config]
    for argv in others:
        # sacctmgr may be missing where the rest is not.
        with contextlib.suppress(CommandMissing):
            answers.append(runner.run(argv))
    return Recording(wall_clock(), runner.viewer, tuple(answers))


def encode(recording: Recording) -> bytes:
    """The file's content, without compression."""
    return "".join(json.dumps(line) + "\n" for line in _lines(recording)).encode("ascii")


def compress(content: bytes) -> bytes:
    """Gzip without a time or a name, so that equal content gives equal files."""
    return gzip.compress(content, mtime=0)


def load(path: Path) -> Recording:
    """Read a recording, compressed or not. Raises RecordingError."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise RecordingError(f"There is no recording {path}.") from None
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror}.") from None
    try:
        return decode(_unpacked(content))
    except RecordingError as error:
        raise RecordingError(f"{path} {error}") from None


def decode(content: bytes) -> Recording:
    """The recording of a file's content. The message of a RecordingError lacks the file's name before it."""
    lines = _objects(content)
    head = next(lines, {})
    if head.get("format") != FORMAT:
        raise RecordingError("is not a recording of slurmconsole.")
    if head.get("version") != VERSION:
        raise RecordingError(f"is a recording of version {head.get('version')!r}; this release reads {VERSION}.")
    try:
        taken_at = datetime.fromisoformat(head["taken_at"]).timestamp()
        viewer = Viewer(str(head["user"]), int(head["uid"]), frozenset(map(str, head["groups"])))
        return Recording(taken_at, viewer, tuple(_answers(lines)), bool(head["anonymized"]))
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise RecordingError(_DAMAGED) from None


def _unpacked(content: bytes) -> bytes:
    if not content.startswith(_GZIP_MAGIC):
        return content
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(content, DEFAULT_BYTE_CAP)
    except zlib.error:
        raise RecordingError("is damaged: it cannot be unpacked.") from None
    if unpacker.unconsumed_tail:
        raise RecordingError(f"holds more than {DEFAULT_BYTE_CAP // 2**20} MiB.")
    return unpacked


def _lines(recording: Recording) -> Iterator[dict[str, Any]]:
    moment = datetime.fromtimestamp(recording.taken_at, timezone.utc)
    yield {
        "format": FORMAT,
        "version": VERSION,
        "taken_at": moment.isoformat(),
        "user": recording.viewer.user,
        "uid": recording.viewer.uid,
        "groups": sorted(recording.viewer.groups),
        "anonymized": recording.anonymized,
    }
    for answer in recording.answers:
        yield {"argv": answer.argv, "exit_code": answer.returncode, "ms": round(answer.seconds * 1000, 1)}
        for key, output in (("stdout", answer.stdout), ("stderr", answer.stderr)):
            yield from (_output_line(key, line) for line in output.split(b"\n"))
    yield {"end": len(recording.answers)}


def _output_line(key: str, line: bytes) -> dict[str, str]:
    try:
        return {key: line.decode("utf-8")}
    except UnicodeDecodeError:
        return {f"{key}_base64": base64.b64encode(line).decode("ascii")}


def _objects(content: bytes) -> Iterator[dict[str, Any]]:
    """One mapping per line; what is not JSON gives an empty one, which no reader of lines accepts."""
    for line in content.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        yield value if isinstance(value, dict) else {}


def _answers(lines: Iterator[dict[str, Any]]) -> Iterator[Answer]:
    """Answers up to the line that counts them. Raises RecordingError, and what odd values raise."""
    answer: dict[str, Any] | None = None
    output: dict[str, list[bytes]] = {}
    count = 0
    for line in lines:
        if "argv" in line or "end" in line:
            if answer is not None:
                yield _answer(answer, output)
                count += 1
            if "end" in line:
                if line["end"] != count:
                    break
                return
            answer, output = line, {"stdout": [], "stderr": []}
        else:
            ((key, value),) = line.items()
            name, _, base = key.partition("_")
            output[name].append(base64.b64decode(value) if base else value.encode("utf-8"))
    raise RecordingError(_DAMAGED)


def _answer(line: dict[str, Any], output: dict[str, list[bytes]]) -> Answer:
    argv = tuple(map(str, line["argv"]))
    stdout, stderr = (b"\n".join(output[name]) for name in ("stdout", "stderr"))
    return Answer(argv, int(line["exit_code"]), stdout, stderr, float(line["ms"]) / 1000)
