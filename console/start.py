"""Open the console on this terminal."""

from __future__ import annotations

import argparse
import os
import sys

from console.commands.common import NO, OK, USAGE
from console.settings import load_settings
from console.tables import complain


def console(args: argparse.Namespace) -> int:
    """The console in its first mode. Raises SettingsError."""
    return _open(args, "overview")


def wizard(args: argparse.Namespace) -> int:
    """The console in the wizard, from a spec if one is named. Raises SpecError."""
    return _open(args, "new")


def _open(args: argparse.Namespace, mode: str) -> int:
    settings = load_settings(args.config, read_only=args.read_only or args.runner.replay_of is not None)
    spec = None
    if getattr(args, "spec", None) is not None:
        from jobs.spec import load

        spec = load(args.spec)
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        complain("the console needs a terminal; the commands gpus, partitions, nodes, jobs and job do not.")
        return USAGE
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        complain("this terminal can show plain text only; use gpus, partitions, nodes, jobs and job.")
        return USAGE
    from console.app import SlurmConsole

    app = SlurmConsole(settings, runner=args.runner, start_mode=mode, spec=spec)
    app.run()
    return OK if not app.return_code else NO
