"""A table over plain rows with Textual's line API: only visible rows are rendered, only changed ones repainted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.columns.column import Cell, Column, layout
from console.text import fit

R = TypeVar("R")


class RowTable(ScrollView, Generic[R], can_focus=True):
    """Rows with a key each. The cursor stays on its key when rows come, go or are sorted otherwise."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "row-table--header",
        "row-table--cursor",
        "row-table--cursor-blurred",
        "row-table--empty",
    }
    DEFAULT_CSS = """
    RowTable {
        height: 1fr;
        background: $surface;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & > .row-table--header { color: $text-muted; text-style: bold; background: $panel; }
        & > .row-table--cursor { background: $primary 40%; text-style: bold; }
        & > .row-table--cursor-blurred { background: $primary 15%; }
        & > .row-table--empty { color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home,g", "first", "First row", show=False),
        Binding("end,G", "last", "Last row", show=False),
        Binding("enter", "choose", "Open", show=False),
        Binding("s", "sort_next", "Sort", show=False),
        Binding("S", "sort_reverse", "Reverse sort", show=False),
    ]

    cursor_key: var[str | None] = var(None)

    class RowMessage(Message):
        """About the row with `key`."""

        def __init__(self, table: RowTable[Any], key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> RowTable[Any]:
            """The table, for selectors."""
            return self.table

    class Chosen(RowMessage):
        """Enter or a double click."""

    class CursorMoved(RowMessage):
        """The cursor is on another row; `key` is empty in an empty table."""

    def __init__(
        self, columns: Sequence[Column[R]], key: Callable[[R], str], *, empty: str = "", id: str | None = None
    ) -> None:
        super().__init__(id=id)
        self.columns = tuple(columns)
        self.empty = empty
        self.sort_column: Column[R] | None = None
        self.sort_descending = False
        self._key = key
        self._records: list[R] = []
        self._rows: list[R] = []
        self._index: dict[str, int] = {}
        self._cells: list[tuple[Cell, ...]] = []
        self._layout: list[tuple[Column[R], int]] = []

    @property
    def rows(self) -> Sequence[R]:
        """The rows in the order shown."""
        return self._rows

    @property
    def cursor_row(self) -> R | None:
        """The row under the cursor."""
        index = self._cursor_index
        return self._rows[index] if index is not None else None

    @property
    def _cursor_index(self) -> int | None:
        return self._index.get(self.cursor_key) if self.cursor_key is not None else None

    def set_rows(self, records: Sequence[R]) -> None:
        """Show these rows, sorted; repaint what changed and keep the cursor on its key."""
        at = self._cursor_index or 0
        self._records = list(records)
        self._rows = self._sorted(self._records)
        self._index = {self._key(row): i for i, row in enumerate(self._rows)}
        old_layout = self._layout
        self._lay_out()
        old_cells, self._cells = self._cells, [self._cells_of(row) for row in self._rows]
        if self._cursor_index is None:
            self._move_to(min(at, len(self._rows) - 1))
        if old_layout != self._layout or len(old_cells) != len(self._cells) or not self._cells:
            self.refresh()
            return
        for index in range(*self._visible_range()):
            if old_cells[index] != self._cells[index]:
                self._refresh_row(index)

    def render_line(self, y: int) -> Strip:
        """One line of the widget: the header, then the rows from the scroll offset on."""
        width = self.scrollable_content_region.width
        if y == 0:
            return self._header(width)
        if not self._rows:
            return self._empty_line(y, width)
        index = y - 1 + self.scroll_offset.y
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        base = self.rich_style
        if index == self._cursor_index:
            name = "row-table--cursor" if self.has_focus else "row-table--cursor-blurred"
            base = self.get_component_rich_style(name)
        return self._line(self._cells[index], width, base)

    def action_move(self, rows: int) -> None:
        """Move the cursor by `rows`."""
        self._move_to((self._cursor_index or 0) + rows)

    def action_page(self, direction: int) -> None:
        """Move the cursor by a page."""
        self.action_move(direction * max(1, self._page_height))

    def action_first(self) -> None:
        """Move to the first row."""
        self._move_to(0)

    def action_last(self) -> None:
        """Move to the last row."""
        self._move_to(len(self._rows) - 1)

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        if self.cursor_key is not None and self._rows:
            self.post_message(self.Chosen(self, self.cursor_key))

    def action_sort_next(self) -> None:
        """Sort by the next column."""
        shown = [column for column, _ in self._layout]
        at = shown.index(self.sort_column) + 1 if self.sort_column in shown else 0
        self.sort_by(shown[at] if at < len(shown) else None)

    def action_sort_reverse(self) -> None:
        """Reverse the sort order."""
        self.sort_by(self.sort_column, descending=not self.sort_descending)

    def sort_by(self, column: Column[R] | None, *, descending: bool = False) -> None:
        """Sort by a column; None is the order in which rows were given."""
        self.sort_column, self.sort_descending = column, descending
        self.set_rows(self._records)
        self.refresh()

    def on_resize(self, _event: events.Resize) -> None:
        """Lay the columns out anew."""
        self._lay_out()
        self._cells = [self._cells_of(row) for row in self._rows]
        self._scroll_to_cursor()
        self.refresh()

    def on_focus(self) -> None:
        """Show the cursor as active."""
        self.refresh()

    def on_blur(self) -> None:
        """Show the cursor as inactive."""
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor or sorts by the header; a double click opens."""
        if event.y == 0:
            self._sort_by_header(event.x)
            return
        index = event.y - 1 + self.scroll_offset.y
        if index < len(self._rows):
            self._move_to(index)
            if event.chain == 2:
                self.action_choose()

    def watch_cursor_key(self, old: str | None, new: str | None) -> None:
        """Repaint the two rows concerned and tell others."""
        for key in (old, new):
            if key in self._index:
                self._refresh_row(self._index[key])
        self.post_message(self.CursorMoved(self, new or ""))

    @property
    def _page_height(self) -> int:
        return max(0, self.scrollable_content_region.height - 1)

    def _visible_range(self) -> tuple[int, int]:
        top = self.scroll_offset.y
        return top, min(len(self._rows), top + self._page_height)

    def _refresh_row(self, index: int) -> None:
        top, end = self._visible_range()
        if top <= index < end:
            self.refresh(Region(0, index - top + 1, self.size.width, 1))

    def _move_to(self, index: int) -> None:
        if not self._rows:
            self.cursor_key = None
            return
        self.cursor_key = self._key(self._rows[max(0, min(index, len(self._rows) - 1))])
        self._scroll_to_cursor()

    def _scroll_to_cursor(self) -> None:
        index, height = self._cursor_index, self._page_height
        if index is None or height == 0:
            return
        top = self.scroll_offset.y
        if index < top:
            self.scroll_to(y=index, animate=False, force=True)
        elif index >= top + height:
            self.scroll_to(y=index - height + 1, animate=False, force=True)

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        self._layout = layout(self.columns, self._rows, width - 2) if width > 2 else []
        self.virtual_size = Size(width, len(self._rows) + 1)

    def _sorted(self, records: list[R]) -> list[R]:
        column = self.sort_column
        if column is None:
            return list(reversed(records)) if self.sort_descending else records
        key = column.sort
        return sorted(records, key=lambda row: _sortable(key(row)), reverse=self.sort_descending)

    def _cells_of(self, row: R) -> tuple[Cell, ...]:
        return tuple(column.cell(row) for column, _ in self._layout)

    def _sort_by_header(self, x: int) -> None:
        left = 1
        for column, width in self._layout:
            if left <= x < left + width:
                self.sort_by(column, descending=self.sort_column is column and not self.sort_descending)
            left += width + 1

    def _header(self, width: int) -> Strip:
        style = self.get_component_rich_style("row-table--header")
        segments = [Segment(" ", style)]
        for column, column_width in self._layout:
            arrow = ("▼" if self.sort_descending else "▲") if column is self.sort_column else ""
            segments.append(Segment(fit(column.title + arrow, column_width, right=column.right) + " ", style))
        return Strip(segments).adjust_cell_length(width, style)

    def _empty_line(self, y: int, width: int) -> Strip:
        if y != 2:
            return Strip.blank(width, self.rich_style)
        style = self.get_component_rich_style("row-table--empty")
        return Strip([Segment(fit(f"  {self.empty}", width), style)]).adjust_cell_length(width, style)

    def _line(self, cells: tuple[Cell, ...], width: int, base: Style) -> Strip:
        segments = [Segment(" ", base)]
        for (text, style), (column, column_width) in zip(cells, self._layout, strict=True):
            cell_style = base + Style.parse(style) if style else base
            segments.append(Segment(fit(text, column_width, right=column.right), cell_style))
            segments.append(Segment(" ", base))
        return Strip(segments).adjust_cell_length(width, base)


def _sortable(value: object) -> tuple[bool, object]:
    """Unknown values sort last."""
    return (value is None, value if value is not None else 0)
