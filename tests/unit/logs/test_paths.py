import errno
import os
import socket
from dataclasses import replace
from pathlib import Path

import pytest

from jobs.logs.paths import JobFacts, LogMissing, LogPaths, LogProblem, expand, open_log, resolve

JOB = JobFacts("1234", "/data/dir", user="alice", name="llama-7b", batch_host="gpu07.cluster", restarts=2)
TASK = replace(JOB, job_id="1240", array_job_id="1234", array_task_id="13")
TEMPLATE = replace(TASK, job_id="1234", array_task_id="3-20")


@pytest.mark.parametrize(
    ("pattern", "facts", "path"),
    [
        ("slurm-%j.out", JOB, "/data/dir/slurm-1234.out"),
        ("logs/%x-%j.out", JOB, "/data/dir/logs/llama-7b-1234.out"),
        ("/abs/%u/%x", JOB, "/abs/alice/llama-7b"),
        ("%A_%a", TASK, "/data/dir/1234_13"),
        ("%j", TASK, "/data/dir/1240"),
        ("%A", JOB, "/data/dir/1234"),
        ("%a", JOB, "/data/dir/4294967294"),
        ("%b", TASK, "/data/dir/3"),
        ("%5j-%3a", replace(TASK, job_id="99"), "/data/dir/00099-013"),
        ("%2j", JOB, "/data/dir/1234"),
        ("%15j", JOB, "/data/dir/0000001234"),
        ("%5u.%9N", JOB, "/data/dir/alice.gpu07"),
        ("%N.%n.%t.%s.%J", JOB, "/data/dir/gpu07.0.0.batch.1234"),
        ("%r", JOB, "/data/dir/2"),
        ("100%%j", JOB, "/data/dir/100%j"),
        ("%%%j", JOB, "/data/dir/%1234"),
        ("%q-%j", JOB, "/data/dir/%q-1234"),
        ("%15q", JOB, "/data/dir/5q"),  # so 22.05.8
        ("a\\%j.out", JOB, "/data/dir/a%j.out"),
        ("%x/b\\\\c", JOB, "/data/dir/%x/b\\c"),
        ("%N.out", replace(JOB, batch_host=None), "/data/dir/%N.out"),
        ("/dev/null", JOB, "/dev/null"),
    ],
)
def test_a_pattern_expands_as_slurmstepd_does(pattern: str, facts: JobFacts, path: str) -> None:
    assert expand(pattern, facts) == Path(path)


@pytest.mark.parametrize(
    ("stdout", "stderr", "facts", "expected"),
    [
        ("/data/dir/a.out", "/data/dir/a.err", JOB, ("/data/dir/a.out", "/data/dir/a.err")),
        ("/data/dir/a.out", "", JOB, ("/data/dir/a.out", "/data/dir/a.out")),  # 25.11 and 26.05
        ("%x.out", "(null)", JOB, ("/data/dir/llama-7b.out", "/data/dir/llama-7b.out")),  # squeue -O, 24.05
        ("", None, JOB, ("/data/dir/slurm-1234.out", "/data/dir/slurm-1234.out")),
        ("(null)", "", TASK, ("/data/dir/slurm-1234_13.out", "/data/dir/slurm-1234_13.out")),
        ("slurm-%A_%a.out", "", TEMPLATE, ("/data/dir/slurm-1234_%a.out", "/data/dir/slurm-1234_%a.out")),
        ("/l/h_1234_4294967294.out", "", TASK, ("/l/h_1234_13.out", "/l/h_1234_13.out")),  # up to 23.11
        ("/l/h_1234_4294967294.out", "", TEMPLATE, ("/l/h_1234_%a.out", "/l/h_1234_%a.out")),
        ("/data/dir/p%5j.out", "", JOB, ("/data/dir/p01234.out", "/data/dir/p01234.out")),  # up to 22.05: not padded
        ("(null)", "(null)", replace(JOB, batch=False), (None, None)),
    ],
)
def test_what_slurm_says_becomes_the_logs(
    stdout: str, stderr: str | None, facts: JobFacts, expected: tuple[str | None, str | None]
) -> None:
    assert resolve(stdout, stderr, facts) == LogPaths(*(None if path is None else Path(path) for path in expected))


def test_a_given_path_with_a_percent_wins_if_it_exists(tmp_path: Path) -> None:
    (tmp_path / "100%j").touch()
    assert resolve(str(tmp_path / "100%j"), "", replace(JOB, work_dir=str(tmp_path))).stdout == tmp_path / "100%j"


def test_a_missing_log_falls_back_to_slurms_default_name(tmp_path: Path) -> None:
    (tmp_path / "slurm-1234.out").touch()
    facts = replace(JOB, work_dir=str(tmp_path))
    assert resolve("gone-%j.log", "", facts).stdout == tmp_path / "slurm-1234.out"


def test_an_unknown_node_name_matches_the_only_file_with_the_jobs_id(tmp_path: Path) -> None:
    facts = replace(JOB, work_dir=str(tmp_path), batch_host=None)
    (tmp_path / "gpu01-1234.out").touch()
    (tmp_path / "gpu01-99.out").touch()
    assert resolve("%N-%j.out", "", facts).stdout == tmp_path / "gpu01-1234.out"
    (tmp_path / "gpu02-1234.out").touch()
    assert resolve("%N-%j.out", "", facts).stdout == tmp_path / "%N-1234.out"
    assert resolve("%N.out", "", facts).stdout == tmp_path / "%N.out"


@pytest.mark.parametrize(
    ("pattern", "written"),
    [
        ("q-%A-%a-%b.o", "q-1234-13-%b.o"),  # 22.05.8 does not know %b
        ("w-%r-%j.o", "w-%r-1240.o"),
        ("n-%N-%j.o", "n-login-1240.o"),  # the host's own name is not the node's
    ],
)
def test_a_log_named_by_another_release_or_host_is_found(tmp_path: Path, pattern: str, written: str) -> None:
    (tmp_path / written).touch()
    assert resolve(pattern, "", replace(TASK, work_dir=str(tmp_path))).stdout == tmp_path / written


def test_a_name_too_long_for_the_file_system_is_no_error(tmp_path: Path) -> None:
    facts = replace(JOB, work_dir=str(tmp_path), name="n" * 300)
    assert resolve("%x.out", "", facts).stdout == tmp_path / ("n" * 300 + ".out")


def test_a_log_opens_for_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"text")
    with open_log(path) as log:
        assert log.read() == b"text"
        assert not log.writable()


def test_a_missing_log_is_its_own_problem(tmp_path: Path) -> None:
    with pytest.raises(LogMissing, match=r"^The log is not there: .*a\.out\.$"):
        open_log(tmp_path / "a.out")
    (tmp_path / "file").touch()
    with pytest.raises(LogMissing):
        open_log(tmp_path / "file" / "a.out")


def test_what_is_no_file_is_refused_with_its_kind(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "sock"))
    for path, kind in [
        (tmp_path, "directory"),
        (tmp_path / "fifo", "FIFO"),
        (Path("/dev/null"), "device"),
        (tmp_path / "sock", "socket"),
    ]:
        with pytest.raises(LogProblem, match=kind):
            open_log(path)


def test_an_unreadable_log_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = tmp_path / "secret.out"
    path.touch()
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LogProblem, match="may not read"):
        open_log(path)


def test_a_hostile_name_is_neutral_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(LogProblem) as problem:
        open_log(tmp_path / "\x1b[31mred\udce9")
    assert "\x1b" not in str(problem.value)
    str(problem.value).encode()
    with pytest.raises(LogProblem, match="no file name"):
        open_log(Path("a\0b"))
