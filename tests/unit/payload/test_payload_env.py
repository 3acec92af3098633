"""The launch environment: who wins, what follows from it, and which sentence names a wrong launch."""

import pytest
from launches import slurm_task

from payload.env import Launch, rank_hint, read_launch, run_id
from payload.faults import LAUNCH, Fault

TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCHELASTIC_RESTART_COUNT": "0",
    "RANK": "3",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "LOCAL_WORLD_SIZE": "2",
    "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2",
    "MASTER_ADDR": "n01",
    "MASTER_PORT": "29500",
}
# Task 3 of `srun -N2 --ntasks-per-node=2`.
TWO_NODES = slurm_task(
    3,
    4,
    SLURM_LOCALID="1",
    SLURM_NODEID="1",
    SLURM_STEP_NUM_NODES="2",
    SLURM_STEP_TASKS_PER_NODE="2(x2)",
    SLURM_JOB_NODELIST="n[01-02]",
)


def test_nothing_set_is_a_single_process() -> None:
    assert read_launch({}, "n01") == Launch("single", 0, 1, 0, 1, 1, "127.0.0.1", 0, "local.0")


def test_torchrun() -> None:
    assert read_launch(TORCHRUN, "n02") == Launch("torchrun", 3, 4, 1, 2, 2, "n01", 29500, "local.0", True)


def test_torchrun_wins_over_the_task_that_started_it() -> None:
    agent = slurm_task(1, 2, SLURM_STEP_NUM_NODES="2", SLURM_STEP_TASKS_PER_NODE="1(x2)", SLURM_NODEID="1")
    launch = read_launch({**agent, **TORCHRUN}, "n02")
    assert (launch.launcher, launch.rank, launch.world_size, launch.run) == ("torchrun", 3, 4, "4711.0")


def test_srun_task_without_master_variables() -> None:
    # 61000 + 4711 mod 4536
    assert read_launch(TWO_NODES, "n02") == Launch("slurm", 3, 4, 1, 2, 2, "n01", 61175, "4711.0")


def test_master_variables_of_the_batch_script_are_used() -> None:
    launch = read_launch({**TWO_NODES, "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "23456"}, "n02")
    assert (launch.master_addr, launch.master_port) == ("10.0.0.1", 23456)


def test_step_on_fewer_nodes_than_the_job_meets_on_its_own_first_node() -> None:
    launch = read_launch({**TWO_NODES, "SLURM_STEP_NODELIST": "n[07-08]"}, "n08")
    assert launch.master_addr == "n07"


def test_one_node_meets_on_loopback_without_asking_a_name_server() -> None:
    assert read_launch(slurm_task(1, 2), "n01").master_addr == "127.0.0.1"


def test_uneven_tasks_per_node() -> None:
    uneven = {
        **TWO_NODES,
        "SLURM_NTASKS": "5",
        "SLURM_STEP_TASKS_PER_NODE": "4,1",
        "SLURM_PROCID": "4",
        "SLURM_LOCALID": "0",
    }
    assert read_launch(uneven, "n02").local_world_size == 1


def test_rank_variables_that_agree_with_the_task_are_accepted() -> None:
    agreeing = {**TWO_NODES, "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4"}
    assert read_launch(agreeing, "n02").launcher == "slurm"


def test_several_slurmds_on_one_machine_may_meet_on_loopback() -> None:
    sandbox = {**TWO_NODES, "MASTER_ADDR": "127.0.0.1", "SLURMD_NODENAME": "n02"}
    assert read_launch(sandbox, "laptop").master_addr == "127.0.0.1"


def test_run_id_counts_requeues_and_elastic_restarts() -> None:
    assert run_id({"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "2", "TORCHELASTIC_RESTART_COUNT": "1"}) == "7.3"


def test_records_before_the_launch_is_known_carry_the_task_not_the_exported_rank() -> None:
    assert rank_hint({"SLURM_PROCID": "2", "RANK": "0"}) == 2
    assert rank_hint({**TORCHRUN, "SLURM_PROCID": "1"}) == 3


@pytest.mark.parametrize(
    ("environ", "parts"),
    [
        ({**TWO_NODES, "RANK": "0"}, ["RANK is '0'", "SLURM_PROCID=3", "batch script"]),
        ({**TWO_NODES, "LOCAL_RANK": "0"}, ["LOCAL_RANK is '0'", "SLURM_LOCALID=1", "batch script"]),
        ({**TWO_NODES, "RANK": "0", "LOCAL_RANK": "0"}, ["RANK is '0'", "SLURM_PROCID=3"]),
        ({**TWO_NODES, "WORLD_SIZE": "2"}, ["WORLD_SIZE is '2'", "4 tasks", "--ntasks-per-node"]),
        ({**TWO_NODES, "SLURM_NTASKS": "2"}, ["SLURM_PROCID is 3", "SLURM_NTASKS is 2"]),
        ({**slurm_task(0, 4), **TORCHRUN}, ["each of 4 tasks", "--ntasks-per-node=1"]),
        ({"SLURM_JOB_NUM_NODES": "2", **TORCHRUN, "GROUP_WORLD_SIZE": "1"}, ["2 nodes", "spans 1", "--nnodes=2"]),
        ({**TWO_NODES, "MASTER_ADDR": "localhost"}, ["MASTER_ADDR is localhost", "2 nodes", "first node"]),
        ({**TWO_NODES, "MASTER_ADDR": "127.0.1.1", "SLURMD_NODENAME": "n02"}, ["MASTER_ADDR is 127.0.1.1"]),
        ({**TWO_NODES, "SLURM_JOB_NODELIST": ""}, ["neither MASTER_ADDR nor SLURM_JOB_NODELIST", "export MASTER_ADDR"]),
        ({**TWO_NODES, "SLURM_JOB_NODELIST": "n[1-"}, ["node list cannot be read", "export MASTER_ADDR"]),
        ({**TWO_NODES, "MASTER_PORT": "99999"}, ["MASTER_PORT is 99999"]),
        ({**TWO_NODES, "MASTER_PORT": "http"}, ["MASTER_PORT is 'http'"]),
        ({**TWO_NODES, "SLURM_NODEID": "7"}, ["SLURM_STEP_TASKS_PER_NODE and SLURM_NODEID"]),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, ["batch script", "4 tasks", "srun"]),
        ({"RANK": "0", "WORLD_SIZE": "2"}, ["RANK is set", "srun or torchrun"]),
        ({"MASTER_ADDR": "n01"}, ["MASTER_ADDR is set", "docker needs -e"]),
        ({"LOCAL_RANK": "0"}, ["RANK is not set"]),
    ],
)
def test_wrong_launch_is_named(environ: dict[str, str], parts: list[str]) -> None:
    with pytest.raises(Fault) as caught:
        read_launch(environ, "n02")
    assert caught.value.code == LAUNCH
    assert [part for part in parts if part not in str(caught.value)] == []
    assert "\n" not in str(caught.value)
