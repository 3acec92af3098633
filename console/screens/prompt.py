"""The `:` prompt."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input

COMMANDS = ("overview", "queue", "jobs", "nodes", "job ", "new", "log", "help", "quit")


class PromptScreen(ModalScreen[str | None]):
    """One line at the bottom; the answer is what was typed, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "Back")]

    def compose(self) -> ComposeResult:
        """The line."""
        yield Input(
            placeholder=":overview  :queue  :nodes  :job ID  :new  :log  :help  :quit",
            suggester=SuggestFromList(COMMANDS, case_sensitive=False),
            compact=True,
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Hand the command over, once."""
        if self.is_current:
            self.dismiss(event.value.removeprefix(":"))
