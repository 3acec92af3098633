"""A recording without names: what people and sites chose is replaced, word by word and of equal length.

A word, a run of letters, always becomes the same other word, so that `gpu[01-04]`, `gpu02`, the partition `gpu` and a
path below `/scratch/gpu` still belong together. Digits and punctuation stay. Only the values of fields that are known
to hold no names stay as they are; everything else, unknown fields included, is taken for names.
"""

from __future__ import annotations

import dataclasses
import random
import re
import secrets
from collections.abc import Callable, Iterable
from string import ascii_lowercase, ascii_uppercase

from jobs.slurm import commands
from jobs.slurm.access import Viewer
from jobs.slurm.recorded import Recording
from jobs.slurm.replay import squeue_fields
from jobs.slurm.run import Answer

Rename = Callable[[str], str]

LEAST = 4
"""Letters. A word of so many never shows up again, not even inside another."""

_SOMEBODY = 1000
"""The uid of whoever is not root."""
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)
_WORD = re.compile(r"[A-Za-z\u00a0-\U0010ffff]+")
_IPV4 = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_LICENSE = re.compile(r"(license/)([^=,:]+)")
_TOKEN = re.compile(r"\S+")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\Z")
_PATTERN = re.compile(r"(%\d*[a-zA-Z%])")
_SETTING = re.compile(r"([A-Za-z_\d\[\]]+) *= ")
_PLAIN = re.compile(r"[A-Za-z]+\Z")
_NO_NAME = {
    "", "N/A", "n/a", "n/s", "(null)", "None", "NONE", "Unknown", "UNKNOWN", "NO", "YES", "No", "Yes", "ALL",
    "no", "yes", "UNLIMITED", "INFINITE",
}  # fmt: skip
_JOB_FIELDS_KEPT = {
    "JobID", "JobArrayID", "ArrayJobID", "ArrayTaskID", "HetJobID", "HetJobOffset", "State", "NumNodes", "NumCPUs",
    "NumTasks", "tres-alloc", "tres-per-job", "tres-per-node", "tres-per-task", "tres-per-socket", "MinMemory",
    "SubmitTime", "StartTime", "EndTime", "TimeLimit", "PriorityLong", "Dependency", "RestartCnt",
}  # fmt: skip
_PATHS = {"STDOUT", "STDERR"}
_REASON_SENTENCES = (
    "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
    "launch failed requeued held", "Reservation deleted",
)  # fmt: skip
_KEPT = {
    # Nodes.
    "Arch", "CoresPerSocket", "CPUAlloc", "CPUEfctv", "CPUTot", "CPULoad", "Gres", "GresDrain", "GresUsed", "Port",
    "Version", "RealMemory", "AllocMem", "FreeMem", "Sockets", "Boards", "State", "ThreadsPerCore", "TmpDisk", "Weight",
    "BootTime", "SlurmdStartTime", "LastBusyTime", "ResumeAfterTime", "CfgTRES", "AllocTRES", "CapWatts",
    "CurrentWatts", "AveWatts", "ExtSensorsJoules", "ExtSensorsWatts", "ExtSensorsTemp", "MemSpecLimit",
    "CoreSpecCount", "CPUSpecList", "RestrictedCoresPerGPU", "NextState",
    # Partitions.
    "Default", "DefaultTime", "DisableRootJobs", "Exclusive", "ExclusiveUser", "ExclusiveTopo", "GraceTime", "Hidden",
    "MaxNodes", "MaxTime", "MinNodes", "LLN", "MaxCPUsPerNode", "MaxCPUsPerSocket", "PriorityJobFactor", "PriorityTier",
    "RootOnly", "ReqResv", "OverSubscribe", "OverTimeLimit", "PreemptMode", "TotalCPUs", "TotalNodes",
    "SelectTypeParameters", "JobDefaults", "DefMemPerNode", "DefMemPerCPU", "MaxMemPerNode", "MaxMemPerCPU", "TRES",
    "TRESBillingWeights", "SuspendTime", "SuspendTimeout", "ResumeTimeout", "PowerDownOnIdle",
    # Reservations.
    "StartTime", "EndTime", "Duration", "NodeCnt", "CoreCnt", "Flags", "MaxStartDelay", "Watts", "CoreIDs",
    # The configuration.
    "AccountingStorageEnforce", "AccountingStorageTRES", "AccountingStorageType", "AuthType", "BOOT_TIME",
    "EnforcePartLimits", "FairShareDampeningFactor", "GresTypes", "MaxArraySize", "MaxJobCount", "MessageTimeout",
    "MinJobAge", "PreemptType", "PriorityFlags", "PriorityType", "PrivateData", "ReturnToService",
    "SchedulerParameters", "SchedulerType", "SelectType", "SLURM_VERSION", "SlurmctldParameters", "SwitchType",
    "TaskPlugin", "TopologyPlugin",
    # Associations and QOS.
    "AdminLevel", "Priority", "ID", "SharesRaw/Norm/Level/Factor", "UsageRaw/Norm/Efctv", "UsageRaw", "Lft", "DefAssoc",
    "GrpJobs", "GrpJobsAccrue", "GrpSubmitJobs", "GrpWall", "GrpTRES", "GrpTRESMins", "GrpTRESRunMins", "MaxJobs",
    "MaxJobsAccrue", "MaxSubmitJobs", "MaxWallPJ", "MaxTRESPJ", "MaxTRESPN", "MaxTRESMinsPJ", "MinPrioThresh",
    "MinTRESPJ", "MaxJobsPA", "MaxJobsAccruePA", "MaxSubmitJobsPA", "MaxTRESPA", "MaxTRESRunMinsPA", "MaxJobsPU",
    "MaxJobsAccruePU", "MaxSubmitJobsPU", "MaxTRESPU", "MaxTRESRunMinsPU",
}  # fmt: skip
_RENAMED = {
    "NodeName", "AvailableFeatures", "ActiveFeatures", "NodeAddr", "NodeHostName", "OS", "Owner", "MCS_label",
    "Partitions", "Reason", "Comment", "Extra", "InstanceId", "InstanceType", "PartitionName", "AllowGroups",
    "AllowAccounts", "AllowQos", "DenyAccounts", "DenyQos", "AllocNodes", "QoS", "QOS", "Nodes", "NodeSets",
    "Alternate", "ReservationName", "Features", "Users", "Groups", "Accounts", "Licenses", "BurstBuffer",
    "AllowedPartitions", "ClusterName", "UserName", "DefAccount", "DefWckey", "Account", "Partition", "ParentAccount",
    "Lineage",
}  # fmt: skip
_TITLES = {
    "Current Association Manager state", "User Records", "Association Records", "QOS Records", "Account Limits",
    "User Limits", "No users currently cached in Slurm.", "No associations currently cached in Slurm.",
}  # fmt: skip
_TO_LINE_END = ("OS", "Reason", "Comment", "Extra")


