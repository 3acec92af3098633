"""Asking for limits: one call of the controller, and two of slurmdbd for what the controller does not tell."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.slurm import commands
from jobs.slurm.access import Viewer
from jobs.slurm.assoc_mgr import Use, parse_assoc_mgr
from jobs.slurm.limits import Limits, Membership, QosRule
from jobs.slurm.run import Runner, SlurmError
from jobs.slurm.tres import parse_memory, parse_tres

LIMITS_EVERY = 300.0
"""Seconds."""
_ENFORCING = ("limits", "safe", "all")


def ask_limits(runner: Runner, config: Mapping[str, str], viewer: Viewer) -> Limits:
    """The limits on the viewer. Raises SlurmError where the controller does not tell them.

    Limits hold where AccountingStorageEnforce has `limits` or `safe`, which implies it (slurm.conf's man page).
    """
    state = parse_assoc_mgr(runner.check(commands.show_assoc_mgr()).text, viewer.user)
    enforce = config.get("AccountingStorageEnforce", "").lower().split(",")
    associations = _rows(runner, commands.sacctmgr_associations(viewer.user), commands.ASSOCIATION_FIELDS)
    qos = _rows(runner, commands.sacctmgr_qos(), commands.QOS_FIELDS)
    cluster = config.get("ClusterName", "")
    return Limits(
        user=viewer.user,
        uid=viewer.uid,
        cluster=cluster,
        enforced=any(word.strip() in _ENFORCING for word in enforce),
        state=state,
        memberships=None if associations is None else tuple(_membership(r) for r in associations if r[0] == cluster),
        rules=None if qos is None else {row[0]: _rule(row) for row in qos},
    )


def _rows(runner: Runner, argv: list[str], fields: tuple[str, ...]) -> list[list[str]] | None:
    """The rows of sacctmgr's answer; None where it cannot be asked. Rows of another length are left out."""
    try:
        answer = runner.check(argv)
    except SlurmError:
        return None
    rows = (line.split("|") for line in answer.text.splitlines())
    return [row for row in rows if len(row) == len(fields)]


def _membership(row: list[str]) -> Membership:
    _, account, partition, qos, default = row
    return Membership(account, partition, tuple(name for name in qos.split(",") if name), default or None)


def _rule(row: list[str]) -> QosRule:
    _, flags, per_user, per_account, jobs_per_user, jobs_per_account = row
    return QosRule(
        per_user=_uses(per_user),
        per_account=_uses(per_account),
        jobs_per_user=int(jobs_per_user) if jobs_per_user.isdecimal() else None,
        jobs_per_account=int(jobs_per_account) if jobs_per_account.isdecimal() else None,
        overrides_partition="overpartqos" in flags.lower(),
    )


def _uses(text: str) -> dict[str, Use]:
    """`gres/gpu=8,mem=1800T` as limits; memory in MiB."""
    found = {}
    for name, value in parse_tres(text).items():
        limit = parse_memory(value) if name == "mem" else int(value) if value.isdecimal() else None
        if limit is not None:
            found[name] = Use(limit, None)
    return found
