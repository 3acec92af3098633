from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.slurm.reason_limits import limited_resource
from jobs.slurm.reason_words import WORDS
from jobs.slurm.reasons import explain, understand

TABLE = Path(__file__).parents[2] / "data" / "reasons.txt"
REASONS = [line for line in TABLE.read_text("utf-8").splitlines() if line and not line.startswith("#")]
LIMITS = [word for word in REASONS if re.match(r"(Assoc|QOS)(Grp|Max|Min)|Max\w+Per(Account|User)$", word)]
ALL_GONE = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
REBOOTING = ALL_GONE.replace("DRAINED", "DRAINED, REBOOTING")
GONE = "The nodes that could run it are down, drained or kept for jobs in higher partitions."

RESOURCES = {
    "BB": "burst buffer", "Billing": "billing", "Cpu": "CPU", "CPU": "CPU", "Energy": "energy", "GRES": "GPUs",
    "License": "licence", "Mem": "memory", "Memory": "memory", "Node": "node", "Unknown": "does not name",
    "Jobs": "jobs", "Submit": "jobs queued or running", "Wall": "time",
}  # fmt: skip
JARGON = re.compile(r"\b(TRES|GRES|assoc\w*|backfill|Grp|wall|slurmctld|RPC|MCS|TRESMins|fair ?share)\b", re.IGNORECASE)


def test_the_table_is_that_of_all_releases() -> None:
    """216 strings in 26.05, and 5 that only releases before 25.05 have."""
    assert len(REASONS) == len(set(REASONS)) == 221
    assert set(REASONS) - set(LIMITS) == set(WORDS)


@pytest.mark.parametrize("word", REASONS)
def test_every_reason_has_a_meaning_in_one_or_two_plain_sentences(word: str) -> None:
    meaning = understand(word)
    assert meaning.kind != "unknown"
    assert "Slurm says" not in meaning.text
    assert meaning.text.endswith(".")
    assert meaning.action.endswith(".")
    assert len(re.findall(r"\.(?= |$)", meaning.text)) in (1, 2)
    assert word not in meaning.text
    assert not JARGON.search(meaning.text)
    assert "{" not in meaning.text + meaning.action
    assert explain(word) == (meaning.text if word == "None" else f"{meaning.text} ({word})")


@pytest.mark.parametrize("word", [word for word in LIMITS if word != "AssocMaxBBMinutesPerJob"])
def test_a_limit_names_whose_it_is(word: str) -> None:
    text = understand(word).text
    assert ("its account" in text.lower()) == word.startswith("Assoc")
    assert ("QOS" in text) == (not word.startswith("Assoc"))
    of_user = "PerUser" in word or word in ("AssocMaxJobsLimit", "AssocMaxSubmitJobLimit")
    assert ("one user" in text) == of_user
    assert ("your own jobs" in understand(word).action) == of_user
    assert ("one account" in text) == word.endswith("PerAccount")
    assert ("together" in text) == ("Grp" in word)


def test_the_burst_buffer_minutes_of_a_qos_have_the_name_of_the_accounts_limit() -> None:
    assert "account or QOS" in understand("AssocMaxBBMinutesPerJob").text


@pytest.mark.parametrize("word", LIMITS)
def test_a_limit_names_what_it_is_over(word: str) -> None:
    found = re.search(
        r"(?:Grp|Max|Min)(BB|Billing|Cpu|CPU|Energy|GRES|License|Mem(?:ory)?|Node|Unknown|Jobs|Submit|Wall)", word
    )
    assert found
    assert RESOURCES[found[1]] in understand(word).text


@pytest.mark.parametrize("word", LIMITS)
def test_limits_of_one_job_never_pass_and_the_others_do(word: str) -> None:
    of_the_job = "PerJob" in word or "PerNode" in word or "Min" in re.sub("RunMins|Minutes", "", word)
    assert understand(word).kind == ("never" if of_the_job else "limit")


def test_time_is_named_where_it_counts() -> None:
    for word in LIMITS:
        assert ("minutes" in understand(word).text) == ("Minutes" in word or "RunMins" in word), word
        if "RunMin" in word or "MinutesPerJob" in word:
            assert "shorter time limit" in understand(word).action, word


@pytest.mark.parametrize("word", [word for word in REASONS if word.startswith("Partition")])
def test_reasons_of_the_partition_say_so(word: str) -> None:
    assert "partition" in understand(word).text


@pytest.mark.parametrize(("word", "kind"), [
    ("Resources", "waiting"), ("Priority", "waiting"), ("BeginTime", "waiting"), ("PartitionDown", "waiting"),
    ("JobHeldUser", "held"), ("JobHeldAdmin", "held"), ("JobHoldMaxRequeue", "held"), ("ReservationDeleted", "held"),
    ("BadConstraints", "never"), ("PartitionTimeLimit", "never"), ("DependencyNeverSatisfied", "never"),
    ("AccountNotAllowed", "never"), ("QOSNotAllowed", "never"), ("MaxMemPerLimit", "never"),
    ("Dependency", "dependency"), ("JobArrayTaskLimit", "limit"), ("QOSJobLimit", "limit"),
    ("NonZeroExitCode", "broken"), ("OutOfMemory", "broken"), ("JobLaunchFailure", "broken"),
])  # fmt: skip
def test_kinds(word: str, kind: str) -> None:
    assert understand(word).kind == kind


