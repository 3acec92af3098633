"""Trains a model with DistributedDataParallel: `srun python -u -m payload.train`, or the same under torchrun.

The loop is `train`. Exit codes are in payload/faults.py.
"""

from __future__ import annotations

import argparse
import math
import os
import socket
import sys
import traceback
from typing import Any, NoReturn, Optional

import torch
from torch.nn.parallel import DistributedDataParallel

from payload import dist, faults
from payload.data import Synthetic
from payload.device import choose_device, slurm_granted_gpus
from payload.env import Launch, rank_hint, read_launch, run_id
from payload.faults import Fault
from payload.model import MODELS
from payload.progress import Heartbeat, Progress
from payload.sc1 import Writer
from payload.stop import StopFlag, Sync


def train(args: argparse.Namespace, launch: Launch, device: Any, progress: Progress, stop: StopFlag) -> int:
    """The training loop: returns DONE after --steps steps, or STOPPED at the step that all ranks agreed on."""
    torch.manual_seed(args.seed)
    model = MODELS[args.model]().to(device)
    ddp = DistributedDataParallel(model, gradient_as_bucket_view=True, static_graph=True)
    optimizer = torch.optim.AdamW(ddp.parameters(), lr=args.lr, fused=device.type == "cuda")
    data = Synthetic(args.model, args.seed, args.batch)
    sync = Sync(launch.rank, launch.world_size, args.steps)
    say_hello(args, launch, model, progress)
    progress.start()

    for step in range(1, args.steps + 1):
        inputs, targets = data.batch(step, launch.rank, launch.world_size)
        loss = ddp(inputs.to(device), targets.to(device))
        optimizer.zero_grad()
        loss.backward()
        grad_norm = torch.nn.utils.clip_grad_norm_(ddp.parameters(), 1.0)
        optimizer.step()

        if sync.due(step):
            mean_loss, stopping = sync.exchange(step, loss, stop.signum != 0)
            progress.step(step, loss=mean_loss, lr=args.lr, gn=float(grad_norm))
            if not math.isfinite(mean_loss):
                raise Fault(faults.NONFINITE, f"the loss is {mean_loss} at step {step}: lower --lr, or check the data")
            if stopping and step < args.steps:
                return faults.STOPPED
    return faults.DONE


def say_hello(args: argparse.Namespace, launch: Launch, model: Any, progress: Progress) -> None:
    """The record that tells a reader how to understand the others."""
    progress.hello(
        total=args.steps,
        unit=model.unit,
        per_step=args.batch * launch.world_size * model.units_per_sample,
        world=launch.world_size,
        nodes=launch.nodes,
        launcher=launch.launcher,
        backend=torch.distributed.get_backend(),
        model=args.model,
        params=sum(parameter.numel() for parameter in model.parameters()),
        torch=torch.__version__,
    )


def run(args: argparse.Namespace, launch: Launch, progress: Progress, stop: StopFlag) -> int:
    """From the launch to the exit code: device, process group, training, leaving. Raises Fault."""
    visible = torch.cuda.device_count() if args.device != "cpu" else 0
    device = torch.device(choose_device(args.device, visible, launch, slurm_granted_gpus(os.environ)))
    backend = args.backend if args.backend != "auto" else "nccl" if device.type == "cuda" else "gloo"
    if backend == "nccl" and device.type == "cpu":
        raise Fault(
            faults.LAUNCH, "--backend nccl needs GPUs, but the device is the CPU: use --backend gloo or --device cuda"
        )
    if device.type == "cuda":
        torch.cuda.set_device(device)
    elif "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)
    progress.rank(host=socket.gethostname(), local=launch.local_rank, device=str(device), visible=visible)
    progress.phase("init")
    dist.join(launch, device, backend, args.init_timeout, args.train_timeout, lambda: stop.signum)
    stop.install()
    try:
        code = train(args, launch, device, progress, stop)
        if stop.signum:
            progress.signal(stop.name)
        dist.leave()
    except torch.cuda.OutOfMemoryError as error:
        raise Fault(faults.OUT_OF_MEMORY, f"out of device memory ({dist.first_line(error)}): lower --batch") from error
    except RuntimeError as error:
        raise dist.collective_fault(error) from error
    return code


class Parser(argparse.ArgumentParser):
    """Bad flags are a Fault like any other, so that the log gets its `end` record."""

    def error(self, message: str) -> NoReturn:
        raise Fault(faults.USAGE, f"{message} (see --help)")


def parse(argv: Optional[list[str]]) -> argparse.Namespace:
    """The flags. Raises Fault(USAGE)."""
    parser = Parser(prog="payload.train", description="Train a model with DistributedDataParallel.")
    parser.add_argument("--model", choices=sorted(MODELS), default="gpt-tiny")
    parser.add_argument("--steps", type=positive(int), default=300, help="optimizer steps (default: 300)")
    parser.add_argument("--batch", type=positive(int), default=4, help="samples per rank and step (default: 4)")
    parser.add_argument("--lr", type=positive(float), default=3e-4, help="learning rate of AdamW (default: 0.0003)")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and the data (default: 1)")
    parser.add_argument("--device", choices=["auto", "cpu", "cuda"], default="auto")
    parser.add_argument(
        "--backend", choices=["auto", "nccl", "gloo"], default="auto", help="auto: nccl on GPUs, gloo on CPUs"
    )
    parser.add_argument(
        "--report", type=positive(float), metavar="SECONDS", help="between step lines (default: 0.5, later 1 and 5)"
    )
    parser.add_argument(
        "--init-timeout",
        type=positive(float),
        default=300.0,
        metavar="SECONDS",
        help="for all ranks to arrive (default: 300)",
    )
    parser.add_argument(
        "--train-timeout",
        type=positive(float),
        default=100.0,
        metavar="SECONDS",
        help="of one collective (default: 100)",
    )
    return parser.parse_args(argv)


def positive(kind: Any) -> Any:
    """An argparse type: a number above 0."""

    def number(text: str) -> Any:
        value = kind(text)
        if not 0 < value < float("inf"):
            raise ValueError
        return value

    number.__name__ = f"positive {kind.__name__}"
    return number


def main(argv: Optional[list[str]] = None) -> int:
    """Run and return the exit code. Rank 0 always writes an `end` record; errors are one sentence on stderr."""
    progress = Progress(Writer(run_id(os.environ), rank_hint(os.environ)))
    stop = StopFlag()
    stop.install()
    try:
        args = parse(argv)
        launch = read_launch(os.environ, socket.gethostname())
        progress = Progress(Writer(launch.run, launch.rank), args.report)
        with Heartbeat(progress, launch.world_size):
            code = run(args, launch, progress, stop)
        progress.end("stopped" if code == faults.STOPPED else "done", code)
    except Fault as fault:
        code = fault.code
        print(f"rank {rank_hint(os.environ)}: {fault}", file=sys.stderr)
        progress.end("fault", code, str(fault))
    except KeyboardInterrupt:
        code = 130
        progress.end("interrupted", code)
    except Exception as error:
        code = faults.BUG
        traceback.print_exc()
        progress.end("error", code, dist.first_line(error))
    return code


if __name__ == "__main__":
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Interpreter shutdown with a live process group can hang or abort, and would change the exit code.
    os._exit(exit_code)
