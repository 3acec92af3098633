"""Which device this rank trains on. Pure: what torch sees comes in as a number, so the rule needs no GPU."""

from __future__ import annotations

from typing import Mapping

from payload.env import Launch
from payload.faults import LAUNCH, Fault

GRANT_VARIABLES = ("SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "CUDA_VISIBLE_DEVICES")
NOTHING = ("", "0", "-1", "NoDevFiles", "(null)")


def slurm_granted_gpus(environ: Mapping[str, str]) -> bool:
    """Whether Slurm gave this job GPUs. `0` is a count in SLURM_GPUS_ON_NODE and an index elsewhere."""
    if "SLURM_JOB_ID" not in environ:
        return False
    return any(
        environ.get(name, "") not in NOTHING or (environ.get(name) == "0" and name != "SLURM_GPUS_ON_NODE")
        for name in GRANT_VARIABLES
    )


def choose_device(choice: str, visible: int, launch: Launch, granted: bool) -> str:
    """`cpu` or `cuda:N` from --device (`auto`, `cpu`, `cuda`), the GPUs torch sees, and whether Slurm granted GPUs.

    One visible GPU is this rank's own (--gpus-per-task, one MIG slice); several are shared out by local rank.
    """
    if choice == "cpu":
        return "cpu"
    if visible == 0:
        if choice == "auto" and not granted:
            return "cpu"
        why = "Slurm granted GPUs but" if granted else "--device cuda was asked for but"
        raise Fault(
            LAUNCH,
            f"{why} torch sees none: add --nv to apptainer or --gpus to docker, use a CUDA build of torch, or "
            "pass --device cpu",
        )
    if visible == 1:
        return "cuda:0"
    if visible >= launch.local_world_size:
        return f"cuda:{launch.local_rank}"
    raise Fault(
        LAUNCH,
        f"{launch.local_world_size} ranks on this node see {visible} GPUs, so local rank {launch.local_rank} "
        "cannot have its own: make "
        "--ntasks-per-node (or --nproc-per-node) equal to --gpus-per-node",
    )
