from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.slurm.reasons import explain

ALL_GONE = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
NODE_GONE = "A node that it needs is down, drained or reserved, often for a coming maintenance."


@pytest.mark.parametrize(("reason", "sentence"), [
    ("Resources", "It waits for enough free nodes, CPUs, memory or GPUs; it is next in line. (Resources)"),
    ("Priority", "Jobs with a higher priority are ahead of it in this partition. (Priority)"),
    ("JobHeldUser", "You or its owner hold it: release it to let it start. (JobHeldUser)"),
    (
        "ReqNodeNotAvail, UnavailableNodes:gpu[01-04],gpu07",
        f"{NODE_GONE} (ReqNodeNotAvail: UnavailableNodes:gpu[01-04],gpu07)",
    ),
    (ALL_GONE, f"The nodes that could run it are down, drained or kept for jobs in higher partitions. ({ALL_GONE})"),
    ("QOSMaxGRESPerUser", "It is over a limit of your QOS. (QOSMaxGRESPerUser)"),
    ("QOSGrpGRES", "It is over a limit of your QOS. (QOSGrpGRES)"),
    ("AssocGrpGRES", "It is over a limit of your account. (AssocGrpGRES)"),
    ("AssocMaxJobsLimit", "It is over a limit of your account. (AssocMaxJobsLimit)"),
])  # fmt: skip
def test_a_reason_in_plain_words_with_slurms_own_behind(reason: str, sentence: str) -> None:
    assert explain(reason) == sentence


def test_no_reason_means_that_slurm_has_not_looked() -> None:
    assert explain("") == explain("None") == "Slurm has not looked at it yet."


@pytest.mark.parametrize("reason", ["QOSNotAllowed", "InvalidQOS", "InvalidAccount", "AccountNotAllowed"])
def test_what_may_not_be_used_is_not_called_a_limit(reason: str) -> None:
    sentence = explain(reason)
    assert "limit" not in sentence
    assert reason in sentence


def test_an_unknown_reason_is_told_in_slurms_words() -> None:
    assert explain("SomethingNew") == "Slurm says: SomethingNew"


@given(st.text(min_size=1).filter(lambda reason: reason != "None"))
def test_slurms_words_are_never_lost(reason: str) -> None:
    words = [part for part in reason.split(",") if part]
    assert all(word in explain(reason) for word in words)
