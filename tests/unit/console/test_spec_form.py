from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from console.spec_form import BY_PATH, FIELDS, Kind, _placed, applies, spec_of, values_of
from jobs.spec import JobSpec, Resources, problems

ANY = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
WORD = st.from_regex(r"[a-z][a-z0-9_]{0,7}", fullmatch=True)
LINE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)
TRIMMED = LINE.map(lambda text: "x" + text.strip())
PATH = TRIMMED.map(lambda text: "/" + text)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


@st.composite
def specs(draw: st.DrawFn) -> JobSpec:
    """Specs of every kind; a field that its kind leaves unused has its default, as the form gives it."""
    kind, runtime = draw(st.sampled_from(["payload", "command"])), draw(st.sampled_from(["none", "apptainer"]))
    gpus = draw(st.integers(0, 8))
    run: dict[str, Any] = {"kind": kind}
    if kind == "command":
        run["command"] = [draw(TRIMMED), *draw(st.lists(ANY, max_size=4))]
        run["work_dir"] = draw(maybe(PATH))
    else:
        run["args"] = draw(st.lists(ANY, max_size=4))
    image = {}
    if runtime == "apptainer":
        image = {"image": draw(PATH), "binds": draw(st.lists(WORD.map(lambda word: f"/{word}:/{word}"), max_size=3))}
    return JobSpec.model_validate({
        "name": draw(TRIMMED),
        "output": draw(st.sampled_from(["slurm-%j.out", "log.txt"])),
        "append": draw(st.booleans()),
        "requeue": draw(st.booleans()),
        "resources": {
            "partition": draw(maybe(WORD)), "account": draw(maybe(WORD)), "qos": draw(maybe(WORD)),
            "exclude": draw(maybe(WORD)), "nodes": draw(st.integers(1, 100_000)), "gpus_per_node": gpus,
            "gpu_type": draw(maybe(WORD)) if gpus else None, "ntasks_per_node": draw(maybe(st.integers(1, 64))),
            "cpus_per_task": draw(st.integers(1, 64)), "mem": draw(st.sampled_from([None, "0", "64G"])),
            "time_limit": draw(st.sampled_from(["30", "1-12:00:00", "10:00"])),
        },
        "runtime": {
            "kind": runtime, "python": draw(TRIMMED.filter(lambda text: "/" not in text)), **image,
            "setup": draw(st.lists(st.sampled_from(["", "  module load cuda", "x=1\t#", "echo '\u2028' "]), max_size=3)
                          .map(lambda lines: ["set -e", *lines, "end"])),
        },
        "launch": {"launcher": draw(st.sampled_from(["srun", "torchrun"]))},
        "env": draw(st.dictionaries(WORD.map(lambda word: f"MY_{word}"), ANY, max_size=3)),
        "run": run,
    })  # fmt: skip


@given(specs())
def test_a_spec_comes_back_from_the_texts_of_its_fields(spec: JobSpec) -> None:
    assert spec_of(values_of(spec), base=spec) == (spec, {})


def texts(**changes: str) -> dict[str, str]:
    """The texts of the default spec with some changed; `resources__nodes` is resources.nodes."""
    return {**values_of(JobSpec()), **{name.replace("__", "."): text for name, text in changes.items()}}


@pytest.mark.parametrize(("changes", "path", "message"), [
    ({"resources__nodes": "two"}, "resources.nodes", "must be a whole number"),
    ({"resources__nodes": "-1"}, "resources.nodes", "must be a whole number"),
    ({"resources__nodes": "٣"}, "resources.nodes", "must be a whole number"),
    ({"resources__nodes": "9" * 5000}, "resources.nodes", "must be a whole number"),
    ({"resources__nodes": "0"}, "resources.nodes", "must be 1 or more"),
    ({"resources__nodes": "99999999999"}, "resources.nodes", "must be 100000 or less"),
    ({"resources__mem": "64 GB"}, "resources.mem", "must be a whole number with K, M, G or T, such as 64G"),
    ({"resources__time_limit": "soon"}, "resources.time_limit",
     "must be minutes, min:sec, h:m:s, days-hours, d-h:m or d-h:m:s, such as 30 or 1-12:00:00"),
    ({"resources__gpu_type": "a100", "resources__gpus_per_node": "0"}, "resources.gpu_type",
     "needs gpus_per_node of 1 or more"),
    ({"resources__partition": "a b"}, "resources.partition",
     "must be one word without blanks, quotes, backslashes, #, $ or ;"),
    ({"run__args": "--name 'unclosed"}, "run.args", "has a quote that is not closed"),
    ({"run__kind": "command", "run__command": ""}, "run.command", "is required when kind is command"),
    ({"run__kind": "command", "run__command": "x", "run__work_dir": "here"}, "run.work_dir",
     "must be an absolute path, the same on every node"),
    ({"runtime__kind": "apptainer"}, "runtime.image", "is required with apptainer"),
    ({"runtime__kind": "apptainer", "runtime__image": "/a.sif", "runtime__binds": "/a b"}, "runtime.binds",
     "number 2 must be an absolute path, the same on every node"),
    ({"runtime__setup": "ok\na\x07b"}, "runtime.setup", "number 2 must be one line without control characters"),
    ({"env": "NCCL_DEBUG"}, "env", "needs NAME=value on each line, not 'NCCL_DEBUG'"),
    ({"env": "A=1\nRANK=0"}, "env", "RANK cannot be set for the whole job: each task reads its own from Slurm"),
    ({"env": 'A="x'}, "env", "A has a quote that is not closed, or something behind it"),
    ({"name": "-x"}, "name", "must not begin with a dash: Slurm would take it for an option"),
    ({"requeue": "yes", "resources__time_limit": "2"}, "resources.time_limit",
     "must have a time_limit of 5 minutes or more with requeue, or the job would only restart"),
])  # fmt: skip
def test_a_wrong_text_gives_its_message_at_its_field(changes: dict[str, str], path: str, message: str) -> None:
    assert spec_of(texts(**changes)) == (None, {path: message})


