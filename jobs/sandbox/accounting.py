"""Accounting for a sandbox: slurmdbd on MariaDB, with accounts, QOS and limits to look at (slurmdbd.conf(5))."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Sequence

from jobs.sandbox import binaries
from jobs.sandbox.layout import Layout
from jobs.sandbox.place import Place

DATABASE, DBD = "mariadbd", "slurmdbd"
"""The roles of the two daemons, and their keys among the ports."""

ACCOUNTS = {"research": "GrpTRES=gres/gpu=12", "teaching": "GrpTRES=gres/gpu=4 MaxJobs=4"}
"""Account -> what limits it. The user of the sandbox is a member of both, of the first by default."""

QOS = {
    "normal": "MaxTRESPerUser=gres/gpu=8",
    "high": "Priority=1000 MaxJobsPerUser=1 MaxTRESPerJob=gres/gpu=4",
    "short": "Priority=100 MaxWall=00:30:00 GrpTRES=cpu=96",
}
"""QOS -> what limits it. The first is the default one."""


def user_name() -> str:
    """Who runs the sandbox."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def slurm_conf_lines(layout: Layout, place: Place, port: int) -> list[str]:
    """What slurm.conf says of accounting; GPUs are tracked by type, so that limits can name them.

    For slurmdbd behind munge, AccountingStoragePass is munge's socket (slurm.conf(5)).
    """
    return [
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={port}",
        f"AccountingStoragePass={place.munge_socket}",
        "AccountingStorageEnforce=associations,limits,qos",
        f"AccountingStorageTRES={','.join(tracked(layout))}",
    ]


def tracked(layout: Layout) -> list[str]:
    """The resources that accounting knows besides those that it always does."""
    return ["gres/gpu", *(f"gres/gpu:{group.gpu_type}" for group in layout.groups)]


def slurmdbd_conf(place: Place, host: str, port: int, database_port: int, password: str) -> str:
    """slurmdbd's configuration; a socket as StorageHost is not understood, hence a port."""
    lines = [
        f"DbdHost={host}",
        "DbdAddr=127.0.0.1",
        f"DbdPort={port}",
        f"SlurmUser={user_name()}",
        "AuthType=auth/munge",
        f"AuthInfo=socket={place.munge_socket}",
        f"LogFile={place.log(DBD)}",
        f"PidFile={place.run}/{DBD}.pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=127.0.0.1",
        f"StoragePort={database_port}",
        "StorageUser=slurm",
        f"StoragePass={password}",
        "StorageLoc=slurm_acct_db",
    ]
    return "\n".join(lines) + "\n"


def init_sql(password: str, root_password: str) -> str:
    """What MariaDB does at each start: the one database, its one user, and a root that nobody knows."""
    return (
        "CREATE DATABASE IF NOT EXISTS slurm_acct_db;\n"
        f"CREATE OR REPLACE USER 'slurm'@'127.0.0.1' IDENTIFIED BY '{password}';\n"
        "GRANT ALL ON slurm_acct_db.* TO 'slurm'@'127.0.0.1';\n"
        f"ALTER USER 'root'@'localhost' IDENTIFIED BY '{root_password}';\n"
    )


def database_conf(place: Place, port: int) -> str:
    """MariaDB on the loopback address; what is lost in a crash of the machine does not matter."""
    lines = [
        "[mariadbd]",
        f"port={port}",
        "bind-address=127.0.0.1",
        f"init-file={place.init_sql}",
        f"socket={place.run}/db.socket",
        f"pid-file={place.run}/{DATABASE}.pid",
        "skip-name-resolve",
        "innodb-buffer-pool-size=64M",
        "innodb-log-file-size=16M",
        "innodb-flush-log-at-trx-commit=0",
    ]
    return "\n".join(lines) + "\n"


def install_argv(place: Place) -> list[str]:
    """Make an empty database."""
    options = ["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]
    return [binaries.find("mariadb-install-db"), *options, f"--datadir={place.database}", *_as_user()]


def database_argv(place: Place) -> list[str]:
    """Serve the database."""
    conf = f"--defaults-file={place.database_conf}"
    return [binaries.find(DATABASE), conf, f"--datadir={place.database}", *_as_user()]


def database_answers(place: Place) -> bool:
    """Whether the database greets, which it does once it has carried out its first commands."""
    text = place.database_conf.read_text(encoding="utf-8")
    port = next(int(line.partition("=")[2]) for line in text.splitlines() if line.startswith("port="))
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
            return bool(connection.recv(1))
    except OSError:
        return False


def _as_user() -> list[str]:
    """MariaDB runs as root only if it is told so."""
    return ["--user=root"] if os.geteuid() == 0 else []


def registrations() -> list[Sequence[str]]:
    """sacctmgr's arguments before the controller starts; what exists already is left alone."""
    who = user_name()
    accounts = [("add", "account", name, f"Description={name}", "Organization=sandbox") for name in ACCOUNTS]
    first, *others = ACCOUNTS
    return [
        ("add", "cluster", "sandbox"),
        *(("add", "qos", name) for name in QOS),
        *accounts,
        ("add", "user", who, f"Account={first}", f"DefaultAccount={first}"),
        *(("add", "user", who, f"Account={name}") for name in others),
    ]


def limitations() -> list[Sequence[str]]:
    """sacctmgr's arguments once the controller has registered its TRES: limits cannot name others."""
    allowed = ("set", f"QOS={','.join(QOS)}", f"DefaultQOS={next(iter(QOS))}")
    return [
        *(("modify", "qos", name, "set", *limits.split()) for name, limits in QOS.items()),
        *(("modify", "account", name, *allowed, *limits.split()) for name, limits in ACCOUNTS.items()),
    ]
