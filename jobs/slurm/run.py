"""The one place that starts Slurm's commands: clean environment, timeout, byte cap, a log of what was run."""

from __future__ import annotations

import getpass
import os
import selectors
import shlex
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from jobs.slurm.access import Viewer, viewer_of

DEFAULT_TIMEOUT = 30.0
"""Seconds. MessageTimeout is 10 s by default and a client may try two controllers."""

DEFAULT_BYTE_CAP = 512 * 1024 * 1024
STDERR_CAP = 1024 * 1024
_KEPT = {"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT"}
_CLEANED_PREFIXES = (
    "SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_", "SQUEUE_", "SINFO_", "SCONTROL_",
    "SACCT_", "SPRIO_", "SSHARE_", "SSTAT_", "SDIAG_", "SACCTMGR_", "SCANCEL_",
)  # fmt: skip


class SlurmError(Exception):
    """Slurm cannot be asked, or refused. The message is one sentence for people."""


class CommandMissing(SlurmError):
    """The command is not on PATH."""


class CommandTimeout(SlurmError):
    """The command did not answer in time and was killed."""


class OutputTooLarge(SlurmError):
    """The command printed more than the byte cap and was killed."""


class CommandFailed(SlurmError):
    """The command ended with a non-zero exit code; `answer` holds all that it printed."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        super().__init__(failure_sentence(answer))


@dataclass(frozen=True, slots=True)
class Answer:
    """What one command printed, as bytes, with its exit code and wall time in seconds."""

    argv: tuple[str, ...]
    returncode: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def text(self) -> str:
        """Standard output; bytes that are not UTF-8 survive as surrogates."""
        return self.stdout.decode("utf-8", "surrogateescape")

    @property
    def error_text(self) -> str:
        """Standard error, decoded for showing."""
        return self.stderr.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the command log. `returncode` is None when the command never ended by itself."""

    at: float
    argv: tuple[str, ...]
    returncode: int | None
    milliseconds: float
    stdout_bytes: int
    note: str = ""

    @property
    def command(self) -> str:
        """The command as a person would type it into a shell."""
        return " ".join(map(_shell_word, self.argv))


@dataclass(slots=True)
class CommandLog:
    """The last commands that were run; safe to read while others write."""

    entries: deque[LogEntry] = field(default_factory=lambda: deque(maxlen=500))
    total: int = 0

    def add(self, entry: LogEntry) -> None:
        """Append an entry; the oldest falls out."""
        self.total += 1
        self.entries.append(entry)

    def last_minute(self, now: float) -> tuple[LogEntry, ...]:
        """The commands that began in the 60 s before `now`, an epoch second."""
        return tuple(entry for entry in tuple(self.entries) if entry.at >= now - 60.0)


_UNREACHABLE = (
    "Unable to contact slurm controller",
    "Socket timed out",
    "Unable to process configuration file",
    "Protocol authentication error",
    "Zero Bytes were transmitted or received",
)


def is_unreachable(error: SlurmError) -> bool:
    """Whether other questions would wait in vain too: no answer in time, or no controller."""
    if isinstance(error, CommandFailed):
        return any(text in error.answer.error_text for text in _UNREACHABLE)
    return isinstance(error, CommandTimeout)


def _shell_word(word: str) -> str:
    """Quoted for a shell; control characters as bash's $'...' writes them."""
    if word.isprintable():
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return (
        "$'" + "".join(c if c.isprintable() else "".join(f"\\x{b:02x}" for b in os.fsencode(c)) for c in escaped) + "'"
    )


