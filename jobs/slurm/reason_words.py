"""Reasons that are a word of their own. The limits, which are built by rule, are in reason_limits.

The names are those of the table in Slurm's source, releases 20.11 to 26.05 (job_state_reason.c).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["waiting", "limit", "held", "never", "broken", "dependency", "unknown"]
"""waiting: it starts by itself. limit: it starts when others end or the limit is raised. held: someone must release it.
never: not as it was asked for. broken: something failed. dependency: another job comes first. unknown: not told."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A reason in plain words: what it means and what the person can do. `word` is Slurm's own for it."""

    text: str
    action: str
    kind: Kind
    word: str = ""


_WAIT = "Nothing to do: it goes on by itself."
_ASK = "Ask the cluster's staff."
_LOG = "Read its log, and submit it again when the cause is gone."
_LIMITS = "Wait for jobs to end or ask for less; sacctmgr show assoc and sacctmgr show qos list the limits."
_OTHER_PARTITION = "Wait, or choose another partition."

WORDS: dict[str, Explanation] = {
    "None": Explanation("Slurm has not looked at it yet.", "Wait a minute and look again.", "waiting"),
    "Resources": Explanation(
        "It waits for enough free nodes, CPUs, memory or GPUs; it is next in line.",
        "Wait; a shorter time limit or a smaller job may fit into a gap earlier.",
        "waiting",
    ),
    "Priority": Explanation(
        "Jobs with a higher priority are ahead of it in this partition.",
        "Wait; a shorter time limit or a smaller job may fit into a gap earlier, and sprio shows the priorities.",
        "waiting",
    ),
    "BeginTime": Explanation(
        "Its earliest start time has not come: it was asked for, or Slurm sets it after a requeue.",
        "Wait, or start it earlier: scontrol update JobId=ID StartTime=now.",
        "waiting",
    ),
    "Licenses": Explanation(
        "It waits for a licence that other jobs use.", "Wait; scontrol show license tells who has how many.", "waiting"
    ),
    "Reservation": Explanation(
        "It waits for its reservation to begin or to have room.",
        "Wait, or submit it without the reservation; scontrol show reservation tells when it begins.",
        "waiting",
    ),
    "ReqNodeNotAvail": Explanation(
        "Nodes that it asked for or could use are down, drained, taken or reserved, often for a coming maintenance.",
        "Name no nodes, or take a time limit that ends before the reservation; scontrol show reservation lists them.",
        "waiting",
    ),
    "NodeDown": Explanation("A node that it needs is down.", "Wait for the node, or name no nodes.", "waiting"),
    "PartitionDown": Explanation("Its partition takes jobs but starts none.", _OTHER_PARTITION, "waiting"),
    "PartitionInactive": Explanation(
        "Its partition is closed: it neither takes nor starts jobs.", _OTHER_PARTITION, "waiting"
    ),
    "JobArrayTaskLimit": Explanation(
        "Its array runs as many tasks as it allows at a time (the number after % in --array).",
        "Wait, or raise the number: scontrol update JobId=ID ArrayTaskThrottle=N.",
        "limit",
    ),
    "Prolog": Explanation("The cluster prepares its nodes: the prolog still runs.", _WAIT, "waiting"),
    "Cleaning": Explanation("It starts again, and its first run is still being cleaned up.", _WAIT, "waiting"),
    "MaxPoweredUpNodes": Explanation(
        "As many nodes are switched on as the cluster allows, and it needs more.", "Wait for a node.", "waiting"
    ),
    "MpiPortsBusy": Explanation(
        "All network ports that Slurm hands out to jobs are taken.", "Wait, or leave --resv-ports out.", "waiting"
    ),
    "NvidiaImexChannels": Explanation(
        "All channels for memory shared between GPUs of several nodes (NVIDIA IMEX) are taken.",
        "Wait for a job that holds one to end.",
        "waiting",
    ),
    "FedJobLock": Explanation("Slurm settles which cluster of the federation may start it.", _WAIT, "waiting"),
    "SchedDefer": Explanation(
        "It asked to start at once, but this cluster starts jobs only in its regular rounds.",
        "Submit it without --immediate.",
        "waiting",
    ),
    "BurstBufferResources": Explanation(
        "It waits for room in the burst buffer, the fast storage of the nodes.",
        "Wait, or ask for less of it.",
        "waiting",
    ),
    "BurstBufferStageIn": Explanation(
        "Its files are being copied to the burst buffer, the fast storage of the nodes.", _WAIT, "waiting"
    ),
    "BurstBufferOperation": Explanation(
        "Something went wrong with its burst buffer, the fast storage of the nodes.",
        "Check the burst buffer lines of the script, or ask the cluster's staff.",
        "broken",
    ),
    "PowerNotAvail": Explanation("It waits for electrical power: the cluster limits it.", _WAIT, "waiting"),
    "PowerReserved": Explanation("The electrical power that it needs is reserved for others.", _WAIT, "waiting"),
    "FrontEndDown": Explanation("No front-end node, which starts the jobs here, is up.", _ASK, "waiting"),
    "BlockMaxError": Explanation(
        "Its block of nodes has had too many errors (on IBM Blue Gene systems).", _ASK, "broken"
    ),
    "BlockFreeAction": Explanation(
        "Its block of nodes is being freed (on IBM Blue Gene systems), so it cannot start.", _WAIT, "waiting"
    ),
    "Dependency": Explanation(
        "It waits for another job to end.", "Wait; the job's Dependency field names that job.", "dependency"
    ),
    "DependencyNeverSatisfied": Explanation(
        "The job that it depends on did not end as it had to, so it will never start: cancel it, or change that.",
        "Cancel it, or take the dependency away: scontrol update JobId=ID Dependency= (with nothing behind it).",
        "never",
    ),
    "JobHeldUser": Explanation(
        "You, its owner or the head of its account hold it: release it to let it start.",
        "Release it: scontrol release ID.",
        "held",
    ),
    "JobHeldAdmin": Explanation(
        "The cluster's staff hold it: ask them.", "Ask them why; only they can release it.", "held"
    ),
    "JobHoldMaxRequeue": Explanation(
        "Its launch failed too often, so Slurm holds it.",
        "Find out why its launch fails, often a missing folder or a broken node, then: scontrol release ID.",
        "held",
    ),
    "ReservationDeleted": Explanation(
        "Its reservation was deleted, so Slurm holds it.",
        "Take it out of the reservation (scontrol update JobId=ID ReservationName=), then: scontrol release ID.",
        "held",
    ),
    "ReservationInvalid": Explanation(
        "Its reservation is not one that it may use, so Slurm holds it.",
        "Name another reservation or none (scontrol update JobId=ID ReservationName=), then: scontrol release ID.",
        "held",
    ),
    "PartitionTimeLimit": Explanation(
        "Its time limit is longer than its partition allows.",
        "Take a shorter time limit or another partition; sinfo -o '%P %l' lists the longest times.",
        "never",
    ),
    "PartitionNodeLimit": Explanation(
        "Its partition does not allow so many or so few nodes, or too many of the partition's nodes are down.",
        "Ask for another number of nodes, or another partition.",
        "never",
    ),
    "PartitionConfig": Explanation(
        "Its partition does not allow it: a limit of the partition that Slurm does not name.",
        "Compare it with scontrol show partition, or choose another partition.",
        "never",
    ),
    "MaxMemPerLimit": Explanation(
        "It asks for more memory per CPU or per node than its partition or the cluster allows.",
        "Ask for less memory, or for more CPUs.",
        "never",
    ),
    "AccountNotAllowed": Explanation(
        "Its account, or its user's group, may not use this partition.",
        "Choose another partition, or another account; scontrol show partition tells who may use it.",
        "never",
    ),
    "QOSNotAllowed": Explanation(
        "Its QOS, the class of service it asked for, may not be used with this partition or this account.",
        "Choose another QOS or another partition; scontrol show partition tells which go together.",
        "never",
    ),
    "InvalidAccount": Explanation(
        "Its account is not, or no longer, one that its user may charge.",
        "Choose another account; sacctmgr show assoc user=$USER lists yours.",
        "never",
    ),
    "InvalidQOS": Explanation(
        "Its QOS, the class of service it asked for, is not, or no longer, one that its user may use.",
        "Choose another QOS; sacctmgr show assoc user=$USER lists yours.",
        "never",
    ),
    "QOSUsageThreshold": Explanation(
        "Its account has used so much that its share fell below what this QOS demands.",
        "Wait until past usage counts less, or choose another QOS; sshare shows the share.",
        "limit",
    ),
    "BadConstraints": Explanation(
        "No node can ever satisfy it as it was asked for.",
        "Ask for other features, GPUs, CPUs or memory; sinfo -o '%N %f %G %c %m' lists what the nodes have.",
        "never",
    ),
    "Constraints": Explanation(
        "No node can satisfy it at this time as it was asked for.",
        "Wait for such a node, or ask for other features; sinfo -o '%N %f' lists those of the nodes.",
        "waiting",
    ),
    "DeadLine": Explanation(
        "It cannot end before its own deadline.", "Take a later --deadline or a shorter time limit.", "never"
    ),
    "AccountingPolicy": Explanation(
        "It is over a limit of its account or QOS that Slurm does not name.", _LIMITS, "limit"
    ),
    "AssociationJobLimit": Explanation("Its account has as many jobs as it may have.", _LIMITS, "limit"),
    "AssociationResourceLimit": Explanation(
        "Its account is at a limit of nodes, CPUs, memory, GPUs or another resource.", _LIMITS, "limit"
    ),
    "AssociationTimeLimit": Explanation("Its account has used the time that it may use.", _LIMITS, "limit"),
    "QOSJobLimit": Explanation("Its QOS has as many jobs as it may have.", _LIMITS, "limit"),
    "QOSResourceLimit": Explanation(
        "Its QOS is at a limit of nodes, CPUs, memory, GPUs or another resource.", _LIMITS, "limit"
    ),
    "QOSTimeLimit": Explanation("Its QOS has used the time that it may use.", _LIMITS, "limit"),
    "JobLaunchFailure": Explanation(
        "It could not be launched: often a missing log folder or program, or a broken node.",
        "Check its paths, or submit it again without that node (--exclude).",
        "broken",
    ),
    "SystemFailure": Explanation(
        "Slurm itself, a file system or the network failed.",
        "Submit it again; if that fails too, ask the cluster's staff.",
        "broken",
    ),
    "NonZeroExitCode": Explanation("It ended with an error: its exit code was not 0.", _LOG, "broken"),
    "RaisedSignal": Explanation("A signal ended it.", _LOG, "broken"),
    "TimeLimit": Explanation(
        "It ran into its time limit and was ended.",
        "Take a longer time limit, and let it go on from its last checkpoint.",
        "broken",
    ),
    "OutOfMemory": Explanation(
        "It used more memory of the nodes than it had asked for and was ended.",
        "Ask for more memory, or use fewer or smaller data loaders.",
        "broken",
    ),
    "InactiveLimit": Explanation(
        "The srun or salloc that it belonged to stopped answering, so it was ended.",
        "Start it from a session that lasts, or with sbatch.",
        "broken",
    ),
}