@pytest.mark.parametrize(("reason", "sentence"), [
    ("Resources", "It waits for enough free nodes, CPUs, memory or GPUs; it is next in line. (Resources)"),
    (
        "QOSMaxGRESPerUser",
        "Its QOS lets one user have only so many GPUs or other generic resources at a time. (QOSMaxGRESPerUser)",
    ),
    ("AssocGrpCpuLimit", "All running jobs of its account together may have only so many CPUs. (AssocGrpCpuLimit)"),
    ("QOSMinNode", "Its QOS demands that a job asks for more nodes. (QOSMinNode)"),
    (
        "ReqNodeNotAvail, UnavailableNodes:gpu[01-04],gpu07",
        "Nodes that it asked for or could use are down, drained or do not answer: gpu[01-04],gpu07. (ReqNodeNotAvail)",
    ),
    (ALL_GONE, f"{GONE} ({ALL_GONE})"),
    (f"({ALL_GONE})", f"{GONE} ({ALL_GONE})"),
    (REBOOTING, f"{GONE} ({REBOOTING})"),
    (ALL_GONE.replace(" ", "_"), f"{GONE} ({ALL_GONE.replace(' ', '_')})"),
    (
        "(launch failed requeued held)",
        "Its launch failed and it is held: look at the node, then release it. (launch failed requeued held)",
    ),
    ("RaisedSignal:53(Real-time signal 19)", "Signal 53 (Real-time signal 19) ended it. (RaisedSignal)"),
    (
        "Reservation day.1 was deleted",
        "Its reservation day.1 was deleted, so Slurm holds it. (Reservation day.1 was deleted)",
    ),
])  # fmt: skip
def test_a_reason_in_plain_words_with_slurms_own_behind(reason: str, sentence: str) -> None:
    assert explain(reason) == sentence


@pytest.mark.parametrize(("reason", "part", "kind"), [
    ("ReqNodeNotAvail, Reserved for maintenance", "maintenance", "waiting"),
    ("ReqNodeNotAvail, May be reserved for other job", "another job", "waiting"),
    ("ReqNodeNotAvail,_UnavailableNodes:n_1", "n_1", "waiting"),
    ("launch failure limit exceeded requeued held", "launch failed", "held"),
    ("job requeued in held state", "is held", "held"),
    ("user env retrieval failed requeued held", "environment", "held"),
    ("Reservation maint is invalid", "maint", "held"),
    ("License request 'matlab:9' is no longer valid, holding job", "matlab:9", "held"),
    ("uid 7 not in group permitted to use this partition (big). groups allowed: a,b", "big; these may: a,b", "never"),
    ("Job's QOS not permitted to use this partition (big allows a not b)", "big allows a not b", "never"),
    ("Job's QOS not known, so it can't use this partition (big allows a)", "big allows a", "never"),
    ("Unable to load job environment", "lost its environment", "broken"),
    ("Job is at or exceeds QOS q's group wall limit of 60 with 61", "QOS q's group wall limit of 60 with 61", "broken"),
    ("burst_buffer/lua: slurm_bb_pre_run: no space", "no space", "broken"),
])  # fmt: skip
def test_free_texts_of_slurm_are_known_and_keep_what_they_name(reason: str, part: str, kind: str) -> None:
    meaning = understand(reason)
    assert part in meaning.text
    assert meaning.kind == kind
    assert meaning.text.endswith(".")


def test_no_reason_means_that_slurm_has_not_looked() -> None:
    assert explain("") == explain("None") == "Slurm has not looked at it yet."


@pytest.mark.parametrize("reason", ["QOSNotAllowed", "InvalidQOS", "InvalidAccount", "AccountNotAllowed"])
def test_what_may_not_be_used_is_not_called_a_limit(reason: str) -> None:
    sentence = explain(reason)
    assert "limit" not in sentence
    assert reason in sentence


def test_an_unknown_reason_is_told_in_slurms_words() -> None:
    assert explain("SomethingNew") == "Slurm says: SomethingNew"
    assert explain("Priority of {0} is odd") == "Slurm says: Priority of {0} is odd"
    assert understand("SomethingNew").kind == "unknown"


def test_a_resource_of_a_later_release_keeps_its_name() -> None:
    assert "so much Tape at a time" in understand("QOSMaxTapePerUser").text


@pytest.mark.parametrize(("word", "resource"), [
    ("QOSMaxGRESPerUser", "GRES"), ("AssocGrpCpuLimit", "Cpu"), ("AssocGrpCPURunMinutesLimit", "Wall"),
    ("QOSMaxWallDurationPerJobLimit", "Wall"), ("MaxSubmitJobsPerAccount", "Jobs"), ("QOSMinNode", "Node"),
    ("MaxGRESRunMinsPerUser", "Wall"), ("Priority", None), ("MaxMemPerLimit", None),
])  # fmt: skip
def test_what_a_limit_is_over(word: str, resource: str | None) -> None:
    assert limited_resource(word) == resource


@given(st.text(min_size=1).filter(lambda reason: reason != "None"))
def test_slurms_words_are_never_lost(reason: str) -> None:
    words = [part for part in reason.strip("()").split(",") if part]
    assert all(word in explain(reason) for word in words)
