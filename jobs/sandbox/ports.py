"""Free TCP ports for the daemons of one sandbox."""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Iterable

from jobs.sandbox.errors import SandboxError

# Below Linux's default range for outgoing connections (32768 on), which would take a port between two starts.
_RANGE = range(20000, 32000)


def free_ports(names: Iterable[str]) -> dict[str, int]:
    """One free loopback port for each name, all different. Two sandboxes that start at once choose at random."""
    wanted = list(names)
    ports: dict[str, int] = {}
    with contextlib.ExitStack() as stack:
        for port in random.sample(_RANGE, len(_RANGE)):
            if len(ports) == len(wanted):
                break
            probe = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            with contextlib.suppress(OSError):
                probe.bind(("", port))
                ports[wanted[len(ports)]] = port
    if len(ports) < len(wanted):
        raise SandboxError(f"No {len(wanted)} free ports from {_RANGE.start} to {_RANGE.stop}.")
    return ports
