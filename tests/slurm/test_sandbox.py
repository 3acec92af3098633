"""The sandbox is a real Slurm: it starts, repairs itself, and leaves nothing."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from helpers import processes_naming, sbatch, slurm, wait_for_state, wait_until

from jobs import sandbox
from jobs.sandbox import Layout, NodeGroup
from jobs.sandbox.client import clean_environment
from jobs.sandbox.place import place_at

pytestmark = pytest.mark.slurm

SMALL = Layout((NodeGroup("v100", 2, 2),), cpu_nodes=0)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """The directory of a running sandbox of two nodes."""
    sandbox.start(SMALL, tmp_path)
    yield tmp_path
    sandbox.stop(tmp_path)


def env_of(directory: Path) -> dict[str, str]:
    return clean_environment(place_at(directory))


def command(*argv: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jobs.sandbox", *argv],
        env=env,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_partitions_limits_and_gpus_are_those_of_the_layout(slurm_env: dict[str, str]) -> None:
    lines = slurm(slurm_env, "sinfo", "--noheader", "--format=%P %l %L %D %G").splitlines()
    assert sorted(lines) == sorted(
        [
            "a100* 2-00:00:00 1:00:00 4 gpu:a100:4",
            "h100 1-00:00:00 1:00:00 2 gpu:h100:8",
            "cpu 1-00:00:00 1:00:00 2 (null)",
            "debug 30:00 10:00 1 gpu:a100:4",
            "debug 30:00 10:00 1 (null)",
            "all 2-00:00:00 1:00:00 4 gpu:a100:4",
            "all 2-00:00:00 1:00:00 2 gpu:h100:8",
            "all 2-00:00:00 1:00:00 2 (null)",
        ]
    )


def test_a_job_on_two_nodes_sees_its_gpus_on_each(slurm_env: dict[str, str], tmp_path: Path) -> None:
    job_id = sbatch(
        slurm_env,
        *("-N2", "--gres=gpu:a100:2", "--ntasks-per-node=1", "--output=out"),
        script="srun bash -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'",
        cwd=tmp_path,
    )
    assert wait_for_state(slurm_env, job_id) == "COMPLETED"
    seen = sorted((tmp_path / "out").read_text().splitlines())
    assert len(seen) == 2
    assert all(re.fullmatch(r"gpu0[1-4] 0,1", line) for line in seen)
    assert seen[0] != seen[1]


def test_all_eight_gpus_of_an_h100_node_can_be_had(slurm_env: dict[str, str], tmp_path: Path) -> None:
    job_id = sbatch(
        slurm_env,
        *("-p", "h100", "--gres=gpu:8", "--output=out"),
        script="echo $CUDA_VISIBLE_DEVICES",
        cwd=tmp_path,
    )
    assert wait_for_state(slurm_env, job_id) == "COMPLETED"
    assert (tmp_path / "out").read_text() == "0,1,2,3,4,5,6,7\n"


def test_jobs_without_a_memory_request_share_a_node(slurm_env: dict[str, str]) -> None:
    both = [sbatch(slurm_env, "-w", "cpu02", "-p", "cpu", "-o", "/dev/null", script="sleep 300") for _ in range(2)]
    for job_id in both:
        assert wait_for_state(slurm_env, job_id, "RUNNING") == "RUNNING"
    slurm(slurm_env, "scancel", *both)
    for job_id in both:
        assert wait_for_state(slurm_env, job_id) == "CANCELLED"


def test_every_daemon_listens_on_the_loopback_address_alone(slurm_env: dict[str, str]) -> None:
    conf = Path(slurm_env["SLURM_CONF"]).read_text()
    ports = {int(port) for port in re.findall(r"Port=(\d+)", conf)}
    assert len(ports) == 9
    listening = {}
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        address, state = line.split()[1], line.split()[3]
        if state == "0A":
            host, _, port = address.partition(":")
            listening[int(port, 16)] = host
    assert {listening.get(port) for port in ports} == {"0100007F"}


def test_a_second_start_changes_nothing_and_another_layout_is_refused(small: Path) -> None:
    before = sandbox.status(small)
    assert before.running
    assert (before.nodes_up, before.nodes_total) == (2, 2)
    assert set(before.pids) == {"munged", "slurmctld", "slurmd-gpu01", "slurmd-gpu02"}
    for layout in (SMALL, None):
        again = sandbox.start(layout, small)
        assert "is running" in again.message
        assert again.pids == before.pids
    with pytest.raises(sandbox.SandboxError, match="stop it first"):
        sandbox.start(Layout(), small)
    assert sandbox.status(small).pids == before.pids


def test_a_killed_controller_and_node_and_munged_are_repaired(small: Path) -> None:
    before = sandbox.status(small).pids
    for role in ("slurmctld", "slurmd-gpu02", "munged"):
        os.kill(before[role], signal.SIGKILL)
    killed = {"slurmctld", "slurmd-gpu02", "munged"}
    wait_until(lambda: set(sandbox.status(small).missing) == killed, 10, "the killed daemons are missed")
    assert not sandbox.status(small).running
    after = sandbox.start(None, small)
    assert after.running
    assert after.pids["slurmd-gpu01"] == before["slurmd-gpu01"]
    assert after.pids["slurmctld"] != before["slurmctld"]
    job_id = sbatch(env_of(small), "-N2", "-o", "/dev/null", script="srun true")
    assert wait_for_state(env_of(small), job_id) == "COMPLETED"


def test_a_running_job_survives_the_death_and_repair_of_the_controller(small: Path) -> None:
    job_id = sbatch(env_of(small), "-N2", "-o", "/dev/null", script="srun sleep 300")
    wait_for_state(env_of(small), job_id, "RUNNING")
    wait_until(lambda: saved_state_has(small, "srun sleep 300"), 30, "the controller saved the job")
    slurm(env_of(small), "scontrol", "shutdown", "slurmctld")
    wait_until(lambda: "slurmctld" not in sandbox.status(small).pids, 30, "the controller is gone")
    assert sandbox.start(None, small).running
    assert wait_for_state(env_of(small), job_id, "RUNNING") == "RUNNING"


def saved_state_has(directory: Path, text: str) -> bool:
    """Slurm keeps the script of each job beside its state."""
    return any(text in script.read_text() for script in (directory / "state").rglob("script"))


def test_stop_ends_jobs_that_ignore_signals_and_hide(small: Path) -> None:
    marker = small / "ready"
    script = f"""trap '' TERM HUP INT
    setsid env -i sleep 31536000 &
    srun bash -c "trap '' TERM HUP INT; touch {marker}; while :; do sleep 3600; done" """
    sbatch(env_of(small), "-o", "/dev/null", script=script)
    wait_until(marker.exists, 30, "the job runs")
    hidden = wait_until(
        lambda: subprocess.run(["pgrep", "-f", "^sleep 31536000$"], capture_output=True, check=False).stdout.split(),
        30,
        "the job's hidden process runs",
    )
    stopped = sandbox.stop(small)
    assert "none is left" in stopped.message
    assert processes_naming(small) == {}
    assert not any(Path(f"/proc/{int(pid)}").exists() for pid in hidden)


def test_stop_works_when_controller_and_munged_are_dead_and_a_job_runs(small: Path) -> None:
    job_id = sbatch(env_of(small), "-o", "/dev/null", script="srun sleep 300")
    wait_for_state(env_of(small), job_id, "RUNNING")
    pids = sandbox.status(small).pids
    for role in ("slurmctld", "munged", "slurmd-gpu01"):
        os.kill(pids[role], signal.SIGKILL)
    assert "none is left" in sandbox.stop(small).message
    assert processes_naming(small) == {}


def test_stop_leaves_a_shell_alone_that_only_exported_the_variables(small: Path) -> None:
    bystander = subprocess.Popen(["sleep", "300"], env=env_of(small))
    try:
        sandbox.stop(small)
        assert bystander.poll() is None
        assert list(processes_naming(small)) == [bystander.pid]
    finally:
        bystander.kill()
        bystander.wait()


def test_cancelled_jobs_do_not_come_back_and_numbers_go_on(small: Path) -> None:
    held = sbatch(env_of(small), "--hold", "-o", "/dev/null", script="true")
    sandbox.stop(small)
    sandbox.start(SMALL, small)
    assert slurm(env_of(small), "squeue", "--noheader") == ""
    assert int(sbatch(env_of(small), "-o", "/dev/null", script="true")) == int(held) + 1


def test_two_sandboxes_live_side_by_side_started_at_once_and_twice_each(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    try:
        with ThreadPoolExecutor() as pool:
            answers = list(pool.map(lambda where: sandbox.start(SMALL, where), (one, two, one, two)))
        assert all(answer.running for answer in answers)
        assert answers[0].pids == answers[2].pids
        assert not set(answers[0].pids.values()) & set(answers[1].pids.values())
        sandbox.stop(one)
        assert processes_naming(one) == {}
        assert slurm(env_of(two), "sinfo", "--noheader", "--format=%D %T") == "2 idle\n"
    finally:
        sandbox.stop(one)
        sandbox.stop(two)
    assert processes_naming(tmp_path) == {}


def test_commands_work_in_a_hostile_environment_and_a_long_directory(tmp_path: Path) -> None:
    state_home = tmp_path / ("deep" * 20)
    hostile = {
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
        "XDG_STATE_HOME": str(state_home),
        "SLURM_CONF": "/nowhere/slurm.conf",
        "SLURM_JOB_ID": "7",
        "SBATCH_PARTITION": "nowhere",
        "SINFO_FORMAT": "%m",
    }
    directory = state_home / "slurmconsole" / "sandbox"
    try:
        assert command("env", env=hostile).returncode == 1
        started = command("start", "--group", "v100=1x1", "--cpu-nodes", "1", env=hostile)
        assert started.returncode == 0, started.stderr
        status = json.loads(command("status", "--json", env=hostile).stdout)
        assert status["running"] is True
        assert status["nodes_up"] == 2
        exports = command("env", env=hostile)
        conf = shlex.quote(str(directory / "slurm.conf"))
        assert (
            exports.stdout == f"export SLURM_CONF={conf}\nexport SLURMCONSOLE_SANDBOX={shlex.quote(str(directory))}\n"
        )
        job_id = sbatch(env_of(directory), "-N1", "-o", "/dev/null", script="srun true")
        assert wait_for_state(env_of(directory), job_id) == "COMPLETED"
    finally:
        stopped = command("stop", env=hostile)
    assert stopped.returncode == 0
    assert "none is left" in stopped.stdout
    again = command("stop", env=hostile)
    assert again.returncode == 0
    assert again.stdout == f"No sandbox is running in {directory}.\n"
    assert command("status", env=hostile).returncode == 1
    assert processes_naming(directory) == {}


def test_a_daemon_that_fails_is_named_with_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.sandbox.config.cgroup_conf", lambda _release: "NoSuchKey=1\n")
    monkeypatch.setattr("jobs.sandbox.config._FIXED", "SelectType=select/no_such_plugin\n")
    monkeypatch.setattr("jobs.sandbox.control.START_TIMEOUT_S", 1.0)
    try:
        with pytest.raises(sandbox.SandboxError, match=r"slurmctld.*no_such_plugin.*The logs are in"):
            sandbox.start(SMALL, tmp_path)
    finally:
        sandbox.stop(tmp_path)
    assert processes_naming(tmp_path) == {}


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs every other test of this file already")
def test_an_ordinary_user_runs_it_all() -> None:
    """As Debian's user `daemon`: Slurm 26.05 refuses `nobody` as SlurmUser."""
    home = Path(tempfile.mkdtemp(prefix="slurmconsole-user-"))
    try:
        shutil.copytree(ROOT / "jobs", home / "jobs", ignore=shutil.ignore_patterns("__pycache__"))
        os.chown(home, 1, 1)
        script = f"""
        import os
        os.umask(0o002)
        from pathlib import Path
        from jobs import sandbox
        from jobs.sandbox.client import ask, clean_environment
        from jobs.sandbox.place import place_at
        directory = Path({str(home / "state")!r})
        print(sandbox.start(sandbox.Layout(), directory).nodes_up)
        try:
            print(ask(place_at(directory), "srun", "-N2", "--gres=gpu:2", "bash", "-c",
                      "id -u; echo $CUDA_VISIBLE_DEVICES", timeout_s=30))
        finally:
            print(sandbox.stop(directory).message)
        """
        answer = subprocess.run(
            ["setpriv", "--reuid=1", "--regid=1", "--clear-groups", "/usr/bin/python3", "-"],
            input="\n".join(line.removeprefix(" " * 8) for line in script.splitlines()),
            env={"HOME": str(home), "PATH": "/usr/bin:/bin"},
            cwd=home,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert answer.returncode == 0, answer.stderr
        words = answer.stdout.split()
        assert words[0] == "8"
        assert sorted(words[1:5]) == ["0,1", "0,1", "1", "1"]
        assert "none is left" in answer.stdout
        assert processes_naming(home) == {}
    finally:
        shutil.rmtree(home)


def test_a_folder_with_files_of_others_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "precious").write_text("mine")
    (tmp_path / "slurm.conf").write_text("mine too")
    with pytest.raises(sandbox.SandboxError, match="holds files that are not a sandbox's"):
        sandbox.start(directory=tmp_path)
    assert (tmp_path / "log" / "precious").read_text() == "mine"
    assert (tmp_path / "slurm.conf").read_text() == "mine too"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "slurm.conf"]
