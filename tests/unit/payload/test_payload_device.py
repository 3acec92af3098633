"""The device rule: one visible GPU is the rank's own, several are shared out by local rank, anything else stops."""

import pytest

from payload.device import choose_device, slurm_granted_gpus
from payload.env import Launch
from payload.faults import LAUNCH, Fault


def local(rank: int, world: int) -> Launch:
    return Launch("slurm", rank, world, rank, world, 1, "127.0.0.1", 61000, "1.0")


@pytest.mark.parametrize(
    ("choice", "visible", "launch", "granted", "device"),
    [
        ("auto", 0, local(0, 1), False, "cpu"),
        ("cpu", 0, local(1, 2), True, "cpu"),
        ("auto", 1, local(3, 4), True, "cuda:0"),
        ("auto", 4, local(3, 4), True, "cuda:3"),
        ("cuda", 8, local(3, 4), False, "cuda:3"),
    ],
)
def test_rule(choice: str, visible: int, launch: Launch, granted: bool, device: str) -> None:
    assert choose_device(choice, visible, launch, granted) == device


@pytest.mark.parametrize(
    ("choice", "visible", "granted", "parts"),
    [
        ("auto", 0, True, ["Slurm granted GPUs", "--nv", "--device cpu"]),
        ("cuda", 0, False, ["--device cuda", "torch sees none"]),
        ("auto", 2, True, ["4 ranks", "2 GPUs", "--ntasks-per-node", "--gpus-per-node"]),
    ],
)
def test_impossible_bindings_stop_with_counts_and_flags(
    choice: str, visible: int, granted: bool, parts: list[str]
) -> None:
    with pytest.raises(Fault) as caught:
        choose_device(choice, visible, local(3, 4), granted)
    assert caught.value.code == LAUNCH
    assert [part for part in parts if part not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("environ", "granted"),
    [
        ({"SLURM_JOB_ID": "1", "SLURM_GPUS_ON_NODE": "2"}, True),
        ({"SLURM_JOB_ID": "1", "SLURM_JOB_GPUS": "0"}, True),
        ({"SLURM_JOB_ID": "1", "CUDA_VISIBLE_DEVICES": "0,1"}, True),
        ({"SLURM_JOB_ID": "1", "SLURM_GPUS_ON_NODE": "0"}, False),
        ({"SLURM_JOB_ID": "1", "CUDA_VISIBLE_DEVICES": "NoDevFiles"}, False),
        ({"SLURM_JOB_ID": "1"}, False),
        ({"CUDA_VISIBLE_DEVICES": "0"}, False),
    ],
)
def test_whether_slurm_granted_gpus(environ: dict[str, str], granted: bool) -> None:
    assert slurm_granted_gpus(environ) is granted
