"""Where this process stands in the job: ranks and rendezvous from torchrun, else Slurm, else alone.

Pure: reads a mapping, imports no torch. A wrong launch is a Fault that names the Slurm flag behind it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping

from payload.faults import LAUNCH, Fault
from payload.nodelist import expand, task_counts

Environ = Mapping[str, str]


@dataclass(frozen=True)
class Launch:
    """Ranks count from 0, `nodes` is a number; with `agent_store` torchrun's agent serves the rendezvous."""

    launcher: str
    rank: int
    world_size: int
    local_rank: int
    local_world_size: int
    nodes: int
    master_addr: str
    master_port: int
    run: str
    agent_store: bool = False


def read_launch(environ: Environ, hostname: str) -> Launch:
    """The launch of this process; `hostname` is this machine's name. Raises Fault(LAUNCH) for a wrong launch."""
    if "TORCHELASTIC_RUN_ID" in environ or ("LOCAL_RANK" in environ and not in_srun_task(environ)):
        launch = _from_torchrun(environ)
    elif in_srun_task(environ):
        launch = _from_slurm(environ)
    else:
        launch = _alone(environ)
    _refuse_loopback_between_nodes(launch, environ, hostname)
    return launch


def in_srun_task(environ: Environ) -> bool:
    """Whether srun started this process; the batch script has SLURM_PROCID too, but no step id."""
    return "SLURM_PROCID" in environ and "SLURM_STEP_ID" in environ


def rank_hint(environ: Environ) -> int:
    """The rank to put on records while the launch is not known to be right."""
    for name in ("SLURM_PROCID", "RANK") if "TORCHELASTIC_RUN_ID" not in environ else ("RANK",):
        if environ.get(name, "").isdecimal():
            return int(environ[name])
    return 0


def run_id(environ: Environ) -> str:
    """Job id and restart count, `4711.0`: tells the lives of a requeued or restarted job apart in one log."""
    restarts = (environ.get(name, "") for name in ("SLURM_RESTART_COUNT", "TORCHELASTIC_RESTART_COUNT"))
    return f"{environ.get('SLURM_JOB_ID', 'local')}.{sum(int(count) for count in restarts if count.isdecimal())}"


def _integer(environ: Environ, name: str, default: str = "") -> int:
    text = environ.get(name, default)
    if not text:
        raise Fault(
            LAUNCH,
            f"{name} is not set, though other variables say that this is one of several processes: start it "
            "with srun or torchrun",
        )
    if not text.isdecimal():
        raise Fault(LAUNCH, f"{name} is {text[:40]!r}, which is no number")
    return int(text)


def _from_torchrun(environ: Environ) -> Launch:
    launch = Launch(
        launcher="torchrun",
        rank=_integer(environ, "RANK"),
        world_size=_integer(environ, "WORLD_SIZE"),
        local_rank=_integer(environ, "LOCAL_RANK"),
        local_world_size=_integer(environ, "LOCAL_WORLD_SIZE"),
        nodes=_integer(environ, "GROUP_WORLD_SIZE", "1"),
        master_addr=environ.get("MASTER_ADDR", "127.0.0.1"),
        master_port=_port(environ),
        run=run_id(environ),
        agent_store=environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
    )
    if in_srun_task(environ) and _tasks_on_this_node(environ) > 1:
        raise Fault(
            LAUNCH,
            f"torchrun was started by each of {_tasks_on_this_node(environ)} tasks on this node, but it starts "
            "the ranks itself: "
            "use --ntasks-per-node=1",
        )
    nodes = _slurm_nodes(environ)
    if nodes > launch.nodes:
        raise Fault(
            LAUNCH,
            f"Slurm granted {nodes} nodes but torchrun spans {launch.nodes}, so each node would train alone: "
            "start one torchrun per "
            f"node (srun --ntasks-per-node=1) with --nnodes={nodes} and one --rdzv-endpoint for all",
        )
    return launch


def _from_slurm(environ: Environ) -> Launch:
    rank, world_size = _integer(environ, "SLURM_PROCID"), _integer(environ, "SLURM_NTASKS")
    _refuse_difference(environ, "RANK", "SLURM_PROCID")
    _refuse_difference(environ, "LOCAL_RANK", "SLURM_LOCALID")
    if environ.get("WORLD_SIZE", str(world_size)) != str(world_size):
        raise Fault(
            LAUNCH,
            f"WORLD_SIZE is {environ['WORLD_SIZE'][:40]!r} but srun started {world_size} tasks: do not export "
            "WORLD_SIZE, or make it "
            "nodes times --ntasks-per-node",
        )
    if rank >= world_size:
        raise Fault(LAUNCH, f"SLURM_PROCID is {rank} but SLURM_NTASKS is {world_size}: do not export SLURM_NTASKS")
    nodes = _slurm_nodes(environ)
    return Launch(
        launcher="slurm",
        rank=rank,
        world_size=world_size,
        local_rank=_integer(environ, "SLURM_LOCALID"),
        local_world_size=_tasks_on_this_node(environ),
        nodes=nodes,
        master_addr=_master_addr(environ, world_size, nodes),
        master_port=_port(environ),
        run=run_id(environ),
    )


