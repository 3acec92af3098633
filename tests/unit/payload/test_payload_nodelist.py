"""Node lists as scontrol(1) expands them."""

import pytest

from payload.nodelist import expand, task_counts


@pytest.mark.parametrize(
    ("nodelist", "names"),
    [
        ("n1", ["n1"]),
        ("n1,m2", ["n1", "m2"]),
        ("n[01-03,5],m1", ["n01", "n02", "n03", "n5", "m1"]),
        ("gpu[8-11]", ["gpu8", "gpu9", "gpu10", "gpu11"]),
        ("gpu[098-101]", ["gpu098", "gpu099", "gpu100", "gpu101"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("n[1-2]-ib,login", ["n1-ib", "n2-ib", "login"]),
        ("a[1,3],b[2]", ["a1", "a3", "b2"]),
    ],
)
def test_expansion(nodelist: str, names: list[str]) -> None:
    assert expand(nodelist) == names


@pytest.mark.parametrize(
    "broken", ["", "n[1-2", "n1]", "n[[1]]", "n[3-1]", "n[a-b]", "n[]", "n[1-]", "a,,b", "n[1-99999999]"]
)
def test_broken_lists_are_refused(broken: str) -> None:
    with pytest.raises(ValueError):
        expand(broken)


def test_two_large_brackets_are_refused_before_they_are_built() -> None:
    with pytest.raises(ValueError, match="more than"):
        expand("n[1-60000]m[1-60000]")


@pytest.mark.parametrize(
    ("expression", "counts"), [("4", [4]), ("2(x3)", [2, 2, 2]), ("2(x2),1", [2, 2, 1]), ("1,4(x2)", [1, 4, 4])]
)
def test_tasks_per_node(expression: str, counts: list[int]) -> None:
    assert task_counts(expression) == counts