def anonymize(recording: Recording, seed: int | None = None) -> Recording:
    """The same numbers, states, times and GRES with other names, which differ each time unless there is a `seed`."""
    words: set[str] = set()

    def collect(word: str) -> str:
        words.add(word.translate(_LOWER))
        return word

    _renamed(recording, collect)
    return _renamed(recording, _Pseudonyms(words, seed))


class _Pseudonyms:
    """Another word for each, of the same length in characters and in bytes, never one that was there before."""

    def __init__(self, words: Iterable[str], seed: int | None) -> None:
        self._dice = random.Random(secrets.randbits(256) if seed is None else seed)
        self._words = set(words)
        self._long = {word for word in self._words if len(word) >= LEAST}
        self._taken: set[str] = set()
        letters = self._dice.sample(ascii_lowercase, 26)
        self._other = dict(zip(ascii_lowercase, letters, strict=True))
        for word in sorted(self._words):
            self._other[word] = self._new(word)

    def __call__(self, word: str) -> str:
        other = self._other[word.translate(_LOWER)]
        return "".join(b.upper() if a in ascii_uppercase else b for a, b in zip(word, other, strict=True))

    def _new(self, word: str) -> str:
        if word in self._other:
            return self._other[word]
        for attempt in range(400):
            other = "".join(map(self._letter, word))
            if other not in self._taken and (attempt >= 200 or not self._gives_away(other)):
                break
        self._taken.add(other)
        return other

    def _gives_away(self, other: str) -> bool:
        """Whether it is, or has in it, a word that was there before."""
        size = len(other)
        parts = {other[i:j] for i in range(size) for j in range(i + LEAST, size + 1)}
        return other in self._words or not parts.isdisjoint(self._long)

    def _letter(self, letter: str) -> str:
        """Another character of as many bytes; bytes that are not UTF-8 stay so."""
        if letter in ascii_lowercase:
            return self._dice.choice(ascii_lowercase)
        if "\ud800" <= letter <= "\udfff":
            return chr(self._dice.randrange(0xDCF5, 0xDD00))
        if letter < "\u0800":
            return chr(self._dice.randrange(0xE0, 0xF6))
        return chr(self._dice.randrange(*((0x4E00, 0x9F00) if letter < "\U00010000" else (0x1F600, 0x1F640))))


def _renamed(recording: Recording, rename: Rename) -> Recording:
    who = recording.viewer
    viewer = Viewer(_text(who.user, rename), who.uid and _SOMEBODY, frozenset(_text(g, rename) for g in who.groups))
    answers = tuple(_answer(answer, rename, viewer.user) for answer in recording.answers)
    return dataclasses.replace(recording, viewer=viewer, answers=answers, anonymized=True)


