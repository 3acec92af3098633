"""Exit codes of the trainer, and the one exception that ends it with a sentence for people."""

from __future__ import annotations

DONE = 0
BUG = 1  # an exception that nobody foresaw: the traceback is on stderr
USAGE = 2
LAUNCH = 3  # launch environment wrong: ranks, device, address or port
INIT_TIMEOUT = 4
NONFINITE = 10
COLLECTIVE = 11  # a collective timed out, or a peer went away
OUT_OF_MEMORY = 14
STOPPED = 75  # EX_TEMPFAIL: stopped by a signal at an agreed step


class Fault(Exception):
    """Ends the run with `code`; the message is one sentence that says what to change."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
