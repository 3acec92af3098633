"""No text makes a reader fail: real shapes, damaged. The corpus is in tests/data/fuzz; add to it what broke one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slurm_text import job_text

from jobs.slurm import commands, hostlist, parse
from jobs.slurm.array_tasks import task_ranges
from jobs.slurm.availability import availability
from jobs.slurm.fit import placements
from jobs.slurm.rate_limit import calls_per_minute
from jobs.slurm.reasons import explain
from jobs.slurm.shape import Shape
from jobs.slurm.snapshot import Part, Snapshot
from jobs.slurm.times import parse_duration, parse_time
from jobs.slurm.tres import parse_gres, parse_memory, parse_tres, tres_gpus, tres_gres

FUZZ = Path(__file__).parents[2] / "data" / "fuzz"
HOSTILE = (
    "\x1f", "\x1e", "\x1e\n", "\n", "\n\n", " ", "=", "|", ",", ":", "-", "+", "*", "(", ")", "[", "]", "[1-99999999]",
    "[bold]", "\x1b[31m", "\x9b", "\u202e", "\udcff", "\x00", "(null)", "N/A", "9" * 30, "-1", "²", "0x1f", "1e9", "%",
    "\n   State=IDLE", "\n   Gres=gpu:9999999", "\n     NodeName=x CoreIDs=0-99999999", "UNLIMITED", "é", "🚀",
)  # fmt: skip


def records(name: str) -> list[str]:
    """The records of a file of the corpus."""
    return [part.strip("\n") for part in (FUZZ / name).read_text("utf-8").split("---\n")]


CUTS = st.lists(
    st.tuples(st.sampled_from(["cut", "drop", "twice", "put"]), st.floats(0, 1), st.floats(0, 1),
              st.sampled_from(HOSTILE)),
    min_size=1, max_size=5,
)  # fmt: skip


def damaged(text: str, cuts: list[tuple[str, float, float, str]]) -> str:
    """The text with its end cut off, parts left out or doubled, and hostile words put in."""
    for what, first, second, word in cuts:
        start, end = sorted((int(first * len(text)), int(second * len(text))))
        if what == "cut":
            text = text[:start] or text
        elif what == "drop":
            text = text[:start] + text[min(end, start + 12) :]
        elif what == "twice":
            text = text[:end] + text[start:end] + text[end:]
        else:
            text = text[:start] + word + text[start:]
    return text


Reader = Callable[[str], tuple[tuple[Any, ...], int]]
READERS: dict[str, tuple[Reader, str]] = {
    "nodes.txt": (parse.parse_nodes, "NodeName="),
    "partitions.txt": (parse.parse_partitions, "PartitionName="),
    "reservations.txt": (parse.parse_reservations, "ReservationName="),
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_record_costs_only_itself(name: str, data: st.DataObject) -> None:
    reader, key = READERS[name]
    corpus = records(name)
    victim = damaged(data.draw(st.sampled_from(corpus)), data.draw(CUTS))
    if key not in victim:
        victim = key + victim
    first, last = corpus[0].replace(key, f"{key}first", 1), corpus[0].replace(key, f"{key}last", 1)
    found, skipped = reader(f"{first}\n\n{victim}\n\n{last}\n")
    whole, none = reader(f"{first}\n\n{last}\n")
    assert (len(whole), none) == (2, 0)
    assert [record for record in found if record.name in (whole[0].name, whole[1].name)][:1] == [whole[0]]
    assert found[-1] == whole[1]
    assert len(found) + skipped >= 2


@settings(max_examples=300, deadline=None)
@given(CUTS, st.sampled_from(["Name", "Reason", "NumNodes", "tres_alloc", "TimeLimit", "ArrayTaskID", "State"]))
def test_a_damaged_job_costs_only_itself(cuts: list[tuple[str, float, float, str]], field: str) -> None:
    before, after = job_text(JobID="1"), job_text(JobID="3")
    victim = damaged(job_text(JobID="2", **{field: "cpu=2,mem=1G,node=1,gres/gpu:a100=2"}), cuts)
    if not victim.endswith(commands.RECORD_END + "\n"):
        victim += commands.RECORD_END + "\n"
    found, skipped = parse.parse_jobs(before + victim + after)
    assert (found[0].job_id, found[-1].job_id) == ("1", "3")
    empty = not victim.removesuffix(commands.RECORD_END + "\n").strip("\n")
    assert len(found) + skipped >= (2 if empty else 3)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from((FUZZ / "words.txt").read_text("utf-8").splitlines()), CUTS)
def test_no_damaged_word_makes_a_reader_fail(word: str, cuts: list[tuple[str, float, float, str]]) -> None:
    text = damaged(word, cuts)
    for read in (
        parse_gres, parse_tres, tres_gres, parse_memory, parse_time, parse_duration, explain, task_ranges,
        calls_per_minute,
    ):  # fmt: skip
        read(text)
    tres_gpus(parse_tres(text))
    for read_or_refuse in (hostlist.expand, parse.parse_node_state):
        try:
            read_or_refuse(text)
        except ValueError:
            continue


@settings(max_examples=300, deadline=None)
@given(CUTS)
def test_no_damaged_configuration_or_accounting_makes_a_reader_fail(cuts: list[tuple[str, float, float, str]]) -> None:
    config = parse.parse_config(damaged((FUZZ / "config.txt").read_text("utf-8"), cuts))
    (part,), _ = parse.parse_partitions("PartitionName=x\n")
    parse.with_cluster_defaults(part, config)
    line = (FUZZ / "sacct.txt").read_text("utf-8").replace("|", commands.FIELD_END)
    parse.parse_sacct(damaged(line, cuts))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_whatever_was_read_can_be_counted_and_the_identity_holds(data: st.DataObject) -> None:
    parts = []
    for name in READERS:
        text = "\n\n".join(damaged(record, data.draw(CUTS)) for record in records(name))
        parts.append(READERS[name][0](text)[0])
    snapshot = Snapshot(1, "lab", "22.05.8", Part(), Part(parts[0]), Part(parts[1]), Part(parts[2]))
    counted = availability(snapshot, 1_796_096_000.0)
    for gpus in [*counted.gpu_types, *(count for part in counted.partitions for count in part.gpu_types)]:
        known = [gpus.allocated, gpus.usable, *gpus.unavailable.values(), *gpus.stranded.values()]
        assert gpus.total == sum(known)
        assert min(known) >= 0
    placements(snapshot, Shape(2, 2, memory=1000), now=1_796_096_000.0)
