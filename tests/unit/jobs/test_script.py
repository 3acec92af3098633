"""The text of batch scripts: directives, rendezvous, launch lines; clean for bash and shellcheck."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from specs import NASTY, spec

from jobs.script import render
from jobs.shell import directive, quote
from jobs.spec import JobSpec, SpecError

APPTAINER = {"kind": "apptainer", "image": "/images/a b.sif", "binds": ["/data:/d:ro"]}
COMMAND = {"kind": "command", "command": ["./train.sh", *NASTY], "work_dir": "/my code"}
SPECS: dict[str, dict[str, Any]] = {
    "default": {},
    "gpus": {"resources": {"gpus_per_node": 2, "gpu_type": "a100"}},
    "torchrun": {"launch": {"launcher": "torchrun"}, "resources": {"ntasks_per_node": 4, "cpus_per_task": 3}},
    "command": {"run": COMMAND, "env": {f"V{i}": text for i, text in enumerate(NASTY)}, "name": "a 'b\" $(c) #d"},
    "torchrun command": {"run": COMMAND, "launch": {"launcher": "torchrun"}},
    "requeue": {"requeue": True, "run": COMMAND},
    "requeue torchrun": {"requeue": True, "launch": {"launcher": "torchrun"}},
    "apptainer": {"runtime": APPTAINER, "resources": {"gpus_per_node": 1}},
    "apptainer torchrun": {"runtime": APPTAINER, "launch": {"launcher": "torchrun"}, "run": COMMAND},
    "apptainer requeue": {"runtime": {**APPTAINER, "setup": ["module load apptainer"]}, "requeue": True},
}  # fmt: skip


def text_of(job: JobSpec, folder: str = "/home/me/job 1", slurm_version: tuple[int, int] | None = (22, 5)) -> str:
    return render(job, Path(folder), console_version="1.2.3", slurm_version=slurm_version)


def directives(script: str) -> dict[str, str]:
    lines = [line.removeprefix("#SBATCH --") for line in script.splitlines() if line.startswith("#SBATCH")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


@pytest.mark.parametrize("name", SPECS)
def test_shellcheck_and_bash_find_nothing(name: str, tmp_path: Path) -> None:
    script = tmp_path / "job.sh"
    script.write_text(text_of(spec(**SPECS[name])), "utf-8")
    shellcheck = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:/usr/bin")
    assert shellcheck, "shellcheck is missing: it comes with the extra dev"
    for argv in (["bash", "-n"], [shellcheck, "--shell=bash"]):
        answer = subprocess.run([*argv, str(script)], capture_output=True, text=True, check=False)
        assert (answer.stdout, answer.stderr, answer.returncode) == ("", "", 0)


@pytest.mark.parametrize("name", SPECS)
def test_directives_come_first_and_no_shell_is_expected_in_them(name: str) -> None:
    lines = text_of(spec(**{**SPECS[name], "name": "plain"})).splitlines()
    last = max(i for i, line in enumerate(lines) if line.startswith("#SBATCH"))
    assert lines[0] == "#!/bin/bash"
    assert all(line.startswith("#SBATCH --") for line in lines[1 : last + 1])
    assert not any("$" in line for line in lines[1 : last + 1])
    assert "\r" not in "\n".join(lines)


def test_srun_asks_for_a_task_per_rank() -> None:
    need = {"nodes": 2, "gpus_per_node": 4, "gpu_type": "a100", "cpus_per_task": 8, "mem": "64G", "time_limit": "1-2"}
    found = directives(text_of(spec(resources={**need, "partition": "a100", "account": "me", "qos": "high"})))
    assert found == {
        "job-name": "test", "chdir": '"/home/me/job 1"', "output": "slurm-%j.out", "open-mode": "append",
        "partition": "a100", "account": "me", "qos": "high", "nodes": "2", "ntasks-per-node": "4", "cpus-per-task": "8",
        "gpus-per-node": "a100:4", "mem": "64G", "time": "1-2", "no-requeue": "",
    }  # fmt: skip


def test_torchrun_asks_for_one_task_per_node_with_the_cpus_of_all_its_ranks() -> None:
    need = {"nodes": 2, "gpus_per_node": 4, "cpus_per_task": 8}
    script = text_of(spec(resources=need, launch={"launcher": "torchrun"}))
    found = directives(script)
    assert (found["ntasks-per-node"], found["cpus-per-task"], found["gpus-per-node"]) == ("1", "32", "4")
    assert "--nproc-per-node=4 " in script
    assert "export OMP_NUM_THREADS=8\n" in script


def test_no_gpus_are_asked_for_when_none_are_wanted() -> None:
    assert "gpus-per-node" not in directives(text_of(spec()))


@pytest.mark.parametrize("name", SPECS)
def test_rank_facts_are_never_expanded_in_the_batch_shell(name: str) -> None:
    script = text_of(spec(**{**SPECS[name], "run": {"kind": "command", "command": ["true"]}, "env": {}}))
    code = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("#"))
    outside = "".join(code.split("'")[::2])
    assert not [fact for fact in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID") if f"${fact}" in outside]


def test_the_users_variables_win_over_the_defaults() -> None:
    script = text_of(spec(env={"OMP_NUM_THREADS": "7"}))
    assert "export OMP_NUM_THREADS=7\n" in script
    assert "export OMP_NUM_THREADS=1\n" not in script


def test_setup_lines_stand_as_written_without_the_unset_check() -> None:
    lines = text_of(spec(runtime={"setup": ["module load cuda", "source ~/venv/bin/activate"]})).splitlines()
    start = lines.index("module load cuda")
    assert lines[start - 1].startswith("set +u")
    assert lines[start + 1 : start + 3] == ["source ~/venv/bin/activate", "set -u"]


def test_only_a_requeued_srun_job_asks_for_the_signal() -> None:
    signalled = {name for name in SPECS if "signal" in directives(text_of(spec(**SPECS[name])))}
    assert signalled == {"requeue", "apptainer requeue"}
    assert directives(text_of(spec(requeue=True)))["signal"] == "B:USR1@120"
    assert "requeue" in directives(text_of(spec(requeue=True, launch={"launcher": "torchrun"})))


@pytest.mark.parametrize(
    ("gpus", "args", "nv"),
    [(1, ["--steps", "3"], True), (0, [], False), (1, ["--device", "cpu"], False), (1, ["--device=cpu"], False)],
)
def test_the_image_gets_gpus_when_the_job_uses_them(gpus: int, args: list[str], nv: bool) -> None:
    script = text_of(spec(runtime=APPTAINER, resources={"gpus_per_node": gpus}, run={"args": args}))
    assert (" exec --nv --bind " in script) is nv
    assert "--bind '/home/me/job 1' --bind /data:/d:ro --pwd '/home/me/job 1' '/images/a b.sif'" in script


@pytest.mark.parametrize(
    ("folder", "changes", "text"),
    [
        ("job", {}, "The job's folder job is not an absolute path."),
        ("/50%", {}, "The job's folder '/50%' cannot be used: it has a %, a backslash or a control character."),
        ("/a\nb", {}, "The job's folder '/a\\nb' cannot be used: it has a %, a backslash or a control character."),
        ("/a:b", {"runtime": APPTAINER}, "/a:b cannot be bound into an image: its name has a comma, colon or quote."),
        ("/a", {"output": "%j/o"}, "output %j/o needs a folder named by the job id, which Slurm makes since 23.02."),
    ],
)  # fmt: skip
def test_what_cannot_run_is_refused_with_a_sentence(folder: str, changes: dict[str, Any], text: str) -> None:
    with pytest.raises(SpecError) as caught:
        text_of(spec(**changes), folder)
    assert str(caught.value) == text


def test_a_log_folder_named_after_the_job_is_fine_from_23_02_on() -> None:
    assert directives(text_of(spec(output="%j/log"), slurm_version=(23, 2)))["output"] == "%j/log"
    with pytest.raises(SpecError):
        text_of(spec(output="%j/log"), slurm_version=None)


def test_quoting_for_both_readers() -> None:
    assert quote("plain") == "plain"
    assert quote("it's") == "'it'\"'\"'s'"
    assert quote("a\r\n'\\\x01") == "$'a\\r\\n\\'\\\\\\001'"
    assert directive("hold") == "#SBATCH --hold"
    assert directive("job-name", 'a "b" \\ #c') == '#SBATCH --job-name="a \\"b\\" \\\\ #c"'


@pytest.mark.parametrize("word", ["hetjob", "packjob"])
def test_no_name_makes_a_line_that_begins_a_part_of_a_heterogeneous_job(word: str) -> None:
    """Slurm 20.11 looks for these words anywhere in the line; the sbatch of every release undoes the backslash."""
    for name in (word, f"my {word} 'x'"):
        line = directive("job-name", name)
        assert word not in line
        assert line.replace("\\", "").replace('"', "") == f"#SBATCH --job-name={name}"
