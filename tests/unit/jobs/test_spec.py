"""The job spec: TOML in and out, and a sentence for each broken rule."""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from specs import HOSTILE, spec

from jobs.spec import JobSpec, SpecError, default_spec, dumps, load, loads, problems
from jobs.values import duration


def problem_of(**changes: Any) -> tuple[str, str]:
    with pytest.raises(ValidationError) as caught:
        spec(**changes)
    (found,) = problems(caught.value)
    return found


@given(args=st.lists(HOSTILE), value=HOSTILE, command=st.lists(HOSTILE))
def test_toml_round_trip_keeps_every_value(args: list[str], value: str, command: list[str]) -> None:
    before = spec(run={"args": args, "command": command}, env={"NCCL_DEBUG": value}, name="a 'b' \"c\" \\ #d")
    assert loads(dumps(before)) == before


def test_an_empty_file_is_the_default_spec() -> None:
    assert loads("") == JobSpec()


def test_a_full_file_reads_as_written() -> None:
    text = """
name = "llm"
requeue = true
[resources]
partition = "h100,a100"
nodes = 4
gpus_per_node = 8
gpu_type = "h100"
cpus_per_task = 12
mem = "900G"
time_limit = "1-12"
[runtime]
kind = "apptainer"
image = "/images/torch.sif"
binds = ["/data:/data:ro"]
[launch]
launcher = "torchrun"
[env]
NCCL_DEBUG = "WARN"
[run]
kind = "command"
command = ["python3", "train.py"]
work_dir = "/home/me/code"
"""
    read = loads(text)
    assert (read.resources.world_size, read.resources.ranks_per_node) == (32, 8)
    assert read.resources.duration == timedelta(hours=36)
    assert read.runtime.binds == ("/data:/data:ro",)
    assert read.env == {"NCCL_DEBUG": "WARN"}


@pytest.mark.parametrize(
    ("gpus", "ntasks", "ranks"), [(0, None, 1), (4, None, 4), (4, 2, 2), (0, 3, 3)]
)  # fmt: skip
def test_one_rank_per_gpu_unless_said_otherwise(gpus: int, ntasks: int | None, ranks: int) -> None:
    assert spec(resources={"gpus_per_node": gpus, "ntasks_per_node": ntasks}).resources.ranks_per_node == ranks


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("30", 30), ("90", 90), ("30:00", 30), ("0:30", 1), ("1:01", 2), ("2:30:00", 150), ("0:00:01", 1),
        ("1-0", 1440), ("1-12", 2160), ("2-00:30", 2910), ("1-2:3:4", 1564), ("100:00:00", 6000),
    ],
)  # fmt: skip
def test_time_limits_mean_what_sbatch_takes_them_for(text: str, minutes: int) -> None:
    assert duration(text) == timedelta(minutes=minutes)


@pytest.mark.parametrize("text", ["", "1h", "-5", "1:2:3:4", "1-", "1-2:3:4:5", "1d", "1.5", " 5", "５", "9" * 5000])
def test_other_time_limits_are_refused(text: str) -> None:
    assert problem_of(resources={"time_limit": text}) == (
        "resources.time_limit",
        "must be minutes, min:sec, h:m:s, days-hours, d-h:m or d-h:m:s, such as 30 or 1-12:00:00",
    )


APPTAINER = {"kind": "apptainer", "image": "/i.sif"}


DASH = "must not begin with a dash: Slurm would take it for an option"
ABSOLUTE = "must be an absolute path, the same on every node"
NUL = "must not hold a NUL character: no process can receive one"


