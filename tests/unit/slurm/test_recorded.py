from __future__ import annotations

import contextlib
import gzip
import json
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slurm_text import job_text, node_text, partition_text

from console.cli import main
from jobs.files import write_atomic
from jobs.slurm import commands
from jobs.slurm.access import Viewer
from jobs.slurm.clock import stopped_at, wall_clock
from jobs.slurm.recorded import Recording, RecordingError, compress, decode, encode, load, read_commands
from jobs.slurm.replay import Replay
from jobs.slurm.run import Answer, CommandMissing

NOW = 1796095660.25


def recording(queue: str = "", *, nodes: str = "") -> Recording:
    texts = ("ClusterName = lab\nSLURM_VERSION = 22.05.8\n", "slurm 22.05.8\n", nodes, partition_text(), "", queue)
    answers = [
        Answer(tuple(argv), 0, text.encode("utf-8", "surrogateescape"), b"", 0.0125)
        for argv, text in zip(read_commands(), texts, strict=True)
    ]
    return Recording(NOW, Viewer("alice", 1000, frozenset({"alice", "ml"})), tuple(answers))


def names(replay: Replay, **question: object) -> list[str]:
    """The names of the jobs in the replayed answer to a question."""
    answer = replay.run(commands.squeue(**question))  # type: ignore[arg-type]
    return [row.rpartition(commands.FIELD_END)[2] for row in answer.text.split(commands.RECORD_END + "\n")[:-1]]


