"""The console: modes, keys, the poller and what screens ask of the whole."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar

from textual import events, work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.screen import Screen
from textual.worker import Worker, WorkerState

from console.poller import Schedule
from console.screens.base import ModeScreen
from console.screens.command_log import CommandLogScreen
from console.screens.help import HelpScreen
from console.screens.job import JobScreen
from console.screens.nodes import NodesScreen
from console.screens.overview import OverviewScreen
from console.screens.prompt import PromptScreen
from console.screens.queue import QueueScreen
from console.screens.wizard import WizardScreen
from console.settings import Settings
from jobs.slurm.cluster import Cluster
from jobs.slurm.run import Runner
from jobs.slurm.snapshot import EMPTY, Snapshot
from jobs.spec import JobSpec

LEAVE_WITHIN = 5.0
"""Seconds."""


class SnapshotReady(Message):
    """A new picture of the cluster, from the polling thread."""

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot = snapshot


class SlurmConsole(App[None]):
    """Five modes over one picture of the cluster."""

    TITLE = "slurmconsole"
    CSS_PATH = Path(__file__).parent / "styles" / "console.tcss"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        "overview": OverviewScreen,
        "queue": QueueScreen,
        "nodes": NodesScreen,
        "job": JobScreen,
        "new": WizardScreen,
    }
    DEFAULT_MODE = "overview"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "mode('overview')", "Overview", show=False),
        Binding("2", "mode('queue')", "Queue", show=False),
        Binding("3", "mode('nodes')", "Nodes", show=False),
        Binding("4", "mode('job')", "Job", show=False),
        Binding("5,n", "mode('new')", "New job", key_display="n"),
        Binding("colon", "prompt", "Command", key_display=":"),
        Binding("at", "command_log", "Command log", key_display="@", show=False),
        Binding("r", "refresh_now", "Refresh", show=False),
        Binding("p", "pause", "Pause or go on", show=False),
        Binding("question_mark", "help", "Help", key_display="?"),
        Binding("q", "quit", "Quit"),
    ]

    snapshot: reactive[Snapshot] = reactive(EMPTY, init=False)

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        runner: Runner | None = None,
        start_mode: str = "overview",
        spec: JobSpec | None = None,
    ) -> None:
        super().__init__()
        self.settings = settings or Settings.model_validate({})
        self.cluster = Cluster(runner or Runner())
        self.user = self.cluster.runner.user
        self.job_id: str | None = None
        self.start_mode = start_mode
        self.start_spec = spec
        self._schedule = Schedule.of(self.settings.jobs_interval, self.settings.nodes_interval)
        self._touched = time.monotonic()
        self._paused = self._in_background = False
        self._polling = False
        self._warned = False

    def on_mount(self) -> None:
        """Start polling; leave cleanly on SIGTERM and SIGHUP."""
        if self.settings.theme in self.available_themes:
            self.theme = self.settings.theme
        else:
            self.notify(f"There is no theme {self.settings.theme!r}; ctrl+p offers those there are.", markup=False)
        self._leave_on_signals()
        self._tick()
        self.set_interval(1.0, self._tick)
        if self.start_mode != self.DEFAULT_MODE:
            self.switch_mode(self.start_mode)

    def _leave_on_signals(self) -> None:
        """End on SIGTERM and SIGHUP, at the latest after LEAVE_WITHIN: a lost terminal may block the drawing thread."""
        loop = asyncio.get_running_loop()

        def leave(_number: int, _frame: object) -> None:
            watchdog = threading.Timer(LEAVE_WITHIN, os._exit, (1,))
            watchdog.daemon = True
            watchdog.start()
            loop.call_soon_threadsafe(self.exit)

        for number in (signal.SIGTERM, signal.SIGHUP):
            with contextlib.suppress(ValueError):
                signal.signal(number, leave)

    def on_unmount(self) -> None:
        """Kill whatever command still runs."""
        self.cluster.runner.close()

    async def on_event(self, event: events.Event) -> None:
        """Note when somebody last touched a key or the mouse."""
        if isinstance(event, events.InputEvent | events.AppFocus):
            self._touched = time.monotonic()
        await super().on_event(event)

    def on_app_blur(self) -> None:
        """Nobody looks: ask nothing. Terminals that do not report it never get here."""
        self._in_background = True
        self._tick()

    def on_app_focus(self) -> None:
        """Somebody looks again: ask what is due."""
        self._in_background = False
        self._tick()

    @property
    def pause_text(self) -> str:
        """Why Slurm is not asked at this moment; empty while it is."""
        if self._paused:
            return "paused, p goes on"
        return "paused in the background" if self._in_background else ""

    def on_snapshot_ready(self, message: SnapshotReady) -> None:
        """One message, one reactive: every screen that is shown draws from here."""
        self.snapshot = message.snapshot

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A fault of ours in a worker is told, and the console goes on."""
        if event.state is WorkerState.ERROR:
            self.notify(f"Internal error: {event.worker.error!r}", severity="error", markup=False, timeout=15)

    def open_job(self, job_id: str) -> None:
        """Show a job in the Job mode."""
        self.job_id = job_id
        self.switch_mode("job")

    def open_queue(self, words: str) -> None:
        """Show the queue, filtered by words."""
        self.switch_mode("queue")
        screen = self.screen
        if isinstance(screen, QueueScreen):
            screen.call_after_refresh(screen.show_words, words)

    def action_mode(self, mode: str) -> None:
        """Switch modes; each keeps its own state. From a dialog, leave the dialog first."""
        if isinstance(self.screen, ModeScreen):
            self.switch_mode(mode)

    def action_help(self) -> None:
        """All keys of this screen."""
        if isinstance(self.screen, ModeScreen):
            self.push_screen(HelpScreen(self.screen))

    def action_command_log(self) -> None:
        """The commands that were run, with exit codes and times."""
        if isinstance(self.screen, ModeScreen):
            self.push_screen(CommandLogScreen(self.cluster.runner.log))

    def action_prompt(self) -> None:
        """Type a command, as in k9s."""
        if isinstance(self.screen, ModeScreen):
            self.push_screen(PromptScreen(), self.run_command)

    async def action_quit(self) -> None:
        """Leave; while sbatch has not answered, only after saying what that means."""
        if any(worker.group == "sbatch" and worker.is_running for worker in self.workers) and not self._warned:
            self._warned = True
            self.notify("sbatch has not answered yet. Press q again to leave; the wizard will then look for the job.",
                        severity="warning", markup=False)  # fmt: skip
            return
        self.exit()

    def action_refresh_now(self) -> None:
        """Ask Slurm at once."""
        self.refresh_soon()

    def action_pause(self) -> None:
        """Ask Slurm nothing until p is pressed again; r still asks once."""
        self._paused = not self._paused
        self._tick()

    def action_help_quit(self) -> None:
        """Ctrl-C: say how to leave."""
        self.notify("Press q to quit, or ctrl+q from anywhere. Nothing is lost: drafts are kept.", markup=False)

    def refresh_soon(self) -> None:
        """Ask Slurm for everything as soon as the running poll has ended."""
        self._schedule.hurry()
        self._tick()

    def run_command(self, text: str | None) -> None:
        """Carry out a command of the `:` prompt."""
        word, _, argument = (text or "").strip().partition(" ")
        modes = {
            "overview": "overview", "gpus": "overview", "partitions": "overview", "queue": "queue", "jobs": "queue",
            "nodes": "nodes", "job": "job", "new": "new", "submit": "new",
        }  # fmt: skip
        if not word:
            return
        if word in ("job", "logs") and argument:
            self.open_job(argument.strip())
        elif word in modes:
            self.switch_mode(modes[word])
        elif word in ("q", "quit", "exit"):
            self.exit()
        elif word == "help":
            self.action_help()
        elif word in ("log", "commands"):
            self.action_command_log()
        else:
            self.notify(f"There is no command {word!r}. Try: overview, queue, nodes, job ID, new, log, help, quit.",
                        severity="warning", markup=False)  # fmt: skip

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In the wizard, its own key is not offered."""
        return not (action == "mode" and parameters == ("new",) and isinstance(self.screen, WizardScreen))

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """What the palette (ctrl+p) offers."""
        for mode, title in (
            ("overview", "Overview"),
            ("queue", "Queue"),
            ("nodes", "Nodes"),
            ("job", "Job"),
            ("new", "New job"),
        ):
            yield SystemCommand(title, f"Show the mode {title}", lambda mode=mode: self.switch_mode(mode))
        yield SystemCommand("Command log", "The Slurm commands that were run", self.action_command_log)
        yield SystemCommand("Refresh", "Ask Slurm at once", self.action_refresh_now)
        yield SystemCommand("Pause", "Ask Slurm nothing, or go on", self.action_pause)
        yield SystemCommand("Help", "All keys of this screen", self.action_help)
        yield SystemCommand("Theme", "Choose colours", self.action_change_theme)
        yield SystemCommand("Quit", "Leave the console", self.action_quit)

    def _tick(self) -> None:
        now = time.monotonic()
        jobs, nodes = self._schedule.hurried() if self.pause_text else self._schedule.due(now, now - self._touched)
        if (jobs or nodes) and not self._polling:
            self._polling = True
            self._poll(jobs=jobs, nodes=nodes)
        if isinstance(self.screen, ModeScreen) and self.screen.is_mounted:
            self.screen.refresh_status()

    @work(thread=True, group="poll", exit_on_error=False)
    def _poll(self, *, jobs: bool, nodes: bool) -> None:
        try:
            snapshot = self.cluster.refresh(jobs=jobs, nodes=nodes)
            self._schedule.answered(snapshot, time.monotonic(), jobs=jobs, nodes=nodes)
            self.post_message(SnapshotReady(snapshot))
        finally:
            self._polling = False
