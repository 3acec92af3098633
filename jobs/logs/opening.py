"""Opening a log for reading without ever waiting for it or reading what is not a file."""

import errno
import os
import stat
from io import FileIO
from pathlib import Path

from jobs.logs.clean import clean_line


class LogProblem(Exception):
    """Why a log cannot be read, as one sentence for people."""


class LogMissing(LogProblem):
    """The log is not there, perhaps not yet."""


def open_log(path: Path) -> FileIO:
    """`path` opened read-only, non-blocking. LogProblem for what is missing, unreadable or no regular file."""
    name = clean_line(os.fspath(path))
    try:
        _refuse(path.stat().st_mode, name)  # before opening: opening a device can act on it
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise problem_of(error, path) from None
    except ValueError:
        raise LogProblem(f"The log cannot be opened: {name!r} is no file name.") from None
    try:
        _refuse(os.fstat(handle).st_mode, name)
    except LogProblem:
        os.close(handle)
        raise
    return FileIO(handle, "rb")


def _refuse(mode: int, name: str) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise LogProblem(f"{name} is a directory, not a log file.")
    if stat.S_ISFIFO(mode):
        raise LogProblem(f"{name} is a pipe (FIFO); reading it would take the output away from its reader.")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise LogProblem(f"{name} is a device, not a file: the job's output is not kept.")
    raise LogProblem(f"{name} is a socket, not a log file.")


def problem_of(error: OSError, path: Path) -> LogProblem:
    """What an error of the file system means for the reader of the log at `path`."""
    name = clean_line(os.fspath(path))
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return LogMissing(f"The log is not there: {name}.")
    if error.errno in (errno.EACCES, errno.EPERM):
        return LogProblem(f"You may not read the log {name}.")
    if error.errno == errno.ESTALE:
        return LogMissing(f"The log {name} was removed or replaced on its file server.")
    return LogProblem(f"The log {name} cannot be read: {error.strerror or error}.")