@pytest.mark.parametrize(
    ("changes", "field", "text"),
    [
        ({"name": "a\nb"}, "name", "must be one line without control characters"),
        ({"name": "a\x1b[31m"}, "name", "must be one line without control characters"),
        ({"name": "-x"}, "name", DASH),
        ({"name": "  "}, "name", "must not be empty"),
        ({"name": "x" * 201}, "name", "must have 200 characters or fewer"),
        ({"output": "%N.out"}, "output", "may use %j (job id), %x (job name), %u (user) and %% (a percent sign) only"),
        ({"output": "a\\b"}, "output", "must not hold a backslash: Slurm then replaces no %j"),
        ({"name": "a/b", "output": "%x.out"}, "output", "cannot hold %x: the job name has a slash"),
        ({"append": "perhaps"}, "append", "must be true or false"),
        ({"resources": {"nodes": 0}}, "resources.nodes", "must be 1 or more"),
        ({"resources": {"nodes": "two"}}, "resources.nodes", "must be a whole number"),
        ({"resources": {"nodes": 1.5}}, "resources.nodes", "must be a whole number"),
        ({"resources": {"gpus_per_node": 2000}}, "resources.gpus_per_node", "must be 1024 or less"),
        ({"resources": {"node": 2}}, "resources.node", "is not a field of a job spec: did you mean nodes?"),
        ({"resources": {"gpu_type": "a100"}}, "resources.gpu_type", "needs gpus_per_node of 1 or more"),
        (
            {"resources": {"gpus_per_node": 1, "gpu_type": "a100:2"}},
            "resources.gpu_type",
            "must be the type alone, such as a100, without a colon or count",
        ),
        (
            {"resources": {"time_limit": "0"}},
            "resources.time_limit",
            "must be longer than zero: Slurm takes 0 as no limit at all",
        ),
        ({"resources": {"mem": "64 GB"}}, "resources.mem", "must be a whole number with K, M, G or T, such as 64G"),
        (
            {"resources": {"partition": "a b"}},
            "resources.partition",
            "must be one word without blanks, quotes, backslashes, #, $ or ;",
        ),
        (
            {"requeue": True, "resources": {"time_limit": "4"}},
            "resources",
            "must have a time_limit of 5 minutes or more with requeue, or the job would only restart",
        ),
        ({"runtime": {"kind": "dockr"}}, "runtime.kind", "must be one of 'none' or 'apptainer'"),
        ({"runtime": {"kind": "apptainer"}}, "runtime.image", "is required with apptainer"),
        ({"runtime": {"image": "/i.sif"}}, "runtime.image", "needs the runtime apptainer"),
        (
            {"runtime": {"kind": "apptainer", "image": "docker://x"}},
            "runtime.image",
            ABSOLUTE,
        ),
        (
            {"runtime": {**APPTAINER, "binds": ["/a", "/b,/c"]}},
            "runtime.binds[2]",
            "must be SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro, without commas or quotes",
        ),
        (
            {"runtime": {"python": "venv/bin/python"}},
            "runtime.python",
            "must be a name that PATH finds or an absolute path",
        ),
        ({"runtime": {"setup": ["a\nb"]}}, "runtime.setup[1]", "must be one line without control characters"),
        (
            {"env": {"1X": ""}},
            "env.1X",
            "is not a variable name: letters, digits and _ only, not beginning with a digit",
        ),
        ({"env": {"RANK": "0"}}, "env.RANK", "cannot be set for the whole job: each task reads its own from Slurm"),
        ({"env": {"SLURM_PROCID": "0"}}, "env.SLURM_PROCID", "is Slurm's own: setting it would change what srun does"),
        ({"env": {"MASTER_PORT": "1"}}, "env.MASTER_PORT", "is worked out by the script from the job id"),
        ({"env": {"UID": "1"}}, "env.UID", "belongs to bash"),
        ({"env": {"A": "\0"}}, "env.A", NUL),
        ({"env": {"A": 1}}, "env.A", "must be text"),
        (
            {"runtime": APPTAINER, "env": {"PATH": "/bin"}},
            "env",
            "cannot hold PATH: apptainer replaces it inside the image (APPTAINERENV_PATH reaches it)",
        ),
        ({"run": {"kind": "command"}}, "run.command", "is required when kind is command"),
        (
            {"run": {"kind": "command", "command": ["-x"]}},
            "run.command",
            DASH,
        ),
        ({"run": {"args": ["a", "b\0"]}}, "run.args[2]", NUL),
        ({"run": {"args": "--steps 3"}}, "run.args", "must be a list"),
        ({"run": {"work_dir": "/x"}}, "run.work_dir", "needs kind command: the payload runs in the job's own folder"),
        ({"run": {"kind": "command", "command": ["a"], "work_dir": "x"}}, "run.work_dir", ABSOLUTE),
    ],
)
def test_a_broken_rule_names_its_field_and_says_what_is_wrong(changes: dict[str, Any], field: str, text: str) -> None:
    assert problem_of(**changes) == (field, text)


def test_toml_syntax_errors_give_the_line() -> None:
    with pytest.raises(SpecError, match=r"^job.toml is not TOML: line 2, column \d+: .*\.$"):
        loads('name = "x"\nnodes 2\n', "job.toml")


def test_a_text_that_ends_too_soon_gives_its_last_line() -> None:
    with pytest.raises(SpecError, match=r"^The spec is not TOML: line 2"):
        loads("requeue = true\nname =")


def test_the_sentence_counts_further_problems() -> None:
    with pytest.raises(SpecError, match=r"^The spec: resources.nodes must be 1 or more \(1 more\)\.$") as caught:
        loads("[resources]\nnodes = 0\ncpus_per_task = 0\n")
    assert [field for field, _ in caught.value.problems] == ["resources.nodes", "resources.cpus_per_task"]


def test_files_that_cannot_be_read_give_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"none.toml cannot be read: No such file or directory\.$"):
        load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(SpecError, match=r"latin.toml is not UTF-8 text\.$"):
        load(tmp_path / "latin.toml")


def test_every_field_has_a_description() -> None:
    def missing(model: type[BaseModel]) -> list[str]:
        found = []
        for name, field in model.model_fields.items():
            if not field.description:
                found.append(name)
            if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
                found += missing(field.annotation)
        return found

    assert missing(JobSpec) == []


def test_the_default_spec_is_two_nodes_of_two_ranks() -> None:
    default = default_spec(sandbox=True, partition="a100", gpu_type="a100")
    assert (default.resources.nodes, default.resources.world_size) == (2, 4)
    assert default.resources.duration == timedelta(minutes=10)
    assert default.runtime.python == sys.executable
    assert default.run.args[-2:] == ("--device", "cpu")
    assert "--device" not in default_spec(sandbox=False).run.args


def test_a_spec_that_is_nested_without_end_is_one_sentence() -> None:
    with pytest.raises(SpecError, match=r"^The spec is nested too deeply\.$"):
        loads("a = " + "[" * 5000 + "]" * 5000)
