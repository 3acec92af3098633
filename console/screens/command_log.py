"""The commands that the console has run: when, how long, with what exit code."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Static

from console.columns.column import Cell, Column
from console.text import safe
from console.widgets.row_table import RowTable
from jobs.slurm.run import CommandLog, LogEntry


def _code(entry: LogEntry) -> Cell:
    if entry.returncode is None:
        return "none", "bold red"
    return str(entry.returncode), "green" if entry.returncode == 0 else "bold red"


COLUMNS: tuple[Column[LogEntry], ...] = (
    Column("TIME", lambda e: (time.strftime("%H:%M:%S", time.localtime(e.at)), ""), lambda e: e.at, rank=8),
    Column("MS", lambda e: (f"{e.milliseconds:.0f}", ""), lambda e: e.milliseconds, right=True, rank=8),
    Column("EXIT", _code, lambda e: str(e.returncode), right=True, rank=8),
    Column("BYTES", lambda e: (f"{e.stdout_bytes}", ""), lambda e: e.stdout_bytes, right=True, rank=4),
    Column("NOTE", lambda e: (safe(e.note), "yellow"), lambda e: e.note, max_width=30, rank=5),
    Column("COMMAND", lambda e: (safe(e.command), "bold"), lambda e: e.command, max_width=400, rank=9, grow=True),
)


class CommandLogScreen(ModalScreen[None]):
    """Newest first, and the whole command under the cursor below."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,at", "dismiss(None)", "Close")]

    def __init__(self, log: CommandLog) -> None:
        super().__init__()
        self._log = log

    def compose(self) -> ComposeResult:
        """A box with the table."""
        with Vertical(id="command-log"):
            yield Static("Commands that were run", classes="heading")
            yield RowTable(COLUMNS, lambda entry: str(id(entry)), empty="None yet.")
            yield Static(id="whole-command", markup=False)

    def on_mount(self) -> None:
        """Fill the table, and again each second."""
        self._fill()
        self.set_interval(1.0, self._fill)

    def on_row_table_cursor_moved(self, event: RowTable.CursorMoved) -> None:
        """Show the whole command."""
        row: LogEntry | None = event.table.cursor_row
        self.query_one("#whole-command", Static).update(safe(row.command) if row else "")

    def _fill(self) -> None:
        table: RowTable[LogEntry] = self.query_one(RowTable)
        table.set_rows(tuple(reversed(tuple(self._log.entries))))
