"""New job: the wizard. Four steps to a batch script, its review, and sbatch."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.syntax import Syntax
from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.message import Message
from textual.widgets import Button, ContentSwitcher, Static

from console.draft import read_draft
from console.editor import edit_text
from console.screens.base import ModeScreen
from console.spec_form import FIELDS, STEPS, Choices, Values, applies, spec_of, values_of
from console.text import safe_lines
from console.verdicts import verdict_words
from console.widgets.form_row import FormRow
from console.wizard_choices import choices_for, fit_sentence, starting_spec
from jobs import history
from jobs.sbatch import SubmitRefused
from jobs.slurm import refusals
from jobs.slurm.cluster import version_tuple
from jobs.slurm.run import CommandTimeout, SlurmError
from jobs.slurm.snapshot import Snapshot
from jobs.spec import JobSpec, SpecError
from jobs.submit import Submission, Submitted, find_job, new_folder, prepare, script_for, submit, test_only

_NEVER = "bold red"
"""The style of a fit that waiting does not help."""
_WIDE = 130
"""Columns from which the script is shown beside the form."""


class Answered(Message):
    """sbatch answered from a worker: a submission, a verdict's sentence, or a refusal with all its lines.

    `unknown` means that a job may exist all the same; `field` is the dotted field that a refusal is about, if any.
    """

    def __init__(
        self,
        submitted: Submitted | None = None,
        verdict: str = "",
        refusal: str = "",
        *,
        unknown: bool = False,
        field: str | None = None,
    ) -> None:
        super().__init__()
        self.unknown = unknown
        self.submitted = submitted
        self.verdict = verdict
        self.refusal = refusal
        self.field = field


class StepButton(Button):
    """A button that takes every press: Textual's ignores keys for a moment after one."""

    def action_press(self) -> None:
        """Enter."""
        self.press()


