"""The process group: meet at the store, name who is missing, start the backend, leave without gloo's abort at exit."""

from __future__ import annotations

import gc
import inspect
import os
import signal
import socket
import time
from datetime import timedelta
from typing import Any, Callable

import torch.distributed as dist

from payload.env import Launch, is_loopback
from payload.faults import COLLECTIVE, INIT_TIMEOUT, LAUNCH, Fault

POLL_S = 0.1
Interrupted = Callable[[], int]  # the number of a signal that arrived, or 0


def join(
    launch: Launch, device: Any, backend: str, init_timeout: float, train_timeout: float, interrupted: Interrupted
) -> None:
    """Start the process group once all ranks are there; afterwards every collective has `train_timeout` seconds.

    Raises Fault: LAUNCH for a wrong address or a taken port, INIT_TIMEOUT if ranks are missing after `init_timeout` s.
    """
    if backend == "gloo" and is_loopback(launch.master_addr):
        # gloo binds to what the host's own name resolves to, which on one machine may be nothing.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    deadline = Deadline(init_timeout, interrupted)
    if launch.world_size == 1:
        store = dist.HashStore()
    else:
        store = dist.PrefixStore(launch.run, open_store(launch, deadline))
        gather_ranks(store, launch, deadline)
    options: dict[str, Any] = {}
    if backend == "nccl" and "device_id" in inspect.signature(dist.init_process_group).parameters:
        options["device_id"] = device  # since torch 2.3
    try:
        dist.init_process_group(
            backend,
            store=dist.PrefixStore("group", store),
            rank=launch.rank,
            world_size=launch.world_size,
            timeout=timedelta(seconds=train_timeout),
            **options,
        )
    except RuntimeError as error:
        raise Fault(
            INIT_TIMEOUT,
            f"all {launch.world_size} ranks arrived but {backend} could not connect them ({first_line(error)}): "
            "check the "
            "network between the nodes, and name its interface in GLOO_SOCKET_IFNAME or NCCL_SOCKET_IFNAME",
        ) from error


def leave() -> None:
    """End the process group cleanly; with a DDP model still alive gloo may abort at exit (pytorch issue 190489)."""
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()


def collective_fault(error: RuntimeError) -> Fault:
    """The fault for an exception of a collective; an exception of any other origin is raised again."""
    text = str(error).lower()
    if isinstance(error, dist.DistBackendError) or "gloo" in text or "connection closed by peer" in text:
        return Fault(
            COLLECTIVE,
            f"a collective failed ({first_line(error)}): another rank died or is stuck, so look for the first "
            "error in the "
            "log",
        )
    raise error


def first_line(error: BaseException) -> str:
    """The first line of an exception's message, short enough for a sentence."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:160]


class Deadline:
    """Seconds left of a time-out; a signal ends the wait at once."""

    def __init__(self, seconds: float, interrupted: Interrupted) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds
        self._interrupted = interrupted

    def left(self) -> float:
        """Seconds left, at least 0. Raises Fault(128 + n) if signal n arrived."""
        signum = self._interrupted()
        if signum:
            raise Fault(
                128 + signum,
                f"stopped by {signal.Signals(signum).name} while waiting for the other ranks: if a task failed "
                "before, its message says why",
            )
        return max(0.0, self._end - time.monotonic())


def open_store(launch: Launch, deadline: Deadline) -> Any:
    """The TCP store at MASTER_ADDR:MASTER_PORT: served by rank 0 (or torchrun's agent), reached by the others."""
    serves = launch.rank == 0 and not launch.agent_store
    resolve(launch.master_addr)
    if serves:
        refuse_taken_port(launch.master_port)
    else:
        wait_for_server(launch, deadline)
    try:
        return dist.TCPStore(
            launch.master_addr,
            launch.master_port,
            launch.world_size,
            serves,
            timeout=timedelta(seconds=max(1.0, deadline.left())),
            wait_for_workers=False,
        )
    except RuntimeError as error:
        where = f"{launch.master_addr}:{launch.master_port}"
        raise Fault(
            LAUNCH,
            f"rank {launch.rank} cannot use the rendezvous at {where} ({first_line(error)}): check MASTER_ADDR and "
            "MASTER_PORT",
        ) from error


def resolve(address: str) -> None:
    """Fault(LAUNCH) if the address has no IP number here."""
    try:
        socket.getaddrinfo(address, None)
    except OSError:
        raise Fault(
            LAUNCH,
            f"MASTER_ADDR {address!r} does not resolve on {socket.gethostname()}: export MASTER_ADDR with the "
            "IP address of the first node",
        ) from None


def refuse_taken_port(port: int) -> None:
    """Fault(LAUNCH) if another process listens on the port, before torch prints pages about it."""
    try:
        socket.create_server(("", port)).close()
    except OSError as error:
        raise Fault(
            LAUNCH,
            f"port {port} on {socket.gethostname()} cannot be opened ({os.strerror(error.errno or 0)}): if another job "
            "uses it, choose another MASTER_PORT; if several tasks of this job say they are rank 0, RANK was exported "
            "in the batch script",
        ) from None


def wait_for_server(launch: Launch, deadline: Deadline) -> None:
    """Return once something listens at the rendezvous address."""
    while True:
        try:
            socket.create_connection((launch.master_addr, launch.master_port), timeout=2).close()
            return
        except OSError as error:
            if deadline.left() == 0:
                where = f"{launch.master_addr}:{launch.master_port}"
                raise Fault(
                    INIT_TIMEOUT,
                    f"rank {launch.rank} could not reach rank 0 at {where} within {deadline.seconds:.0f} s "
                    f"({error}): did rank 0 start, "
                    "is MASTER_ADDR its node, and may nodes connect to this port?",
                ) from None
        time.sleep(POLL_S)


def gather_ranks(store: Any, launch: Launch, deadline: Deadline) -> None:
    """Return on every rank once all have signed in; else Fault(INIT_TIMEOUT) that names the missing ranks.

    Counters only: reading is `add(key, 0)`, since torch 2.1 has no `check` on a PrefixStore.
    """
    try:
        if store.add(f"rank/{launch.rank}", 1) > 1:
            raise Fault(
                LAUNCH,
                f"two tasks say that they are rank {launch.rank}: RANK must be read inside each task, not exported in "
                "the batch script, and a second job must use another MASTER_PORT",
            )
        arrived = store.add("arrived", 1)
        while arrived < launch.world_size:
            if deadline.left() == 0:
                missing = [rank for rank in range(launch.world_size) if store.add(f"rank/{rank}", 0) == 0]
                raise Fault(
                    INIT_TIMEOUT,
                    f"{arrived} of {launch.world_size} ranks joined within {deadline.seconds:.0f} s; missing: "
                    f"{shorten(missing)}; look for their errors in the log, or for nodes that started late",
                )
            time.sleep(POLL_S)
            arrived = store.add("arrived", 0)
    except RuntimeError as error:
        raise Fault(
            INIT_TIMEOUT,
            f"rank 0 went away before all ranks had joined ({first_line(error)}): its own message says why",
        ) from error


def shorten(ranks: list[int]) -> str:
    """At most 16 ranks by number, the rest as a count."""
    more = f" and {len(ranks) - 16} more" if len(ranks) > 16 else ""
    return "rank " + ", ".join(str(rank) for rank in ranks[:16]) + more
