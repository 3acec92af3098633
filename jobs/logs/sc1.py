"""Reading `sc1` records: `sc1 KIND [HEAD] key=value ... run= rank= seq= t= crc=`, anywhere in a stream.

`crc` is the CRC-32 (8 hex digits) of all bytes from `sc1` up to ` crc=`; what fails it is text, not a record.
"""

import math
import re
import zlib
from dataclasses import dataclass
from datetime import datetime, timezone
from urllib.parse import unquote

from jobs.logs.clean import clean_line, strip_escapes

MAX_BYTES = 512
_CRC = re.compile(r" crc=([0-9a-f]{8})(?![0-9a-f])")
_HEAD = re.compile(r"sc1 (\w+)(?: (\d+)(?:/(\d+))?(?= ))?")
_RECENT = 4096


@dataclass(frozen=True)
class Record:
    """One record. `step`/`total` are those of its head; `fields` are as written, but for run, rank, seq and t."""

    kind: str
    step: int | None
    total: int | None
    fields: dict[str, str]
    run: str
    rank: int
    seq: int
    time: datetime | None

    def number(self, name: str) -> float | None:
        """A field as a number, `nan` and `inf` included; None if it is absent or no number."""
        return number(self.fields.get(name))

    def text(self, name: str) -> str | None:
        """A field as harmless text, percent-decoded."""
        value = self.fields.get(name)
        return None if value is None else clean_line(unquote(value))


def find_records(text: str) -> list[Record]:
    """All valid records in `text`, in order: after labels, between torn lines, several on one line."""
    if "sc1 " not in text:
        return []
    text = strip_escapes(text)
    records = []
    begin = 0
    for match in _CRC.finditer(text):
        record = _record_before(text, max(begin, match.start() - MAX_BYTES), match)
        if record:
            records.append(record)
            begin = match.end()
    return records


def number(text: str | None) -> float | None:
    """`text` as a float; None if it is none."""
    try:
        return float(text) if text else None
    except ValueError:
        return None


class Seen:
    """Tells repeated records (a log read twice) by (run, rank, seq), in bounded memory."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, int], int] = {}
        self._recent: dict[tuple[str, int, int], None] = {}

    def add(self, record: Record) -> bool:
        """Remember `record`; False if it was there before."""
        source = (record.run, record.rank)
        key = (*source, record.seq)
        newest = self._newest.get(source, -1)
        if key in self._recent or record.seq <= newest - _RECENT:
            return False
        self._recent[key] = None
        if len(self._recent) > _RECENT:
            del self._recent[next(iter(self._recent))]
        self._newest[source] = max(newest, record.seq)
        if len(self._newest) > _RECENT:
            del self._newest[next(iter(self._newest))]
        return True


def _record_before(text: str, low: int, crc: re.Match[str]) -> Record | None:
    """The record that `crc` closes: the nearest `sc1 ` before it whose checksum is right."""
    start = text.rfind("sc1 ", low, crc.start())
    while start >= 0:
        body = text[start : crc.start()]
        if zlib.crc32(body.encode("utf-8", "replace")) == int(crc[1], 16):
            return _parse(body)
        start = text.rfind("sc1 ", low, start)
    return None


def _parse(body: str) -> Record | None:
    head = _HEAD.match(body)
    fields = dict(word.split("=", 1) for word in body.split(" ") if "=" in word)
    run, rank, seq = (fields.pop(name, "") for name in ("run", "rank", "seq"))
    if not head or not run or not rank.isdecimal() or not seq.isdecimal():
        return None
    step, total = (int(digits[:18]) if digits else None for digits in head.group(2, 3))
    return Record(head[1], step, total, fields, run, int(rank[:9]), int(seq[:18]), _time(fields.pop("t", "")))


def _time(text: str) -> datetime | None:
    seconds = number(text)
    if seconds is None or not math.isfinite(seconds):
        return None
    try:
        return datetime.fromtimestamp(seconds, timezone.utc)
    except (OverflowError, ValueError, OSError):
        return None
