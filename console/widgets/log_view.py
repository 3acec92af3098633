"""A log as lines of a file: opened at its end whatever its size, followed, searched; all reading is in a thread."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip

from console.text import safe
from console.widgets.log_line import LineStyles, draw_row, folded_note, mark_cut
from jobs.logs.follow import Change
from jobs.logs.lines import Row
from jobs.logs.opening import LogMissing, LogProblem
from jobs.logs.search import find_line
from jobs.logs.window import LogWindow, row_of

POLL_S = 0.5
_SIDEWAYS = 8  # cells


class LogView(ScrollView, can_focus=True):
    """Shows the log at the path given to `show`, or a sentence. Runs of progress records are one live line."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "log-view--progress",
        "log-view--bar",
        "log-view--folded",
        "log-view--match",
        "log-view--found",
        "log-view--message",
    }
    DEFAULT_CSS = """
    LogView {
        height: 1fr;
        background: $surface;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        & > .log-view--progress { color: $text-muted; }
        & > .log-view--bar { color: $text-success; text-style: bold; }
        & > .log-view--folded { color: $text-muted; text-style: italic; }
        & > .log-view--match { text-style: underline; color: $text-warning; }
        & > .log-view--found { text-style: bold reverse; }
        & > .log-view--message { color: $text-muted; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_by(-1)", "Up", show=False),
        Binding("down,j", "scroll_by(1)", "Down", show=False),
        Binding("pageup", "scroll_by(-1, True)", "Page up", show=False),
        Binding("pagedown,space", "scroll_by(1, True)", "Page down", show=False),
        Binding("left", "scroll_sideways(-1)", "Left", show=False),
        Binding("right", "scroll_sideways(1)", "Right", show=False),
        Binding("home,g", "to_start", "Start", show=False),
        Binding("end,G,f", "follow", "Follow", show=False),
        Binding("z", "fold", "Fold"),
        Binding("n", "search_next(False)", "Next match", show=False),
        Binding("N", "search_next(True)", "Previous match", show=False),
    ]

    following: var[bool] = var(True, init=False)
    folded: var[bool] = var(True, init=False)

    class Grew(Message):
        """The log grew to `size` bytes."""

        def __init__(self, size: int) -> None:
            super().__init__()
            self.size = size

    class FollowChanged(Message):
        """New lines are followed, or not any more."""

        def __init__(self, following: bool) -> None:
            super().__init__()
            self.following = following

    class Noticed(Message):
        """Something a reader should know, as one sentence: the log was truncated, a search found nothing."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._window: LogWindow | None = None
        self._opened = False
        self._rows: list[Row] = []
        self._message = ""
        self._noted = ""
        self._needle = ""
        self._found: int | None = None
        self._searches = 0
        self._moving = False
        self._lock = asyncio.Lock()

    def on_mount(self) -> None:
        """Look for news twice a second."""
        self.set_interval(POLL_S, self._poll)

    @property
    def rows(self) -> list[Row]:
        """The rows that can be scrolled to at the moment."""
        return self._rows

    @property
    def message(self) -> str:
        """The sentence shown in place of a log; empty while there is one."""
        return self._message

    def show(self, path: Path) -> None:
        """Show the log at `path` from its end and follow it; wait for it where it is missing."""
        self._needle, self._found = "", None
        self._reset("Opening the log …")
        self._window = LogWindow(path, self.folded)
        self.following = True
        self._poll()

    def show_message(self, text: str) -> None:
        """Show a sentence instead of a log."""
        self._reset(text)
        self._window = None

    def search(self, text: str, backwards: bool = False) -> None:
        """Go to the next line below (above, if `backwards`) that holds `text`, and mark all matches; "" marks none.

        Case counts if `text` has capitals. What is not found is told by `Noticed`.
        """
        self._needle = text
        self._found = None
        self.refresh()
        if text:
            self._search(backwards)

    def render_line(self, y: int) -> Strip:
        """One visible line: a row, or a line of the message."""
        scroll_x, scroll_y = self.scroll_offset
        width = self.scrollable_content_region.width
        if self._message:
            return self._message_line(y, width)
        index = scroll_y + y
        if index >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row = self._rows[index]
        found = self._found is not None and row_of(self._rows, self._found) == index
        strip = draw_row(row, self._needle, found, self._line_styles())
        shown = strip.crop_extend(scroll_x, scroll_x + width, self.rich_style)
        return mark_cut(shown, self.rich_style) if strip.cell_length > scroll_x + width else shown

    def watch_following(self, following: bool) -> None:
        """Tell the others."""
        self.post_message(self.FollowChanged(following))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling up stops following; near an edge of what was read, more is read."""
        super().watch_scroll_y(old_value, new_value)
        if self._moving or not self._opened or round(old_value) == round(new_value):
            return
        if new_value < old_value:
            self.following = False
        self._read_near()

    def on_resize(self, _: events.Resize) -> None:
        """Stay at the end while following, and fill a larger screen."""
        if self.following:
            self._scroll(self.max_scroll_y)
        self._read_near()

    def action_scroll_by(self, amount: int, pages: bool = False) -> None:
        """Scroll by lines or pages; upwards stops following even where there is nothing above."""
        if amount < 0:
            self.following = False
        lines = amount * max(1, self.size.height - 1) if pages else amount
        self.scroll_to(y=self.scroll_offset.y + lines, animate=False)
        self._read_near()

    def action_scroll_sideways(self, amount: int) -> None:
        """Scroll sideways, as far as the longest line."""
        self.scroll_to(x=self.scroll_offset.x + amount * _SIDEWAYS, animate=False, force=True)

    def action_to_start(self) -> None:
        """Go to the log's first line."""
        self.following = False
        self._ask(lambda window: window.open_at(0, self._wanted), go_to=0)

    def action_follow(self) -> None:
        """Go to the log's end and stay there."""
        self.following = True
        self._ask(lambda window: window.open_end(self._wanted))

    def action_fold(self) -> None:
        """Fold runs of progress records into their last one, or show them all."""
        self._set_folded(not self.folded, self._rows[self.scroll_offset.y].offset if self._rows else 0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """n and N are for the next match only while something is searched."""
        return action != "search_next" or bool(self._needle)

    def action_search_next(self, backwards: bool) -> None:
        """Go to the next match."""
        if self._needle:
            self._search(backwards)

    @property
    def _wanted(self) -> int:
        """Rows to have ready: what scrolling by a few pages shows."""
        return max(100, 3 * self.size.height)

    def _reset(self, message: str) -> None:
        self._message = message
        self._noted = ""
        self._opened = False
        self._rows = []
        self._found = None
        self._needle = ""
        self._searches += 1
        self.virtual_size = Size(0, 0)
        self.refresh()

    def _poll(self) -> None:
        if (
            self._window is None
            or not self.is_attached
            or self._lock.locked()
            or self.screen not in self.app.screen_stack
        ):
            return
        following, opened, wanted, size = self.following, self._opened, self._wanted, self._window.size

        def look(window: LogWindow) -> bool:
            if not opened:
                window.open_end(wanted)
                return True
            change = window.poll(following, wanted)
            if change is Change.RESTARTED:
                self.post_message(self.Noticed("The log was truncated or replaced; this is its new content."))
            if window.size != size:
                self.post_message(self.Grew(window.size))
            return change is Change.RESTARTED or (following and change is Change.GREW)

        self._ask(look)

    def _read_near(self) -> None:
        """Read on where the screen is near an edge of the rows."""
        window, height = self._window, self.size.height
        if window is None or not self._opened or self._lock.locked():
            return
        if self.scroll_offset.y < height and window.start:
            self._ask(LogWindow.back)
        elif self.scroll_offset.y >= self.max_scroll_y - height and not self.following and not window.at_end:
            self._ask(LogWindow.forward)

    def _ask(self, read: Callable[[LogWindow], bool | None], go_to: int | None = None) -> None:
        """Let a thread `read`, then show the rows unless it says False; `go_to` is a byte offset to scroll to."""
        if self._window is not None:
            self.run_worker(self._answer(self._window, read, go_to), group="log")

    async def _answer(
        self, window: LogWindow, read: Callable[[LogWindow], bool | None], go_to: int | None = None
    ) -> None:
        def work() -> list[Row] | None:
            return None if read(window) is False else window.rows()

        async with self._lock:
            if window is not self._window:
                return
            try:
                rows = await asyncio.to_thread(work)
            except LogProblem as problem:
                if window is self._window:
                    self._explain(window.path, problem)
                return
            if rows is not None and window is self._window:
                self._take(rows, go_to)

    def _explain(self, path: Path, problem: LogProblem) -> None:
        """In place of a log that never opened; of one that is shown, a note, once."""
        message = str(problem)
        if self._opened:
            if message != self._noted:
                self._noted = message
                self.post_message(self.Noticed(message))
            return
        if isinstance(problem, LogMissing):
            message = f"The log is not there yet: {safe(str(path))}. It appears when the job starts."
        if message != self._message:
            self._message = message
            self.refresh()

    def _take(self, rows: list[Row], go_to: int | None) -> None:
        """Show `rows`: at the end while following, at `go_to`, or with the top line kept. Repaint what changed."""
        top, height = self.scroll_offset.y, self.size.height
        at = self._rows[top].offset if top < len(self._rows) else 0
        before = self._rows[top : top + height]
        repaint, grown = bool(self._message), len(rows) != len(self._rows)
        self._message, self._opened, self._rows = "", True, rows
        self.virtual_size = Size(max(map(_width, rows), default=0), len(rows))
        if self.following:
            self._scroll(self.max_scroll_y)
        elif go_to is not None and rows:
            index = row_of(rows, go_to)
            kept = row_of(rows, at)
            in_sight = rows[kept].offset == at and kept <= index < kept + height
            self._scroll(kept if in_sight else index - height // 3)
        else:
            self._scroll(row_of(rows, at))
        if repaint:
            self.refresh()
        elif self.scroll_offset.y == top:
            now = rows[top : top + height]
            for index in range(max(len(before), len(now))):
                if before[index : index + 1] != now[index : index + 1]:
                    self.refresh_line(top + index)
        if grown and not self.following:
            self._read_near()

    def _scroll(self, y: int) -> None:
        """Scroll for the reader, which is not the reader's own scrolling."""
        self._moving = True
        self.scroll_to(y=y, animate=False, force=True)
        self._moving = False

    def _set_folded(self, folded: bool, at: int) -> None:
        self.folded = folded

        def reread(window: LogWindow) -> None:
            window.folded = folded
            if self.following:
                window.open_end(self._wanted)
            else:
                window.open_at(at, self._wanted)

        self._ask(reread, go_to=at)

    def _search(self, backwards: bool) -> None:
        if self._window is None or not self._rows:
            return
        self._searches += 1
        start = self._found
        if start is None:
            # From the screen's edge, so that a match on it is found first.
            edge = self.scroll_offset.y + (self.size.height if backwards else 0)
            start = self._rows[edge].offset if edge < len(self._rows) else self._window.size
            start -= 0 if backwards else 1
        self.run_worker(self._find(self._window, self._needle, start, backwards, self._searches), group="log-search")

    async def _find(self, window: LogWindow, needle: str, start: int, backwards: bool, number: int) -> None:
        try:
            found = await asyncio.to_thread(
                find_line, window.path, needle, start, backwards, lambda: self._searches != number
            )
        except LogProblem as problem:
            self.post_message(self.Noticed(str(problem)))
            return
        if self._searches != number or window is not self._window:
            return
        if found is None:
            where = "above" if backwards else "below"
            self.post_message(self.Noticed(f"No match for “{safe(needle)}” {where}."))
            return
        self._go_to_match(found)

    def _go_to_match(self, offset: int) -> None:
        self.following = False
        self._found = offset
        row = self._rows[row_of(self._rows, offset)]
        if row.progress and row.count > 1:
            self._set_folded(False, offset)
            return
        inside = self._window is not None and self._window.start <= offset <= self._rows[-1].offset

        def move(window: LogWindow) -> None:
            if not inside:
                window.open_at(offset, self._wanted)

        self.refresh()
        self._ask(move, go_to=offset)

    def _line_styles(self) -> LineStyles:
        style = self.get_component_rich_style
        # Marks are laid over other styles; the muted colours are only known against the background.
        match, found = style("log-view--match", partial=True), style("log-view--found", partial=True)
        progress, bar, folded = (style(f"log-view--{name}") for name in ("progress", "bar", "folded"))
        return LineStyles(self.rich_style, progress, bar, folded, match, found)

    def _message_line(self, y: int, width: int) -> Strip:
        lines = textwrap.wrap(self._message, max(1, width - 4))
        index = y - max(0, (self.size.height - len(lines)) // 2)
        if not 0 <= index < len(lines):
            return Strip.blank(width, self.rich_style)
        style = self.rich_style + self.get_component_rich_style("log-view--message")
        text = " " * max(0, (width - cell_len(lines[index])) // 2) + lines[index]
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)


def _width(row: Row) -> int:
    """Cells of a row with its note on what is folded."""
    return len(folded_note(row)) + (len(row.text) if row.text.isascii() else cell_len(row.text))
