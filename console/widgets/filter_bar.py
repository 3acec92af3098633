"""The line that `/` opens: text that rows must contain."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input


class FilterBar(Input):
    """Hidden until opened. Enter keeps the filter, Escape clears it."""

    DEFAULT_CSS = """
    FilterBar { height: 1; border: none; padding: 0 1; display: none; background: $boost; }
    FilterBar.open { display: block; }
    FilterBar:focus { border: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "clear", "Clear filter", show=True)]

    class Closed(Message):
        """The filter lost its purpose: focus belongs to the table again."""

    def __init__(self, placeholder: str = "filter: words that a row must contain") -> None:
        super().__init__(placeholder=placeholder, compact=True, select_on_focus=False)

    def open(self) -> None:
        """Show the line and type into it."""
        self.add_class("open")
        self.focus()

    def action_clear(self) -> None:
        """Forget the filter."""
        self.value = ""
        self.remove_class("open")
        self.post_message(self.Closed())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Keep the filter and go back to the rows."""
        event.stop()
        self.set_class(bool(self.value), "open")
        self.post_message(self.Closed())


def matches(words: str, text: str) -> bool:
    """Whether every word of the filter occurs in the text, without regard to case."""
    lowered = text.lower()
    return all(word in lowered for word in words.lower().split())
