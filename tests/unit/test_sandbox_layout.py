"""The sandbox's layout, paths, lock and ports; no Slurm is started."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from jobs.sandbox import Layout, NodeGroup, SandboxError, binaries, config, lock, ports
from jobs.sandbox.__main__ import main
from jobs.sandbox.client import clean_environment
from jobs.sandbox.place import default_directory, place_at

SOCKET_PATH_LIMIT = 107
"""unix(7): sun_path holds 108 bytes, the last of them zero."""


def test_default_layout_is_the_one_the_readme_names() -> None:
    layout = Layout()
    nodes = {node.name: (node.gpu_type, node.gpus) for node in layout.nodes()}
    assert nodes == {
        **{f"gpu0{i}": ("a100", 4) for i in (1, 2, 3, 4)},
        **{f"gpu0{i}": ("h100", 8) for i in (5, 6)},
        **{f"cpu0{i}": (None, 0) for i in (1, 2)},
    }
    partitions = {partition.name: partition for partition in layout.partitions()}
    assert list(partitions) == ["a100", "h100", "cpu", "debug", "all"]
    assert [name for name, partition in partitions.items() if partition.default] == ["a100"]
    assert partitions["debug"].nodes == ("gpu01", "cpu01")
    assert partitions["debug"].priority_tier > partitions["a100"].priority_tier
    assert set(partitions["all"].nodes) == set(nodes)


def test_options_describe_groups_and_cpu_nodes() -> None:
    layout = Layout.from_options(["v100=1x2", "b200=3x1"], 0)
    assert layout == Layout((NodeGroup("v100", 1, 2), NodeGroup("b200", 3, 1)), 0)
    assert [partition.name for partition in layout.partitions()] == ["v100", "b200", "debug", "all"]
    assert Layout.from_options(**layout.to_dict()) == layout


def test_what_is_not_given_is_the_default() -> None:
    assert Layout.from_options([], 0).groups == Layout().groups
    assert Layout.from_options(["v100=1x2"], None).cpu_nodes == Layout().cpu_nodes


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--group", "a100"], "write TYPE=NODESxGPUS"),
        (["--group", "a100=4"], "write TYPE=NODESxGPUS"),
        (["--group", "a100=-1x4"], "write TYPE=NODESxGPUS"),
        (["--group", "a100=0x4"], "0 nodes; use 1 to 64"),
        (["--group", "a100=4x17"], "17 GPUs per node; use 1 to 16"),
        (["--group", "A 100=4x4"], "lower case letters"),
        (["--group", "debug=4x4"], "taken by a partition"),
        (["--group", "a100=1x1", "--group", "a100=2x2"], "given twice"),
        (["--group", "a100=60x1", "--cpu-nodes", "5"], "65 nodes in all"),
        (["--cpu-nodes", "-1"], "use 0 or more"),
    ],
)
def test_each_mistake_gets_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["start", "--directory", str(tmp_path / "new"), *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_a_directory_that_slurm_conf_cannot_hold_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--directory", "/tmp/with space"]) == 2
    assert "choose one of letters" in capsys.readouterr().err


def test_missing_programs_name_the_packages_and_the_line_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(binaries, "search_path", lambda: str(tmp_path))
    assert main(["start", "--directory", str(tmp_path / "new")]) == 3
    said = capsys.readouterr().err
    assert "slurmctld" in said
    assert "apt-get install -y slurmctld slurmd slurm-client slurm-wlm-basic-plugins munge" in said


def test_the_default_directory_follows_the_xdg_specification() -> None:
    below = Path("slurmconsole/sandbox")
    assert default_directory({"XDG_STATE_HOME": "/somewhere"}) == Path("/somewhere") / below
    assert default_directory({"XDG_STATE_HOME": "relative"}) == Path("~/.local/state").expanduser() / below
    assert default_directory({}) == Path("~/.local/state").expanduser() / below
    assert default_directory({"SLURMCONSOLE_SANDBOX": "/other", "XDG_STATE_HOME": "/somewhere"}) == Path("/other")


def test_sockets_move_to_a_short_directory_when_the_path_is_too_long(tmp_path: Path) -> None:
    place = place_at(tmp_path / ("long" * 40))
    assert place.directory not in place.run.parents
    step_socket = f"{place.run}/gpu01/gpu01_4294967295.4294967295.4294967295"
    assert len(step_socket) <= SOCKET_PATH_LIMIT
    assert place_at(tmp_path / ("other" * 40)).run != place.run


def test_a_run_directory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    place = place_at(tmp_path)
    place.make()
    place.run.rmdir()
    place.run.mkdir()
    place.run.chmod(0o777)
    with pytest.raises(SandboxError, match="not a private directory"):
        place.make()


def test_cgroups_are_disabled_by_the_word_that_the_release_knows() -> None:
    assert "CgroupPlugin" not in config.cgroup_conf((20, 11))
    assert config.cgroup_conf((22, 5)) == "CgroupPlugin=cgroup/v1\n"
    assert config.cgroup_conf((23, 11)) == "CgroupPlugin=cgroup/v1\n"
    assert config.cgroup_conf((24, 11)) == "CgroupPlugin=disabled\n"
    assert config.cgroup_conf((25, 5)) == "CgroupPlugin=disabled\n"


def test_no_variable_of_another_cluster_is_kept(tmp_path: Path) -> None:
    foreign = {"SBATCH_PARTITION": "p", "SLURM_CONF": "/etc/x", "SLURM_JOB_ID": "1", "SQUEUE_FORMAT": "%i"}
    place = place_at(tmp_path)
    cleaned = clean_environment(place, {"PATH": "/usr/bin", **foreign})
    assert cleaned == {
        "PATH": "/usr/bin",
        "SLURM_CONF": f"{place.directory}/slurm.conf",
        "SLURMCONSOLE_SANDBOX": str(place.directory),
    }


def test_ports_are_free_and_differ() -> None:
    chosen = ports.free_ports([f"node{i}" for i in range(66)])
    assert len(set(chosen.values())) == 66
    with socket.socket() as taken:
        taken.bind(("", chosen["node0"]))


def test_the_lock_is_exclusive_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with lock.held(path), pytest.raises(SandboxError, match=str(os.getpid())), lock.held(path, timeout_s=0.2):
        pass
    assert not path.exists()


def test_a_lock_whose_holder_is_dead_is_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    gone = subprocess.Popen(["true"])
    gone.wait()
    path.write_text(f"{gone.pid} 1 {socket.gethostname()}")
    with lock.held(path, timeout_s=5):
        assert re.match(rf"{os.getpid()} \d+ ", path.read_text())


def test_the_lock_of_another_host_is_respected(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text("1 1 elsewhere.example")
    with pytest.raises(SandboxError, match=r"elsewhere\.example"), lock.held(path, timeout_s=0.2):
        pass
    assert path.exists()


def test_many_who_find_a_dead_holder_still_enter_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    path.write_text(f"{2**22 + 1} 1 {socket.gethostname()}")
    inside, most = 0, 0
    guard = threading.Lock()

    def enter() -> None:
        nonlocal inside, most
        with lock.held(path, timeout_s=30):
            with guard:
                inside += 1
                most = max(most, inside)
            threading.Event().wait(0.01)
            with guard:
                inside -= 1

    threads = [threading.Thread(target=enter) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
