"""Who may use a partition: groups, accounts, QOS, root and reservations only (slurm.conf's man page, PartitionName)."""

from __future__ import annotations

import grp
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.slurm.records import Partition, Reservation


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person who looks, from which host (empty is unknown). `accounts` and `qos` are None where nobody asked for
    them, or Slurm does not tell them; `lineages` has each account with those above it, where these count too.
    """

    user: str
    uid: int
    groups: frozenset[str]
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    lineages: Mapping[str, frozenset[str]] = field(default_factory=dict)
    host: str = ""


@dataclass(frozen=True, slots=True)
class Access:
    """Whether a partition takes this person's jobs; None is unknown. `why` is a sentence unless the answer is yes."""

    allowed: bool | None
    why: str = ""


YES = Access(True)


def viewer_of(user: str) -> Viewer:
    """The user of this process, called `user`, with all groups."""
    return Viewer(user, os.getuid(), frozenset(_group_names(user)), host=socket.gethostname().partition(".")[0])


def access(partition: Partition, who: Viewer) -> Access:
    """Whether `who` may submit there. Root and SlurmUser pass the checks of groups, as slurmctld lets them."""
    if partition.root_only and who.uid:
        return Access(False, "Only root may submit there.")
    if partition.reservation_only:
        return Access(False, "It takes jobs within a reservation only.")
    if partition.alloc_nodes and who.host and who.host not in partition.alloc_nodes:
        return Access(False, f"It takes jobs from other hosts than {who.host} only.")
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
            continue
        named = {name for name in mine if names & _lineage(what, name, who)}
        if (named == mine and bool(mine)) if denies else not named:
            return Access(False, f"It {'refuses' if denies else 'takes only'} the {what} {', '.join(sorted(names))}.")
    return Access(None, unknown) if unknown else YES


def _lineage(what: str, name: str, who: Viewer) -> frozenset[str]:
    """A name with those above it: from 23.11 on lists of accounts mean the accounts below them too (slurm.conf)."""
    return frozenset({name}) | (who.lineages.get(name, frozenset()) if what == "accounts" else frozenset())


def may_use(reservation: Reservation, who: Viewer) -> bool:
    """Whether a reservation is (also) for this person. Nobody runs jobs in a maintenance but its users."""
    mine: Mapping[str, frozenset[str]] = {
        "users": frozenset({who.user}),
        "groups": who.groups,
        "accounts": frozenset().union(*(_lineage("accounts", name, who) for name in who.accounts or ())),
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
