"""JobSpec: the one description of a job, in and out of TOML."""

from __future__ import annotations

import importlib.util
import re
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import tomli_w
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from jobs import values
from jobs.errors import UsageError
from jobs.spec_problems import described, sentence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Word = Annotated[str, AfterValidator(values.word)]
AbsolutePath = Annotated[str, AfterValidator(values.absolute_path)]
Argument = Annotated[str, AfterValidator(values.argument)]
EnvName = Annotated[str, AfterValidator(values.env_name)]

SIGNAL_SECONDS = 120
"""How long before the time limit a job that may be requeued gets USR1."""

_SHORTEST_REQUEUE = timedelta(minutes=5)


class SpecError(UsageError):
    """A spec that cannot be read or used. The message is one sentence; `problems` holds (dotted field, text) pairs."""

    def __init__(self, message: str, problems: list[tuple[str, str]] | None = None) -> None:
        self.problems = problems or []
        super().__init__(message)


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", validate_default=True)


class Resources(_Table):
    """Where the job runs and how much it takes."""

    partition: Word | None = Field(
        default=None, description="Partition, or several with commas. Empty: the site's default."
    )
    account: Word | None = Field(default=None, description="Account to charge. Empty: your default account.")
    qos: Word | None = Field(default=None, description="Quality of service. Empty: the site's default.")
    reservation: Word | None = Field(default=None, description="Reservation to run in.")
    constraint: Word | None = Field(default=None, description="Node features, such as nvlink or ib&a100.")
    exclude: Word | None = Field(default=None, description="Nodes to avoid, such as gpu[03-04].")
    nodes: int = Field(default=1, ge=1, le=100_000, description="How many nodes.")
    gpus_per_node: int = Field(default=0, ge=0, le=1024, description="GPUs on each node. 0 asks for none.")
    gpu_type: Annotated[str, AfterValidator(values.gpu_type)] | None = Field(
        default=None, description="GPU type, such as a100. Empty: any type."
    )
    ntasks_per_node: int | None = Field(
        default=None, ge=1, le=4096, description="Ranks on each node. Empty: one per GPU, or one without GPUs."
    )
    cpus_per_task: int = Field(
        default=1, ge=1, le=4096, description="CPUs for each rank, its data loader workers included."
    )
    mem: Annotated[str, AfterValidator(values.memory)] | None = Field(
        default=None,
        description="Memory per node (not per rank), such as 64G. 0 is all of it. Empty: the site's default.",
    )
    time_limit: Annotated[str, AfterValidator(values.time_limit)] = Field(
        default="1:00:00", description="Longest run time: minutes, min:sec, h:m:s, d-h, d-h:m or d-h:m:s."
    )

    @field_validator("gpu_type")
    @classmethod
    def _type_needs_gpus(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("gpus_per_node") == 0:
            raise ValueError("needs gpus_per_node of 1 or more")
        return value

    @property
    def ranks_per_node(self) -> int:
        """Ranks on each node: `ntasks_per_node`, or one per GPU."""
        return self.ntasks_per_node or max(1, self.gpus_per_node)

    @property
    def world_size(self) -> int:
        """Ranks of the whole job."""
        return self.nodes * self.ranks_per_node

    @property
    def duration(self) -> timedelta:
        """The time limit, in whole minutes."""
        return values.duration(self.time_limit)


class Runtime(_Table):
    """What the ranks run in."""

    kind: Literal["none", "apptainer"] = Field(
        default="none",
        description="none: a Python environment of the nodes. apptainer: an image (also for singularity).",
    )
    image: AbsolutePath | None = Field(
        default=None, description="Image (.sif) or sandbox directory on a file system that every node sees."
    )
    binds: tuple[Annotated[str, AfterValidator(values.bind)], ...] = Field(
        default=(), description="Directories that the image is to see: SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro."
    )
    python: Annotated[str, AfterValidator(values.program)] = Field(
        default="python3",
        description="Python with torch: a name that PATH finds or an absolute path; inside the image, if any.",
    )
    setup: tuple[Annotated[str, AfterValidator(values.setup_line)], ...] = Field(
        default=(),
        description="Your own shell lines before the launch, such as module load cuda. They are run as they stand.",
    )

    @field_validator("image")
    @classmethod
    def _image_by_kind(cls, value: str | None, info: ValidationInfo) -> str | None:
        kind = info.data.get("kind")
        if kind == "apptainer" and value is None:
            raise ValueError("is required with apptainer")
        if kind == "none" and value is not None:
            raise ValueError("needs the runtime apptainer")
        return value


class Launch(_Table):
    """How the ranks are started."""

    launcher: Literal["srun", "torchrun"] = Field(
        default="srun",
        description="srun: one task per rank, signals reach each. torchrun: one agent per node starts its ranks.",
    )


class Run(_Table):
    """What every rank runs."""

    kind: Literal["payload", "command"] = Field(
        default="payload", description="payload: the DDP trainer that comes along. command: a program of your own."
    )
    args: tuple[Argument, ...] = Field(
        default=("--model", "gpt-tiny", "--steps", "300"),
        description="Arguments of the payload, such as --model linear --steps 100.",
    )
    command: tuple[Argument, ...] = Field(
        default=(),
        description="Program and its arguments, such as python3 train.py --lr 1e-3. No shell reads them.",
    )
    work_dir: AbsolutePath | None = Field(
        default=None, description="Directory that the command runs in. Empty: the job's own folder."
    )

    @field_validator("command")
    @classmethod
    def _command_by_kind(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if info.data.get("kind") == "command":
            if not value:
                raise ValueError("is required when kind is command")
            values.one_line(value[0])
        return value

    @field_validator("work_dir")
    @classmethod
    def _payload_runs_in_its_folder(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("kind") == "payload":
            raise ValueError("needs kind command: the payload runs in the job's own folder")
        return value


class JobSpec(_Table):
    """One job: its name, log, resources, runtime, launcher, environment and program."""

    name: Annotated[str, Field(max_length=200), AfterValidator(values.one_line)] = Field(
        default="train", description="Job name, as squeue shows it."
    )
    output: Annotated[str, AfterValidator(values.output_pattern)] = Field(
        default="slurm-%j.out", description="Log of all ranks, within the job's folder. %j is the job id, %x the name."
    )
    append: bool = Field(
        default=True, description="A job that starts again adds to its log. Off: it begins the log anew."
    )
    requeue: bool = Field(
        default=False,
        description="Slurm may start the job again after a node failure or preemption. With srun the ranks also get "
        "USR1 two minutes before the time limit, and exit code 75 means: start me again. Needs 5 minutes or more.",
    )
    resources: Resources = Field(default=Resources(), description="Where the job runs and how much it takes.")
    runtime: Runtime = Field(default=Runtime(), description="What the ranks run in.")
    launch: Launch = Field(default=Launch(), description="How the ranks are started.")
    env: dict[EnvName, Argument] = Field(
        default={},
        description="Variables of every rank, such as NCCL_DEBUG. No secrets: anyone may read a job's script.",
    )
    run: Run = Field(default=Run(), description="What every rank runs.")

    @field_validator("resources")
    @classmethod
    def _time_for_requeue(cls, value: Resources, info: ValidationInfo) -> Resources:
        if info.data.get("requeue") and value.duration < _SHORTEST_REQUEUE:
            raise ValueError("must have a time_limit of 5 minutes or more with requeue, or the job would only restart")
        return value

    @field_validator("output")
    @classmethod
    def _name_in_output(cls, value: str, info: ValidationInfo) -> str:
        if "%x" in value and "/" in info.data.get("name", ""):
            raise ValueError("cannot hold %x: the job name has a slash")
        return value

    @field_validator("env")
    @classmethod
    def _env_by_runtime(cls, value: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        runtime = info.data.get("runtime")
        replaced = {"PATH", "LD_LIBRARY_PATH", "HOME"} & set(value)
        if runtime and runtime.kind == "apptainer" and replaced:
            name = min(replaced)
            raise ValueError(
                f"cannot hold {name}: apptainer replaces it inside the image (APPTAINERENV_{name} reaches it)"
            )
        return value


def problems(error: ValidationError) -> list[tuple[str, str]]:
    """(dotted field, what is wrong) pairs for a form: "resources.nodes", "must be 1 or more"."""
    names = [name for model in (JobSpec, Resources, Runtime, Launch, Run) for name in model.model_fields]
    return described(error, names)


def loads(text: str, source: str = "The spec") -> JobSpec:
    """A spec from TOML text. Raises SpecError: one sentence with the line, or the dotted field."""
    try:
        return JobSpec.model_validate(tomllib.loads(text))
    except RecursionError:
        raise SpecError(f"{source} is nested too deeply.") from None
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{source} is not TOML: {_with_line(str(error), text)}") from None
    except ValidationError as error:
        found = problems(error)
        raise SpecError(f"{source}: {sentence(found)}", found) from None


def load(path: Path) -> JobSpec:
    """A spec from a TOML file. Raises SpecError."""
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        raise SpecError(f"{path} is not UTF-8 text.") from None
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror}.") from None
    return loads(text, str(path))


def dumps(spec: JobSpec) -> str:
    """TOML with every field that has a value, defaults too, so that an old spec means the same later."""
    return tomli_w.dumps(spec.model_dump(mode="json", exclude_none=True))


def default_spec(*, sandbox: bool, partition: str | None = None, gpu_type: str | None = None) -> JobSpec:
    """Two nodes of two ranks that train gpt-tiny; on CPUs in the sandbox, whose GPUs are pretend devices."""
    args = ["--model", "gpt-tiny", "--steps", "300"] + (["--device", "cpu"] if sandbox else [])
    here = sandbox or importlib.util.find_spec("torch") is not None
    return JobSpec(
        name="gpt-tiny",
        resources=Resources(nodes=2, gpus_per_node=2, partition=partition, gpu_type=gpu_type, time_limit="10"),
        runtime=Runtime(python=sys.executable if here else "python3"),
        run=Run(args=tuple(args)),
    )


def _with_line(message: str, text: str) -> str:
    found = re.search(r"^(.*) \(at (?:line (\d+), column (\d+)|end of document)\)$", message, re.DOTALL)
    if not found:
        return f"{message}."
    what, line, column = found.groups()
    where = f"line {line}, column {column}" if line else f"line {max(1, len(text.splitlines()))}"
    return f"{where}: {what[:1].lower()}{what[1:]}."