def _answer(answer: Answer, rename: Rename, user: str) -> Answer:
    fields, argv = squeue_fields(answer.argv), answer.argv
    lines = answer.text.split("\n")
    if answer.argv == ("sinfo", "--version"):
        stdout = answer.text
    elif fields:
        ends = {name: end.decode("utf-8", "surrogateescape") for name, end in fields.items()}
        stdout = _queue(answer.text, ends, rename)
    elif argv[:1] == ("sacctmgr",):
        stdout = "\n".join(_sacctmgr_line(line, rename) for line in lines)
        argv = tuple(commands.sacctmgr_associations(user)) if "assoc" in argv else argv
    elif answer.argv[-1:] == ("config",):
        stdout = "\n".join(_setting(line, rename) for line in lines)
    else:
        stdout = "\n".join(_scontrol_line(line, rename) for line in lines)
    stderr = _text(_zeros(answer.stderr.decode("utf-8", "surrogateescape")), rename)
    out, err = (text.encode("utf-8", "surrogateescape") for text in (stdout, stderr))
    return dataclasses.replace(answer, argv=argv, stdout=out, stderr=err)


def _zeros(text: str) -> str:
    """Network addresses lose their digits."""
    return _IPV4.sub(lambda match: re.sub(r"\d", "0", match[0]), text)


def _text(text: str, rename: Rename) -> str:
    return _WORD.sub(lambda match: _word(match[0], rename), text)


def _word(word: str, rename: Rename) -> str:
    """Renamed but for what is no letter and hostile: zero width, direction overrides, separators of lines."""
    parts = re.split(r"([\u00a0\u200b-\u200f\u2028-\u202f\u2060-\u206f\ufe00-\ufe0f\ufeff])", word)
    return "".join(rename(part) if part and not index % 2 else part for index, part in enumerate(parts))


def _kept(text: str, rename: Rename) -> str:
    """A value without names, but for those of licences."""
    return _LICENSE.sub(lambda match: match[1] + _text(match[2], rename), text)


def _value(text: str, rename: Rename) -> str:
    return text if text in _NO_NAME or _TIME.match(text) else _text(text, rename)


def _queue(text: str, fields: dict[str, str], rename: Rename) -> str:
    """squeue's output; a record that lacks fields is names altogether."""
    *names, last = fields
    records = []
    for chunk in text.split(fields[last] + "\n"):
        done, rest = "", chunk
        for name in names:
            value, end, rest = rest.partition(fields[name])
            if not end:
                records.append(_text(chunk, rename))
                break
            done += _job_value(name, value, rename) + end
        else:
            records.append(done + _job_value(last, rest, rename))
    return (fields[last] + "\n").join(records)


def _job_value(name: str, value: str, rename: Rename) -> str:
    if name in _JOB_FIELDS_KEPT:
        return _kept(value, rename)
    if name == "Reason":
        return _reason(value, rename)
    if name in _PATHS:
        parts = _PATTERN.split(value)
        return "".join(part if index % 2 else _value(part, rename) for index, part in enumerate(parts))
    return _value(value, rename)


def _reason(value: str, rename: Rename) -> str:
    """Slurm's own words stay, as far as the first comma; what follows names nodes."""
    if value in _REASON_SENTENCES:
        return value
    word, comma, rest = value.partition(",")
    label, colon, nodes = rest.partition("UnavailableNodes:")
    kept = word if _PLAIN.match(word) else _value(word, rename)
    return kept + comma + _text(label, rename) + colon + _text(nodes, rename)


def _scontrol_line(line: str, rename: Rename) -> str:
    """`Key=value` pairs, or free text."""
    indent = line[: len(line) - len(line.lstrip(" "))]
    key, equals, _ = line.strip(" ").partition("=")
    if equals and key in _TO_LINE_END:
        return f"{indent}{key}={_text(_zeros(line[len(indent) + len(key) + 1 :]), rename)}"
    if re.match(r"No [a-z]+ in the system\Z", line) or line.strip() in _TITLES:
        return line
    return _TOKEN.sub(lambda match: _pair(match[0], rename), line)


def _sacctmgr_line(line: str, rename: Rename) -> str:
    """Fields between bars; limits and flags of a QOS stay."""
    fields = line.split("|")
    if len(fields) == len(commands.QOS_FIELDS):
        return "|".join([_value(fields[0], rename), *(_kept(field, rename) for field in fields[1:])])
    return "|".join(",".join(_value(part, rename) for part in field.split(",")) for field in fields)


def _setting(line: str, rename: Rename) -> str:
    """A line `Key = value` of the configuration; numbers with a unit stay."""
    setting = _SETTING.match(line)
    if setting is None:
        return line if re.match(r"Configuration data as of \S+\Z", line) else _text(_zeros(line), rename)
    value = line[setting.end() :]
    if setting[1] in _KEPT or re.match(r"\d+ (?:sec|min|usec|MB|%)\Z", value):
        return line
    return setting[0] + _value(_zeros(value), rename)


def _pair(token: str, rename: Rename) -> str:
    key, equals, value = token.partition("=")
    if not equals or key not in _KEPT | _RENAMED:
        return _text(token, rename)
    if key in _KEPT:
        return f"{key}={_kept(value, rename)}"
    return f"{key}={_value(_zeros(value) if key == 'NodeAddr' else value, rename)}"
