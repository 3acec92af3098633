"""Take the screenshots of the README: the real console on a sandbox of its own, and on `messy`, as SVG and PNG.

Run `python screenshots/take.py [FOLDER]`. PNGs need the font DejaVu Sans Mono (Debian: fonts-dejavu-core).
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import resvg_py
from textual.pilot import Pilot

from console.app import SlurmConsole
from console.replaying import runner_for
from console.settings import Settings
from jobs import sandbox
from jobs.logs.progress import read_progress
from jobs.slurm.cluster import Cluster
from jobs.slurm.run import Runner

SIZES = {"": (160, 50), "-80x24": (80, 24)}
FONTS = Path("/usr/share/fonts/truetype/dejavu")
BACKGROUND = (
    ("llama-7b", "-N2 --gpus-per-node=a100:2 -t 8:00:00"),
    ("eval", "-N1 --gpus-per-node=a100:1 -t 30"),
    ("vit-large", "-p h100 -N1 --gpus-per-node=h100:6 -t 1-0"),
    ("tokenize", "-p cpu -N1 -c 48 --mem=200G -t 2:00:00"),
    ("sweep", "-p h100 -N1 --gpus-per-node=h100:4 --array=0-7%2 -t 4:00:00"),
    ("big", "-p h100 -N2 --gpus-per-node=h100:8 -t 12:00:00"),
)


def main() -> None:
    """Start a sandbox, make it lively, take every picture in both sizes, stop it."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="slurmconsole-") as home:
        # The pictures show no path of the machine that they are taken on.
        (Path(home) / "venv").symlink_to(sys.prefix)
        sys.executable = f"{home}/venv/bin/python"
        os.environ.update(XDG_STATE_HOME=f"{home}/state", XDG_DATA_HOME=f"{home}/data", COLORTERM="truecolor")
        sandbox.start(sandbox.Layout(), Path(home) / "sandbox", say=print)
        os.environ.update(sandbox.environment(Path(home) / "sandbox"))
        try:
            _fill(Path(home))
            for suffix, size in SIZES.items():
                asyncio.run(_tour(folder, suffix, size))
        finally:
            sandbox.stop(Path(home) / "sandbox")
        for suffix, size in SIZES.items():
            asyncio.run(_messy(folder, suffix, size))


def _fill(home: Path) -> None:
    for name, options in BACKGROUND:
        command = ["sbatch", "-J", name, *options.split(), "-o", "/dev/null", "--wrap", "sleep 3000"]
        subprocess.run(command, check=True, cwd=home, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while len(subprocess.run(["squeue", "-h", "-t", "R"], check=True, capture_output=True).stdout.splitlines()) < 6:
        if time.monotonic() > deadline:
            raise SystemExit("The jobs of the background did not start.")
        time.sleep(0.5)
    subprocess.run(["scontrol", "update", "NodeName=gpu04", "State=DRAIN", "Reason=fan replaced 14:00"], check=True)


async def _tour(folder: Path, suffix: str, size: tuple[int, int]) -> None:
    app = SlurmConsole()
    async with app.run_test(size=size) as pilot:
        await _until(pilot, lambda: app.snapshot.nodes.taken_at is not None)
        _save(app, folder / f"overview{suffix}")
        await pilot.press("2")
        await pilot.pause(0.3)
        _save(app, folder / f"queue{suffix}")
        await pilot.press("3")
        await pilot.pause(0.3)
        _save(app, folder / f"nodes{suffix}")
        await pilot.press("1", "n")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await pilot.pause(0.5)
        _save(app, folder / f"wizard{suffix}")
        await pilot.press("enter", "enter")
        await pilot.pause(0.5)
        _save(app, folder / f"review{suffix}")
        await pilot.press("enter")
        await _until(pilot, lambda: app.job_id is not None and _training(app), 120)
        await pilot.pause(2.5)
        _save(app, folder / f"job{suffix}")
        await pilot.press("@")
        await pilot.pause(0.5)
        _save(app, folder / f"commands{suffix}")
        subprocess.run(["scancel", app.job_id or ""], check=True)


async def _messy(folder: Path, suffix: str, size: tuple[int, int]) -> None:
    with runner_for("messy") as runner:
        app = SlurmConsole(Settings(read_only=True), runner=runner)
        async with app.run_test(size=size) as pilot:
            await _until(pilot, lambda: app.snapshot.nodes.taken_at is not None)
            _save(app, folder / f"messy{suffix}")
            app.open_job("8411325")
            await pilot.pause(2)
            _save(app, folder / f"waiting{suffix}")


def _training(app: SlurmConsole) -> bool:
    job = Cluster(Runner()).job(app.job_id or "")
    path = Path(job.work_dir) / f"slurm-{job.job_id}.out" if job else None
    progress = read_progress(path) if path and path.exists() else None
    return bool(progress and progress.fraction and progress.fraction > 0.3)


async def _until(pilot: Pilot[None], ready: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not ready():  # type: ignore[operator]
        if time.monotonic() > deadline:
            raise SystemExit("The console did not get where the picture was to be taken.")
        await pilot.pause(0.25)
    await pilot.pause(0.5)


def _save(app: SlurmConsole, path: Path) -> None:
    """The SVG without its web font, and a PNG of it."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", app.export_screenshot(title=""), flags=re.DOTALL)
    svg = svg.replace("Fira Code", "DejaVu Sans Mono")
    path.with_suffix(".svg").write_text(svg, "utf-8")
    fonts = [str(FONTS / name) for name in ("DejaVuSansMono.ttf", "DejaVuSansMono-Bold.ttf")]
    path.with_suffix(".png").write_bytes(bytes(resvg_py.svg_to_bytes(svg_string=svg, font_files=fonts)))
    print(path.with_suffix(".png"))


if __name__ == "__main__":
    main()
