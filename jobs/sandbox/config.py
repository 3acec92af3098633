"""Layout -> slurm.conf, gres.conf and cgroup.conf, for releases from 20.11 on (slurm.conf(5), gres.conf(5))."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.sandbox import accounting
from jobs.sandbox.layout import CPUS_PER_NODE, MEMORY_PER_NODE, Layout, Partition
from jobs.sandbox.place import Place

CONTROLLER = "slurmctld"
"""The controller's key among the ports; the others are node names."""

_FIXED = f"""\
AuthType=auth/munge
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=4000
GresTypes=gpu
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=10
PropagateResourceLimits=NONE
MpiDefault=none
ReturnToService=2
SlurmdTimeout=60
InactiveLimit=0
KillWait=5
MinJobAge=300
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
NodeName=DEFAULT CPUs={CPUS_PER_NODE} Sockets=2 CoresPerSocket={CPUS_PER_NODE // 2} ThreadsPerCore=1 \
RealMemory={MEMORY_PER_NODE}
"""


@dataclass(frozen=True)
class Machine:
    """What the configuration takes from this machine: its short host name, the user who runs Slurm, free TCP ports
    by daemon (`CONTROLLER` and node names), and Slurm's release as (22, 5)."""

    host: str
    user: str
    ports: Mapping[str, int]
    release: tuple[int, int]


def files(layout: Layout, place: Place, machine: Machine) -> dict[str, str]:
    """Every configuration file: name in the sandbox's directory -> text."""
    return {
        "slurm.conf": slurm_conf(layout, place, machine),
        "gres.conf": gres_conf(layout, place),
        "cgroup.conf": cgroup_conf(machine.release),
    }


def slurm_conf(layout: Layout, place: Place, machine: Machine) -> str:
    """The cluster: daemons listen on the loopback address only; sizes are declared (config_overrides), not found."""
    lines = [
        "ClusterName=sandbox",
        f"SlurmctldHost={machine.host}(127.0.0.1)",
        f"SlurmctldPort={machine.ports[CONTROLLER]}",
        f"SlurmUser={machine.user}",
        f"SlurmdUser={machine.user}",
        f"AuthInfo=socket={place.munge_socket}",
        f"StateSaveLocation={place.state}",
        f"SlurmdSpoolDir={place.run}/%n",
        f"SlurmctldPidFile={place.run}/slurmctld.pid",
        f"SlurmdPidFile={place.run}/slurmd-%n.pid",
        f"SlurmctldLogFile={place.log('slurmctld')}",
        f"SlurmdLogFile={place.log('slurmd-%n')}",
        *_FIXED.splitlines(),
        *(accounting.slurm_conf_lines(layout, place, machine.ports[accounting.DBD]) if layout.accounting else ()),
    ]
    for node in layout.nodes():
        gres = f" Gres=gpu:{node.gpu_type}:{node.gpus}" if node.gpus else ""
        port = machine.ports[node.name]
        lines.append(f"NodeName={node.name} NodeHostname={machine.host} NodeAddr=127.0.0.1 Port={port}{gres}")
    lines += [_partition_line(partition) for partition in layout.partitions()]
    return "\n".join(lines) + "\n"


def _partition_line(partition: Partition) -> str:
    default = " Default=YES" if partition.default else ""
    return (
        f"PartitionName={partition.name} Nodes={','.join(partition.nodes)} MaxTime={partition.max_time} "
        f"DefaultTime={partition.default_time} PriorityTier={partition.priority_tier}{default}"
    )


def gres_conf(layout: Layout, place: Place) -> str:
    """One line per GPU node. Slurm sets CUDA_VISIBLE_DEVICES only for devices, so each GPU is a link to /dev/null."""
    lines = ["AutoDetect=off"]
    for node in layout.nodes():
        if node.gpus:
            files = f"{place.devices}/gpu[0-{node.gpus - 1}]" if node.gpus > 1 else f"{place.devices}/gpu0"
            lines.append(f"NodeName={node.name} Name=gpu Type={node.gpu_type} File={files}")
    return "\n".join(lines) + "\n"


def cgroup_conf(release: tuple[int, int]) -> str:
    """slurmd takes up whatever cgroups it detects, and ends where it may not. Releases from 24.05 on know `disabled`
    (cgroup.conf(5)); before it, cgroup/v1 is the plugin that touches nothing while nothing is constrained. Releases
    before 21.08 have no choice of plugins, and refuse the key."""
    if release < (21, 8):
        return "CgroupAutomount=no\n"
    return "CgroupPlugin=disabled\n" if release >= (24, 5) else "CgroupPlugin=cgroup/v1\n"
