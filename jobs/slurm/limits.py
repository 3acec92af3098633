"""What limits of accounts and QOS leave for one more job of a person.

Which limits count, and for whom: the resource limits pages of Slurm and acct_policy.c. Group limits hold at every level
from the user's association up to root; limits for each user, account, job and node come from the user's association and
from the QOS. The QOS of the partition overrides that of the job, unless the job's has the flag OverPartQOS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs.slurm.assoc_mgr import Association, AssocMgr, Counts, Qos, Use, Uses


@dataclass(frozen=True, slots=True)
class QosRule:
    """What slurmdbd tells of a QOS and the controller does not, unless somebody has used it."""

    per_user: Uses = field(default_factory=dict)
    per_account: Uses = field(default_factory=dict)
    jobs_per_user: int | None = None
    jobs_per_account: int | None = None
    overrides_partition: bool = False


@dataclass(frozen=True, slots=True)
class Membership:
    """A user in an account: the QOS that may be used there, and the one that is used unless another is named."""

    account: str
    partition: str
    qos: tuple[str, ...]
    default_qos: str | None


@dataclass(frozen=True, slots=True)
class LimitUse:
    """One limit: `whose` in words, `resource` as TRES write it, or `jobs`, or `minutes`.

    `scope` is whom it counts together: group, user, account, or each job or node by itself, where `used` is None.
    """

    whose: str
    resource: str
    limit: int
    used: int | None = None
    scope: str = "group"

    @property
    def left(self) -> int:
        """What one more job could have."""
        return max(0, self.limit - (self.used or 0))

    @property
    def words(self) -> str:
        """`account research may use 12 GPUs at a time: 6 in use, 6 left`."""
        most = amount(self.resource, self.limit)
        if self.used is None:
            return f"{self.whose} lets one job have at most {most}{' on each node' if self.scope == 'node' else ''}"
        verb, state = ("run", "running") if self.resource == "jobs" else ("use", "in use")
        return f"{self.whose} may {verb} {most} at a time: {self.used} {state}, {self.left} left"


@dataclass(frozen=True, slots=True)
class Limits:
    """All that is known of the limits on one person. `memberships` and `rules` are None where slurmdbd was silent."""

    user: str
    uid: int
    cluster: str
    enforced: bool
    state: AssocMgr
    memberships: tuple[Membership, ...] | None = None
    rules: Mapping[str, QosRule] | None = None

    @property
    def accounts(self) -> frozenset[str]:
        """The accounts that this person is a member of."""
        return frozenset(found.account for found in self._own() if found.user)

    @property
    def lineages(self) -> dict[str, frozenset[str]]:
        """Each of this person's accounts with the accounts above it."""
        parents = {found.account: found.parent for found in self._own() if not found.user}
        found = {}
        for account in self.accounts:
            line: set[str] = set()
            above = account
            while above and above not in line:
                line.add(above)
                above = parents.get(above, "")
            found[account] = frozenset(line)
        return found

    @property
    def qos(self) -> frozenset[str] | None:
        """The QOS that this person may use in some account; None where slurmdbd was silent."""
        if self.memberships is None:
            return None
        return frozenset(name for found in self.memberships for name in found.qos)

    def default_account(self) -> str | None:
        """The account of a job that names none."""
        return self.state.default_account

    def default_qos(self, account: str, partition: str) -> str | None:
        """The QOS of a job that names none; None where it is not known."""
        found = [m for m in self.memberships or () if m.account == account and m.partition in ("", partition)]
        found.sort(key=lambda membership: membership.partition == "")
        return found[0].default_qos if found else None

    def of_job(
        self, partition: str, partition_qos: str | None, account: str | None = None, qos: str | None = None
    ) -> tuple[LimitUse, ...]:
        """Every limit on a job of this person, in no order; empty where limits are not enforced."""
        account = account or self.default_account()
        if not self.enforced or account is None:
            return ()
        qos = qos or self.default_qos(account, partition)
        return (*self._of_associations(account, partition), *self._of_qos(qos, partition_qos, account))

    def _own(self) -> list[Association]:
        return [found for found in self.state.associations if found.cluster in ("", self.cluster)]

    def _of_associations(self, account: str, partition: str) -> Iterable[LimitUse]:
        own = [a for a in self._own() if a.user and a.account == account and a.partition in ("", partition)]
        own.sort(key=lambda association: association.partition == "")
        if own:
            mine = own[0]
            yield from _group(mine.group, f"you in account {account}")
            yield from _group(mine.own, f"you in account {account}", "user")
            yield from _per_job(mine.per_job, mine.per_node, mine.wall, f"account {account}")
        above = {found.account: found for found in self._own() if not found.user}
        seen: set[str] = set()
        while account in above and account not in seen:
            seen.add(account)
            yield from _group(above[account].group, f"account {account}")
            account = above[account].parent

    def _of_qos(self, name: str | None, partition_name: str | None, account: str) -> Iterable[LimitUse]:
        """The limits of both QOS; of two of one kind, only that of the one that overrides the other."""
        order = [partition_name, name]
        if name is not None and self.rules is not None and self.rules.get(name, QosRule()).overrides_partition:
            order.reverse()
        seen: set[tuple[str, str]] = set()
        for found in dict.fromkeys(order):
            if found is None or found not in self.state.qos:
                continue
            for use in self._of_one_qos(self.state.qos[found], account):
                key = (use.scope, use.resource)
                if key not in seen:
                    seen.add(key)
                    yield use

    def _of_one_qos(self, qos: Qos, account: str) -> Iterable[LimitUse]:
        rule = (self.rules or {}).get(qos.name, QosRule())
        yield from _group(qos.group, f"QOS {qos.name}")
        user = qos.by_user.get(self.user) or qos.by_user.get(str(self.uid)) or Counts()
        told = next(iter(qos.by_user.values()), Counts())
        counts = _with_limits(user, told, rule.per_user, rule.jobs_per_user)
        yield from _group(counts, f"one user of QOS {qos.name}", "user")
        told = next(iter(qos.by_account.values()), Counts())
        counts = _with_limits(qos.by_account.get(account, Counts()), told, rule.per_account, rule.jobs_per_account)
        yield from _group(counts, f"one account of QOS {qos.name}", "account")
        yield from _per_job(qos.per_job, qos.per_node, qos.wall, f"QOS {qos.name}")


