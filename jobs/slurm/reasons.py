"""Why a job is pending, in plain words. The words are Slurm's own (squeue's man page, JOB REASON CODES)."""

from __future__ import annotations

import re
from dataclasses import replace

from jobs.slurm.reason_limits import limit
from jobs.slurm.reason_words import WORDS, Explanation, Kind

__all__ = ["Explanation", "Kind", "explain", "understand"]

_STAFF = "Ask the cluster's staff."
_LOOK = "Look at the node and the job's paths, then: scontrol release ID."

# Free texts of slurmctld, where a blank may be an underscore (scontrol). A group is kept as Slurm says it.
_TEXTS: tuple[tuple[str, Explanation], ...] = (
    (
        r"ReqNodeNotAvail, *UnavailableNodes:(.+)",
        Explanation(
            "Nodes that it asked for or could use are down, drained or do not answer: {0}.",
            "Wait for them; if you named nodes (-w), name others or none.",
            "waiting",
            "ReqNodeNotAvail",
        ),
    ),
    (
        r"ReqNodeNotAvail, *May be reserved for other job",
        Explanation(
            "Nodes that it asked for or could use are taken, or kept for another job or a reservation.",
            "Wait, or take a shorter time limit; scontrol show reservation lists what is reserved.",
            "waiting",
        ),
    ),
    (
        r"ReqNodeNotAvail, *Reserved for maintenance",
        Explanation(
            "Its nodes are reserved for a maintenance that it would run into.",
            "Take a time limit that ends before the maintenance, or wait; scontrol show reservation tells its time.",
            "waiting",
        ),
    ),
    (
        r"Nodes required for job are DOWN, DRAINED(?:, REBOOTING)? or reserved for jobs in higher priority partitions",
        Explanation(
            "The nodes that could run it are down, drained or kept for jobs in higher partitions.",
            "Wait, or choose another partition; sinfo -R tells why nodes are down.",
            "waiting",
        ),
    ),
    (
        r"launch failed requeued held|launch failure limit exceeded requeued held",
        Explanation("Its launch failed and it is held: look at the node, then release it.", _LOOK, "held"),
    ),
    (
        r"user env retrieval failed requeued held",
        Explanation(
            "Its user's environment could not be read on the node (--get-user-env), so Slurm holds it.", _LOOK, "held"
        ),
    ),
    (
        r"job requeued in held state|job requeued in special exit state",
        Explanation("It was put back into the queue and is held.", "Release it: scontrol release ID.", "held"),
    ),
    (
        r"Reservation (.+) was deleted",
        replace(WORDS["ReservationDeleted"], text="Its reservation {0} was deleted, so Slurm holds it."),
    ),
    (
        r"Reservation (.+) is invalid",
        replace(WORDS["ReservationInvalid"], text="It may not use the reservation {0}, so Slurm holds it."),
    ),
    (
        r"Reservation (.+), which this job was running under, has ended",
        Explanation("Its reservation {0} ended, and the job with it.", "Submit it again.", "broken"),
    ),
    (
        r"License request '(.+)' is no longer valid, holding job",
        Explanation(
            "The cluster does not have the licences {0} any more, so Slurm holds it.",
            "Ask for other licences (scontrol update JobId=ID Licenses=), then for its release.",
            "held",
        ),
    ),
    (
        r"(?:uid \d+ )?not in group permitted to use this partition \((.+)\)\. groups allowed: (.+)",
        Explanation(
            "Its user is in no group that may use the partition {0}; these may: {1}.",
            "Choose another partition.",
            "never",
        ),
    ),
    (
        r"Job's (QOS|account) not (?:permitted to use|known, so it can't use) this partition \((.+)\)",
        Explanation(
            "Its {0} may not be used in this partition: {1}.", "Choose another {0} or another partition.", "never"
        ),
    ),
    (
        r"RaisedSignal:(\d+)\((.+)\)",
        replace(WORDS["RaisedSignal"], text="Signal {0} ({1}) ended it.", word="RaisedSignal"),
    ),
    (
        r"Job is at or exceeds (.+)",
        Explanation(
            "It ran into a limit of its account or QOS and was ended: {0}.",
            "Wait until past usage counts less, or take a shorter time limit.",
            "broken",
        ),
    ),
    (
        r"Unable to load job (batch script|environment)",
        Explanation("Slurm has lost its {0}.", "Submit it again, and tell the cluster's staff.", "broken"),
    ),
    (
        r"burst_buffer/\w+: (.+)",
        replace(WORDS["BurstBufferOperation"], text="Something went wrong with its burst buffer: {0}."),
    ),
)
_PATTERNS = tuple((re.compile(text.replace(" ", "[ _]"), re.IGNORECASE | re.DOTALL), found) for text, found in _TEXTS)


def understand(reason: str) -> Explanation:
    """What a pending reason means and what to do; Slurm's own words, of kind unknown, where it is not a known one."""
    said = reason[1:-1] if re.fullmatch(r"\(.+\)", reason) else reason
    if said in ("", "None"):
        return WORDS["None"]
    for pattern, meaning in _PATTERNS:
        found = pattern.fullmatch(said)
        if found:
            return _filled(meaning, found.groups(), said)
    word, comma, rest = said.partition(",")
    known = WORDS.get(word) or limit(word)
    if known is None:
        return Explanation(f"Slurm says: {reason}", _STAFF, "unknown")
    return replace(known, word=f"{word}{':' if rest else comma}{rest}")


def explain(reason: str) -> str:
    """A sentence for a pending reason with Slurm's word behind it; Slurm's own words where it is not a known one."""
    meaning = understand(reason)
    return f"{meaning.text} ({meaning.word})" if meaning.word else meaning.text


def _filled(meaning: Explanation, parts: tuple[str, ...], said: str) -> Explanation:
    """The explanation with what Slurm named in it. The text is not repeated behind it where a word says enough."""
    parts = tuple(part.rstrip(".") for part in parts)
    return replace(
        meaning, text=meaning.text.format(*parts), action=meaning.action.format(*parts), word=meaning.word or said
    )
