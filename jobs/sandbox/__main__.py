"""`slurmconsole sandbox start|stop|status|env`, also as `python -m jobs.sandbox`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from jobs.sandbox.control import Status, environment, start, status, stop
from jobs.sandbox.errors import SandboxError
from jobs.sandbox.layout import Layout


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand. Exit codes: 0 done, 1 no, 2 wrong options, 3 Slurm is not installed."""
    options = build_parser().parse_args(argv)
    try:
        return _run(options)
    except SandboxError as error:
        print(f"slurmconsole sandbox: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130


def build_parser() -> argparse.ArgumentParser:
    """The options of all four subcommands."""
    parser = argparse.ArgumentParser(prog="slurmconsole sandbox", description=__doc__)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--directory", type=Path, help="where the sandbox lives (default: in the XDG state home)")
    commands = parser.add_subparsers(dest="command", required=True)
    begin = commands.add_parser("start", parents=[common], help="start it, or repair what is broken of it")
    begin.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="TYPE=NODESxGPUS",
        help="GPU nodes, such as a100=4x4 for 4 nodes of 4 a100 each; once per type (default: a100=4x4 h100=2x8)",
    )
    begin.add_argument("--cpu-nodes", type=int, metavar="N", help="nodes without GPUs (default: 2)")
    begin.add_argument("--accounting", action="store_true", help="with slurmdbd, accounts, QOS and limits")
    commands.add_parser("stop", parents=[common], help="cancel its jobs and end every process of it")
    ask = commands.add_parser("status", parents=[common], help="say what runs; exit code 1 where not all of it does")
    ask.add_argument("--json", action="store_true", help="the answer as JSON")
    commands.add_parser("env", parents=[common], help='print what to export: eval "$(slurmconsole sandbox env)"')
    return parser


def _run(options: argparse.Namespace) -> int:
    if options.command == "start":
        given = options.group or options.cpu_nodes is not None or options.accounting
        layout = Layout.from_options(options.group, options.cpu_nodes, options.accounting) if given else None
        _report(start(layout, options.directory, _say), options.directory)
        return 0
    if options.command == "stop":
        _report(stop(options.directory, _say))
        return 0
    found = status(options.directory)
    if options.command == "status":
        print(json.dumps(found.to_dict(), indent=2)) if options.json else _report(found, options.directory)
        return 0 if found.running else 1
    if not found.running:
        raise SandboxError(found.message)
    for name, value in environment(options.directory).items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


def _report(found: Status, directory: Path | None = None) -> None:
    print(found.message)
    if found.pids and not found.missing:
        named = f" --directory {shlex.quote(str(directory))}" if directory else ""
        print(f'SLURM_CONF={found.conf}\nTo use it in this shell: eval "$(slurmconsole sandbox env{named})"')


if __name__ == "__main__":
    sys.exit(main())
