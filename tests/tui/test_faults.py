"""When Slurm is missing, dead, slow or talks rubbish: a sentence, the last good picture, and a console that goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from textual.widgets import Input

from console.app import SlurmConsole
from tui.conftest import screen_text, until

Scripted = Callable[[Mapping[str, str]], SlurmConsole]

NODE = """\
NodeName=gpu01 Arch=x86_64 CoresPerSocket=32
   CPUAlloc=0 CPUEfctv=64 CPUTot=64 CPULoad=0.05
   Gres=gpu:a100:4
   GresUsed=gpu:a100:0(IDX:N/A)
   RealMemory=512000 AllocMem=0 Sockets=2 Boards=1
   State=IDLE ThreadsPerCore=1
   Partitions=a100
"""
PARTITION = """\
PartitionName=a100
   AllowGroups=ALL Default=YES
   MaxNodes=UNLIMITED MaxTime=2-00:00:00 OverSubscribe=NO
   State=UP TotalCPUs=64 TotalNodes=1
   DefMemPerNode=UNLIMITED
"""


def healthy(marker: Path) -> dict[str, str]:
    """Commands that answer until `marker` exists; then slurmctld is gone."""
    gone = f"if [ -e {marker} ]; then echo 'slurm_load error: Unable to contact slurm controller' >&2; exit 1; fi"
    scontrol = f"""{gone}
case "$*" in
  *config*) echo 'ClusterName             = fake'; echo 'SLURM_VERSION           = 22.05.8';;
  *node*) cat <<'E'\n{NODE}\nE\n;;
  *reservation*) echo 'No reservations in the system';;
  *partition*) cat <<'E'\n{PARTITION}\nE\n;;
esac"""
    return {"scontrol": scontrol, "squeue": gone}


async def test_without_slurm_on_path_it_says_so(scripted: Scripted) -> None:
    app = scripted({})
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "was not found on PATH" in screen_text(app), "it is told")
        assert "0 usable" not in screen_text(app)


async def test_when_the_controller_dies_the_last_picture_stays_with_its_age(scripted: Scripted, tmp_path: Path) -> None:
    marker = tmp_path / "gone"
    app = scripted(healthy(marker))
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: "4 usable of 4" in screen_text(app), "the first picture")
        marker.touch()
        await until(pilot, lambda: "Unable to contact slurm controller" in screen_text(app), "the problem is told")
        assert "4 usable of 4" in screen_text(app)
        assert "showing what was known" in screen_text(app)
        assert app.screen.has_class("stale")
        marker.unlink()
        app.refresh_soon()
        await until(pilot, lambda: not app.screen.has_class("stale"), "the recovery is shown")
        assert "Unable to contact" not in screen_text(app)


async def test_rubbish_is_a_problem_and_not_an_empty_cluster(scripted: Scripted) -> None:
    app = scripted({"scontrol": "head -c 300 /dev/urandom", "squeue": "echo hello; echo world"})
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: app.snapshot.number > 0, "a poll ended")
        await until(pilot, lambda: "✗" in screen_text(app), "the problem is told")
        assert "has no GPUs" not in screen_text(app)


async def test_a_hanging_controller_freezes_no_key_and_leaves_no_process(scripted: Scripted, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    hang = f"echo $$ >> {pid_file}; sleep 1000"
    app = scripted({"scontrol": hang, "squeue": hang})
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, pid_file.exists, "a command was started")
        await pilot.press("2")
        await pilot.pause(0.2)
        assert app.current_mode == "queue"
        assert "Asking Slurm" in screen_text(app) or "asking Slurm" in screen_text(app)
    deadline = time.monotonic() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pid_file.read_text().split()):  # noqa: PTH110
        assert time.monotonic() < deadline, "the hanging command was left running"


async def test_a_terminal_that_is_too_small_is_told_and_a_larger_one_works(scripted: Scripted, tmp_path: Path) -> None:
    app = scripted(healthy(tmp_path / "never"))
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.pause(0.3)
        assert "40x10" in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: "4 usable of 4" in screen_text(app), "the picture appears")
        assert "needs at least" not in screen_text(app)


async def test_enter_twice_in_the_prompt_is_one_command(scripted: Scripted, tmp_path: Path) -> None:
    app = scripted(healthy(tmp_path / "never"))
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.press("colon")
        await pilot.pause(0.2)
        line = app.screen.query_one(Input)
        for _ in range(2):
            line.post_message(Input.Submitted(line, "nodes"))
        await until(pilot, lambda: app.current_mode == "nodes", "the command was carried out")
        assert app.is_running


async def test_leaving_while_sbatch_is_silent_warns_and_the_next_start_finds_the_job(
    scripted: Scripted, tmp_path: Path
) -> None:
    commands = healthy(tmp_path / "never")
    # The comment of the hanging sbatch is what the next console must find in the queue.
    remember = f'case $word in --comment=*) echo "77 ${{word#--comment=}}" > {tmp_path}/queue;; esac'
    hang = f"for word; do {remember}; done; sleep 1000"
    first = scripted({**commands, "sbatch": hang})
    async with first.run_test(size=(120, 30), notifications=True) as pilot:
        await until(pilot, lambda: first.snapshot.nodes.taken_at is not None, "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: "Job name" in screen_text(first), "the form is there")
        await pilot.press("enter", "enter", "enter")
        await until(pilot, lambda: "Submit" in screen_text(first), "the review is there")
        await pilot.press("enter")
        await until(pilot, (tmp_path / "queue").exists, "sbatch was started")
        await pilot.press("q")
        await pilot.pause(0.2)
        assert first.is_running
        assert "sbatch has not answered yet" in screen_text(first)
        await pilot.press("q")
    squeue = f'case "$*" in *states=all*%k*) cat {tmp_path}/queue;; esac'
    second = scripted({**commands, "sbatch": "exit 1", "squeue": squeue})
    async with second.run_test(size=(120, 30), notifications=True) as pilot:
        await until(pilot, lambda: second.snapshot.nodes.taken_at is not None, "nodes are known")
        await pilot.press("n")
        await until(pilot, lambda: any("job 77" in note.message for note in second._notifications), "the job is named")
        assert "#SBATCH" not in screen_text(second)
