"""What all modes share: tabs, status line, the picture of the cluster, a floor for the terminal's size."""

from __future__ import annotations

from typing import ClassVar, cast

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from console.screens.host import Host
from console.widgets.status_bar import StatusBar
from jobs.slurm.snapshot import Snapshot

MODES = (
    ("overview", "1", "Overview"),
    ("queue", "2", "Queue"),
    ("nodes", "3", "Nodes"),
    ("job", "4", "Job"),
    ("new", "5", "New job"),
)
SMALLEST = (60, 14)


class Tabs(Static):
    """The modes in one line, the current one marked."""

    DEFAULT_CSS = "Tabs { height: 1; dock: top; background: $panel; }"

    def __init__(self, mode: str) -> None:
        line = Text(" slurmconsole ", "bold")
        for name, key, title in MODES:
            line.append(" ")
            line.append(f" {key} {title} ", "reverse bold" if name == mode else "")
        super().__init__(line)


class ModeScreen(Screen[None]):
    """A mode of the console. Subclasses compose `content` and draw a snapshot in `show`."""

    MODE: ClassVar[str] = ""
    AUTO_FOCUS = "RowTable"

    @property
    def console_app(self) -> Host:
        """The app, as screens know it."""
        return cast("Host", self.app)

    def content(self) -> ComposeResult:
        """The widgets between tabs and footer."""
        yield from ()

    def show(self, snapshot: Snapshot) -> None:
        """Draw a picture of the cluster."""

    def compose(self) -> ComposeResult:
        """Tabs, content, status, footer; content that is too high loses its end, never the status line."""
        yield Tabs(self.MODE)
        with Vertical():
            yield from self.content()
        yield Static(id="too-small")
        yield StatusBar()
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Follow the app's picture."""
        self.watch(self.app, "snapshot", self._snapshot_changed, init=True)

    def on_screen_resume(self) -> None:
        """Catch up with what happened while another mode was shown."""
        self._snapshot_changed(self.console_app.snapshot)

    def on_resize(self, event: events.Resize) -> None:
        """Say so when the terminal is too small to be of use."""
        small = event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1]
        self.set_class(small, "too-small")
        self.set_class(event.size.width >= 130, "wide")
        self.set_class(event.size.height < 30, "short")
        if small:
            have, need = f"{event.size.width}x{event.size.height}", f"{SMALLEST[0]}x{SMALLEST[1]}"
            text = f"This terminal has {have} cells; slurmconsole needs at least {need}."
            self.query_one("#too-small", Static).update(text)

    def refresh_status(self) -> None:
        """Bring the status line up to date, if it is there: a screen may be coming or going."""
        app = self.console_app
        for bar in self.query(StatusBar):
            bar.update(app.snapshot, app.cluster.runner, app.pause_text)

    def _snapshot_changed(self, snapshot: Snapshot) -> None:
        if not self.is_current and not self.is_active:
            return
        self.set_class(bool(snapshot.problems), "stale")
        self.show(snapshot)
        self.refresh_status()
