"""A mode that is one table with a filter and a line that counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from console.columns.column import Column
from console.screens.base import ModeScreen
from console.widgets.filter_bar import FilterBar, matches
from console.widgets.row_table import RowTable
from jobs.slurm.snapshot import Snapshot

R = TypeVar("R")


class TableScreen(ModeScreen, Generic[R]):
    """Subclasses say which records, which columns, and what to do with the chosen one."""

    COLUMNS: ClassVar[tuple[Column[Any], ...]] = ()
    EMPTY: ClassVar[str] = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("escape", "back", "Back", show=False),
    ]

    def records(self, snapshot: Snapshot) -> Sequence[R]:
        """The rows before the filter."""
        raise TypeError("subclasses say which records")

    def key(self, record: R) -> str:
        """What the cursor holds on to."""
        raise TypeError("subclasses say which key")

    def summary(self, shown: int, total: int, snapshot: Snapshot) -> Text:
        """The line above the table."""
        return Text(f"{shown} of {total}; Esc shows all" if shown != total else f"{total}")

    def content(self) -> ComposeResult:
        """Summary, filter, table, a line about the row under the cursor."""
        yield Static(id="summary")
        yield FilterBar()
        yield RowTable[R](self.COLUMNS, self.key, empty=self.EMPTY, id="rows")
        yield Static(id="about-row")

    @property
    def table(self) -> RowTable[R]:
        """The table."""
        return self.query_one("#rows", RowTable)

    def show(self, snapshot: Snapshot) -> None:
        """Filter and show the records."""
        records = self.records(snapshot)
        words = self.query_one(FilterBar).value
        shown = [record for record in records if matches(words, self.text_of(record))] if words.strip() else records
        self.table.set_rows(shown)
        self.query_one("#summary", Static).update(self.summary(len(shown), len(records), snapshot))
        self.show_about()

    def text_of(self, record: R) -> str:
        """What the filter looks at: all cells of the row."""
        return " ".join(column.cell(record)[0] for column in self.COLUMNS)

    def about(self, record: R) -> Text:
        """A line about the row under the cursor."""
        del record
        return Text("")

    def show_about(self) -> None:
        """Describe the row under the cursor."""
        row = self.table.cursor_row
        self.query_one("#about-row", Static).update(self.about(row) if row is not None else "")

    def action_filter(self) -> None:
        """Type a filter."""
        self.query_one(FilterBar).open()

    def action_back(self) -> None:
        """Clear the filter, or go to the overview."""
        bar = self.query_one(FilterBar)
        if bar.value:
            bar.action_clear()
        else:
            self.app.switch_mode("overview")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter while typing."""
        event.stop()
        self.show(self.console_app.snapshot)

    def on_filter_bar_closed(self) -> None:
        """Back to the rows."""
        self.table.focus()

    def on_row_table_cursor_moved(self) -> None:
        """Keep the line about the row in step."""
        self.show_about()
