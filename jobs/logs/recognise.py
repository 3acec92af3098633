"""Progress in lines of trainers that we did not write: tqdm bars and `step n/m ... loss x` lines.

What looks alike but is none (Slurm's and NCCL's own lines, download and validation bars, prose) is refused.
"""

import re
from dataclasses import dataclass

from jobs.logs.sc1 import number


@dataclass(frozen=True)
class Reading:
    """What one line says; None is unknown. `rank` is that of the line's label (srun --label, torchrun)."""

    format: str
    step: int
    total: int | None = None
    epoch: float | None = None
    loss: float | None = None
    rate: float | None = None
    rate_unit: str | None = None
    eta_s: float | None = None
    rank: int | None = None


_NUM = r"[-+]?(?:\d[\d,]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+|nan|inf)"
_DENIED = re.compile(r"\s*(?:slurmstepd|srun|sbatch):|\s*#|\s*::|.*(?:NCCL (?:INFO|WARN)|\[PG )")
_LABELS = re.compile(
    r"\s*(?:"
    r"(\d+): |\[\d+,(\d+)\]<std(?:out|err)>:|\[(?:rank|default|trainer)(\d+)\]:|worker-(\d+):"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T, ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[-+]\d\d:?\d\d)?\]?|\[?\d\d:\d\d:\d\d(?:\.\d+)?\]?"
    r"|\d\d/\d\d/\d{4} \d\d:\d\d:\d\d|[IW]\d{4} [^\]]*\]|\[titan\]|\[\d\d/\d\d \d\d:\d\d:\d\d [\w.]+\]:"
    r"|\[?(?:INFO|DEBUG|SUCCESS|TRAIN)\]?(?= |:|\|)|\[Rank (\d+)\]|root|[-|:](?= )"
    r")\s*"
)
_BAR = re.compile(
    r"\d{1,3}%\|[^|]*\|\s*(?P<step>\d+)/(?P<total>\d+)\s*"
    r"\[(?P<spent>[\d:]+)<(?P<left>[\d:]+|\?),\s*(?P<rate>[\d.]+|\?)\s*(?P<unit>[a-z]+/s|s/[a-z]+)(?P<rest>[^\]]*)"
)
_OTHER_BAR = re.compile(
    r"(?i)\b(?:val|valid|validation|validating|eval|evaluating|evaluation|test|testing|sanity|download\w*|load\w*|map|filter"
    r"|tokeni\w+|generat\w+|fetch\w*|sav\w+|prepar\w+|pack\w+|extract\w*|predict\w*|shards?|files?)\b|\bClass +Images\b"
)
_STEP = re.compile(
    r"(?i)(?:^|[\s|,;\[(/])(?:(?:global|completed)[ _])?(?:step|iter|iteration|batch)\s*[:=\s]\s*"
    r"(?P<step>\d[\d,]*)(?:\s*/\s*(?P<total>\d[\d,]*))?(?![\d.]*\d|\w|\()"
)
_HINT = re.compile(r"(?i)step|iter|batch")
_EPOCH = re.compile(r"(?i)\bepoch\s*[:= ]\s*\[?(\d+(?:\.\d+)?)")
_LOSS = re.compile(rf"(?i)(?P<name>(?:[a-z_/]{1, 30}[ _/])?loss)\s*[:= ]\s*(?P<value>{_NUM})(?![\w.])")
_TRAIN_LOSS = re.compile(
    r"(?i)loss|(?:reduced_)?train(?:ing)?[ _/](?:ce[ _])?loss|(?:lm|ce|total|avg|average|mean|running|batch)[ _/]loss"
)
_HELD_OUT = re.compile(r"(?i)\b(?:val|valid|validation|eval|test)[ _/]\w*")
# Name and number, unit, and the milliseconds or seconds in a second where the number is a time per step.
_MEASURES = [
    (re.compile(rf"(?i)\b(?:tps|wps):\s*({_NUM})([KMG]?)"), "tok/s/gpu", None),
    (re.compile(rf"(?i)\b(?:tokens_per_second|tokens_per_sec|tok/s)\s*[:=]\s*({_NUM})([KMG]?)"), "tok/s", None),
    (re.compile(rf"(?i)\bsamples/s(?:ec)?\s*[:=]\s*({_NUM})([KMG]?)"), "samples/s", None),
    (re.compile(rf"(?i)\b(?:step_avg|step_time|time):?\s*({_NUM})()\s*ms\b"), "it/s", 1000),
    (re.compile(rf"(?i)\btime per iteration \(ms\):\s*({_NUM})()"), "it/s", 1000),
    (re.compile(rf"(?i)\btime:\s*({_NUM})()(?![\w.:])"), "it/s", 1),
]
_UNITS = {"d": 86400, "h": 3600, "m": 60, "s": 1}
_SUFFIX = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}
_ETA = re.compile(r"(?i)\beta:?\s*((?:\d+ days?, )?\d+:\d\d(?::\d\d)?)")