class WizardScreen(ModeScreen):
    """Holds the fields' texts; everything else follows from them."""

    MODE: ClassVar[str] = "new"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "step(-1)", "Back"),
        Binding("down", "app.focus_next", "Next field", show=False),
        Binding("up", "app.focus_previous", "Previous field", show=False),
        Binding("ctrl+n", "step(1)", "Next"),
        Binding("enter", "go_on", "Go on", show=False),
        Binding("e", "edit", "Edit"),
        Binding("t", "test_only", "Ask Slurm"),
        Binding("u", "undo_edit", "Undo edit"),
        Binding("ctrl+r", "reset", "Start over"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.step = 0
        self.values: Values = {}
        self._base = JobSpec()
        self._spec: JobSpec | None = None
        self._wrong: dict[str, str] = {}
        self._folder: Path | None = None
        self._script = ""
        self._edited: str | None = None
        self._edited_from: Values = {}
        self._sent: Path | None = None
        self._busy = False
        self._started = False
        self._refused_field: str | None = None

    def content(self) -> ComposeResult:
        """Steps, the fields of each, the review, help, buttons."""
        yield Static(id="steps")
        with Horizontal(id="step-line"):
            with ContentSwitcher(initial="step-What", id="step-area"):
                for step in STEPS[:-1]:
                    with VerticalScroll(id=f"step-{step}", can_focus=False):
                        for field in FIELDS:
                            if field.step == step:
                                yield FormRow(field, "", [])
                with VerticalScroll(id="step-Review"):
                    yield Static(id="script")
            with VerticalScroll(id="preview", can_focus=False):
                yield Static()
        yield Static(id="note")
        yield Static(id="field-help")
        with Horizontal(id="buttons"):
            yield StepButton("Back", id="back", compact=True)
            yield StepButton("Next", id="next", variant="primary", compact=True)

    def show(self, snapshot: Snapshot) -> None:
        """Fill the form once the cluster is known; later only say what would start."""
        if not self._started and (snapshot.nodes.taken_at is not None or snapshot.nodes.problem):
            self._started = True
            self._begin(snapshot)
        elif self._started:
            self._show_note()

    def action_step(self, by: int) -> None:
        """Go to the next step, or back; back from the first one leads to the overview."""
        if by < 0 and self.step == 0:
            self.app.switch_mode("overview")
            return
        if by > 0 and self.step == len(STEPS) - 1:
            return
        if by > 0 and self._stopped_by_problem():
            return
        if by < 0 and self._go_to_refused_field():
            return
        self._go_to(self.step + by)

    def action_go_on(self) -> None:
        """Enter where no field takes it, as on the script: what the button would do."""
        if self.step < len(STEPS) - 1:
            self.action_step(1)
        else:
            self._submit()

    def action_edit(self) -> None:
        """Open the script in $EDITOR; what comes back is what will be submitted."""
        edited = edit_text(self.app, self._edited or self._script, "job.sh")
        if edited is not None and edited.strip() and edited != self._script:
            self._edited, self._edited_from = edited, dict(self.values)
            self._save()
        self._show_review()

    def action_undo_edit(self) -> None:
        """Back to the script that the form makes."""
        self._edited = None
        self._save()
        self._show_review()

    def action_test_only(self) -> None:
        """Ask the controller whether and when this would start."""
        if self._spec is not None and self._ready():
            self._say("Asking Slurm …")
            self._ask(self._edited or self._script)

    def action_reset(self) -> None:
        """Forget the draft and begin with this cluster's defaults."""
        if self._keeps_draft:
            history.clear_draft()
        self._edited = self._sent = None
        self._base = starting_spec(self.console_app.snapshot)
        self._load(values_of(self._base))
        self._go_to(0)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Some keys are for the review only."""
        if action in ("edit", "test_only"):
            return self.step == len(STEPS) - 1
        if action == "undo_edit":
            return self.step == len(STEPS) - 1 and self._edited is not None
        return True

    def on_form_row_edited(self) -> None:
        """Check while typing, and keep the draft."""
        if self._started:
            self._collect()
            self._save()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Help for the field that has the focus."""
        self._show_help()

    def on_input_submitted(self) -> None:
        """Enter moves on: to the next field, or after the last one to the next step."""
        rows = [row for row in self._rows() if not row.has_class("hidden")]
        focused = self.focused
        if rows and focused is not None and focused in rows[-1].query("*"):
            self.action_step(1)
        else:
            self.focus_next()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        """Back, Next, Submit."""
        if event.button.id == "back":
            self.action_step(-1)
        else:
            self.action_go_on()

    def on_answered(self, answer: Answered) -> None:
        """Go to the job, or say what Slurm said."""
        self._busy = False
        if not answer.unknown:
            self._sent = None
        self._refused_field = answer.field
        if answer.submitted is not None:
            history.clear_draft()
            self._edited = None
            self._step_silently(0)
            self.notify(f"Submitted as job {answer.submitted.job_id}.", markup=False)
            self.console_app.refresh_soon()
            self.console_app.open_job(str(answer.submitted.job_id))
        elif answer.refusal:
            self._say(answer.refusal, "bold red")
            self._save()
        else:
            self._say(answer.verdict, "bold green")

    def _begin(self, snapshot: Snapshot) -> None:
        self._base = starting_spec(snapshot)
        values, step = values_of(self._base), 0
        given = self.console_app.start_spec
        draft = read_draft() if given is None and self._keeps_draft else None
        if given is not None:
            self._base = given
            values = values_of(given)
        elif draft is not None:
            values.update({path: text for path, text in draft["values"].items() if path in values})
            self._edited, self._edited_from = draft["edited"], draft["edited_from"]
            self._folder = Path(draft["folder"]) if draft["folder"] else None
            step = draft["step"]
            self.notify("Your draft is back. Ctrl+R starts over.", markup=False)
            if draft["sent"]:
                step = min(step, len(STEPS) - 2)
                self._look_for(Path(draft["sent"]))
        self._load(values)
        self._go_to(step)

    def _load(self, values: Values) -> None:
        self.values = dict(values)
        with self.prevent(FormRow.Edited):
            for row in self.query(FormRow):
                choices = self._choices(row)
                if choices is not None:
                    row.set_choices(choices, values[row.field.path])
                else:
                    row.text = values[row.field.path]
        self._collect()

    def _choices(self, row: FormRow) -> Choices | None:
        return choices_for(row.field.path, self.console_app.snapshot, self.values.get("resources.partition", ""))

    def _collect(self) -> None:
        """Read the form, check it, show what applies and what is wrong."""
        self.values = {row.field.path: row.text for row in self.query(FormRow)}
        self._spec, self._wrong = spec_of(self.values, self._base)
        for row in self.query(FormRow):
            row.set_class(not applies(row.field, self.values), "hidden")
            row.show_wrong(row.field.path in self._wrong)
        self._show_help()
        self._show_note()
        self._show_preview()

    @property
    def _keeps_draft(self) -> bool:
        """A draft is for the cluster here, so a replay leaves it alone."""
        return self.console_app.cluster.runner.replay_of is None

    def _save(self) -> None:
        if not self._keeps_draft:
            return
        draft = {
            "values": self.values,
            "step": self.step,
            "edited": self._edited,
            "edited_from": self._edited_from,
            "folder": str(self._folder) if self._folder and self._edited else None,
            "sent": str(self._sent) if self._sent else None,
        }
        try:
            if self._edited is None and self._sent is None and self.values == values_of(self._base):
                history.clear_draft()
                return
            history.save_draft(json.dumps(draft))
        except OSError as error:
            self.notify(f"The draft cannot be saved: {error.strerror}.", severity="warning", markup=False)

    def _go_to(self, step: int) -> None:
        self._refused_field = None
        self._step_silently(step)
        if STEPS[self.step] == "Review":
            self._show_review()
        else:
            for row in self._rows():
                choices = self._choices(row)
                if choices is not None:
                    row.set_choices(choices, self.values[row.field.path])
        self._collect()
        self._focus_first()
        self._save()

    def _step_silently(self, step: int) -> None:
        self.step = max(0, min(step, len(STEPS) - 1))
        name = STEPS[self.step]
        self.query_one("#step-area", ContentSwitcher).current = f"step-{name}"
        line = Text(" ")
        for index, title in enumerate(STEPS):
            style = "bold reverse" if index == self.step else "bold" if index < self.step else "dim"
            line.append(f" {index + 1} {title} ", style)
            line.append(" › " if index < len(STEPS) - 1 else "", "dim")
        self.query_one("#steps", Static).update(line)
        self.query_one("#next", Button).label = "Submit" if name == "Review" else "Next"
        self.query_one("#note", Static).update("")
        self.refresh_bindings()

    def _rows(self) -> list[FormRow]:
        return [row for row in self.query(FormRow) if row.field.step == STEPS[self.step]]

    def _focus_first(self) -> None:
        """The first wrong field; when all is well the button, so that Enter goes on."""
        for row in self._rows():
            if row.field.path in self._wrong:
                row.query_one(".editor").focus()
                return
        self.query_one("#next", Button).focus()

    def _stopped_by_problem(self) -> bool:
        """Whether a field up to this step is wrong; the first such field gets the focus."""
        passed = STEPS[: self.step + 1] if self.step < len(STEPS) - 2 else STEPS
        for row in self.query(FormRow):
            if row.field.path in self._wrong and row.field.step in passed:
                if row.field.step != STEPS[self.step]:
                    self._go_to(STEPS.index(row.field.step))
                row.query_one(".editor").focus()
                self._show_help()
                return True
        return False

    def _go_to_refused_field(self) -> bool:
        """Whether Slurm refused what the review shows for a field of the form; that field then gets the focus."""
        for row in self.query(FormRow):
            if row.field.path == self._refused_field and not row.has_class("hidden"):
                self._go_to(STEPS.index(row.field.step))
                row.query_one(".editor").focus()
                self._show_help()
                return True
        return False

    def _show_help(self) -> None:
        row = next((r for r in self._rows() if self.focused is not None and self.focused in r.query("*")), None)
        text = Text("")
        if row is not None:
            wrong = self._wrong.get(row.field.path)
            text = Text(f"{row.field.label} {wrong}. " if wrong else "", "bold red")
            text.append(row.field.help, "dim")
        elif self.step == len(STEPS) - 1:
            text = Text("Enter submits, e edits, t asks Slurm when it would start, Esc goes back.", "dim")
        else:
            text = Text("Enter goes on with what stands here. Tab or the arrow keys lead to the fields.", "dim")
        self.query_one("#field-help", Static).update(text)

    def _show_note(self) -> None:
        if STEPS[self.step] == "Where":
            sentence, style = fit_sentence(self.console_app.snapshot, self._spec)
            self._say(sentence, style)

    def _show_preview(self) -> None:
        """The script as it grows, beside the form where the terminal is wide."""
        self.set_class(STEPS[self.step] == "Review", "review")
        if self._spec is None or self.size.width < _WIDE or STEPS[self.step] == "Review":
            return
        folder = (self.console_app.settings.job_root or history.default_root()) / "a-folder-of-its-own"
        try:
            script = self._script_in(self._spec, folder)
        except SpecError as error:
            script = f"# {error}"
        self.query_one("#preview Static", Static).update(_coloured(safe_lines(script)))

    def _script_in(self, spec: JobSpec, folder: Path) -> str:
        return script_for(spec, folder, version_tuple(self.console_app.snapshot.slurm_version))

    def _show_review(self) -> None:
        self._collect()
        if self._spec is None:
            return
        try:
            if self._edited is None or self._folder is None:
                self._folder = new_folder(self._spec, self.console_app.settings.job_root)
            self._script = self._script_in(self._spec, self._folder)
        except SpecError as error:
            self._say(str(error), "bold red")
            return
        script = self._edited or self._script
        self.query_one("#script", Static).update(_coloured(safe_lines(script)))
        spec = self._spec.resources
        shape = f"{spec.nodes} nodes x {spec.ranks_per_node} ranks = world size {spec.world_size}"
        if self._edited and self._edited_from != self.values:
            self._say(
                "The form has changed since you edited this script. It stays yours; u takes the form's.", "yellow"
            )
        elif (fit := fit_sentence(self.console_app.snapshot, self._spec))[1] == _NEVER:
            self._say(*fit)
        else:
            self._say(shape + (". This is your edited script; u takes the edit back." if self._edited else ""))
        self.refresh_bindings()

    def _say(self, text: str, style: str = "") -> None:
        self.query_one("#note", Static).update(Text(safe_lines(text), style))

    def _ready(self) -> bool:
        if self._busy:
            return False
        self._busy = True
        return True

    def _submit(self) -> None:
        if self.console_app.settings.read_only:
            self._say("This console is read-only: it submits nothing.", "bold red")
        elif not self._stopped_by_problem() and self._spec is not None and self._folder is not None and self._ready():
            self._say("Submitting …")
            self._sent = self._folder
            self._save()
            self._send(self._spec, self._folder, self._edited or self._script)

    @work(thread=True, group="sbatch", exit_on_error=False)
    def _send(self, spec: JobSpec, folder: Path, script: str) -> None:
        runner = self.console_app.cluster.runner

        def send() -> Answered:
            submission = prepare(spec, folder=folder, script=script)
            try:
                return Answered(submitted=submit(submission, runner))
            except CommandTimeout as error:
                job_id = find_job(submission, runner)
                if job_id is None:
                    raise
                return Answered(refusal=f"{error} But Slurm took it: job {job_id}. Press 2 for the queue.")

        self._answer(send)

    @work(thread=True, group="lookup", exit_on_error=False)
    def _look_for(self, folder: Path) -> None:
        """What became of a submission whose answer the console did not live to see."""
        try:
            job_id = find_job(Submission(folder, self._base), self.console_app.cluster.runner)
        except SlurmError as error:
            self._tell(f"The last submit had no answer, and whether its job exists is not known: {error}")
            return
        if job_id is None:
            self._tell("The last submit had no answer; Slurm knows no job of it.")
        else:
            self._tell(f"The last submit had no answer, but Slurm took it: job {job_id}. Ctrl+R starts a new one.")

    def _tell(self, sentence: str) -> None:
        self.app.call_from_thread(self.notify, sentence, severity="warning", timeout=20, markup=False)

    @work(thread=True, group="sbatch", exit_on_error=False)
    def _ask(self, script: str) -> None:
        self._answer(lambda: Answered(verdict=verdict_words(test_only(script, self.console_app.cluster.runner))))

    def _answer(self, ask: Callable[[], Answered]) -> None:
        """Run in a worker; every failure becomes an answer."""
        try:
            answer = ask()
        except SubmitRefused as error:
            meaning = refusals.understand(error.lines)
            text = "\n".join([str(error), *error.lines, meaning.text, meaning.action])
            answer = Answered(refusal=text, field=meaning.field)
        except (SlurmError, SpecError) as error:
            answer = Answered(refusal=str(error), unknown=isinstance(error, SlurmError))
        self.post_message(answer)


def _coloured(script: str) -> Text:
    """The script with bash colours, and #SBATCH lines set off from mere comments."""
    text: Text = Syntax("", "bash", theme="ansi_dark").highlight(script)
    text.highlight_regex(r"(?m)^#SBATCH.*", "bold cyan")
    text.no_wrap = True
    return text