def complaint(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    """The one sentence of a command that ends with 2 and prints nothing else."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("slurmconsole: ")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    return err


@given(
    st.floats(1, 4e9).map(lambda x: round(x, 3)),
    st.builds(Viewer, st.text(), st.integers(0, 2**32), st.frozensets(st.text())),
    st.lists(st.tuples(st.lists(st.text()), st.integers(0, 255), st.binary(), st.binary(), st.integers(0, 99999))),
)
def test_what_was_written_is_read(
    at: float, viewer: Viewer, answers: list[tuple[list[str], int, bytes, bytes, int]]
) -> None:
    kept = Recording(
        at, viewer, tuple(Answer(tuple(argv), code, out, err, ms / 1000) for argv, code, out, err, ms in answers)
    )
    content = encode(kept)
    read = decode(content)
    assert abs(read.taken_at - at) < 1e-5
    assert (read.viewer, read.answers) == (viewer, kept.answers)
    assert all(32 <= byte < 127 or byte == 10 for byte in content)
    assert gzip.decompress(compress(content)) == content


@given(st.binary())
def test_rubbish_is_one_sentence_and_never_another_error(content: bytes) -> None:
    with pytest.raises(RecordingError):
        decode(content)


@given(st.integers(0, 2000), st.binary(max_size=3))
def test_a_cut_or_changed_file_is_refused_or_read_whole(at: int, instead: bytes) -> None:
    content = encode(recording(job_text(Name="x")))
    at = min(at, len(content) - 2)
    with pytest.raises(RecordingError):
        decode(content[:at])
    with contextlib.suppress(RecordingError):
        assert len(decode(content[:at] + instead + content[at + len(instead) :]).answers) == len(read_commands())


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9])
def test_a_cut_compressed_file_is_refused(tmp_path: Path, cut: float) -> None:
    packed = compress(encode(recording(job_text(Name="x"))))
    path = tmp_path / "cut.jsonl.gz"
    path.write_bytes(packed[: int(len(packed) * cut)])
    with pytest.raises(RecordingError, match="cut"):
        load(path)


def test_each_fault_of_a_file_is_told_with_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = encode(recording())
    other = json.loads(content.split(b"\n")[0]) | {"version": 2}
    faults = {
        "rubbish": (b"\x1b[31m\xff", "is not a recording"),
        "empty": (b"", "is not a recording"),
        "cut": (content[:-12], "was cut or damaged"),
        "newer": (json.dumps(other).encode() + content[content.index(b"\n") :], "version 2; this release reads 1"),
        "damaged.gz": (b"\x1f\x8brubbish", "cannot be unpacked"),
    }
    for name, (data, words) in faults.items():
        (tmp_path / name).write_bytes(data)
        for command in (["gpus"], ["jobs", "--json"], []):
            told = complaint(capsys, "--replay", str(tmp_path / name), *command)
            assert words in told
            assert str(tmp_path / name) in told
    assert "There is no recording" in complaint(capsys, "--replay", str(tmp_path / "gone"), "gpus")


def test_a_recording_is_private_and_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    write_atomic(path, b"\xff\n")
    assert path.read_bytes() == b"\xff\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_record_refuses_what_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not a file" in complaint(capsys, "record", str(tmp_path))
    assert "is not a file" in complaint(capsys, "record", "/dev/null")
    assert "no folder" in complaint(capsys, "record", str(tmp_path / "gone" / "x"))


def test_the_queue_is_filtered_by_user_state_and_id() -> None:
    replay = Replay(
        recording(
            job_text(JobID="7", UserName="alice", Name="a")
            + job_text(JobID="8", UserName="bob", State="COMPLETED", Name="b")
            + job_text(JobID="9", UserName="alice", State="FAILED", Name="c")
        )
    )
    assert names(replay) == ["a"]
    assert names(replay, all_states=True) == ["a", "b", "c"]
    assert names(replay, me=True, all_states=True) == ["a", "c"]
    assert names(replay, job_ids=["8"], all_states=True) == ["b"]
    assert names(replay, job_ids=["8", "404"], all_states=True) == ["b"]
    unknown = replay.run(commands.squeue(job_ids=["404"], all_states=True))
    assert (unknown.returncode, "Invalid job id" in unknown.error_text) == (1, True)


def test_ids_of_arrays_tasks_and_heterogeneous_jobs() -> None:
    array = {"ArrayJobID": "20", "JobArrayID": "20_[3-9:2,12%2]", "ArrayTaskID": "3-9:2,12%2"}
    replay = Replay(
        recording(
            job_text(JobID="20", Name="waiting", **array)
            + job_text(JobID="21", ArrayJobID="20", JobArrayID="20_1", ArrayTaskID="1", Name="one")
            + job_text(JobID="30", HetJobID="30", HetJobOffset="0", Name="head")
            + job_text(JobID="31", HetJobID="30", HetJobOffset="1", Name="part")
        )
    )
    for wanted, found in (
        ("20", ["waiting", "one"]), ("20_1", ["one"]), ("20_5", ["waiting"]), ("20_12", ["waiting"]), ("20_4", []),
        ("21", ["one"]), ("30", ["head", "part"]), ("30+1", ["part"]), ("31", ["part"]),
    ):  # fmt: skip
        assert names(replay, job_ids=[wanted]) == found
    fields = replay.run(commands.squeue(job_ids=["20_5"])).text.split(commands.FIELD_END)
    assert fields[:4] == ["20", "20_5", "20", "5"]


def test_names_with_terminators_of_other_formats_survive_another_terminator(monkeypatch: pytest.MonkeyPatch) -> None:
    text = job_text(JobID="7", Name="a\nb\x1fc") + job_text(JobID="8", Name="d\udcff")
    kept = recording(text)
    old_end = commands.RECORD_END
    monkeypatch.setattr(commands, "RECORD_END", "\x1etoken")
    answer = Replay(kept).run(commands.squeue())
    assert answer.text == text.replace(old_end + "\n", "\x1etoken\n")


def test_fields_that_were_not_recorded_are_not_available() -> None:
    replay = Replay(recording(job_text(JobID="7", Name="x")))
    answer = replay.run(["squeue", "-O", "Name:|,Nonsense:|,JobID:;"])
    assert answer.text == "x|N/A|7;\n"


@pytest.mark.parametrize(
    "argv",
    [["sbatch", "--test-only"], ["scancel", "7"], ["scontrol", "hold", "7"], ["sacct", "-j", "7"], ["scontrol"], []],
)
def test_what_is_no_recorded_reading_is_refused(argv: list[str]) -> None:
    with pytest.raises(CommandMissing, match="not in the recording"):
        Replay(recording()).run(argv)


def test_scontrol_is_answered_by_what_it_shows() -> None:
    replay = Replay(recording(nodes=node_text("n7")))
    assert "NodeName=n7" in replay.run(["scontrol", "show", "node"]).text
    assert replay.run(["scontrol", "show", "config"]).text.startswith("ClusterName")


def test_the_clock_stands_still_within_the_block_alone() -> None:
    with stopped_at(NOW):
        assert wall_clock() == NOW
    assert wall_clock() != NOW


def test_submit_and_logs_are_refused_in_a_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lab.jsonl"
    path.write_bytes(encode(recording(job_text(JobID="7", Name="x"))))
    assert "submits nothing" in complaint(capsys, "--replay", str(path), "submit", "x.toml")
    assert "holds no logs" in complaint(capsys, "--replay", str(path), "logs", "7")