def peel(line: str) -> tuple[str, int | None]:
    """The line without labels, timestamps and levels, and the rank that they named."""
    rank = None
    at = 0
    while match := _LABELS.match(line, at):
        if match.end() == at:
            break
        named = [value for value in match.groups() if value]
        rank = int(named[0]) if named else rank
        at = match.end()
    return line[at:], rank


def read_line(line: str) -> Reading | None:
    """What one line (one state of a bar), free of escapes, says about training; None if nothing."""
    if "%|" not in line and not _HINT.search(line):
        return None
    if _DENIED.match(line):
        return None
    text, rank = peel(line)
    if _DENIED.match(text):
        return None
    return _read_bar(text, rank) or _read_step(text, rank)


def seconds(text: str) -> float | None:
    """Seconds of `41s`, `23m41s`, `2d3h`, `1:02`, `1:02:03` or `1 day, 1:02:03`; None for anything else."""
    if re.fullmatch(r"(?:\d+(?:\.\d+)?[dhms])+", text):
        return sum(float(value) * _UNITS[unit] for value, unit in re.findall(r"([\d.]+)([dhms])", text))
    match = re.fullmatch(r"(?:(\d+) days?, )?(?:(\d+):)?(\d+):(\d\d)", text)
    if not match:
        return None
    days, hours, minutes, rest = (int(group or 0) for group in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + rest)


def _read_bar(text: str, rank: int | None) -> Reading | None:
    bar = _BAR.search(text)
    if not bar or _OTHER_BAR.search(text[: bar.start()]):
        return None
    rate, unit = number(bar["rate"]), bar["unit"]
    if unit.startswith("s/"):
        rate, unit = (1 / rate if rate else None), unit[2:] + "/s"
    epoch = _EPOCH.search(text[: bar.start()])
    loss = _loss(bar["rest"])
    left = seconds(bar["left"])
    return Reading(
        "tqdm", int(bar["step"]), int(bar["total"]), number(epoch and epoch[1]), loss, rate, unit, left, rank
    )


def _read_step(text: str, rank: int | None) -> Reading | None:
    match = _STEP.search(text)
    if not match:
        return None
    loss = None if _HELD_OUT.search(text) else _loss(text)
    rate, unit = _rate(text)
    alone = not text[: match.start()].strip(" [|") and not text[match.end() :].strip(" .,]|")
    if loss is None and rate is None and not _LOSS.search(text) and not (alone and match["total"]):
        return None
    step, total = (_whole(digits) if digits else None for digits in match.group("step", "total"))
    epoch, eta = _EPOCH.search(text), _ETA.search(text)
    if step is None:
        return None
    left = seconds(eta[1]) if eta else None
    return Reading("step", step, total, number(epoch and epoch[1]), loss, rate, unit, left, rank)


def _whole(digits: str) -> int:
    return int(digits.replace(",", "")[:18])


def _loss(text: str) -> float | None:
    for match in _LOSS.finditer(text):
        if _TRAIN_LOSS.fullmatch(match["name"]):
            return number(match["value"].replace(",", ""))
    return None


def _rate(text: str) -> tuple[float | None, str | None]:
    for pattern, unit, per in _MEASURES:
        match = pattern.search(text)
        value = number(match[1].replace(",", "")) if match else None
        if match and value is not None and 0 < value < float("inf"):
            return (per / value if per else value * _SUFFIX[match[2].lower()]), unit
    return None, None
