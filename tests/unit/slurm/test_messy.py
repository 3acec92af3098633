"""The recording that comes with slurmconsole, against the arithmetic of the script that made it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import make_recording
import pytest

from console.cli import main
from console.replaying import recording_path
from jobs.slurm.cluster import Cluster
from jobs.slurm.recorded import Recording, load
from jobs.slurm.replay import Replay

MADE = make_recording.make()
GONE = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED", "DEADLINE",
        "BOOT_FAIL"}  # fmt: skip


@pytest.fixture(scope="module")
def shipped() -> Recording:
    return load(make_recording.TARGET)


def answer(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    """The JSON of a command on the shipped recording."""
    assert main(["--replay", "messy", *argv, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_the_file_is_what_the_script_makes_and_is_small(shipped: Recording) -> None:
    assert shipped == make_recording.recording(MADE)
    assert make_recording.TARGET.stat().st_size < 400_000


def test_gpus_are_those_of_the_scripts_conditions(capsys: pytest.CaptureFixture[str]) -> None:
    data = answer(capsys, "gpus")
    assert (data["cluster"], data["taken_at"], data["problems"]) == ("messy", "2026-03-17T14:23:05+00:00", [])
    said = {count.pop("gpu_type") or "": count for count in data["gpu_types"]}
    expected = make_recording.counts(MADE.nodes)
    blocks = {kind: count.pop("largest_block") for kind, count in said.items()}
    for kind, block in blocks.items():
        assert (block["gpus_per_node"] * block["nodes"] if block else 0) == _largest(kind)
    assert said == {kind: vars(count) for kind, count in expected.items()}
    assert said["a100"]["total"] == 160 * 4
    assert said["a100_1g.5gb"]["total"] == 12 * 14
    for count in said.values():
        causes = sum(count["unavailable"].values()) + sum(count["stranded"].values())
        assert count["total"] == count["allocated"] + causes + count["usable"]


def test_limits_leave_what_the_scripts_jobs_do(capsys: pytest.CaptureFixture[str]) -> None:
    mine = make_recording.in_use(MADE.jobs, QOS="normal", UserName=make_recording.USER)
    everyones = make_recording.in_use(MADE.jobs, Account="proj1")
    assert mine == (2, 72)
    told = {use["whose"]: (use["limit"], use["used"]) for use in answer(capsys, "gpus")["limits"]}
    assert told == {"account proj1": (400, everyones[1]), "one user of QOS normal": (96, 72)}


def _largest(kind: str) -> int:
    """GPUs of the largest job with as many on each node: all racks of a kind are in one partition."""
    away = {**make_recording.UNAVAILABLE, **make_recording.STRANDED}
    free = [node.rack.gpus[kind] - node.used[kind] for node in MADE.nodes
            if kind in node.rack.gpus and node.condition not in away]  # fmt: skip
    return max((gpus * sum(1 for number in free if number >= gpus) for gpus in free), default=0)


def test_jobs_hold_as_many_gpus_as_the_nodes_have_in_use(capsys: pytest.CaptureFixture[str]) -> None:
    held: Counter[str] = Counter()
    for job in answer(capsys, "jobs", "--all"):
        if job["node_list"]:
            held[job["partition"]] += job["gpus"] or 0
    expected: Counter[str] = Counter()
    for node in MADE.nodes:
        expected[node.rack.partitions[0]] += sum(node.used.values())
    assert held == expected


def test_no_record_is_lost_and_the_queue_leaves_out_what_ended(shipped: Recording) -> None:
    snapshot = Cluster(Replay(shipped)).refresh()
    assert snapshot.problems == ()
    assert {node.name for node in snapshot.nodes.records} == {node.name for node in MADE.nodes}
    assert len(snapshot.nodes.records) == 600
    kept = [job["Name"] for job in MADE.jobs if job["State"] not in GONE]
    assert [job.name for job in snapshot.jobs.records] == kept
    assert len(MADE.jobs) == 3000
    assert {"two\nlines", "\x1f\x1f", "bad\udcff\udcfeutf8"} <= set(kept)


def test_mine_are_those_of_the_one_who_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    names = [job["name"] for job in answer(capsys, "jobs")]
    assert names == ["gpt-7b-pretrain", "eval-7b", "gpt-7b-eval", "sweep", "gpt-13b"]


def test_used_times_and_clocks_are_those_of_the_recording(capsys: pytest.CaptureFixture[str]) -> None:
    mine = next(job for job in MADE.jobs if job["Name"] == "gpt-7b-pretrain")
    used = make_recording.NOW - int(mine["StartTime"])
    assert main(["--replay", "messy", "job", mine["JobID"]]) == 0
    hours, minutes, seconds = used // 3600, used // 60 % 60, used % 60
    assert f"time       {hours}:{minutes:02}:{seconds:02} used of" in capsys.readouterr().out


def test_room_behind_a_queue_is_not_a_yes(capsys: pytest.CaptureFixture[str]) -> None:
    wish = ("fit", "-N", "4", "--gpus-per-node", "4", "--gpu-type", "a100", "-p", "a100")
    waiting = sum(1 for job in MADE.jobs if job["State"] == "PENDING" and job["Reason"] in ("Priority", "Resources")
                  and "a100" in job["Partition"].split(","))  # fmt: skip
    assert main(["--replay", "messy", *wish]) == 1
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("Perhaps. There is room for 4 nodes x 4 GPUs (a100) in partition a100, but other jobs wait")
    assert second == "a100: has room, with others ahead"
    assert main(["--replay", "messy", *wish, "--json"]) == 1
    (place,) = json.loads(capsys.readouterr().out)["placements"]
    assert (place["starts_now"], place["jobs_ahead"]) == (True, waiting)


def test_a_type_that_is_not_there_is_named_with_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--replay", "messy", "fit", "--gpus-per-node", "8", "--gpu-type", "H100"]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "There is no GPU type H100 here; there are a100, a100_1g.5gb, a100_3g.20gb, h100, k80, l40s." in told.err


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("-c", "0"), "begin at 1"), (("--ntasks-per-node", "0"), "begin at 1"), (("-N", "0"), "begin at 1"),
        (("--mem", "1.5G"), "--mem 1.5G must be a whole number"), (("--mem", "-1"), "--mem"),
        (("-t", "5x"), "--time 5x must be minutes"),
        (("--gpu-type", ""), "--gpu-type needs a name"), (("-p", ""), "--partition needs a name"),
        (("-A", ""), "--account needs a name"),
    ],
)  # fmt: skip
def test_what_sbatch_refuses_is_wrong_usage(
    options: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """sbatch of 22.05.8 refuses these values (tried); an option without its name can mean nothing."""
    try:
        code = main(["--replay", "messy", "fit", "--gpus-per-node", "1", *options])
    except SystemExit as leaving:
        code = int(str(leaving.code))
    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert told in said.err


@pytest.mark.parametrize("options", [("--mem", "4000MB"), ("--mem", "1K"), ("-p", "a100,l40s")])
def test_what_sbatch_takes_is_answered(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--replay", "messy", "fit", "--gpus-per-node", "1", *options, "--json"]) in (0, 1)
    data = json.loads(capsys.readouterr().out)
    assert any(place["starts_now"] for place in data["placements"])
    if options[0] == "--mem":
        assert data["shape"]["memory_mib"] == {"4000MB": 4000, "1K": 1}[options[1]]


def test_slices_are_offered_last_and_each_type_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--replay", "messy", "fit", "-N", "4", "--gpus-per-node", "2", "--gpu-type", "k80"]) == 1
    offers = [line for line in capsys.readouterr().out.splitlines() if line.startswith("With --gpu-type=")]
    kinds = [line.split("=")[1].split()[0] for line in offers]
    assert len(kinds) == len(set(kinds)) > 1
    slices = [kind for kind in kinds if "g." in kind]
    assert kinds[len(kinds) - len(slices) :] == slices
    assert all(("MIG slices" in line) == ("g." in line) for line in offers)


def test_a_file_in_the_way_is_named_with_its_folder() -> None:
    assert recording_path("messy") == make_recording.TARGET
    assert recording_path("./messy") == Path("messy")
    assert recording_path("other") == Path("other")