def _alone(environ: Environ) -> Launch:
    tasks = max(_integer(environ, "SLURM_NTASKS", "1"), _integer(environ, "SLURM_JOB_NUM_NODES", "1"))
    if "SLURM_PROCID" in environ and tasks > 1:
        raise Fault(
            LAUNCH,
            f"SLURM_STEP_ID is not set, so this is the batch script and not one of its {tasks} tasks: put srun "
            "before the command "
            "(and let a container see SLURM_STEP_ID)",
        )
    for name in ("RANK", "MASTER_ADDR"):
        if name in environ:
            raise Fault(
                LAUNCH,
                f"{name} is set but neither LOCAL_RANK nor Slurm's task variables are: start with srun or "
                "torchrun, and pass the "
                "environment into the container (docker needs -e)",
            )
    return Launch("single", 0, 1, 0, 1, 1, "127.0.0.1", 0, run_id(environ))


def _refuse_difference(environ: Environ, name: str, slurm_name: str) -> None:
    """The classic: `export RANK=$SLURM_PROCID` in the batch script is expanded once, and every task says rank 0."""
    task = str(_integer(environ, slurm_name))
    if environ.get(name, task) != task:
        raise Fault(
            LAUNCH,
            f"{name} is {environ[name][:40]!r} but this is the task with {slurm_name}={task}: {name} was "
            "exported in the "
            f"batch script, where it is the same for all tasks; remove it, or set it inside the task that srun starts",
        )


def _refuse_loopback_between_nodes(launch: Launch, environ: Environ, hostname: str) -> None:
    node_name = environ.get("SLURMD_NODENAME", hostname)
    # Several slurmds on one machine (a sandbox) have node names unlike the machine's: there loopback reaches all.
    if launch.nodes > 1 and is_loopback(launch.master_addr) and node_name.split(".")[0] == hostname.split(".")[0]:
        raise Fault(
            LAUNCH,
            f"MASTER_ADDR is {launch.master_addr} but the job has {launch.nodes} nodes (--nodes), which cannot "
            "meet there: set it to "
            "the job's first node",
        )


def is_loopback(address: str) -> bool:
    """Whether `address` is written as this machine's own."""
    return address in ("localhost", "::1") or address.startswith("127.")


def _slurm_nodes(environ: Environ) -> int:
    """Nodes of the step if there is one, else of the job; 1 outside Slurm."""
    for name in ("SLURM_STEP_NUM_NODES", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"):
        if name in environ:
            return _integer(environ, name)
    return 1


def _tasks_on_this_node(environ: Environ) -> int:
    """From SLURM_STEP_TASKS_PER_NODE, e.g. `4(x2),1`; without it all tasks are taken to be on one node."""
    if "SLURM_STEP_TASKS_PER_NODE" not in environ:
        return _integer(environ, "SLURM_NTASKS")
    try:
        return task_counts(environ["SLURM_STEP_TASKS_PER_NODE"])[_integer(environ, "SLURM_NODEID")]
    except (ValueError, IndexError):
        raise Fault(
            LAUNCH, "SLURM_STEP_TASKS_PER_NODE and SLURM_NODEID do not fit together: do not export them"
        ) from None


def _master_addr(environ: Environ, world_size: int, nodes: int) -> str:
    if environ.get("MASTER_ADDR"):
        return environ["MASTER_ADDR"]
    if world_size == 1 or nodes == 1:
        return "127.0.0.1"
    nodelist = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST")
    if not nodelist:
        raise Fault(
            LAUNCH,
            "neither MASTER_ADDR nor SLURM_JOB_NODELIST is set: export MASTER_ADDR, the job's first node, in "
            "the batch script",
        )
    try:
        return expand(nodelist)[0]
    except ValueError as error:
        raise Fault(
            LAUNCH, f"MASTER_ADDR is not set and the node list cannot be read ({error}): export MASTER_ADDR"
        ) from None


def _port(environ: Environ) -> int:
    """MASTER_PORT, else 61000 + job id mod 4536: above the ephemeral ports, and the same on every rank."""
    if "MASTER_PORT" not in environ:
        return 61000 + _integer(environ, "SLURM_JOB_ID", "0") % 4536
    port = _integer(environ, "MASTER_PORT")
    if not 0 < port < 65536:
        raise Fault(LAUNCH, f"MASTER_PORT is {port}, which is no port (1-65535)")
    return port
