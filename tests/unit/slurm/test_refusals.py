"""Refusals of sbatch and srun. The texts are those that releases 20.11 to 26.05 print."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.slurm.refusals import understand
from jobs.spec import JobSpec

PARTITION, ACCOUNT, QOS = "resources.partition", "resources.account", "resources.qos"
NODES, GPUS, TYPE, MEM = "resources.nodes", "resources.gpus_per_node", "resources.gpu_type", "resources.mem"
TASKS, CPUS, TIME = "resources.ntasks_per_node", "resources.cpus_per_task", "resources.time_limit"
POLICY = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"

FROM_THE_CONTROLLER = [
    ("Requested node configuration is not available", PARTITION, "no node of the partition"),
    ("Requested topology configuration is not available", NODES, "network"),
    ("No suitable topology unit found", NODES, "network"),
    ("No suitable topology unit found for segment", NODES, "network"),
    ("Required nodes do not fit topology", NODES, "network"),
    ("Insufficient resources in topology unit", NODES, "network"),
    ("Requested partition configuration not available now", PARTITION, "partition"),
    ("Invalid partition name specified", PARTITION, "no partition of this name"),
    ("No partition specified or system default partition", PARTITION, "names no partition"),
    ("User's group not permitted to use this partition", PARTITION, "group"),
    ("Access/permission denied", None, "not permit"),
    ("Invalid account or account/partition combination specified", ACCOUNT, "account"),
    ("Invalid qos specification", QOS, "QOS"),
    (
        "Invalid QOS specification, relative QOS can only be used in a single partition per cluster.",
        QOS,
        "shares of a partition",
    ),
    (POLICY, QOS, "limit of your account or of its QOS"),
    ("Requested time limit is invalid (missing or exceeds some limit)", TIME, "time limit"),
    ("Invalid time-min specification (exceeds job's time or other limits)", TIME, "--time-min"),
    ("Node count specification invalid", NODES, "nodes"),
    ("More processors requested than permitted", CPUS, "CPUs"),
    ("CPU count specification invalid", CPUS, "CPUs"),
    ("Task count specification invalid", TASKS, "ranks"),
    ("Task distribution specification invalid", TASKS, "ranks"),
    ("Memory required by task is not available", MEM, "memory"),
    ("Invalid generic resource (gres) specification", TYPE, "GPUs of this name or type"),
    ("Invalid GRES specification (with and without type identification)", TYPE, "without one"),
    ("Duplicate generic resource (gres) specification", TYPE, "twice"),
    ("Requested GRES option unsupported by configured SelectType plugin", GPUS, "whole nodes"),
    ("Insufficient GRES available in allocation", GPUS, "srun asks for more GPUs"),
    ("Invalid Trackable RESource (TRES) specification", GPUS, "amount"),
    ("Invalid feature specification", "resources.constraint", "features"),
    ("Invalid preferred feature specification", "resources.constraint", "features"),
    ("Job --batch option is invalid or not a subset of --constraint", "resources.constraint", "features"),
    ("Requested nodes not in this partition", "resources.exclude", "nodes"),
    ("Invalid node name specified", "resources.exclude", "nodes"),
    ("Required node not available (down, drained or reserved)", None, "down, drained"),
    ("Requested nodes are busy", None, "taken"),
    ("Required partition not available (inactive or drain)", PARTITION, "closed"),
    ("Partition in DOWN state", PARTITION, "closed"),
    ("Access denied to requested reservation", "resources.reservation", "reservation"),
    ("Requested reservation is invalid", "resources.reservation", "reservation"),
    ("Requested reservation not usable now", "resources.reservation", "reservation"),
    ("Invalid license specification", None, "licences"),
    ("Licenses currently unavailable", None, "licences"),
    ("Job dependency problem", None, "depends on"),
    ("Circular job dependency", None, "on itself"),
    ("Invalid job array specification", None, "array"),
    ("Invalid wckey specification", None, "wckey"),
    ("Invalid --nice value", None, "priority"),
    ("Invalid mcs_label specified", None, "security label"),
    ("Pathname of a file, directory or other parameter too long", "env", "too long"),
    ("I/O error writing script/environment to file", "env", "could not store"),
    ("Environment is missing in job", "env", "environment"),
    ("Job cannot be submitted without the current working directory specified.", "run.work_dir", "folder"),
    ("Job script not specified", None, "empty"),
    ("System submissions disabled", None, "takes no jobs"),
    ("Only batch jobs are accepted or processed", None, "this kind of job"),
    ("Requested operation is presently disabled", None, "this kind of job"),
    ("Requested account has breached requested QOS usage threshold", QOS, "used so much"),
    (
        "Multiple partition job request not supported when a partition is set in the association",
        PARTITION,
        "bound to one partition",
    ),
    ("Unable to contact slurm controller (connect failure)", None, "does not answer"),
    ("Unable to contact slurm controller (receive failure)", None, "does not answer"),
    ("Rate limit exceeded, please retry momentarily", None, "too often"),
    ("Rate limit exceeded, please retry later", None, "too often"),
    ("Incompatible versions of client and server code", None, "versions"),
    ("Protocol authentication error", None, "recognise you"),
    ("Invalid user id", None, "recognise you"),
    ("Error generating job credential", None, "recognise you"),
    ("Container support is not configured", "runtime.kind", "containers"),
    ("Container runtime not configured or invalid", "runtime.kind", "containers"),
    ("Invalid container id specified", "runtime.kind", "containers"),
    ("Unspecified error", None, "does not say why"),
    ("Job can not start due to maintenance reservation.", TIME, "maintenance"),
]

FROM_SBATCH = [
    ("Batch script is empty!", None, "script is empty"),
    ("Batch script contains only whitespace!", None, "script is empty"),
    ("Unable to open file job.sh", None, "cannot be read"),
    ("Script file job.sh is too large", None, "larger than Slurm takes"),
    ("Invalid directive found in batch script: frobnicate", None, "frobnicate"),
    ("job.sh: line 3: Unexpected `:` in [#SBATCH a : b]", None, "#SBATCH line"),
    ("job.sh: line 3: Unmatched `\"` in [#SBATCH \"a]", None, "#SBATCH line"),
    ("Script arguments not permitted with --wrap option", None, "arguments"),
    ("invalid number of tasks (-n 0)", TASKS, "ranks"),
    ("invalid number of cpus per task (-c 0)", CPUS, "CPUs"),
    ("invalid number of nodes (-N 4-2)", NODES, "nodes"),
    ('"$NUM_NODES" is not a valid node count', NODES, "nodes"),
    ("Too few processes for the requested plane distribution", TASKS, "ranks"),
    ("--ntasks-per-core (4) can not be bigger than --threads-per-core (2)", TASKS, "threads"),
    ("Incompatible begin and deadline time specification", None, "deadline"),
    ("Invalid --time specification", TIME, "time limit"),
    ("Invalid --mem specification", MEM, "memory"),
    ("Invalid --signal specification", None, "value of an option"),
    ("Invalid --exclusive specification", None, "value of an option"),
    ("Invalid --gpu-bind argument: foo", None, "value of an option"),
    ("--mem, --mem-per-cpu, and --mem-per-gpu are mutually exclusive.", MEM, "two ways"),
    ("SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.", MEM, "two ways"),
    ("--gpus-per-node and --gres=gpu are mutually exclusive.", GPUS, "two ways"),
    ("--gpus-per-task is mutually exclusive with --ntasks-per-gpu and SLURM_NTASKS_PER_GPU", None, "Two options"),
    (
        "cpus_per_task set by two different environment variables SLURM_CPUS_PER_TASK=2 != SLURM_TRES_PER_TASK=cpu:1",
        CPUS,
        "two ways",
    ),
    ("--segment=3 does not fit the job size (4): node count must be evenly divisible", NODES, "network"),
    ("cli_filter plugin terminated with error", None, "does not say why"),
    ("unrecognized option '--frobnicate'", None, "does not know"),
    ("option '--mem' requires an argument", None, "value is missing"),
    ("CPU count per node can not be satisfied", CPUS, "CPUs"),
    ("Memory specification can not be satisfied", MEM, "memory"),
    ("Node feature requirements can not be satisfied", "resources.constraint", "features"),
    ("invalid partition specified: nope", PARTITION, "nope"),
    ("Slurm job queue full, sleeping and retrying", None, "no room"),
]  # fmt: skip

ALL = FROM_THE_CONTROLLER + FROM_SBATCH
JARGON = re.compile(r"\b(TRES|GRES|assoc\w*|backfill|slurmctld|RPC|credential|munge)\b", re.IGNORECASE)


def field_exists(path: str) -> bool:
    """Whether a dotted path is one of JobSpec's."""
    value = JobSpec().model_dump()
    for part in path.split("."):
        if part not in value:
            return False
        value = value[part]
    return True


