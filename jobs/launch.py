"""How ranks start: the task shape, the rendezvous, and the srun line for srun-per-rank or torchrun-per-node.

What differs between ranks (SLURM_PROCID, SLURM_LOCALID, SLURM_NODEID) is read inside the tasks: expanded in the batch
shell, it would be 0 for all of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from jobs.containers import RUNTIMES
from jobs.shell import join, quote
from jobs.spec import JobSpec

RENDEZVOUS = """\
# The ranks meet at a port of the job's first node. Where the node's name means nothing to the resolver, Slurm's own
# address for the node is used. The port follows from the job id, above the usual ephemeral range.
resolves() { getent ahosts "$1" >/dev/null; }
nodes=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
first_node=${nodes%%$'\\n'*}
MASTER_ADDR=$first_node
if ! resolves "$MASTER_ADDR"; then
    MASTER_ADDR=$(scontrol show node "$first_node" | sed -n 's/.*NodeAddr=\\([^ ]*\\).*/\\1/p')
    resolves "$MASTER_ADDR" || stop "node $first_node: neither name nor address (${MASTER_ADDR:-none}) resolves."
fi
MASTER_PORT=$((61000 + SLURM_JOB_ID % 4536))
export MASTER_ADDR MASTER_PORT"""

_READS_RANK = 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS; exec -- "$@"'

_AGENT = """\
command=$1; shift
    # Only node 0 hosts the rendezvous, whatever its host name looks like; its workers meet at the same address.
    if ((SLURM_NODEID == 0)); then set -- "$@" --local-addr="$MASTER_ADDR"; fi
    exec -- "$@" --nnodes="$SLURM_NNODES" --nproc-per-node=RANKS \\
        --rdzv-backend=c10d --rdzv-endpoint="$MASTER_ADDR:$MASTER_PORT" --rdzv-id="$SLURM_JOB_ID" \\
        --rdzv-conf="is_host=$((SLURM_NODEID == 0))" --no-python bash -c "$command\""""


class Shape(NamedTuple):
    """Tasks on each node and CPUs of each task, as #SBATCH asks for them."""

    ntasks_per_node: int
    cpus_per_task: int


def shape(spec: JobSpec) -> Shape:
    """One task per rank, or with torchrun one task per node that has the CPUs of all its ranks."""
    ranks, cpus = spec.resources.ranks_per_node, spec.resources.cpus_per_task
    return Shape(1, ranks * cpus) if spec.launch.launcher == "torchrun" else Shape(ranks, cpus)


def forwards_signal(spec: JobSpec) -> bool:
    """Whether USR1 is handed to the ranks. torchrun's agent dies of USR1 and its workers never see it."""
    return spec.requeue and spec.launch.launcher == "srun"


def rank_argv(spec: JobSpec) -> tuple[str, ...]:
    """The command of every rank, before quoting."""
    if spec.run.kind == "command":
        return spec.run.command
    return (spec.runtime.python, "-u", "-m", "payload.train", *spec.run.args)


def launch_lines(spec: JobSpec, job_dir: Path) -> list[str]:
    """The last part of the batch script. Raises SpecError where the runtime cannot take a path."""
    prefix = RUNTIMES[spec.runtime.kind].prefix(spec, job_dir)
    torchrun = spec.launch.launcher == "torchrun"
    intro, words = _torchrun(spec, prefix) if torchrun else _srun_per_rank(spec, prefix)
    if not forwards_signal(spec):
        return [*intro, *_srun(1, words)]
    return [
        "# A rank that stops for a requeue ends with code 75, and the others may be a moment behind it: they get 60 s.",
        *intro,
        *_srun(0, words, end=" &"),
        *_REQUEUE.splitlines(),
    ]


def _srun(kill_on_bad_exit: int, words: list[str], end: str = "") -> list[str]:
    """The srun line. --cpus-per-task is repeated since srun of 22.05 and 23.02 does not take it from the job."""
    srun = f'srun --kill-on-bad-exit={kill_on_bad_exit} --wait=60 --cpus-per-task="$SLURM_CPUS_PER_TASK" --'
    return [" \\\n    ".join([srun, *words]) + end]


def _srun_per_rank(spec: JobSpec, prefix: list[str]) -> tuple[list[str], list[str]]:
    command = [*([" ".join(prefix)] if prefix else []), join(rank_argv(spec))]
    if spec.run.kind == "payload":
        return ["# One task per rank; the payload reads its rank from Slurm."], command
    intro = [
        "# One task per rank. In single quotes, for each task must read its own rank: here, every rank would be 0.",
    ]
    return intro, [f"bash -c '{_READS_RANK}' bash", *command]


def _torchrun(spec: JobSpec, prefix: list[str]) -> tuple[list[str], list[str]]:
    agent = _AGENT.replace("RANKS", str(spec.resources.ranks_per_node))
    python = [*prefix, quote(spec.runtime.python), "-m", "torch.distributed.run"]
    intro = [
        "# What a rank runs, as one word: torchrun's parser would take a command's options for its own.",
        f"rank_command={quote('exec -- ' + join(rank_argv(spec)))}",
        "",
        "# One torchrun per node, which gives each of its ranks RANK, LOCAL_RANK and WORLD_SIZE. In single quotes, for",
        "# SLURM_NODEID differs from node to node.",
    ]
    return intro, [f"bash -c '{agent}' bash \"$rank_command\"", " ".join(python)]


_REQUEUE = """\
ranks=$!

# Two minutes before the time limit Slurm sends USR1 to this shell alone. srun hands it on to every rank, and the first
# wait ends early.
trap 'kill -USR1 "$ranks"' USR1
code=0
wait "$ranks" || code=$?
while kill -0 "$ranks" 2>/dev/null; do
    code=0
    wait "$ranks" || code=$?
done
if ((code == 75)); then
    echo "slurmconsole: the ranks stopped with a checkpoint and are queued again." >&2
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code\""""
