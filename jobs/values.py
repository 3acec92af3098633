"""Rules for single values of a job spec. A broken rule raises ValueError with the rest of a sentence "<field> …"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import timedelta

_WORD = re.compile(r"[^\s'\"\\`$;#]+")
_MEMORY = re.compile(r"([0-9]{1,15})(?:([KMGT])B?)?", re.ASCII | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TIME = re.compile(
    r"(?P<d>N)-(?P<dh>N)(?::(?P<dm>N))?(?::(?P<ds>N))?|(?:(?P<h>N):)?(?P<m>N):(?P<s>N)|(?P<min>N)".replace(
        "N", "[0-9]{1,9}"
    )
)
_OUTPUT = re.compile(r"(?:[^%]|%[%jux])+")

_OWN_RANK = "cannot be set for the whole job: each task reads its own from Slurm"
_RESERVED: Mapping[str, str] = {
    "RANK": _OWN_RANK,
    "LOCAL_RANK": _OWN_RANK,
    "WORLD_SIZE": _OWN_RANK,
    "MASTER_ADDR": "is worked out by the script from the job's first node",
    "MASTER_PORT": "is worked out by the script from the job id",
    "CUDA_VISIBLE_DEVICES": "is set by Slurm to the GPUs that the job was given",
    **dict.fromkeys(
        ("command", "container", "first_node", "nodes", "rank_command"), "is a name that the script itself uses"
    ),
    **dict.fromkeys(
        ("_", "EUID", "HOSTNAME", "IFS", "OLDPWD", "PPID", "PWD", "SHELLOPTS", "SHLVL", "UID"), "belongs to bash"
    ),
    **dict.fromkeys(("COMP_WORDBREAKS", "DIRSTACK", "EPOCHREALTIME", "EPOCHSECONDS", "FUNCNAME"), "belongs to bash"),
    **dict.fromkeys(("GROUPS", "HISTCMD", "LINENO", "OPTIND", "RANDOM", "SECONDS", "SRANDOM"), "belongs to bash"),
}


def one_line(text: str) -> str:
    """Text without control characters, line separators or a leading dash."""
    if not text.strip():
        raise ValueError("must not be empty")
    if any(unicodedata.category(c) in ("Cc", "Zl", "Zp") for c in text):
        raise ValueError("must be one line without control characters")
    if text.startswith("-"):
        raise ValueError("must not begin with a dash: Slurm would take it for an option")
    return text


def word(text: str) -> str:
    """A name or list of names as Slurm takes it: no blanks, quotes or shell characters."""
    one_line(text)
    if not _WORD.fullmatch(text):
        raise ValueError("must be one word without blanks, quotes, backslashes, #, $ or ;")
    return text


def gpu_type(text: str) -> str:
    """A GRES type such as a100: it stands before a colon and a count."""
    word(text)
    if set(text) & set(":,="):
        raise ValueError("must be the type alone, such as a100, without a colon or count")
    return text


def absolute_path(text: str) -> str:
    """A path that means the same on every node."""
    one_line(text)
    if not text.startswith("/"):
        raise ValueError("must be an absolute path, the same on every node")
    return text


def program(text: str) -> str:
    """A program to start: a name that PATH finds, or an absolute path."""
    one_line(text)
    if "/" in text and not text.startswith("/"):
        raise ValueError("must be a name that PATH finds or an absolute path")
    return text


def argument(text: str) -> str:
    """Any text that a process can receive: all but NUL."""
    if "\0" in text:
        raise ValueError("must not hold a NUL character: no process can receive one")
    return text


def bind(text: str) -> str:
    """SRC, SRC:DST or SRC:DST:OPTIONS as `apptainer --bind` reads it; a comma would begin another bind."""
    absolute_path(text)
    if "," in text or '"' in text or len(text.split(":")) > 3:
        raise ValueError("must be SOURCE, SOURCE:TARGET or SOURCE:TARGET:ro, without commas or quotes")
    return text


def setup_line(text: str) -> str:
    """One line of the user's own shell code."""
    if any(unicodedata.category(c) == "Cc" and c != "\t" for c in text):
        raise ValueError("must be one line without control characters")
    return text


def env_name(text: str) -> str:
    """The name of a variable that a job may set."""
    if not _NAME.fullmatch(text):
        raise ValueError("is not a variable name: letters, digits and _ only, not beginning with a digit")
    if text.startswith(("SLURM_", "SBATCH_")):
        raise ValueError("is Slurm's own: setting it would change what srun does")
    if text.startswith("BASH") and text != "BASH_ENV":
        raise ValueError("belongs to bash")
    if text in _RESERVED:
        raise ValueError(_RESERVED[text])
    return text


def memory(text: str) -> str:
    """Memory per node as sbatch takes it: a number with K, M, G or T; MiB without a unit."""
    if not _MEMORY.fullmatch(text):
        raise ValueError("must be a whole number with K, M, G or T, such as 64G")
    return text


def mebibytes(text: str) -> int:
    """Memory as `memory` takes it in MiB, rounded up as Slurm does. Raises ValueError as `memory` does."""
    number, unit = _MEMORY.fullmatch(memory(text)).groups()  # type: ignore[union-attr]
    kib = int(number) * {"K": 1, "M": 2**10, "G": 2**20, "T": 2**30}[(unit or "M").upper()]
    return -(-kib // 1024)


def output_pattern(text: str) -> str:
    """A log file name. Only %j, %u, %x and %% are taken, since these are known as soon as the job has an id."""
    one_line(text)
    if "\\" in text:
        raise ValueError("must not hold a backslash: Slurm then replaces no %j")
    if not _OUTPUT.fullmatch(text):
        raise ValueError("may use %j (job id), %x (job name), %u (user) and %% (a percent sign) only")
    return text


def duration(text: str) -> timedelta:
    """A time limit in sbatch's grammar, rounded up to whole minutes as Slurm does (sbatch man page, --time)."""
    found = _TIME.fullmatch(text)
    if not found:
        raise ValueError("must be minutes, min:sec, h:m:s, days-hours, d-h:m or d-h:m:s, such as 30 or 1-12:00:00")
    n = {key: int(value) for key, value in found.groupdict(default="0").items()}
    try:
        whole = timedelta(
            days=n["d"], hours=n["dh"] + n["h"], minutes=n["dm"] + n["m"] + n["min"], seconds=n["ds"] + n["s"]
        )
    except OverflowError:
        raise ValueError("is too long") from None
    if not whole:
        raise ValueError("must be longer than zero: Slurm takes 0 as no limit at all")
    return timedelta(minutes=-(-whole // timedelta(minutes=1)))


def time_limit(text: str) -> str:
    """Checked by `duration`, kept as it was written."""
    duration(text)
    return text
