"""Slurm's node list and task count expressions, expanded without scontrol (which images do not hold)."""

from __future__ import annotations

MAX_NAMES = 65536  # Slurm itself holds at most 65,533 nodes


def expand(nodelist: str) -> list[str]:
    """`n[01-03,5],m1` -> n01 n02 n03 n5 m1; ValueError if it is broken. As scontrol(1), "show hostnames"."""
    names: list[str] = []
    for term in _split_outside_brackets(nodelist):
        names += _expand_term(term)
        _limit(len(names), nodelist)
    if not names or not all(names):
        raise ValueError(f"{nodelist!r} holds an empty node name")
    return names


def task_counts(expression: str) -> list[int]:
    """Tasks of each node from SLURM_STEP_TASKS_PER_NODE: `2(x3),1` -> 2 2 2 1; ValueError if it is broken."""
    counts: list[int] = []
    for term in expression.split(","):
        count, _, repeat = term.partition("(x")
        times = int(repeat.rstrip(")")) if repeat else 1
        _limit(len(counts) + times, expression)
        counts += [int(count)] * times
    return counts


def _split_outside_brackets(text: str) -> list[str]:
    terms, depth = [""], 0
    for char in text:
        depth += {"[": 1, "]": -1}.get(char, 0)
        if depth not in (0, 1):
            raise ValueError(f"{text!r} has brackets that do not match")
        if char == "," and depth == 0:
            terms.append("")
        else:
            terms[-1] += char
    if depth:
        raise ValueError(f"{text!r} has brackets that do not match")
    return terms


def _expand_term(term: str) -> list[str]:
    head, bracket, rest = term.partition("[")
    if not bracket:
        return [term]
    body, _, tail = rest.partition("]")
    ends = _expand_term(tail)
    middles = _expand_ranges(body)
    _limit(len(middles) * len(ends), term)
    return [head + middle + end for middle in middles for end in ends]


def _expand_ranges(body: str) -> list[str]:
    numbers: list[str] = []
    for item in body.split(","):
        low, dash, high = item.partition("-")
        high = high if dash else low
        if not (low.isdecimal() and high.isdecimal()) or int(low) > int(high):
            raise ValueError(f"{item!r} is no range of node numbers")
        _limit(int(high) - int(low), body)
        numbers += [str(number).zfill(len(low)) for number in range(int(low), int(high) + 1)]
    return numbers


def _limit(count: int, text: str) -> None:
    if count > MAX_NAMES:
        raise ValueError(f"{text[:80]!r} names more than {MAX_NAMES} nodes")