@pytest.mark.parametrize(("said", "field", "part"), ALL)
def test_every_text_has_a_meaning_an_action_and_a_field(said: str, field: str | None, part: str) -> None:
    found = understand([f"sbatch: error: {said}"])
    assert found.reason == said
    assert part.lower() in found.text.lower()
    assert found.field == field
    assert "Slurm says" not in found.text
    for sentence in (found.text, found.action):
        assert sentence.endswith(".")
        assert len(re.findall(r"\.(?= |$)", sentence)) in (1, 2)
        assert "{" not in sentence
    assert not JARGON.search(found.text)


@pytest.mark.parametrize("field", sorted({field for _, field, _ in ALL if field}))
def test_fields_are_those_of_a_job(field: str) -> None:
    assert field_exists(field)


@pytest.mark.parametrize("before", [
    "sbatch: error: Batch job submission failed: ", "srun: error: Unable to allocate resources: ",
    "salloc: error: Job submit/allocate failed: ", "allocation failure: ", "sbatch: fatal: ",
    "srun: error: Unable to create step for job 12: ", "/usr/bin/sbatch: ",
])  # fmt: skip
def test_what_the_command_puts_before_it_does_not_matter(before: str) -> None:
    found = understand([before + "Invalid generic resource (gres) specification"])
    assert (found.reason, found.field) == ("Invalid generic resource (gres) specification", TYPE)


