"""Why a job is pending, in plain words. The words are Slurm's own (squeue's man page, JOB REASON CODES)."""

from __future__ import annotations

_MEANINGS = {
    "Resources": "It waits for enough free nodes, CPUs, memory or GPUs; it is next in line.",
    "Priority": "Jobs with a higher priority are ahead of it in this partition.",
    "Dependency": "It waits for another job to end.",
    "DependencyNeverSatisfied": "The job it depends on failed, so it will never start: cancel it, or change that.",
    "JobHeldUser": "You or its owner hold it: release it to let it start.",
    "JobHeldAdmin": "The cluster's staff hold it: ask them.",
    "BeginTime": "Its earliest start time has not come.",
    "JobArrayTaskLimit": "The array's own limit of tasks at a time (%N) is reached.",
    "PartitionTimeLimit": "It asks for more time than its partition allows: ask for less.",
    "PartitionNodeLimit": "It asks for more nodes than its partition allows.",
    "PartitionDown": "Its partition takes jobs but starts none.",
    "PartitionInactive": "Its partition is closed.",
    "ReqNodeNotAvail": "A node that it needs is down, drained or reserved, often for a coming maintenance.",
    "Reservation": "It waits for its reservation to begin.",
    "Licenses": "It waits for a licence.",
    "JobHoldMaxRequeue": "It was requeued too often and is held.",
    "BadConstraints": "No node can ever satisfy it as it was asked for.",
    "NonZeroExitCode": "It ended with an error.",
    "JobLaunchFailure": "It could not be launched: often a missing log folder or a broken node.",
    "launch failed requeued held": "Its launch failed and it is held: look at the node, then release it.",
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions": (
        "The nodes that could run it are down, drained or kept for jobs in higher partitions."
    ),
    "QOSMaxJobsPerUserLimit": "You run as many jobs as your QOS allows at a time.",
    "QOSMaxSubmitJobPerUserLimit": "You have as many jobs in the queue as your QOS allows.",
    "QOSNotAllowed": "Its QOS may not be used in this partition or with this account.",
    "QOSUsageThreshold": "Its QOS has fallen below the share that it must keep.",
    "InvalidQOS": "Its QOS is not, or no longer, one that it may use.",
    "InvalidAccount": "Its account is not, or no longer, one that it may use.",
    "AccountNotAllowed": "Its account may not be used in this partition.",
    "MaxGRESPerAccount": "Your account uses as many GPUs as it may.",
}


def explain(reason: str) -> str:
    """A sentence for a pending reason; Slurm's own words where the reason is not a known one."""
    if reason in ("", "None"):
        return "Slurm has not looked at it yet."
    if reason in _MEANINGS:
        return f"{_MEANINGS[reason]} ({reason})"
    word, _, rest = reason.partition(",")
    if word in _MEANINGS:
        return f"{_MEANINGS[word]} ({word}{':' if rest else ''}{rest})"
    if word.startswith(("QOS", "Assoc")):
        kind = "a limit of your QOS" if word.startswith("QOS") else "a limit of your account"
        return f"It is over {kind}. ({reason})"
    return f"Slurm says: {reason}"
