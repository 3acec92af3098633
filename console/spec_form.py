"""The wizard's form without its widgets: text values of fields <-> a JobSpec."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel, ValidationError

from jobs.spec import JobSpec, problems


class Kind(Enum):
    """How a field's text becomes a value."""

    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    WORDS = "words"
    LINES = "lines"
    PAIRS = "pairs"
    SWITCH = "switch"


_WRITTEN = {
    Kind.WORDS: "Write it as in a shell: words with blanks in quotes.",
    Kind.LINES: "One to a line.",
    Kind.PAIRS: "NAME=value, one to a line.",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its dotted place in JobSpec, its label, the step it belongs to.

    `only` is (other field, value): the field matters only while the other one has that value. `empty` says what an
    empty field means.
    """

    path: str
    label: str
    step: str
    kind: Kind = Kind.TEXT
    only: tuple[str, str] | None = None
    empty: str = ""

    @property
    def widget_id(self) -> str:
        """The path as an id that CSS accepts."""
        return "field-" + self.path.replace(".", "-")

    @property
    def help(self) -> str:
        """The description that the model gives, and how this form wants it written."""
        model: type[BaseModel] = JobSpec
        *tables, name = self.path.split(".")
        for table in tables:
            annotation = model.model_fields[table].annotation
            assert isinstance(annotation, type)
            assert issubclass(annotation, BaseModel)
            model = annotation
        return f"{model.model_fields[name].description or ''} {_WRITTEN.get(self.kind, '')}".strip()


STEPS = ("What", "Where", "Environment", "Review")

FIELDS = (
    Field("run.kind", "Run", "What", Kind.CHOICE),
    Field("run.args", "Arguments", "What", Kind.WORDS, ("run.kind", "payload")),
    Field("run.command", "Command", "What", Kind.WORDS, ("run.kind", "command"), empty="python3 train.py --lr 1e-3"),
    Field("run.work_dir", "Directory", "What", only=("run.kind", "command"), empty="the job's own folder"),
    Field("name", "Job name", "What"),
    Field("requeue", "Requeue", "What", Kind.SWITCH),
    Field("resources.partition", "Partition", "Where", Kind.CHOICE),
    Field("resources.gpu_type", "GPU type", "Where", Kind.CHOICE),
    Field("resources.nodes", "Nodes", "Where", Kind.NUMBER),
    Field("resources.gpus_per_node", "GPUs per node", "Where", Kind.NUMBER),
    Field("resources.ntasks_per_node", "Ranks per node", "Where", Kind.NUMBER, empty="one per GPU"),
    Field("resources.cpus_per_task", "CPUs per rank", "Where", Kind.NUMBER),
    Field("resources.mem", "Memory per node", "Where", empty="the partition's default"),
    Field("resources.time_limit", "Time limit", "Where"),
    Field("resources.account", "Account", "Where", empty="your default account"),
    Field("resources.qos", "QOS", "Where", empty="the default QOS"),
    Field("runtime.kind", "Runtime", "Environment", Kind.CHOICE),
    Field(
        "runtime.image", "Image", "Environment", only=("runtime.kind", "apptainer"), empty="/absolute/path/to/image.sif"
    ),
    Field(
        "runtime.binds",
        "Binds",
        "Environment",
        Kind.WORDS,
        ("runtime.kind", "apptainer"),
        empty="nothing besides the job's folder",
    ),
    Field("runtime.python", "Python", "Environment"),
    Field("launch.launcher", "Launcher", "Environment", Kind.CHOICE),
    Field("runtime.setup", "Shell lines before", "Environment", Kind.LINES),
    Field("env", "Variables", "Environment", Kind.PAIRS),
)
BY_PATH = {field.path: field for field in FIELDS}
_ELSEWHERE = {"resources": "resources.time_limit"}
"""Where a table's own problem is shown: a time limit that is too short for a requeue is all that resources has."""

Values = dict[str, str]
Choices = list[tuple[str, str]]
"""(shown, value) pairs of a field that is a choice."""


def values_of(spec: JobSpec) -> Values:
    """Each field's text for a spec."""
    data = spec.model_dump(mode="json")
    return {field.path: _text(field, _get(data, field.path)) for field in FIELDS}


def spec_of(values: Mapping[str, str], base: JobSpec | None = None) -> tuple[JobSpec | None, dict[str, str]]:
    """The spec that the texts mean, or what is wrong by field path. Fields that the form lacks come from `base`."""
    data: dict[str, Any] = (base or JobSpec()).model_dump(mode="json", exclude_none=True)
    wrong: dict[str, str] = {}
    for field in FIELDS:
        try:
            _set(data, field.path, _value(field, values.get(field.path, ""), applies(field, values)))
        except ValueError as error:
            wrong[field.path] = str(error)
    if wrong:
        return None, wrong
    try:
        return JobSpec.model_validate(data), {}
    except ValidationError as error:
        return None, dict(_placed(path, text) for path, text in reversed(problems(error)))


def applies(field: Field, values: Mapping[str, str]) -> bool:
    """Whether the field matters with the other fields as they are."""
    return field.only is None or values.get(field.only[0]) == field.only[1]


def _placed(path: str, text: str) -> tuple[str, str]:
    """The field that a problem belongs to, and its text, which names the part of the field where it has parts."""
    if path in BY_PATH:
        return path, text
    for field in FIELDS:
        if path.startswith((f"{field.path}.", f"{field.path}[")):
            part = path[len(field.path) + 1 :].removesuffix("]")
            return field.path, f"{part} {text}" if field.kind is Kind.PAIRS else f"number {part} {text}"
    return _ELSEWHERE.get(path, "name"), text


def _get(data: Mapping[str, Any], path: str) -> Any:
    value: Any = data
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _set(data: dict[str, Any], path: str, value: Any) -> None:
    *tables, name = path.split(".")
    for table in tables:
        data = data.setdefault(table, {})
    if value is None:
        data.pop(name, None)
    else:
        data[name] = value


def _text(field: Field, value: Any) -> str:
    if value is None:
        return ""
    if field.kind is Kind.WORDS:
        return shlex.join(value)
    if field.kind is Kind.LINES:
        return "\n".join(value)
    if field.kind is Kind.PAIRS:
        return "\n".join(f"{name}={_quoted(text)}" for name, text in value.items())
    if field.kind is Kind.SWITCH:
        return "yes" if value else ""
    return str(value)


def _value(field: Field, text: str, applies_now: bool) -> Any:
    """The value for JobSpec; None leaves the model's default. Blanks around a text are not part of it."""
    text = text.strip("\r\n") if field.kind in (Kind.LINES, Kind.PAIRS) else text.strip()
    if field.kind is Kind.SWITCH:
        return text == "yes"
    if not applies_now or (not text.strip() and field.kind is not Kind.WORDS):
        return {} if field.kind is Kind.PAIRS else None
    if field.kind is Kind.NUMBER:
        return _number(text)
    if field.kind is Kind.WORDS:
        return _words(text)
    if field.kind is Kind.LINES:
        return text.split("\n")
    if field.kind is Kind.PAIRS:
        return _pairs(text)
    return text


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise ValueError("must be a whole number")
    return int(text)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise ValueError("has a quote that is not closed") from None


def _pairs(text: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for line in text.split("\n"):
        name, found, value = line.partition("=")
        if line.strip() and not found:
            raise ValueError(f"needs NAME=value on each line, not {line.strip()[:30]!r}")
        if found:
            pairs[name.strip()] = _unquoted(value.strip(), name.strip())
    return pairs


def _quoted(value: str) -> str:
    """A value that one line cannot show as it stands, or that begins with a quote, as a JSON string."""
    plain = value == value.strip() and value.isprintable() and not value.startswith('"')
    return value if plain else json.dumps(value)


def _unquoted(text: str, name: str) -> str:
    """The reverse of `_quoted`."""
    if not text.startswith('"'):
        return text
    try:
        value = json.loads(text)
    except ValueError:
        raise ValueError(f"{name} has a quote that is not closed, or something behind it") from None
    assert isinstance(value, str)
    return value
