"""All keys of a screen, made from its bindings."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

LEGEND = """GPUs are counted once each:
  █ ▮ usable       a new job could have it at this moment
  ░ ▯ allocated    held by jobs
  ▒   stranded     free, but its node has no CPU or memory left for it
  ╳   unavailable  its node is down, drained, reserved or powered down"""


_COMMON_KNOWLEDGE = (
    "Scroll Left", "Scroll Right", "Page Left", "Page Right", "Focus Next", "Focus Previous", "Copy selected text",
    "palette", "Quit the app", "Cursor left", "Cursor right",
)  # fmt: skip


class HelpScreen(ModalScreen[None]):
    """Keys and the meaning of the shapes."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,question_mark,enter", "dismiss(None)", "Close")]

    def __init__(self, about: Screen[None]) -> None:
        super().__init__()
        self._about = about

    def compose(self) -> ComposeResult:
        """A box with two columns."""
        with VerticalScroll(id="help-box"):
            yield Static(self._keys())
            yield Static(LEGEND, classes="legend")
            yield Static("Esc closes this. Ctrl+P lists all actions by name.", classes="legend")

    def _keys(self) -> Table:
        """What this screen offers first, then the whole console's keys, then how to move."""
        table = Table.grid(padding=(0, 3))
        seen: dict[str, list[str]] = {}
        for active in sorted(self._about.active_bindings.values(), key=self._order):
            binding = active.binding
            if binding.description and binding.description not in _COMMON_KNOWLEDGE:
                seen.setdefault(binding.description, []).append(self.app.get_key_display(binding))
        for description, keys in seen.items():
            table.add_row(Text(" ".join(dict.fromkeys(keys)), "bold cyan"), description)
        return table

    def _order(self, active: ActiveBinding) -> int:
        if active.node is self._about:
            return 0
        return 1 if active.node is self.app else 2
