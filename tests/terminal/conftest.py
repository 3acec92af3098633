"""The console in a real terminal: tmux, driven by keys, read from its screen."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest


class Terminal:
    """One tmux session with a server of its own."""

    def __init__(self, socket: Path, command: str, environ: Mapping[str, str], size: tuple[int, int]) -> None:
        self._socket = socket
        self._environ = dict(environ)
        width, height = map(str, size)
        self._tmux("-f", "/dev/null", "new-session", "-d", "-s", "t", "-x", width, "-y", height, command)

    def press(self, *keys: str) -> None:
        """Press keys by tmux's names."""
        self._tmux("send-keys", "-t", "t", *keys)

    def screen(self) -> str:
        """What is on the screen."""
        return self._tmux("capture-pane", "-p", "-t", "t")

    def wait_for(self, words: str | Callable[[str], bool], what: str = "", timeout: float = 60) -> str:
        """Wait until the screen holds `words`, over lines or not; fail with the screen after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            screen = self.screen()
            if words(screen) if callable(words) else words in screen or words in " ".join(screen.split()):
                return screen
            if time.monotonic() > deadline:
                pytest.fail(f"not within {timeout:g} s: {what or words}\n{screen}", pytrace=False)
            time.sleep(0.1)

    def pid(self) -> int:
        """The process that runs in the terminal."""
        return int(self._tmux("display-message", "-p", "-t", "t", "#{pane_pid}"))

    def kill(self) -> None:
        """End the server; the program gets SIGHUP."""
        subprocess.run(["tmux", "-S", str(self._socket), "kill-server"], check=False, capture_output=True)

    def _tmux(self, *argv: str) -> str:
        answer = subprocess.run(
            ["tmux", "-S", str(self._socket), *argv], env=self._environ, check=True, capture_output=True, text=True
        )
        return answer.stdout


@pytest.fixture
def terminal(slurm_env: Mapping[str, str], tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Opens `slurmconsole ARGUMENTS` in a terminal on the session's cluster; a line `ended CODE` follows its end."""
    opened: list[Terminal] = []
    environ = {
        **{key: os.environ[key] for key in ("PATH", "HOME") if key in os.environ},
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SLURM_CONF": slurm_env["SLURM_CONF"],
        "SLURMCONSOLE_SANDBOX": str(Path(slurm_env["SLURM_CONF"]).parent),
        **{name: str(tmp_path / name.lower()) for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME")},
    }

    def open_terminal(arguments: str = "", size: tuple[int, int] = (120, 40), **extra: str) -> Terminal:
        program = f"{shlex.quote(sys.executable)} -m console.cli {arguments}"
        command = f"{program}; echo ended $?; exec sleep 1000"
        opened.append(Terminal(tmp_path / f"tmux{len(opened)}", command, {**environ, **extra}, size))
        return opened[-1]

    yield open_terminal
    for each in opened:
        each.kill()


def children(pid: int) -> list[int]:
    """The processes below `pid`."""
    answer = subprocess.run(["pgrep", "-P", str(pid)], check=False, capture_output=True, text=True)
    return [int(line) for line in answer.stdout.split()]


def end(pid: int, number: signal.Signals) -> None:
    """Send a signal and wait until the process is gone."""
    os.kill(pid, number)
    deadline = time.monotonic() + 15
    while Path(f"/proc/{pid}").exists():
        assert time.monotonic() < deadline, f"process {pid} is still there after {number.name}"
        time.sleep(0.05)
