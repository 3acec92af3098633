"""The `sc1` record on the wire: checksum, length, encoding, and writers that share a file."""

import re
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

import pytest
from launches import ROOT, records_of

from payload.sc1 import MAX_BYTES, Writer, encode, format_record

TAIL = {"run": "4711.0", "rank": 0, "seq": 42}


def test_checksum_covers_all_bytes_before_it() -> None:
    line = format_record("step", {"loss": 7.711}, TAIL, "40/10000")
    body = b"sc1 step 40/10000 loss=7.711 run=4711.0 rank=0 seq=42"
    assert line == body + b" crc=" + b"%08x" % zlib.crc32(body) + b"\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (float("-inf"), "-inf"),
        (3e-05, "3e-05"),
        (461712, "461712"),
        ("a b=c%\n\x1b[31m", "a%20b%3Dc%25%0A%1B%5B31m"),
        ("ü", "%C3%BC"),
        ("/ckpt/last:3", "/ckpt/last:3"),
    ],
)
def test_encoding(value: float | int | str, text: str) -> None:
    assert encode(value) == text


@pytest.mark.parametrize("text", ["x" * 5000, "\x1b" * 5000, "ab\x1b" * 400, "=" * 160])
def test_long_text_is_cut_to_the_limit_between_characters(text: str) -> None:
    line = format_record("warn", {"text": text}, TAIL)
    assert MAX_BYTES - 3 < len(line) <= MAX_BYTES
    (record,) = records_of(line)
    assert text.startswith(unquote(record.fields["text"]))
    assert re.search(r"%[0-9A-F]?$", record.fields["text"]) is None


def test_fields_beside_a_long_one_are_kept() -> None:
    (record,) = records_of(format_record("end", {"why": "fault", "code": 3, "text": "x" * 900}, TAIL))
    assert (record.fields["why"], record.fields["code"], record.fields["seq"]) == ("fault", "3", "42")


def test_a_full_disk_does_not_end_the_training() -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        Writer("1.0", 0, full.fileno()).write("phase", {"name": "train"})


def test_a_hostile_run_id_still_makes_a_record(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        Writer("\x1b =" * 300, 0, log.fileno()).write("end", {"why": "done", "code": 0})
    (record,) = records_of((tmp_path / "log").read_bytes())
    assert record.fields["why"] == "done"


def test_four_processes_on_one_file_lose_nothing(tmp_path: Path) -> None:
    code = (
        "import sys; from payload.sc1 import Writer\n"
        "writer = Writer('1.0', int(sys.argv[1]))\n"
        "for n in range(3000): writer.write('warn', {'text': 'x' * (n % 300)})"
    )
    path = tmp_path / "log"
    with path.open("ab") as log:
        writers = [subprocess.Popen([sys.executable, "-c", code, str(rank)], stdout=log, cwd=ROOT) for rank in range(4)]
        assert [writer.wait(timeout=60) for writer in writers] == [0, 0, 0, 0]
    seen = {(record.rank, int(record.fields["seq"])) for record in records_of(path.read_bytes())}
    assert seen == {(rank, seq) for rank in range(4) for seq in range(3000)}
