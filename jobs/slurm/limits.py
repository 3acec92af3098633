"""What limits of accounts and QOS leave for one more job of a person.

Which limits count, and for whom: the resource limits pages of Slurm and acct_policy.c. Group limits hold at every level
from the user's association up to root; limits for each user, account, job and node come from the user's association and
from the QOS. The QOS of the partition overrides that of the job, unless the job's has the flag OverPartQOS, and a limit
of either QOS overrides those of associations that are of the same kind, also where it is the wider one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from jobs.slurm.assoc_mgr import Association, AssocMgr, Counts, Qos, Use, Uses

_JOBS = ("jobs", "submitted")


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


SPENT, TO_GO = " minutes", " minutes to go"
"""What is added to a resource that is counted in minutes: used so far, or that running jobs may yet use."""


@dataclass(frozen=True, slots=True)
class LimitUse:
    """One limit: `whose` in words; `resource` as TRES write it, with SPENT or TO_GO behind it where its minutes count,
    or `jobs` (running), `submitted` (running or waiting), `minutes` (of run time).

    `scope` is whom it counts together: group, user, account, or each job or node by itself, where `used` is None.
    `planned`: what one more job may yet use counts; otherwise it may start as long as anything is left.
    """

    whose: str
    resource: str
    limit: int
    used: int | None = None
    scope: str = "group"
    planned: bool = True

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
        if self.resource == "jobs":
            verb, state = f"run {most} at a time", "running"
        elif self.resource == "submitted":
            verb, state = f"have {most} in the queue", "there"
        elif self.resource.endswith(TO_GO):
            verb, state = f"run jobs with at most {most}", "taken by running ones"
        elif self.resource == "minutes" or self.resource.endswith(SPENT):
            verb, state = f"use {most} in all", "used or set aside for running jobs" if self.planned else "used"
        else:
            verb, state = f"use {most} at a time", "in use"
        return f"{self.whose} may {verb}: {self.used} {state}, {self.left} left"


@dataclass(frozen=True, slots=True)
class Limits:
    """All that is known of the limits on one person. `memberships` and `rules` are None where slurmdbd was silent.

    What AccountingStorageEnforce asks for: `enforced` limits, a `known_account` and a `known_qos` of every job, and
    `safe` starts only, with minutes left up to the time limit.
    """

    user: str
    uid: int
    cluster: str
    enforced: bool
    state: AssocMgr
    memberships: tuple[Membership, ...] | None = None
    rules: Mapping[str, QosRule] | None = None
    known_account: bool = False
    known_qos: bool = False
    safe: bool = False

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
        of_qos = tuple(self._of_qos(qos or self.default_qos(account, partition), partition_qos, account))
        taken = {(use.scope, use.resource) for use in of_qos}
        # A limit on jobs of one account in a QOS overrides those of the association on jobs of one user too.
        taken |= {("user", resource) for scope, resource in taken if scope == "account" and resource in _JOBS}
        own = (use for use in self._of_associations(account, partition) if (use.scope, use.resource) not in taken)
        return (*own, *of_qos)

    def refusal(self, partition: str, account: str | None = None, qos: str | None = None) -> str:
        """Why no job of this account and QOS is taken there at all; empty where nothing is known against it."""
        if not self.known_account:
            return ""
        named = account or self.default_account()
        mine = {found.account for found in self._own() if found.user and found.partition in ("", partition)}
        if named not in mine:
            those = f": yours are {', '.join(sorted(mine))}" if mine else ""
            return f"You are no member of account {named}{those}." if named else f"Your jobs need an account{those}."
        places = ((named, ""), (named, partition))
        memberships = [found for found in self.memberships or () if (found.account, found.partition) in places]
        allowed = {name for found in memberships for name in found.qos}
        if self.known_qos and qos and allowed and qos not in allowed:
            return f"Account {named} does not let you use QOS {qos}, but {', '.join(sorted(allowed))}."
        return ""

    def hidden(self, account: str | None = None) -> str:
        """What the controller keeps from this person (PrivateData); empty where all limits of an account are known."""
        account = account or self.default_account()
        parents = {found.account: found.parent for found in self._own() if not found.user}
        seen: set[str] = set()
        if account not in self.accounts:
            return ""
        while self.enforced and account and account not in seen:
            if account not in parents:
                return f"What account {account} and those above it may use is hidden from you and not counted."
            seen.add(account)
            account = parents[account]
        return ""

    def _own(self) -> list[Association]:
        return [found for found in self.state.associations if found.cluster in ("", self.cluster)]

    def _of_associations(self, account: str, partition: str) -> Iterable[LimitUse]:
        own = [a for a in self._own() if a.user and a.account == account and a.partition in ("", partition)]
        own.sort(key=lambda association: association.partition == "")
        if own:
            mine = own[0]
            yield from self._group(mine.group, f"you in account {account}")
            yield from self._group(mine.own, f"you in account {account}", "user")
            yield from _per_job(mine, f"account {account}")
        above = {found.account: found for found in self._own() if not found.user}
        seen: set[str] = set()
        while account in above and account not in seen:
            seen.add(account)
            yield from self._group(above[account].group, f"account {account}")
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
        yield from self._group(qos.group, f"QOS {qos.name}")
        user = qos.by_user.get(self.user) or qos.by_user.get(str(self.uid)) or Counts()
        told = next(iter(qos.by_user.values()), Counts())
        counts = _with_limits(user, told, rule.per_user, rule.jobs_per_user)
        yield from self._group(counts, f"one user of QOS {qos.name}", "user")
        told = next(iter(qos.by_account.values()), Counts())
        counts = _with_limits(qos.by_account.get(account, Counts()), told, rule.per_account, rule.jobs_per_account)
        yield from self._group(counts, f"one account of QOS {qos.name}", "account")
        yield from _per_job(qos, f"QOS {qos.name}")

    def _group(self, counts: Counts, whose: str, scope: str = "group") -> Iterable[LimitUse]:
        """The limits of a group. Where only safe starts are allowed, minutes that running jobs may yet use are gone."""
        plain = (("jobs", counts.jobs), ("submitted", counts.submitted), *counts.tres.items())
        to_go = tuple((name + TO_GO, use) for name, use in counts.to_go.items())
        for resource, use in (*plain, *to_go):
            if use.limit is not None:
                yield LimitUse(whose, resource, use.limit, use.used or 0, scope)
        if counts.wall.limit is not None:
            yield LimitUse(whose, "minutes", counts.wall.limit, counts.wall.used or 0, scope, self.safe)
        for name, use in counts.spent.items():
            if use.limit is not None:
                running = counts.to_go.get(name, Use(None, None)).used or 0 if self.safe else 0
                yield LimitUse(whose, name + SPENT, use.limit, (use.used or 0) + running, scope, self.safe)


def _per_job(found: Association | Qos, whose: str) -> Iterable[LimitUse]:
    minutes = {name + SPENT: use for name, use in found.minutes_per_job.items()}
    for uses, scope in ((found.per_job, "job"), (minutes, "job"), (found.per_node, "node")):
        for resource, use in uses.items():
            if use.limit is not None:
                yield LimitUse(whose, resource, use.limit, None, scope)
    if found.wall is not None:
        yield LimitUse(whose, "minutes", found.wall, None, "job")


def _with_limits(counts: Counts, told: Counts, tres: Uses, jobs: int | None) -> Counts:
    """The use of one, with the limits that hold for all: as others' use tells them, or else slurmdbd."""
    most = counts.jobs.limit if counts.jobs.limit is not None else told.jobs.limit
    submitted = counts.submitted.limit if counts.submitted.limit is not None else told.submitted.limit
    return Counts(
        jobs=Use(jobs if most is None else most, counts.jobs.used or 0),
        submitted=Use(submitted, counts.submitted.used or 0),
        tres=_merged(counts.tres, told.tres, tres),
        to_go=_merged(counts.to_go, told.to_go, {}),
    )


def _merged(uses: Uses, told: Uses, ruled: Uses) -> dict[str, Use]:
    limits = {name: use.limit for found in (ruled, told, uses) for name, use in found.items() if use.limit is not None}
    return {name: Use(limit, uses[name].used if name in uses else 0) for name, limit in limits.items()}


def amount(resource: str, number: int) -> str:
    """`12 GPUs`, `4 a100 GPUs`, `64 CPUs`, `30 minutes`, `90 GPU minutes`, `90 GPU minutes to go`."""
    s = "" if number == 1 else "s"
    for suffix in (TO_GO, SPENT):
        if resource.endswith(suffix):
            what = amount(resource.removesuffix(suffix), 1).removeprefix("1 ")
            return f"{number} {what} minute{s}{suffix.removeprefix(' minutes')}"
    if resource.startswith("gres/gpu"):
        kind = resource.partition(":")[2]
        return f"{number} {kind + ' ' if kind else ''}GPU{s}"
    names = {"cpu": f"CPU{s}", "node": f"node{s}", "jobs": f"job{s}", "submitted": f"job{s}", "minutes": f"minute{s}",
             "mem": "MiB of memory"}  # fmt: skip
    return f"{number} {names.get(resource, resource)}"
