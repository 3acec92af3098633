"""All keys of a screen, made from its bindings."""

from __future__ import annotations

from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

LEGEND = """GPUs are counted once each:
  █ ▮ usable       a new job could have it at this moment
  ░ ▯ allocated    held by jobs
  ▒   stranded     free, but its node has no CPU or memory left for it
  ╳   unavailable  its node is down, drained, reserved or powered down"""


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
        table = Table.grid(padding=(0, 3))
        seen: dict[str, list[str]] = {}
        for active in self._about.active_bindings.values():
            binding = active.binding
            if binding.description and binding.action not in ("command_palette", "help_quit"):
                seen.setdefault(binding.description, []).append(self.app.get_key_display(binding))
        for description, keys in seen.items():
            table.add_row(Text(" ".join(dict.fromkeys(keys)), "bold cyan"), description)
        return table
