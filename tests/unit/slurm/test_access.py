"""Who may use a partition or a reservation, and how that changes what is counted."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta, timezone

import pytest
from slurm_text import node, partition

from jobs.slurm.access import Viewer, access, may_use
from jobs.slurm.availability import availability
from jobs.slurm.parse import parse_reservations
from jobs.slurm.records import Partition, Reservation
from jobs.slurm.snapshot import EMPTY, Part, Snapshot

ALICE = Viewer("alice", 1000, frozenset({"users", "ml"}), accounts=frozenset({"lab"}))
NOW = datetime.now(timezone.utc)

RESERVATIONS = """\
ReservationName=maint StartTime=2026-12-01T06:27:30 EndTime=2026-12-01T08:27:30 Duration=02:00:00
   Nodes=gpu[01-02] NodeCnt=2 CoreCnt=128 Features=(null) PartitionName=(null) Flags=MAINT,IGNORE_JOBS,SPEC_NODES
   TRES=cpu=128
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

ReservationName=course StartTime=1796103000 EndTime=1796113000 Duration=02:46:40
   Nodes=gpu03 NodeCnt=1 CoreCnt=64 Features=(null) PartitionName=a100 Flags=FLEX
   TRES=cpu=64
   Users=-mallory Groups=(null) Accounts=teach,lab Licenses=(null) State=ACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)
"""


@pytest.mark.parametrize(("fields", "allowed"), [
    ({}, True),
    ({"AllowGroups": "ml,staff"}, True), ({"AllowGroups": "staff"}, False),
    ({"AllowAccounts": "lab,other"}, True), ({"AllowAccounts": "other"}, False),
    ({"DenyAccounts": "other"}, True), ({"DenyAccounts": "lab"}, False),
    ({"AllowQos": "gpu"}, None), ({"RootOnly": "YES"}, False), ({"ReqResv": "YES"}, False),
    ({"AllowGroups": "staff", "AllowQos": "gpu"}, False),
])  # fmt: skip
def test_access_follows_the_partitions_lists_and_unknown_is_none(fields: dict[str, str], allowed: bool | None) -> None:
    verdict = access(partition("p", **fields), ALICE)
    assert verdict.allowed is allowed
    assert (verdict.why == "") is (allowed is True)


def test_root_passes_the_groups_as_slurmctld_lets_it() -> None:
    assert access(partition("p", AllowGroups="staff"), Viewer("root", 0, frozenset())).allowed is True


def test_reservations_are_read_with_their_people() -> None:
    (maint, course), skipped = parse_reservations(RESERVATIONS)
    assert skipped == 0
    assert (maint.name, maint.node_list, maint.users, "MAINT" in maint.flags) == (
        "maint",
        "gpu[01-02]",
        ("root",),
        True,
    )
    assert course.start == datetime.fromtimestamp(1796103000, timezone.utc)
    assert course.accounts == ("teach", "lab")
    assert parse_reservations("No reservations in the system\n") == ((), 0)


@pytest.mark.parametrize(("users", "accounts", "mine"), [
    (("alice",), (), True), (("bob",), (), False), (("-alice",), (), False), (("-bob",), (), True),
    ((), ("lab",), True), ((), ("-lab",), False), ((), (), False),
])  # fmt: skip
def test_a_reservation_is_for_its_users_and_accounts(
    users: tuple[str, ...], accounts: tuple[str, ...], mine: bool
) -> None:
    kept = Reservation("r", NOW, NOW, "n1", frozenset(), users, (), accounts)
    assert may_use(kept, ALICE) is mine


def picture(*partitions: Partition, reservations: tuple[Reservation, ...] = ()) -> Snapshot:
    nodes = (node("n1", Partitions="main,side"), node("n2", Partitions="side"))
    return dataclasses.replace(
        EMPTY, nodes=Part(nodes), partitions=Part(partitions), reservations=Part(reservations), viewer=ALICE
    )


def test_gpus_behind_closed_doors_are_no_access() -> None:
    (count,) = availability(picture(partition("main"), partition("side", AllowGroups="staff"))).gpu_types
    assert (count.usable, count.unavailable) == (4, {"no access": 4})


@pytest.mark.parametrize(("users", "flags", "cause"), [
    (("bob",), "SPEC_NODES", "reserved"), (("alice",), "SPEC_NODES", "in your reservation"),
    (("alice",), "MAINT", "maintenance"),
])  # fmt: skip
def test_a_running_reservation_takes_its_nodes(users: tuple[str, ...], flags: str, cause: str) -> None:
    hour = timedelta(hours=1)
    kept = Reservation("r", NOW - hour, NOW + hour, "n2", frozenset({flags}), users, (), ())
    past = dataclasses.replace(kept, start=NOW - 3 * hour, end=NOW - 2 * hour, node_list="n1")
    (count,) = availability(picture(partition("main"), partition("side"), reservations=(kept, past))).gpu_types
    assert (count.usable, count.unavailable) == (4, {cause: 4})
