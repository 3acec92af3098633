"""The command `slurmconsole`: parses arguments and calls one function per subcommand; imports the app late."""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from jobs.version import installed_version

EPILOG = """\
Without a subcommand the console opens. Exit codes: 0 yes or done, 1 no, 2 wrong usage, 3 Slurm cannot be asked.
"""
UNREACHABLE = 3


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; every failure is one sentence on standard error and an exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    plain = [word for word in arguments if word != "--no-color"]
    if plain[:1] == ["sandbox"]:
        return _sandbox(plain[1:])
    args = _parser().parse_args(arguments)
    args.color = not args.no_color and "NO_COLOR" not in os.environ
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        code = _run(args)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is left to say.
        _discard_output()
        return 0
    except OSError as error:
        print(f"slurmconsole: {error.strerror or error}.", file=sys.stderr)
        _discard_output()
        return 1


def _open_closed_streams() -> None:
    """Python has no stream object where the shell closed one (`>&-`)."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))


def _run(args: argparse.Namespace) -> int:
    from console.replaying import runner_for
    from console.tables import complain
    from jobs.errors import UsageError
    from jobs.logs.opening import LogProblem
    from jobs.slurm.run import SlurmError

    module, _, function = (args.function or "console.start:console").partition(":")
    try:
        with runner_for(args.replay) as args.runner:
            code = getattr(importlib.import_module(module), function)(args)
    except SlurmError as error:
        complain(str(error))
        return UNREACHABLE
    except LogProblem as error:
        complain(str(error))
        return 1
    except UsageError as error:
        complain(str(error))
        return 2
    assert isinstance(code, int)
    return code


def _discard_output() -> None:
    """What is still buffered cannot be written either, and Python would complain about it when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sandbox(arguments: list[str]) -> int:
    from jobs.sandbox.__main__ import main as sandbox_main

    try:
        return sandbox_main(arguments)
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="slurmconsole", description="Find GPUs on a Slurm cluster, launch PyTorch DDP jobs, watch them train.",
        epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"slurmconsole {installed_version()}")
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings file (TOML)")
    parser.add_argument("--read-only", action="store_true", help="refuse to submit or change anything")
    parser.add_argument("--no-color", action="store_true", help="no colours in plain output")
    parser.add_argument("--replay", metavar="FILE", help="answer from a recording; the word messy needs no file")
    parser.set_defaults(function="", json=False)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, function: str, help: str, *, json: bool = True) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
        command.set_defaults(function=function)
        if json:
            command.add_argument("--json", action="store_true", help="JSON on standard output")
        return command

    add("gpus", "console.commands.read:gpus", "GPUs by type: how many a job could have at this moment")
    add("partitions", "console.commands.read:partitions", "partitions with their GPUs, nodes, jobs and limits")
    add("nodes", "console.commands.read:nodes", "nodes and what is used of each")
    fit = add("fit", "console.commands.fit:fit", "whether a job's shape starts at this moment, where, and if not, why")
    fit.add_argument("-N", "--nodes", type=int, default=1, metavar="NODES")
    fit.add_argument("--gpus-per-node", type=int, default=0, metavar="G")
    fit.add_argument("--gpu-type", metavar="TYPE")
    fit.add_argument("--ntasks-per-node", type=int, metavar="K", help="tasks on each node (default: one per GPU)")
    fit.add_argument("-c", "--cpus-per-task", type=int, metavar="CPUS")
    fit.add_argument("--mem", metavar="MEM", help="memory per node, such as 64G")
    fit.add_argument("-t", "--time", metavar="TIME", help="time limit as sbatch takes it")
    fit.add_argument("-p", "--partition", metavar="PARTITION", help="this partition only")
    fit.add_argument("-A", "--account", metavar="ACCOUNT", help="account whose limits count (default: yours)")
    fit.add_argument("-q", "--qos", metavar="QOS", help="QOS whose limits count (default: that of the account)")
    fit.add_argument("--no-ask", action="store_true", help="do not ask the controller for its estimate")
    jobs = add("jobs", "console.commands.read:jobs", "the queue: your jobs, or everyone's")
    whose = jobs.add_mutually_exclusive_group()
    whose.add_argument("--me", action="store_true", help="your jobs (the default)")
    whose.add_argument("--all", action="store_true", help="everyone's jobs")
    job = add("job", "console.commands.read:job", "one job: state, reason, log, progress")
    job.add_argument("id", metavar="ID")

    new = add("new", "console.start:wizard", "open the console in the wizard", json=False)
    new.add_argument("spec", nargs="?", type=Path, metavar="SPEC.toml", help="start from this spec")
    add("example", "console.commands.build:example", "a spec for this cluster, to edit and submit", json=False)
    render = add("render", "console.commands.build:render", "the batch script of a spec", json=False)
    render.add_argument("spec", type=Path, metavar="SPEC.toml")
    submit = add("submit", "console.commands.build:send", "submit a spec with sbatch")
    submit.add_argument("spec", type=Path, metavar="SPEC.toml")
    submit.add_argument("--test-only", action="store_true", help="ask when it would start; submit nothing")
    logs = add("logs", "console.commands.watch:logs", "print a job's log", json=False)
    logs.add_argument("job", metavar="ID")
    logs.add_argument("-f", "--follow", action="store_true", help="until the job ends; 0 only if it COMPLETED")
    progress = add("progress", "console.commands.watch:progress", "how far a job is, read from its log")
    progress.add_argument("job", metavar="ID|FILE")
    record = add("record", "console.commands.record:record_to", "keep what Slurm answers in a file", json=False)
    record.add_argument("file", type=Path, metavar="FILE", help="compressed if its name ends in .gz")
    record.add_argument("--anonymize", action="store_true", help="other names for people, nodes, jobs and paths")
    commands.add_parser("sandbox", help="a private Slurm on this machine: start, stop, status, env")
    return parser


if __name__ == "__main__":
    sys.exit(main())
