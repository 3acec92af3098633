"""One field of the wizard: label, input, and what is wrong with it."""

from __future__ import annotations

from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Label, Select, Static, TextArea

from console.spec_form import Choices, Field, Kind


class Choice(Select[str], inherit_bindings=False):
    """A Select that opens by Enter or the space bar; the arrow keys lead from field to field."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,space", "show_overlay", "Choose", show=False)]


class FormRow(Horizontal):
    """Reads and writes text, whatever its widget is."""

    DEFAULT_CSS = """
    FormRow { height: auto; padding: 0 1; }
    FormRow > Label { width: 18; color: $text-muted; }
    FormRow:focus-within > Label { color: $text-accent; text-style: bold; }
    FormRow Input, FormRow Choice { width: 1fr; max-width: 66; height: 1; }
    FormRow TextArea { width: 1fr; max-width: 66; height: 3; border: none; padding: 0; background: $boost; }
    FormRow > .wrong { width: 2; color: $text-error; text-style: bold; }
    FormRow.hidden { display: none; }
    """

    class Edited(Message):
        """The person changed the field."""

    def __init__(self, field: Field, text: str, choices: Choices | None = None) -> None:
        super().__init__(id=field.widget_id)
        self.field = field
        self._choices = choices or []
        self._initial = text

    def compose(self) -> ComposeResult:
        """Label, widget, marker."""
        yield Label(self.field.label)
        yield Static(" ", classes="wrong")
        yield self._make()

    @property
    def text(self) -> str:
        """The field's text."""
        widget = self._widget
        if isinstance(widget, Select):
            return str(widget.value) if widget.value is not Select.NULL else ""
        if isinstance(widget, TextArea):
            return widget.text
        assert isinstance(widget, Input)
        return widget.value

    @text.setter
    def text(self, text: str) -> None:
        widget = self._widget
        if isinstance(widget, Select):
            self.set_choices(self._choices, text)
        elif isinstance(widget, TextArea):
            widget.text = text
        elif isinstance(widget, Input):
            widget.value = text

    def set_choices(self, choices: Choices, text: str) -> None:
        """Offer these; a value that is not among them is kept and offered too."""
        widget = self._widget
        assert isinstance(widget, Select)
        self._choices = choices
        with self.prevent(Select.Changed):
            widget.set_options(_with(choices, text))
            widget.value = text
            widget.mutate_reactive(Select.value)  # type: ignore[misc]

    def show_wrong(self, wrong: bool) -> None:
        """Mark the field or clear the mark."""
        self.query_one(".wrong", Static).update(Text("✗" if wrong else " "))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell the wizard."""
        event.stop()
        self.post_message(self.Edited())

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Tell the wizard."""
        event.stop()
        self.post_message(self.Edited())

    def on_select_changed(self, event: Select.Changed) -> None:
        """Tell the wizard."""
        event.stop()
        self.post_message(self.Edited())

    @property
    def _widget(self) -> Widget:
        return self.query_one(".editor")

    def _make(self) -> Widget:
        if self.field.kind in (Kind.CHOICE, Kind.SWITCH):
            options: Any = _with(self._choices, self._initial)
            return Choice(options, value=self._initial, allow_blank=False, compact=True, classes="editor")
        if self.field.kind in (Kind.LINES, Kind.PAIRS):
            return TextArea(self._initial, tab_behavior="focus", classes="editor", compact=True)
        return Input(self._initial, placeholder=self.field.empty, compact=True, classes="editor", select_on_focus=False)


def _with(choices: Choices, text: str) -> Choices:
    values = [value for _, value in choices]
    return choices if text in values else [*choices, (text or "(none)", text)]
