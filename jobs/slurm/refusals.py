"""Why sbatch or srun refuses a job, in plain words. The caller shows every line that Slurm printed as well."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from jobs.slurm.reason_limits import limited_resource
from jobs.slurm.reasons import understand as understand_reason
from jobs.slurm.refusal_texts import REFUSAL_TEXTS


@dataclass(frozen=True, slots=True)
class Refusal:
    """Slurm's own line for it, what that means, what to do, and the dotted field of the job to go back to, if any."""

    reason: str
    text: str
    action: str
    field: str | None = None


_PREFIXES = (
    re.compile(r"(?:[\w./-]*/)?(?:sbatch|srun|salloc|scrun): "),
    re.compile(r"(?:error|fatal|warning|info): "),
    re.compile(
        r"Batch job submission failed: |Unable to allocate resources: |allocation failure: "
        r"|Job submit/allocate failed: |Unable to create step for job \S+: |(?:cli_filter|job_submit)/lua: "
    ),
)
_TEXTS = tuple((re.compile(text.pattern, re.IGNORECASE), text) for text in REFUSAL_TEXTS)
_FIELDS = {
    "GRES": "resources.gpus_per_node",
    "Cpu": "resources.cpus_per_task",
    "CPU": "resources.cpus_per_task",
    "Mem": "resources.mem",
    "Memory": "resources.mem",
    "Node": "resources.nodes",
    "Wall": "resources.time_limit",
}
_REASON_FIELDS = {
    "PartitionTimeLimit": "resources.time_limit",
    "PartitionNodeLimit": "resources.nodes",
    "MaxMemPerLimit": "resources.mem",
    "QOSNotAllowed": "resources.qos",
    "InvalidQOS": "resources.qos",
    "AccountNotAllowed": "resources.account",
    "InvalidAccount": "resources.account",
}


def understand(lines: Sequence[str]) -> Refusal:
    """The refusal that the lines of sbatch's or srun's standard error mean: the last line that tells something.

    A generic last line yields to what stands before it: a limit that slurmctld names, or the words of a site's own
    job_submit plugin. Never raises; texts that are not known are kept as Slurm says them.
    """
    said = [text for text in (_bare(line) for line in lines) if text]
    vague: Refusal | None = None
    for text in reversed(said):
        known, is_vague = _known(text)
        if known and not is_vague:
            return known
        vague = vague or known
    if vague is None:
        return _unknown(said[-1]) if said else Refusal("", "Slurm gave no reason.", "Ask the cluster's staff.")
    if vague.field is None:
        of_site = [text for text in said if _known(text)[0] is None]
        return _of_site(of_site[-1]) if of_site else vague
    return vague


def _bare(line: str) -> str:
    """The line without the names that the command puts before it."""
    text = line.strip()
    for prefix in _PREFIXES:
        text = prefix.sub("", text, count=1) if prefix.match(text) else text
    return text.strip()


def _known(text: str) -> tuple[Refusal | None, bool]:
    """What one line means, if it is known, and whether a line before it may tell more."""
    for pattern, meaning in _TEXTS:
        found = pattern.match(text)
        if found:
            named = {name: value.rstrip(".") for name, value in found.groupdict().items()}
            refusal = Refusal(text, meaning.text.format(**named), meaning.action, meaning.field)
            return refusal, meaning.vague
    if re.fullmatch(r"[A-Z]\w+", text):
        reason = understand_reason(text)
        if reason.kind != "unknown":
            field = _FIELDS.get(limited_resource(text) or "", _REASON_FIELDS.get(text))
            return Refusal(text, reason.text, reason.action, field), False
    return None, False


def _of_site(text: str) -> Refusal:
    return Refusal(
        text, f"A rule of this cluster refuses it: {text.rstrip('.')}.", "Follow it, or ask the cluster's staff."
    )


def _unknown(text: str) -> Refusal:
    return Refusal(text, f"Slurm says: {text.rstrip('.')}.", "Look it up in man sbatch, or ask the cluster's staff.")
