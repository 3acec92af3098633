"""The error that means: what the person gave is wrong."""

from __future__ import annotations


class UsageError(Exception):
    """Wrong usage: an option, a spec or the settings. The message is one sentence for people."""
