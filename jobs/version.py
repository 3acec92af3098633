"""The version of this program."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version() -> str:
    """The installed version; `unknown` in a checkout that was not installed."""
    try:
        return version("slurmconsole")
    except PackageNotFoundError:
        return "unknown"