def test_several_wrong_texts_are_told_at_once() -> None:
    _, wrong = spec_of(texts(resources__nodes="x", resources__cpus_per_task="y", run__args="'"))
    assert set(wrong) == {"resources.nodes", "resources.cpus_per_task", "run.args"}


def placed_problems(data: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the form shows what pydantic finds wrong with any data."""
    try:
        JobSpec.model_validate(data)
    except ValidationError as error:
        return [_placed(path, text) for path, text in problems(error)]
    return []


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
PLACES = st.sampled_from([*JobSpec.model_fields, "nothing", "a.b", "env[1]", ""])


@given(st.dictionaries(PLACES, JUNK | st.dictionaries(st.sampled_from([*Resources.model_fields, "kind"]), JUNK)))
def test_every_problem_lands_on_a_field_that_exists(data: dict[str, Any]) -> None:
    assert {path for path, _ in placed_problems(data)} <= set(BY_PATH)


@given(st.dictionaries(st.sampled_from(sorted(BY_PATH)), ANY))
def test_any_texts_give_a_spec_or_messages_at_fields(values: dict[str, str]) -> None:
    spec, wrong = spec_of(values)
    assert (spec is None) == bool(wrong)
    assert set(wrong) <= set(BY_PATH)


def test_what_the_form_lacks_comes_from_the_base() -> None:
    base = JobSpec.model_validate({"output": "x.log", "resources": {"constraint": "ib", "exclude": "n1"}})
    spec, _ = spec_of(texts(name="other"), base)
    assert spec is not None
    assert (spec.name, spec.output, spec.resources.constraint, spec.resources.exclude) == ("other", "x.log", "ib", "n1")


def test_an_empty_text_is_the_default_but_no_arguments_are_none() -> None:
    spec, _ = spec_of(texts(resources__time_limit="", run__args="", resources__mem=""))
    assert spec is not None
    assert (spec.resources.time_limit, spec.run.args, spec.resources.mem) == ("1:00:00", (), None)


def test_a_newline_in_a_variable_does_not_make_another_variable() -> None:
    values = values_of(JobSpec(env={"A": "x\nB=y", "C": '"q"', "D": " d "}))
    assert values["env"] == 'A="x\\nB=y"\nC="\\"q\\""\nD=" d "'


def test_variables_are_read_as_a_person_writes_them() -> None:
    spec, wrong = spec_of(texts(env='\n A = x y \nB=\n\nC="two words"\nD=a=b\\d\n'))
    assert wrong == {}
    assert spec is not None
    assert spec.env == {"A": "x y", "B": "", "C": "two words", "D": "a=b\\d"}


def test_python_matters_to_a_command_too_since_torchrun_is_started_with_it() -> None:
    values = texts(run__kind="command", run__command="./x", launch__launcher="torchrun", runtime__python="/opt/python")
    spec, _ = spec_of(values)
    assert spec is not None
    assert spec.runtime.python == "/opt/python"


def test_every_field_has_a_help_and_an_id_of_its_own() -> None:
    assert all(field.help for field in FIELDS)
    assert len({field.widget_id for field in FIELDS}) == len(FIELDS)
    assert all(field.widget_id.replace("-", "").replace("_", "").isalnum() for field in FIELDS)


def test_fields_of_other_kinds_do_not_matter() -> None:
    payload = values_of(JobSpec())
    hidden = {field.path for field in FIELDS if not applies(field, payload)}
    assert hidden == {"run.command", "run.work_dir", "runtime.image", "runtime.binds"}
    assert {field.kind for field in FIELDS if field.only is None} >= {Kind.TEXT, Kind.NUMBER, Kind.CHOICE}