@pytest.mark.parametrize(("lines", "reason", "field"), [
    (
        ["sbatch: error: invalid partition specified: nope",
         "sbatch: error: Batch job submission failed: Invalid partition name specified"],
        "invalid partition specified: nope",
        PARTITION,
    ),
    (
        ["sbatch: error: CPU count per node can not be satisfied",
         "sbatch: error: Batch job submission failed: Requested node configuration is not available"],
        "CPU count per node can not be satisfied",
        CPUS,
    ),
    (
        ["sbatch: unrecognized option '--x'", 'Try "sbatch --help" for more information'],
        "unrecognized option '--x'",
        None,
    ),
    (
        ["sbatch: error: This does not look like a batch script.  The first",
         "sbatch: error: line must start with #! followed by the path to an interpreter.",
         "sbatch: error: For instance: #!/bin/sh"],
        "line must start with #! followed by the path to an interpreter.",
        None,
    ),
    (
        ["sbatch: error: Batch script contains DOS line breaks (\\r\\n)",
         "sbatch: error: instead of expected UNIX line breaks (\\n)."],
        "instead of expected UNIX line breaks (\\n).",
        None,
    ),
    (["", "sbatch: error: Invalid qos specification", "  "], "Invalid qos specification", QOS),
])  # fmt: skip
def test_the_line_that_tells_most_decides(lines: list[str], reason: str, field: str | None) -> None:
    found = understand(lines)
    assert (found.reason, found.field) == (reason, field)
    assert "Slurm says" not in found.text


@pytest.mark.parametrize(("limit", "field"), [
    ("QOSMaxGRESPerUser", GPUS), ("AssocGrpCpuLimit", CPUS), ("QOSMinMemory", MEM), ("AssocMaxNodePerJobLimit", NODES),
    ("QOSMaxWallDurationPerJobLimit", TIME), ("QOSGrpGRESMinutes", TIME), ("AssocMaxSubmitJobLimit", None),
    ("PartitionTimeLimit", TIME),
])  # fmt: skip
def test_the_limit_that_the_controller_names_is_the_refusal(limit: str, field: str | None) -> None:
    found = understand([f"sbatch: error: {limit}", f"sbatch: error: Batch job submission failed: {POLICY}"])
    assert (found.reason, found.field) == (limit, field)
    assert "QOS" in found.text or "account" in found.text or "partition" in found.text


NO_GPUS = "Cannot find GPU specification, you may not submit a job not requesting GPUs in a GPU partition"


@pytest.mark.parametrize("generic", [
    "Batch job submission failed: Unspecified error", "Batch job submission failed: Access/permission denied",
    "cli_filter plugin terminated with error",
])  # fmt: skip
def test_a_sites_own_words_stand_before_the_generic_error(generic: str) -> None:
    found = understand([f"sbatch: error: {NO_GPUS}", f"sbatch: error: {generic}"])
    assert found.reason == NO_GPUS
    assert found.text == f"A rule of this cluster refuses it: {NO_GPUS}."
    assert found.field is None


def test_what_is_not_known_is_told_in_slurms_words() -> None:
    found = understand(["sbatch: error: Batch job submission failed: Something {new} happened"])
    assert found.reason == "Something {new} happened"
    assert found.text == "Slurm says: Something {new} happened."
    assert understand([]).text == "Slurm gave no reason."


@given(st.lists(st.text()))
def test_any_lines_give_a_sentence(lines: list[str]) -> None:
    found = understand(lines)
    assert found.text.endswith(".")
    assert found.action.endswith(".")
