"""`squeue -O` and `sacct -P` in the formats of jobs.slurm.commands."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import job_text

from jobs.slurm.commands import FIELD_END, JOB_FIELDS, RECORD_END, SACCT_FIELDS, job_fields
from jobs.slurm.parse import parse_jobs, parse_sacct
from jobs.slurm.records import Job


def job(**fields: str) -> Job:
    jobs, skipped = parse_jobs(job_text(**fields))
    assert (len(jobs), skipped) == (1, 0)
    return jobs[0]


def test_a_running_job_is_read_field_by_field() -> None:
    found = job(
        JobID="17", JobArrayID="17", Account="ml", QOS="high", Partition="a100", NumNodes="2", NumCPUs="16",
        NumTasks="4", NodeList="gpu[01-02]", TimeLimit="2-00:00:00", RestartCnt="3", Dependency="afterok:5_*(failed)",
        MinMemory="32G", BatchHost="gpu01", WorkDir="/scratch/a b", STDOUT="%x-%j.out", STDERR="(null)",
    )  # fmt: skip
    assert (found.job_id, found.display_id, found.array_job_id, found.array_task_id) == ("17", "17", None, None)
    assert (found.user, found.account, found.qos, found.partition) == ("alice", "ml", "high", "a100")
    assert (found.state, found.reason, found.running, found.ended) == ("RUNNING", "None", True, False)
    assert (found.nodes, found.cpus, found.tasks, found.node_list) == (2, 16, 4, "gpu[01-02]")
    assert (found.time_limit, found.unlimited, found.memory) == (timedelta(days=2), False, "32G")
    assert found.submit_time == datetime(2026, 12, 1, 3, 27, 30, tzinfo=timezone.utc)
    assert found.start_time == found.submit_time + timedelta(seconds=1)
    assert found.end_time == found.start_time + timedelta(hours=1)
    assert (found.priority, found.restarts, found.batch_host) == (4294901759, 3, "gpu01")
    assert (found.work_dir, found.stdout, found.stderr) == ("/scratch/a b", "%x-%j.out", "")
    assert (found.dependency, found.name) == ("afterok:5_*(failed)", "wrap")


def test_what_a_pending_job_does_not_have_yet_is_unknown() -> None:
    found = job(
        State="PENDING", Reason="Resources", StartTime="N/A", EndTime="N/A", NodeList="", BatchHost="n/a",
        TimeLimit="UNLIMITED",
    )  # fmt: skip
    assert (found.start_time, found.end_time, found.node_list, found.batch_host) == (None, None, "", None)
    assert (found.time_limit, found.unlimited, found.reason, found.running) == (None, True, "Resources", False)
    assert (found.account, found.qos, found.dependency) == (None, None, None)


def test_a_reason_in_words_is_kept_whole() -> None:
    reason = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    assert job(Reason=reason).reason == reason


def test_the_end_of_an_unlimited_job_is_unknown() -> None:
    assert job(TimeLimit="UNLIMITED", EndTime="NONE").end_time is None


NAMES = [
    "two\nlines", "ends in a newline\n", "\n", "", "a|b, c=d", f"unit{FIELD_END}separator", f"record{RECORD_END}end",
    "\x1b[31mred\x1b]0;title\x07", "[red]markup[/red] [@click=quit]x[/]", '$(id) `id` "q" \'s\'', "日本語-é",
    b"bad \xff\xfe utf-8".decode("utf-8", "surrogateescape"), "N/A", "(null)", "tab\tand\rreturn",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_name_of_any_bytes_is_kept_and_hurts_no_other_job(name: str) -> None:
    text = job_text(JobID="1") + job_text(JobID="2", Name=name) + job_text(JobID="3")
    jobs, skipped = parse_jobs(text)
    assert [(found.job_id, found.name) for found in jobs] == [("1", "wrap"), ("2", name), ("3", "wrap")]
    assert skipped == 0


def test_a_pending_array_is_one_job_with_its_open_tasks() -> None:
    found = job(JobID="4", JobArrayID="4_[3-5%2]", ArrayJobID="4", ArrayTaskID="3-5%2", State="PENDING")
    assert (found.job_id, found.display_id, found.array_job_id, found.array_task_id) == ("4", "4_[3-5%2]", "4", "3-5%2")


def test_a_running_array_task_keeps_its_own_raw_id() -> None:
    found = job(JobID="6", JobArrayID="4_2", ArrayJobID="4", ArrayTaskID="2")
    assert (found.job_id, found.display_id, found.array_job_id, found.array_task_id) == ("6", "4_2", "4", "2")


def test_a_part_of_a_het_job_is_shown_by_leader_and_offset() -> None:
    leader = job(JobID="7", JobArrayID="7+0", ArrayJobID="7", HetJobID="7", HetJobOffset="0")
    part = job(JobID="8", JobArrayID="7+1", ArrayJobID="8", HetJobID="7", HetJobOffset="1")
    assert [(found.job_id, found.display_id, found.array_job_id) for found in (leader, part)] == [
        ("7", "7+0", None),
        ("8", "7+1", None),
    ]


UNTRACKED = "cpu=8,mem=32G,node=2,billing=8"
GPUS = [
    ({}, (0, None)),
    ({"tres_per_node": "gres:gpu:a100:2"}, (4, "a100")),
    ({"tres_per_node": "gres/gpu:a100:2"}, (4, "a100")),
    ({"tres_per_node": "gres:gpu:2"}, (4, None)),
    ({"tres_per_node": "gres:gpu"}, (2, None)),
    ({"tres_per_node": "gres:gpu:a100:2,gres:gpu:h100:1"}, (6, None)),
    ({"tres_per_job": "gres:gpu:3"}, (3, None)),
    ({"tres_per_job": "gres:gpu:a100:3"}, (3, "a100")),
    ({"tres_per_job": "gres:gpu:a100:2,gres:gpu:h100:1"}, (3, None)),
    ({"tres_per_task": "gres:gpu:h100:1"}, (8, "h100")),
    ({"tres_per_socket": "gres:gpu:2"}, (None, None)),
    ({"tres_per_socket": "gres:gpu:a100:2"}, (None, "a100")),
    ({"tres_per_node": "gres:craynetwork:1"}, (0, None)),
    ({"tres_per_node": "gres:gpu:2", "NumNodes": ""}, (None, None)),
    ({"tres_alloc": "cpu=8,gres/gpu=4,gres/gpu:a100=4", "tres_per_node": "gres:gpu:a100:1"}, (4, "a100")),
    ({"tres_alloc": "cpu=8,node=2,gres/gpu=16"}, (16, None)),
    ({"tres_alloc": "cpu=8,gres/gpu=0"}, (0, None)),
    ({"tres_alloc": "N/A", "tres_per_node": "gres:gpu:1"}, (2, None)),
]


@pytest.mark.parametrize(("fields", "gpus"), GPUS)
def test_gpus_of_two_nodes_and_eight_tasks(fields: dict[str, str], gpus: tuple[int | None, str | None]) -> None:
    found = job(**{"tres_alloc": UNTRACKED, "NumNodes": "2", "NumTasks": "8"} | fields)
    assert (found.gpus, found.gpu_type) == gpus


def test_an_empty_queue_is_no_jobs_and_nothing_skipped() -> None:
    assert parse_jobs("") == ((), 0)
    assert parse_jobs("\n") == ((), 0)


def test_a_record_that_is_cut_is_counted_and_the_others_kept() -> None:
    text = job_text(JobID="1") + job_text(JobID="2")[:40] + RECORD_END + "\n" + job_text(JobID="3")
    jobs, skipped = parse_jobs(text)
    assert ([found.job_id for found in jobs], skipped) == (["1", "3"], 1)


def test_a_sentence_instead_of_records_is_counted() -> None:
    assert parse_jobs("slurm_load_jobs error: Unable to contact slurm controller\n") == ((), 1)


def test_a_job_without_an_id_is_counted() -> None:
    assert parse_jobs(job_text(JobID="")) == ((), 1)


SACCT = {
    "JobIDRaw": "6", "JobID": "4_2", "User": "alice", "Account": "ml", "QOS": "normal", "Partition": "h100",
    "State": "CANCELLED by 1001", "NNodes": "1", "NCPUS": "8", "AllocTRES": "billing=8,cpu=8,gres/gpu=3,node=1",
    "ReqMem": "4000Mc", "Submit": "1796095650", "Start": "1796095651", "End": "1796099251",
    "Timelimit": "1-00:00:00", "NodeList": "gpu06", "WorkDir": "/scratch/alice", "JobName": "wrap",
}  # fmt: skip


def sacct_text(**fields: str) -> str:
    return FIELD_END.join((SACCT | fields)[name] for name in SACCT_FIELDS) + "\n"


def test_a_job_of_accounting_is_read() -> None:
    (found,), skipped = parse_sacct(sacct_text())
    assert skipped == 0
    assert (found.job_id, found.display_id, found.array_job_id, found.array_task_id) == ("6", "4_2", "4", "2")
    assert (found.state, found.ended, found.gpus, found.nodes, found.cpus) == ("CANCELLED", True, 3, 1, 8)
    assert (found.node_list, found.time_limit) == ("gpu06", timedelta(days=1))
    assert found.end_time == datetime(2026, 12, 1, 4, 27, 31, tzinfo=timezone.utc)
    assert (found.work_dir, found.name) == ("/scratch/alice", "wrap")


def test_a_job_of_accounting_that_never_started_is_read() -> None:
    (found,), _ = parse_sacct(sacct_text(JobID="9", NodeList="None assigned", Start="Unknown", AllocTRES=""))
    assert (found.array_job_id, found.start_time, found.gpus) == (None, None, None)
    assert found.node_list == ""


def test_a_broken_line_of_accounting_is_counted() -> None:
    jobs, skipped = parse_sacct("sacct: error\n" + sacct_text())
    assert (len(jobs), skipped) == (1, 1)


@given(st.text())
def test_no_text_makes_the_parsers_raise(text: str) -> None:
    parse_jobs(text)
    parse_sacct(text)


VALUES = st.one_of(st.text(), st.text("0123456789-:/=,gresu[]²"), st.sampled_from(["9" * 5000, "N/A", "(null)"]))


@given(st.lists(VALUES, min_size=len(JOB_FIELDS), max_size=len(JOB_FIELDS)))
def test_no_field_makes_the_parser_raise(values: list[str]) -> None:
    jobs, skipped = parse_jobs(FIELD_END.join(values) + RECORD_END + "\n")
    assert len(jobs) + skipped >= 1


@given(st.integers(0, 600), st.integers(0, 600))
def test_no_cut_or_spliced_queue_makes_the_parser_raise(first: int, second: int) -> None:
    text = job_text(JobID="1") + job_text(JobID="2", Name="a\nb")
    for mutant in (text[:first], text[first:], text[:first] + text[second:], text + text[first:second] + text):
        parse_jobs(mutant)


def test_no_name_can_forge_a_record_of_another_job() -> None:
    forged = job_text(JobID="666", UserName="root").replace(RECORD_END, "\x1e")
    jobs, skipped = parse_jobs(job_text(JobID="1", Name=f"innocent\x1e\n{forged}") + job_text(JobID="2"))
    assert [job.job_id for job in jobs] == ["1", "2"]
    assert skipped == 0


def test_an_exclusive_job_holds_an_unknown_number_of_gpus() -> None:
    text = job_text(JobID="1", OverSubscribe="NO") + job_text(JobID="2", OverSubscribe="NO", tres_per_node="gres:gpu:2")
    jobs, _ = parse_jobs(text + job_text(JobID="3"))
    assert [job.gpus for job in jobs] == [None, 2, 0]


@pytest.mark.parametrize(("exclusive", "gpus"), [("NO", 0), ("USER", 0), ("NODE", None), ("TOPO", None)])
def test_since_26_05_exclusive_says_whether_a_job_holds_whole_nodes(exclusive: str, gpus: int | None) -> None:
    """There OverSubscribe is NO for every job that did not ask for --oversubscribe (squeue(1) of 26.05)."""
    fields = job_fields((26, 5))
    assert "OverSubscribe" not in fields
    jobs, skipped = parse_jobs(job_text(OverSubscribe=exclusive), fields)
    assert (jobs[0].gpus, skipped) == (gpus, 0)


def test_releases_before_26_05_are_not_asked_for_a_field_that_they_do_not_know() -> None:
    assert all("Exclusive" not in job_fields(release) for release in (None, (20, 11), (25, 11)))
