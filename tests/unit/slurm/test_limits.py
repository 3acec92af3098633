"""Limits and their remainders. The text is what a live 22.05.8 printed while job A held 4 GPUs in QOS normal and job B
2 GPUs in QOS high, both of anna in account research; the expected numbers follow from the limits that were set."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_text import node, partition

from jobs.slurm.access import Viewer, access, may_use
from jobs.slurm.assoc_mgr import Use, parse_assoc_mgr
from jobs.slurm.fit import placements
from jobs.slurm.limit_check import Demand, exceeded, limits_of_reason, limits_sentence
from jobs.slurm.limits import Limits, LimitUse, Membership, QosRule
from jobs.slurm.parse import parse_reservations
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Part, Snapshot

TEXT = (Path(__file__).parents[2] / "data" / "assoc_mgr" / "22.05.txt").read_text("utf-8")
NAMES = ("normal", "high", "short")
MEMBERSHIPS = tuple(Membership(name, "", NAMES, "normal") for name in ("research", "teaching"))
RULES = {
    "normal": QosRule(per_user={"gres/gpu": Use(8, None)}),
    "high": QosRule(jobs_per_user=1),
    "short": QosRule(),
}


def limits(text: str = TEXT, *, user: str = "anna", enforced: bool = True, known: bool = True) -> Limits:
    state = parse_assoc_mgr(text, user)
    rules, memberships = (RULES, MEMBERSHIPS) if known else (None, None)
    return Limits(user, 1001, "sandbox", enforced, state, memberships, rules)


def words(uses: tuple[LimitUse, ...]) -> set[str]:
    return {use.words for use in uses}


RESEARCH = "account research may use 12 GPUs at a time: 6 in use, 6 left"


def test_the_answer_is_read_whole() -> None:
    state = parse_assoc_mgr(TEXT, "anna")
    assert state.default_account == "research"
    assert [(a.account, a.user, a.parent) for a in state.associations] == [
        ("root", "", ""), ("root", "anna", ""), ("research", "", "root"), ("research", "anna", ""),
        ("teaching", "", "root"), ("teaching", "anna", ""),
    ]  # fmt: skip
    research = state.associations[2].group
    assert (research.jobs, research.submitted) == (Use(None, 2), Use(None, 5))
    assert (research.tres["gres/gpu"], research.tres["mem"]) == (Use(12, 6), Use(None, 8000))
    assert state.associations[5].own.jobs == Use(4, 0)
    assert set(state.qos) == {"normal", "high", "short"}
    assert state.qos["normal"].by_user["1001"].tres["gres/gpu"] == Use(8, 4)
    assert state.qos["high"].by_account["research"].jobs == Use(None, 1)
    assert state.qos["high"].per_job == {"gres/gpu": Use(4, None)}
    assert (state.qos["short"].wall, state.qos["normal"].wall) == (30, None)


def test_names_of_users_replaced_their_numbers_in_later_releases() -> None:
    later = TEXT.replace("\n      1001\n", "\n      anna(1001)\n").replace(" Lft=1 ", " Lineage=/research/0-anna/ ")
    assert limits(later).of_job("a100", None) == limits().of_job("a100", None)


def test_limits_of_the_default_account_and_qos() -> None:
    found = words(limits().of_job("a100", None))
    assert found == {RESEARCH, "one user of QOS normal may use 8 GPUs at a time: 4 in use, 4 left"}


def test_limits_of_another_qos_and_account() -> None:
    assert words(limits().of_job("a100", None, qos="high")) == {
        RESEARCH, "one user of QOS high may run 1 job at a time: 1 running, 0 left",
        "QOS high lets one job have at most 4 GPUs",
    }  # fmt: skip
    assert words(limits().of_job("a100", None, "teaching", "short")) == {
        "account teaching may use 4 GPUs at a time: 0 in use, 4 left",
        "you in account teaching may run 4 jobs at a time: 0 running, 4 left",
        "QOS short may use 96 CPUs at a time: 0 in use, 96 left",
        "QOS short lets one job have at most 30 minutes",
    }  # fmt: skip


def test_the_qos_of_the_partition_overrides_a_limit_of_the_same_kind_only() -> None:
    found = limits().of_job("a100", "normal", qos="high")
    assert "one user of QOS normal may use 8 GPUs at a time: 4 in use, 4 left" in words(found)
    assert "one user of QOS high may run 1 job at a time: 1 running, 0 left" in words(found)
    other = TEXT.replace("MaxTRESPJ=\n    MaxTRESPN=\n    MaxTRESMinsPJ=\n    MinPrioThresh= \n    MinTRESPJ=\n    "
                         "PreemptMode=OFF\n    Priority=0", "MaxTRESPJ=gres/gpu=2\n    Priority=0")  # fmt: skip
    per_job = [use for use in limits(other).of_job("a100", "normal", qos="high") if use.scope == "job"]
    assert [(use.whose, use.limit) for use in per_job] == [("QOS normal", 2)]
    overriding = dataclasses.replace(limits(other), rules=RULES | {"high": QosRule(overrides_partition=True)})
    per_job = [use for use in overriding.of_job("a100", "normal", qos="high") if use.scope == "job"]
    assert [(use.whose, use.limit) for use in per_job] == [("QOS high", 4)]


def test_a_qos_that_nobody_has_used_has_the_limits_that_slurmdbd_tells() -> None:
    unused = TEXT[: TEXT.index("    User Limits")] + TEXT[TEXT.index("QOS=high(3)") :]
    told = "one user of QOS normal may use 8 GPUs at a time: 0 in use, 8 left"
    assert told in words(limits(unused).of_job("a100", None))
    assert told not in words(limits(unused, known=False).of_job("a100", None, qos="normal"))


def test_what_another_user_has_used_counts_for_the_group_alone() -> None:
    other = TEXT.replace("\n      1001\n", "\n      1002\n").replace("anna(1001)", "bea(1002)", 1)
    other = other.replace("Account=research UserName=anna(1001)", "Account=research UserName=bea(1002)")
    found = words(limits(other + "UserName=anna(1001) DefAccount=research\n").of_job("a100", None))
    assert found == {RESEARCH, "one user of QOS normal may use 8 GPUs at a time: 0 in use, 8 left"}


def test_limits_that_are_not_enforced_or_of_another_cluster_are_none() -> None:
    assert limits(enforced=False).of_job("a100", None) == ()
    elsewhere = dataclasses.replace(limits(known=False), cluster="other")
    assert elsewhere.of_job("a100", None) == ()


@pytest.mark.parametrize(
    ("demand", "texts", "lasting"),
    [
        (Demand(1, 4, "a100", 4, None, None), [], []),
        (
            Demand(1, 5, "a100", 5, None, None),
            ["One user of QOS normal may use 8 GPUs at a time: 4 in use, 4 left; this job asks for 5 GPUs."],
            [False],
        ),
        (
            Demand(2, 8, "a100", 8, None, None),
            [
                "Account research may use 12 GPUs at a time: 6 in use, 6 left; this job asks for 16 GPUs.",
                "One user of QOS normal may use 8 GPUs at a time: 4 in use, 4 left; this job asks for 16 GPUs.",
            ],
            [True, True],
        ),
    ],
)
def test_a_job_over_what_is_left_is_told_why(demand: Demand, texts: list[str], lasting: list[bool]) -> None:
    found = exceeded(limits().of_job("a100", None), demand)
    assert [text for text, _ in found] == texts
    assert [never for _, never in found] == lasting


def test_typed_limits_hold_for_their_type_and_limits_of_nodes_for_each() -> None:
    uses = [LimitUse("QOS x", "gres/gpu:a100", 4, 2), LimitUse("QOS x", "cpu", 8, None, "node")]
    assert exceeded(uses, Demand(2, 2, "h100", 8, None, None)) == []
    assert len(exceeded(uses, Demand(2, 2, "a100", 8, None, None))) == 1
    assert len(exceeded(uses, Demand(1, 1, "a100", 9, None, None))) == 1


@pytest.mark.parametrize(
    ("reason", "account", "qos", "found"),
    [
        ("QOSMaxGRESPerUser", "research", "normal", ["one user of QOS normal"]),
        ("QOSMaxJobsPerUserLimit", "research", "high", ["one user of QOS high"]),
        ("AssocGrpGRES", "research", "normal", ["account research"]),
        ("AssocMaxJobsLimit", "teaching", "normal", ["you in account teaching"]),
        ("QOSMaxWallDurationPerJobLimit", "research", "short", ["QOS short"]),
        ("QOSGrpCpuLimit", "research", "short", ["QOS short"]),
        ("QOSMaxGRESPerJob", "research", "high", ["QOS high"]),
        ("QOSGrpCpuLimit", "research", "normal", []),
        ("Priority", "research", "normal", []),
    ],
)
def test_a_reason_names_its_limit(reason: str, account: str, qos: str, found: list[str]) -> None:
    uses = limits().of_job("a100", None, account, qos)
    assert [use.whose for use in limits_of_reason(reason, uses)] == found


def test_the_sentence_tells_the_tightest_limit() -> None:
    assert limits_sentence(limits()) == (
        "Your limits (account research, QOS normal): One user of QOS normal may use 8 GPUs at a time: 4 in use, 4 left."
    )
    assert limits_sentence(limits(enforced=False)) == ""


def snapshot(known: Limits, **part: str) -> Snapshot:
    viewer = Viewer("anna", 1001, frozenset(), known.accounts, known.qos)
    parts = Part(), Part((node("n1"), node("n2"))), Part((partition("main", **part),))
    return Snapshot(1, "sandbox", "22.05.8", *parts, viewer=viewer, limits=known)


def test_fit_stops_at_a_limit_and_its_levers_stay_below_it() -> None:
    (place,) = placements(snapshot(limits()), Shape(nodes=2, gpus_per_node=4, ntasks_per_node=4), now=0.0)
    assert (place.starts_now, place.never, place.limited, place.fitting) == (False, False, True, 2)
    assert place.levers == ("With 2 GPUs per node it starts now.", "On 1 node it starts now.")
    (short,) = placements(snapshot(limits()), Shape(qos="short", time_limit=timedelta(minutes=31)), now=0.0)
    assert (short.why, short.never) == (
        ("QOS short lets one job have at most 30 minutes; this job asks for 31 minutes.",), True,
    )  # fmt: skip
    assert short.levers == ("With a time limit of at most 30:00 it starts now.",)


@pytest.mark.parametrize(
    ("lists", "allowed"),
    [
        ({"AllowAccounts": "research,x"}, True), ({"AllowAccounts": "x"}, False),
        ({"DenyAccounts": "research"}, True), ({"DenyAccounts": "research,teaching,root"}, False),
        ({"AllowQos": "short"}, True), ({"AllowQos": "long"}, False), ({"DenyQos": "normal"}, True),
        ({"AllocNodes": "login[1-2]"}, True), ({"AllocNodes": "login2,batch1"}, False),
    ],
)  # fmt: skip
def test_access_is_known_once_accounts_and_qos_are(lists: dict[str, str], allowed: bool) -> None:
    known = limits()
    who = Viewer("anna", 1001, frozenset(), known.accounts - {"root"}, known.qos, host="login1")
    assert access(partition("main", **lists), who).allowed is allowed


def test_lists_of_accounts_mean_those_below_them_where_the_release_says_so() -> None:
    known = limits()
    who = Viewer("anna", 1001, frozenset(), frozenset({"research"}), known.qos)
    below = dataclasses.replace(who, lineages=known.lineages)
    assert known.lineages["research"] == {"research", "root"}
    part = partition("main", AllowAccounts="root")
    assert (access(part, who).allowed, access(part, below).allowed) == (False, True)
    assert access(partition("main", DenyAccounts="root"), below).allowed is False
    (reservation,), _ = parse_reservations("ReservationName=r Accounts=root Users=(null)\n")
    assert (may_use(reservation, who), may_use(reservation, below)) == (False, True)


def test_qos_that_slurmdbd_does_not_tell_are_unknown() -> None:
    known = limits(known=False)
    assert known.qos is None
    assert access(partition("main", AllowQos="high"), Viewer("anna", 1001, frozenset(), known.accounts)).allowed is None


@settings(max_examples=200, deadline=None)
@given(
    st.integers(0, len(TEXT)),
    st.integers(0, len(TEXT)),
    st.sampled_from(["", "=", "(", "\n", "QOS=", "\x1b", "9" * 30]),
)
def test_no_damage_makes_it_fail(start: int, end: int, put: str) -> None:
    found = limits(TEXT[: min(start, end)] + put + TEXT[max(start, end) :])
    exceeded(found.of_job("a100", "normal"), Demand(1, 1, "a100", 1, 1, 1))
    limits_sentence(found)
    assert isinstance(found.lineages, dict)