def clean_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without the variables that filter, sort or reformat Slurm's output or leak a job's own settings.

    Times come as epoch seconds (SLURM_TIME_FORMAT) and array expressions whole (SLURM_BITSTR_LEN; squeue's man page).
    """
    kept = {k: v for k, v in environ.items() if k in _KEPT or not k.startswith(_CLEANED_PREFIXES)}
    kept["SLURM_TIME_FORMAT"] = "%s"
    kept["SLURM_BITSTR_LEN"] = "1024"
    return kept


NO_CLUSTER = (
    "No Slurm cluster is set up on this machine: Slurm's commands find no slurm.conf. "
    "To try without one: slurmconsole sandbox start."
)
_NO_CONFIGURATION = ("resolve_ctls_from_dns_srv", "Could not establish a configuration source")


def failure_sentence(answer: Answer) -> str:
    """The most telling line of a failed command's stderr, without Slurm's own prefix."""
    if any(text in answer.error_text for text in _NO_CONFIGURATION):
        return NO_CLUSTER
    lines = [line.strip() for line in answer.error_text.splitlines() if line.strip()]
    name = Path(answer.argv[0]).name
    if not lines:
        return f"{name} failed with exit code {answer.returncode} and said nothing."
    text = next((line for line in lines if "error:" in line), lines[0])
    return f"{name}: {text.removeprefix(name + ':').strip()}"


class Runner:
    """Starts commands and keeps the log. One runner is shared by all threads of a process.

    `replay_of` is the epoch second at which the answers of a replay were recorded; None where a cluster is asked.
    """

    replay_of: float | None = None

    def __init__(self, environ: Mapping[str, str] | None = None, log: CommandLog | None = None) -> None:
        self.environ = clean_environment(os.environ if environ is None else environ)
        self.log = log if log is not None else CommandLog()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._closed = False

    @property
    def user(self) -> str:
        """The login name whose jobs are "mine"."""
        return getpass.getuser()

    @property
    def viewer(self) -> Viewer:
        """Who asks, with all groups; a directory service may take its time."""
        return viewer_of(self.user)

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float = DEFAULT_TIMEOUT,
        byte_cap: int = DEFAULT_BYTE_CAP,
        stdin: bytes = b"",
        cwd: Path | None = None,
    ) -> Answer:
        """Run a command to its end. Raises CommandMissing, CommandTimeout or OutputTooLarge; never on exit codes."""
        started, at = time.monotonic(), time.time()
        note, returncode, size = "", None, 0
        try:
            process = self._start(argv, cwd)
            try:
                stdout, stderr = _communicate(process, stdin, started + timeout, byte_cap)
            finally:
                self._reap(process)
            returncode, size = process.returncode, len(stdout)
            return Answer(tuple(argv), process.returncode, stdout, stderr, time.monotonic() - started)
        except TimeoutError:
            note = f"no answer within {timeout:g} s"
            raise CommandTimeout(f"{argv[0]} gave {note}.") from None
        except OverflowError:
            note = f"more than {byte_cap // 2**20} MiB of output"
            raise OutputTooLarge(f"{argv[0]} printed {note} and was stopped.") from None
        except SlurmError as error:
            note = str(error)
            raise
        finally:
            milliseconds = (time.monotonic() - started) * 1000
            self.log.add(LogEntry(at, tuple(argv), returncode, milliseconds, size, note))

    def check(self, argv: Sequence[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer:
        """Like `run`; raises CommandFailed on a non-zero exit code, and SlurmError where SLURM_CONF names no file."""
        config = self.environ.get("SLURM_CONF")
        if config and not Path(config).exists():
            # Slurm's commands would look for it for a minute.
            raise SlurmError(f"SLURM_CONF names {config}, which does not exist.")
        answer = self.run(argv, timeout=timeout)
        if answer.returncode:
            raise CommandFailed(answer)
        return answer

    def close(self) -> None:
        """Kill whatever still runs; further commands are refused."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for process in running:
            _kill(process)

    def _start(self, argv: Sequence[str], cwd: Path | None) -> subprocess.Popen[bytes]:
        if self._closed:
            raise SlurmError("The console is closing.")
        try:
            process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                env=self.environ, cwd=cwd, start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError:
            if cwd is not None and not cwd.exists():
                raise SlurmError(f"The folder {cwd} does not exist.") from None
            raise CommandMissing(f"{argv[0]} was not found on PATH: is this a Slurm login node?") from None
        except OSError as error:
            raise SlurmError(f"{argv[0]} could not be started: {error.strerror}.") from None
        with self._lock:
            self._running.add(process)
            if self._closed:
                _kill(process)
        return process

    def _reap(self, process: subprocess.Popen[bytes]) -> None:
        if process.returncode is None:
            _kill(process)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        with self._lock:
            self._running.discard(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()


def _communicate(process: subprocess.Popen[bytes], stdin: bytes, deadline: float, byte_cap: int) -> tuple[bytes, bytes]:
    """Feed and read the pipes until the process closes them. TimeoutError and OverflowError leave it running."""
    assert process.stdin
    assert process.stdout
    assert process.stderr
    out, err, pending = bytearray(), bytearray(), memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, out)
        selector.register(process.stderr, selectors.EVENT_READ, err)
        if pending:
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            for key, _ in selector.select(left):
                if key.fileobj is process.stdin:
                    pending = _write_some(process.stdin.fileno(), pending)
                    if not pending:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, 1 << 16)
                if not chunk:
                    selector.unregister(key.fileobj)
                elif key.data is out or len(err) < STDERR_CAP:
                    key.data.extend(chunk)
            if len(out) > byte_cap:
                raise OverflowError
    try:
        process.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise TimeoutError from None
    return bytes(out), bytes(err)


def _write_some(fd: int, data: memoryview) -> memoryview:
    try:
        return data[os.write(fd, data[:4096]) :]
    except BrokenPipeError:
        return memoryview(b"")
