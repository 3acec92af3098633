"""Who may use a partition: groups, accounts, QOS, root and reservations only (slurm.conf's man page, PartitionName)."""

from __future__ import annotations

import grp
import os
from collections.abc import Mapping
from dataclasses import dataclass

from jobs.slurm.records import Partition, Reservation


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who looks. `accounts` and `qos` are None where Slurm does not tell them."""

    user: str
    uid: int
    groups: frozenset[str]
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Access:
    """Whether a partition takes this person's jobs; None is unknown. `why` is a sentence unless the answer is yes."""

    allowed: bool | None
    why: str = ""


YES = Access(True)


def viewer_of(user: str) -> Viewer:
    """The user of this process, called `user`, with all groups."""
    return Viewer(user, os.getuid(), frozenset(_group_names(user)))


def access(partition: Partition, who: Viewer) -> Access:
    """Whether `who` may submit there. Root and SlurmUser pass the checks of groups, as slurmctld lets them."""
    if partition.root_only and who.uid:
        return Access(False, "Only root may submit there.")
    if partition.reservation_only:
        return Access(False, "It takes jobs within a reservation only.")
    known: dict[str, frozenset[str] | None] = {"groups": who.groups, "accounts": who.accounts, "qos": who.qos}
    unknown = ""
    for what, names in (*partition.allow, *partition.deny):
        if what == "groups" and not who.uid:
            continue
        denies = (what, names) in partition.deny
        mine = known[what]
        if mine is None:
            unknown = (
                f"It {'refuses' if denies else 'takes'} certain {what} only, and Slurm does not tell which are yours."
            )
        elif (mine <= names and bool(mine)) if denies else not mine & names:
            return Access(False, f"It {'refuses' if denies else 'takes only'} the {what} {', '.join(sorted(names))}.")
    return Access(None, unknown) if unknown else YES


def may_use(reservation: Reservation, who: Viewer) -> bool:
    """Whether a reservation is (also) for this person. Nobody runs jobs in a maintenance but its users."""
    mine: Mapping[str, frozenset[str]] = {
        "users": frozenset({who.user}),
        "groups": who.groups,
        "accounts": who.accounts or frozenset(),
    }
    for what, names in (
        ("users", reservation.users),
        ("groups", reservation.groups),
        ("accounts", reservation.accounts),
    ):
        denied = {name[1:] for name in names if name.startswith("-")}
        if denied and mine[what] & denied:
            return False
        if denied or mine[what] & set(names):
            return True
    return False


def _group_names(user: str) -> list[str]:
    names = []
    for gid in os.getgrouplist(user, os.getgid()):
        try:
            names.append(grp.getgrgid(gid).gr_name)
        except KeyError:
            names.append(str(gid))
    return names
