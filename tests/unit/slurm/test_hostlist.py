"""Node lists. The judge is Slurm's own `scontrol show hostnames`, which needs a configuration but no controller."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.slurm.hostlist import LIMIT, expand, first

LISTS = [
    ("gpu01", ["gpu01"]),
    ("gpu[01-03,05],cpu1", ["gpu01", "gpu02", "gpu03", "gpu05", "cpu1"]),
    ("n[8-11]", ["n8", "n9", "n10", "n11"]),
    ("n[08-11]", ["n08", "n09", "n10", "n11"]),
    ("n[001-003]", ["n001", "n002", "n003"]),
    ("n[001-3]", ["n001", "n002", "n003"]),
    ("n[9-010]", ["n9", "n10"]),
    ("n[098-101]", ["n098", "n099", "n100", "n101"]),
    ("n[3]", ["n3"]),
    ("n[8-9],n[10-11]", ["n8", "n9", "n10", "n11"]),
    ("rack[0-1]n[01-02]", ["rack0n01", "rack0n02", "rack1n01", "rack1n02"]),
    ("node1.example.org,a-b_c", ["node1.example.org", "a-b_c"]),
    ("b,a,b", ["b", "a", "b"]),
    ("n[1-2] m", ["n1", "n2", "m"]),
    ("n1\tn2\nn3", ["n1", "n2", "n3"]),
    ("n[1-2],,m", ["n1", "n2", "m"]),
    ("[1-3]", ["1", "2", "3"]),
    ("nid0[0099,0156-0157]", ["nid00099", "nid00156", "nid00157"]),
]
NOT_LISTS = ["n[5-3]", "n[]", "n[1,x]", "n[a-b]", "n[1-2,]", "n[1-2]]", "bgl[000x001]", f"n[1-{LIMIT * 2}]"]

Answer = Callable[[str], "list[str] | None"]


@pytest.fixture(scope="module")
def slurms_answer(tmp_path_factory: pytest.TempPathFactory) -> Answer:
    """What Slurm says a list names; None when it refuses the list."""
    conf = tmp_path_factory.mktemp("conf") / "slurm.conf"
    conf.write_text("ClusterName=none\nSlurmctldHost=localhost\nNodeName=n1\nPartitionName=p Nodes=n1\n")
    environ = {"PATH": os.environ["PATH"], "SLURM_CONF": str(conf)}

    def ask(text: str) -> list[str] | None:
        argv = ["scontrol", "show", "hostnames", text]
        answer = subprocess.run(argv, env=environ, capture_output=True, text=True, check=False)
        if "Invalid hostlist" in answer.stdout + answer.stderr:
            return None
        assert (answer.returncode, answer.stderr) == (0, "")
        return answer.stdout.split()

    return ask


@pytest.mark.parametrize(("text", "names"), LISTS)
def test_a_list_names_its_hosts_in_order(text: str, names: list[str]) -> None:
    assert expand(text) == names
    assert first(text) == names[0]


@pytest.mark.slurm
@pytest.mark.parametrize(("text", "names"), LISTS)
def test_slurm_names_the_same_hosts(slurms_answer: Answer, text: str, names: list[str]) -> None:
    assert slurms_answer(text) == names


@pytest.mark.parametrize("text", [*NOT_LISTS, "n[1-2", "n[[1]", "a]b[c", "n[ 1-2]", "n[١]"])
def test_what_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        expand(text)
    assert first(text) is None


@pytest.mark.slurm
@pytest.mark.parametrize("text", NOT_LISTS)
def test_slurm_refuses_the_same_text(slurms_answer: Answer, text: str) -> None:
    assert slurms_answer(text) is None


@pytest.mark.parametrize("text", ["", "(null)", "None assigned", "n/a", "N/A", "None"])
def test_the_words_for_no_nodes_name_none(text: str) -> None:
    assert expand(text) == []
    assert first(text) is None


def test_text_after_the_last_bracket_belongs_to_every_name() -> None:
    assert expand("n[01-02]-ib") == ["n01-ib", "n02-ib"]


def test_the_leftmost_of_three_groups_varies_slowest() -> None:
    names = ["a1b1c1", "a1b1c2", "a1b2c1", "a1b2c2", "a2b1c1", "a2b1c2", "a2b2c1", "a2b2c2"]
    assert expand("a[1-2]b[1-2]c[1-2]") == names


@pytest.mark.parametrize(
    "text",
    [
        "n[0-99999],m",
        "n[" + ",".join(["0-50000"] * 3000) + "]",
        "n" + "[0-999]" * 50,
        "n[0-999999999999999999]",
        "n[" + "0" * 5000 + "-9]",
    ],
)
def test_a_list_of_too_many_hosts_is_refused_before_it_fills_the_memory(text: str) -> None:
    with pytest.raises(ValueError):
        expand(text)


def test_the_largest_list_is_read() -> None:
    assert len(expand(f"n[1-{LIMIT}]")) == LIMIT


@given(st.one_of(st.text(), st.text("ab0123456789[]-,. \t")))
def test_any_text_gives_names_or_a_value_error(text: str) -> None:
    try:
        names = expand(text)
    except ValueError:
        return
    assert all(name and not set(name) & set("[], \t\n") for name in names)


_RANGES = st.lists(
    st.tuples(st.integers(0, 300), st.integers(0, 12), st.integers(1, 4)).map(
        lambda x: f"{x[0]:0{x[2]}d}-{x[0] + x[1]}" if x[1] else f"{x[0]:0{x[2]}d}"
    ),
    min_size=1, max_size=4,
)  # fmt: skip
_GROUPS = st.lists(_RANGES.map(lambda ranges: "n[" + ",".join(ranges) + "]"), min_size=1, max_size=2).map("".join)


@pytest.mark.slurm
@settings(max_examples=60, deadline=None)
@given(text=st.lists(st.one_of(st.sampled_from(["login1", "a-b.c"]), _GROUPS), min_size=1, max_size=3).map(",".join))
def test_slurm_agrees_on_random_lists(slurms_answer: Answer, text: str) -> None:
    assert expand(text) == slurms_answer(text)