def _group(counts: Counts, whose: str, scope: str = "group") -> Iterable[LimitUse]:
    for resource, use in (("jobs", counts.jobs), *counts.tres.items()):
        if use.limit is not None:
            yield LimitUse(whose, resource, use.limit, use.used or 0, scope)


def _per_job(per_job: Uses, per_node: Uses, wall: int | None, whose: str) -> Iterable[LimitUse]:
    for uses, scope in ((per_job, "job"), (per_node, "node")):
        for resource, use in uses.items():
            if use.limit is not None:
                yield LimitUse(whose, resource, use.limit, None, scope)
    if wall is not None:
        yield LimitUse(whose, "minutes", wall, None, "job")


def _with_limits(counts: Counts, told: Counts, tres: Uses, jobs: int | None) -> Counts:
    """The use of one, with the limits that hold for all: as others' use tells them, or else slurmdbd."""
    limits = {
        name: use.limit
        for uses in (tres, told.tres, counts.tres)
        for name, use in uses.items()
        if use.limit is not None
    }
    used = {name: counts.tres[name].used if name in counts.tres else 0 for name in limits}
    most = counts.jobs.limit if counts.jobs.limit is not None else told.jobs.limit
    merged = {name: Use(limit, used[name]) for name, limit in limits.items()}
    return Counts(Use(jobs if most is None else most, counts.jobs.used or 0), counts.submitted, merged)


def amount(resource: str, number: int) -> str:
    """`12 GPUs`, `4 a100 GPUs`, `64 CPUs`, `30 minutes`."""
    s = "" if number == 1 else "s"
    if resource.startswith("gres/gpu"):
        kind = resource.partition(":")[2]
        return f"{number} {kind + ' ' if kind else ''}GPU{s}"
    names = {"cpu": f"CPU{s}", "node": f"node{s}", "jobs": f"job{s}", "minutes": f"minute{s}", "mem": "MiB of memory"}
    return f"{number} {names.get(resource, resource)}"
