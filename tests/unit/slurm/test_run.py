"""Starting commands: environment, exit codes, time and byte limits, what is left running, and the command log."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from helpers import wait_until

from jobs.slurm.run import (
    NO_CLUSTER,
    Answer,
    CommandFailed,
    CommandLog,
    CommandMissing,
    CommandTimeout,
    LogEntry,
    OutputTooLarge,
    Runner,
    SlurmError,
    clean_environment,
    failure_sentence,
)

PATH = {"PATH": os.environ["PATH"]}


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def pid_in(path: Path) -> int:
    """The process id that a script wrote there, once it has."""
    return int(wait_until(lambda: path.exists() and path.read_text().strip(), 10, f"a process id in {path.name}"))


def test_the_environment_loses_what_changes_slurms_output() -> None:
    names = (
        "SQUEUE_FORMAT", "SQUEUE_FORMAT2", "SQUEUE_PARTITION", "SQUEUE_USERS", "SQUEUE_STATES", "SQUEUE_SORT",
        "SQUEUE_ALL", "SINFO_FORMAT", "SINFO_PARTITION", "SINFO_ALL", "SCONTROL_ALL", "SCONTROL_FUTURE", "SACCT_FORMAT",
        "SPRIO_FORMAT", "SSHARE_USERS", "SBATCH_PARTITION", "SALLOC_ACCOUNT", "SRUN_CPUS_PER_TASK", "SLURM_CLUSTERS",
        "SLURM_JOB_ID", "SLURM_NTASKS", "SLURM_MEM_PER_CPU", "SLURM_DEBUG", "SLURM_JSON", "SLURM_TOPO_LEN",
    )  # fmt: skip
    cleaned = clean_environment(dict.fromkeys(names, "x") | {"SLURM_TIME_FORMAT": "relative"})
    assert cleaned == {"SLURM_TIME_FORMAT": "%s", "SLURM_BITSTR_LEN": "1024"}


def test_the_environment_keeps_the_way_to_the_cluster_and_everything_else() -> None:
    kept = {"SLURM_CONF": "/a", "SLURM_CONF_SERVER": "h:1", "SLURM_JWT": "t", "PATH": "/bin", "HOME": "/h", "TZ": "UTC"}
    assert clean_environment(kept).items() >= kept.items()


def test_a_command_sees_only_the_cleaned_environment() -> None:
    runner = Runner(PATH | {"SQUEUE_USERS": "bob", "SLURM_CONF": "/etc/c"})
    lines = runner.run(["env"]).text.splitlines()
    assert "SLURM_CONF=/etc/c" in lines
    assert "SLURM_TIME_FORMAT=%s" in lines
    assert not [line for line in lines if line.startswith("SQUEUE")]


def test_output_error_and_exit_code_are_kept() -> None:
    answer = Runner(PATH).run(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (answer.stdout, answer.stderr, answer.returncode) == (b"out\n", b"err\n", 3)


def test_input_reaches_the_command_whole() -> None:
    data = bytes(range(256)) * 4096
    assert Runner(PATH).run(["cat"], stdin=data).stdout == data


def test_a_command_that_reads_no_input_is_no_problem() -> None:
    assert Runner(PATH).run(["true"], stdin=b"x" * 10**6).returncode == 0


def test_without_input_a_command_sees_the_end_of_it_at_once() -> None:
    assert Runner(PATH).run(["cat"], timeout=20).stdout == b""


def test_bytes_that_are_not_utf_8_survive_as_text() -> None:
    answer = Runner(PATH).run(["printf", r"a\377b"])
    assert answer.text.encode("utf-8", "surrogateescape") == b"a\xffb"


def test_a_command_runs_in_the_named_folder(tmp_path: Path) -> None:
    assert Runner(PATH).run(["pwd"], cwd=tmp_path).text == f"{tmp_path.resolve()}\n"


def test_a_missing_command_is_named(tmp_path: Path) -> None:
    runner = Runner({"PATH": str(tmp_path)})
    with pytest.raises(CommandMissing, match=r"^squeue was not found on PATH"):
        runner.run(["squeue"])
    assert runner.log.entries[0].returncode is None
    assert "not found" in runner.log.entries[0].note


def test_a_command_that_may_not_be_run_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "squeue").write_text("")
    with pytest.raises(SlurmError, match=r"^squeue could not be started: Permission denied\.$"):
        Runner({"PATH": str(tmp_path)}).run(["squeue"])


def test_a_missing_folder_is_named_and_not_the_command(tmp_path: Path) -> None:
    with pytest.raises(SlurmError, match=rf"^The folder {tmp_path}/gone does not exist\.$") as caught:
        Runner(PATH).run(["true"], cwd=tmp_path / "gone")
    assert not isinstance(caught.value, CommandMissing)


def test_check_raises_on_an_exit_code_and_keeps_the_answer() -> None:
    with pytest.raises(CommandFailed, match=r"^sh: no way$") as caught:
        Runner(PATH).check(["sh", "-c", "echo 'sh: no way' >&2; exit 4"])
    assert caught.value.answer.returncode == 4


@pytest.mark.parametrize(
    ("stderr", "sentence"),
    [
        (b"slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n",
         "squeue: slurm_load_jobs error: Unable to contact slurm controller (connect failure)"),
        (b"a warning\nsqueue: error: Invalid user: x\n", "squeue: error: Invalid user: x"),
        (b"\n  \n", "squeue failed with exit code 1 and said nothing."),
        (b"\xff", "squeue: \ufffd"),
        (b"squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host\n", NO_CLUSTER),
        (b"squeue: error: Could not establish a configuration source\n", NO_CLUSTER),
    ],
)  # fmt: skip
def test_a_failure_is_one_sentence(stderr: bytes, sentence: str) -> None:
    assert failure_sentence(Answer(("/usr/bin/squeue", "-h"), 1, b"", stderr, 0.1)) == sentence


def test_a_configuration_that_is_not_there_is_told_before_slurm_looks_for_it(tmp_path: Path) -> None:
    config = tmp_path / "slurm.conf"
    runner = Runner(PATH | {"SLURM_CONF": str(config)})
    with pytest.raises(SlurmError, match=rf"^SLURM_CONF names {config}, which does not exist\.$"):
        runner.check(["true"])
    config.touch()
    assert runner.check(["true"]).returncode == 0


def test_a_command_that_does_not_answer_is_killed_with_its_children(tmp_path: Path) -> None:
    script = f"(sleep 300 & echo $! > {tmp_path}/grandchild; wait) & echo $! > {tmp_path}/child; wait"
    runner = Runner(PATH)
    with pytest.raises(CommandTimeout, match=r"^sh gave no answer within 2 s\.$"):
        runner.run(["sh", "-c", script], timeout=2)
    pids = [pid_in(tmp_path / "child"), pid_in(tmp_path / "grandchild")]
    wait_until(lambda: not any(map(alive, pids)), 10, "child and grandchild are gone")
    assert (runner.log.entries[0].returncode, runner.log.entries[0].note) == (None, "no answer within 2 s")


def test_a_child_that_outlives_the_command_and_holds_its_output_is_killed(tmp_path: Path) -> None:
    with pytest.raises(CommandTimeout):
        Runner(PATH).run(["sh", "-c", f"sleep 300 & echo $! > {tmp_path}/orphan"], timeout=2)
    wait_until(lambda: not alive(pid_in(tmp_path / "orphan")), 10, "the orphan is gone")


def test_a_command_that_closes_its_output_and_goes_on_is_killed(tmp_path: Path) -> None:
    with pytest.raises(CommandTimeout):
        Runner(PATH).run(["sh", "-c", f"echo $$ > {tmp_path}/pid; exec >&- 2>&-; sleep 300"], timeout=2)
    wait_until(lambda: not alive(pid_in(tmp_path / "pid")), 10, "the command is gone")


def test_a_command_that_prints_too_much_is_killed(tmp_path: Path) -> None:
    runner = Runner(PATH)
    with pytest.raises(OutputTooLarge, match=r"^sh printed more than 1 MiB of output and was stopped\.$"):
        runner.run(["sh", "-c", f"echo $$ > {tmp_path}/pid; yes"], byte_cap=2**20)
    wait_until(lambda: not alive(pid_in(tmp_path / "pid")), 10, "the command is gone")


def test_output_of_exactly_the_cap_is_kept() -> None:
    runner = Runner(PATH)
    assert len(runner.run(["head", "-c", "65536", "/dev/zero"], byte_cap=65536).stdout) == 65536
    with pytest.raises(OutputTooLarge):
        runner.run(["head", "-c", "65537", "/dev/zero"], byte_cap=65536)


def test_much_on_standard_error_neither_blocks_nor_fills_the_memory() -> None:
    answer = Runner(PATH).run(["sh", "-c", "head -c 8000000 /dev/zero >&2; echo done"])
    assert answer.stdout == b"done\n"
    assert 2**20 <= len(answer.stderr) < 2 * 2**20


def test_the_log_tells_what_was_run() -> None:
    runner = Runner(PATH)
    before = time.time()
    runner.run(["sh", "-c", "echo 'a b'; exit 5"])
    runner.run(["true"])
    first, second = runner.log.entries
    assert first.argv == ("sh", "-c", "echo 'a b'; exit 5")
    assert (first.returncode, first.stdout_bytes, first.note) == (5, 4, "")
    assert first.command == """sh -c 'echo '"'"'a b'"'"'; exit 5'"""
    assert before <= first.at <= second.at <= time.time()
    assert first.milliseconds > 0
    assert (second.returncode, runner.log.total) == (0, 2)


def test_the_log_forgets_the_oldest_and_counts_the_last_minute() -> None:
    log = CommandLog()
    for number in range(600):
        log.add(LogEntry(float(number), ("true",), 0, 1.0, 0))
    assert (log.total, len(log.entries), log.entries[0].at) == (600, 500, 100.0)
    assert [entry.at for entry in log.last_minute(599.0)] == [float(number) for number in range(539, 600)]


def test_close_kills_what_runs_and_refuses_more(tmp_path: Path) -> None:
    runner = Runner(PATH)
    answers: list[Answer] = []
    script = f"sleep 300 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/pid; wait"
    thread = threading.Thread(target=lambda: answers.append(runner.run(["sh", "-c", script], timeout=60)))
    thread.start()
    pids = [pid_in(tmp_path / "pid"), pid_in(tmp_path / "child")]
    runner.close()
    thread.join(10)
    assert not thread.is_alive()
    assert answers[0].returncode == -signal.SIGKILL
    wait_until(lambda: not any(map(alive, pids)), 10, "the command and its child are gone")
    with pytest.raises(SlurmError, match=r"closing"):
        runner.run(["true"])


def test_a_command_that_starts_while_the_runner_closes_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    runner = Runner(PATH)
    monkeypatch.setattr("jobs.slurm.run.subprocess.Popen", _ClosingPopen(runner))
    assert runner.run(["sleep", "300"], timeout=20).returncode == -signal.SIGKILL


class _ClosingPopen:
    """Starts a command and closes the runner before the runner knows of it."""

    def __init__(self, runner: Runner) -> None:
        self.runner, self.popen = runner, subprocess.Popen

    def __call__(self, *args: object, **options: object) -> object:
        process = self.popen(*args, **options)  # type: ignore[call-overload]
        self.runner.close()
        return process
