"""The whole path as a newcomer walks it, in tmux on a live Slurm."""

from __future__ import annotations

import re
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from terminal.conftest import Terminal, children, end

pytestmark = [pytest.mark.slurm, pytest.mark.terminal, pytest.mark.torch]
ROOT = Path(__file__).parents[2]
Open = Callable[..., Terminal]


def test_start_wizard_submit_and_see_the_bar_reach_the_end(terminal: Open) -> None:
    console = terminal(size=(80, 24))
    console.wait_for("usable of 16")
    console.press("n")
    console.wait_for("1 What")
    console.press("Enter")
    console.wait_for("Partition")
    console.wait_for("it starts now")
    console.press("Enter")
    console.wait_for("Launcher")
    console.press("Enter")
    console.wait_for("#SBATCH --job-name=gpt-tiny")
    console.press("Enter")
    console.wait_for("RUNNING", timeout=60)
    screen = console.wait_for(lambda text: bool(re.search(r"step [1-9]\d*/300", text)), "the first steps", 120)
    assert "loss" in screen
    console.wait_for(lambda text: "tok/s" in text and "ETA" in text, "rate and ETA", 60)
    console.wait_for(lambda text: "100.0%" in text and "finished" in text, "the bar is full", 400)
    console.wait_for("COMPLETED", timeout=30)
    console.press("q")
    console.wait_for("ended 0")


def test_the_editor_gets_the_script_and_the_edit_is_what_is_submitted(terminal: Open, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/bash\nsed -i 's/^#SBATCH --job-name=.*/#SBATCH --job-name=edited-by-hand/' \"$1\"\n")
    editor.chmod(0o755)
    console = terminal(VISUAL=str(editor))
    console.wait_for("usable of 16")
    for wanted in ("1 What", "it starts now", "Launcher", "#SBATCH --job-name=gpt-tiny"):
        console.press("n" if wanted == "1 What" else "Enter")
        console.wait_for(wanted)
    console.press("e")
    console.wait_for("#SBATCH --job-name=edited-by-hand")
    console.press("u")
    console.wait_for("#SBATCH --job-name=gpt-tiny")
    console.press("e")
    console.wait_for("#SBATCH --job-name=edited-by-hand")
    console.press("Enter")
    console.wait_for("edited-by-hand  ")
    scripts = list(tmp_path.glob("xdg_data_home/slurmconsole/jobs/*/job.sh"))
    (script,) = scripts
    assert "--job-name=edited-by-hand" in script.read_text()
    assert f"--chdir={script.parent}\n" in script.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_lost_connection_leaves_no_process(terminal: Open, number: signal.Signals) -> None:
    console = terminal()
    console.wait_for("usable of 16")
    (program,) = children(console.pid())
    end(program, number)


def test_ctrl_c_does_not_end_the_console_and_q_gives_the_terminal_back(terminal: Open) -> None:
    console = terminal()
    console.wait_for("usable of 16")
    console.press("C-c")
    console.wait_for("Press q to quit")
    console.press("q")
    screen = console.wait_for("ended 0")
    assert "Traceback" not in screen


def test_without_a_terminal_it_names_the_commands(terminal: Open) -> None:
    console = terminal("</dev/null")
    console.wait_for("the console needs a terminal")
    console.wait_for("ended 2")


def test_a_console_that_cannot_draw_any_more_ends_all_the_same(slurm_env: dict[str, str], tmp_path: Path) -> None:
    stuck = "a.LEAVE_WITHIN = 0.5; a.SlurmConsole.exit = lambda self, *_: None"
    program = f"import console.app as a; {stuck}; a.SlurmConsole().run()"
    command = f"{sys.executable} -c {shlex.quote(program)}; echo ended $?; exec sleep 1000"
    console = Terminal(
        tmp_path / "tmux", command, {**slurm_env, "TERM": "xterm-256color", "PYTHONPATH": str(ROOT)}, (100, 30)
    )
    try:
        console.wait_for("usable of 16")
        (child,) = children(console.pid())
        end(child, signal.SIGTERM)
        console.wait_for("ended 1")
    finally:
        console.kill()
