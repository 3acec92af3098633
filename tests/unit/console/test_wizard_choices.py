from __future__ import annotations

from datetime import timedelta

import pytest
from pictures import job, node, partition, snapshot

from console.wizard_choices import choices_for, fit_sentence, in_sandbox, starting_spec
from jobs.slurm.snapshot import EMPTY, Snapshot
from jobs.spec import JobSpec


@pytest.fixture(autouse=True)
def _no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURMCONSOLE_SANDBOX", raising=False)


def lab() -> Snapshot:
    """Two a100 nodes, one with a job; one h100 node in a hidden partition; a node without GPUs in the default one."""
    nodes = (
        node("c1", 0, partitions=("cpu",)),
        node("n1", partitions=("a100",)),
        node("n2", used=3, state="MIXED", cpus_allocated=12, partitions=("a100",)),
        node("n3", 8, gpu_type="h100", partitions=("secret",)),
        node("n4", 8, gpu_type="h100", partitions=("secret",)),
    )
    parts = (
        partition("secret", is_default=False, hidden=True),
        partition("cpu"),
        partition("a100", is_default=False, max_time=timedelta(days=1)),
    )
    return snapshot(nodes, parts, (job(),))


def spec(**resources: object) -> JobSpec:
    return JobSpec.model_validate({"resources": {"partition": "a100", **resources}})


def test_the_starting_spec_asks_for_two_nodes_of_two_gpus_where_there_are_such() -> None:
    found = starting_spec(lab())
    assert (found.resources.partition, found.resources.nodes, found.resources.gpus_per_node) == ("a100", 2, 2)
    assert found.resources.world_size == 4


def test_the_default_partition_is_taken_if_its_nodes_are_large_enough() -> None:
    small = (node("s1", 1, partitions=("small",)), node("s2", 1, partitions=("small",)))
    big = (node("b1", partitions=("big",)), node("b2", partitions=("big",)))
    parts = (partition("small"), partition("big", is_default=False))
    assert starting_spec(snapshot(small + big, parts)).resources.partition == "big"
    parts = (partition("small", is_default=False), partition("big"))
    assert starting_spec(snapshot(small + big, parts)).resources.partition == "big"
    assert starting_spec(snapshot(small, parts)).resources.partition == "small"


def test_a_closed_partition_is_not_proposed_and_a_hidden_one_only_for_want_of_another() -> None:
    nodes = (node("n1", partitions=("a", "b", "c")), node("n2", partitions=("a", "b", "c")))
    closed = partition("a", state="DOWN")
    hidden, shown = partition("b", hidden=True), partition("c", is_default=False)
    assert starting_spec(snapshot(nodes, (closed, hidden, shown))).resources.partition == "c"
    assert starting_spec(snapshot(nodes, (closed, hidden))).resources.partition == "b"


def test_without_gpus_the_starting_spec_asks_for_none() -> None:
    found = starting_spec(snapshot((node("c1", 0, partitions=("cpu",)),), (partition("cpu"),))).resources
    assert (found.partition, found.gpus_per_node, found.ntasks_per_node) == (None, 0, 2)
    assert starting_spec(EMPTY).resources.gpus_per_node == 2


def test_the_sandbox_is_told_by_its_own_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURMCONSOLE_SANDBOX", "/x/sandbox")
    monkeypatch.setenv("SLURM_CONF", "/x/sandbox/slurm.conf")
    assert in_sandbox()
    assert "--device" in starting_spec(lab()).run.args
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    assert not in_sandbox()
    assert "--device" not in starting_spec(lab()).run.args


def test_every_partition_can_be_chosen_with_what_it_has() -> None:
    choices = {value: shown for shown, value in choices_for("resources.partition", lab(), "") or []}
    assert list(choices) == ["", "secret", "cpu", "a100"]
    assert choices["a100"] == "a100: 5 of 8 a100 usable"
    assert choices["cpu"] == "cpu*: no GPUs"


def test_gpu_types_are_those_of_the_partition() -> None:
    def types(part: str) -> list[str]:
        return [value for _, value in choices_for("resources.gpu_type", lab(), part) or []]

    assert (types("a100"), types("secret"), types(""), types("nowhere")) == (["", "a100"], ["", "h100"], [""], [""])


def test_other_fields_have_fixed_choices_or_none() -> None:
    assert [value for _, value in choices_for("launch.launcher", EMPTY, "") or []] == ["srun", "torchrun"]
    assert choices_for("name", EMPTY, "") is None


@pytest.mark.parametrize(("resources", "sentence", "style"), [
    ({"nodes": 2, "gpus_per_node": 1}, "2 of 2 nodes of a100 have room: it starts now.", "green"),
    ({"nodes": 2, "gpus_per_node": 2, "gpu_type": "a100"},
     ("It would wait. 1 of 2 nodes has room, 2 are needed: n2 has 1 of 2 GPUs free. "
      "With 1 GPU per node it starts now."), "yellow"),
    ({"nodes": 3, "gpus_per_node": 1},
     "It could never start: Only 2 nodes could ever hold this shape, 3 are needed. On 2 nodes it starts now.",
     "bold red"),
    ({"nodes": 1, "gpus_per_node": 8},
     ("It could never start: No node could ever hold this shape. "
      "With 4 GPUs per node it starts now."), "bold red"),
    ({"nodes": 1, "time_limit": "2-00"},
     ("It could never start: The time limit is over the 1-00:00:00 that the partition allows. "
      "With a time limit of at most 1-00:00:00 it starts now."), "bold red"),
    ({"nodes": 1, "cpus_per_task": 60}, "1 of 2 nodes of a100 has room: it starts now.", "green"),
])  # fmt: skip
def test_the_fit_is_told_in_words(resources: dict[str, object], sentence: str, style: str) -> None:
    told, colour = fit_sentence(lab(), spec(**resources))
    assert told.partition(". ")[2] == sentence
    assert colour == style


def test_an_unknown_partition_says_the_shape_alone() -> None:
    assert fit_sentence(lab(), spec(partition="x", nodes=2, gpus_per_node=2))[0] == (
        "2 nodes x 2 ranks = world size 4. "
    )
    assert fit_sentence(lab(), None) == ("", "")
