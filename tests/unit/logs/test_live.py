from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from jobs.logs.live import LiveProgress
from jobs.logs.opening import LogProblem
from jobs.logs.progress import TAIL_BYTES, Progress


def append(path: Path, text: str) -> None:
    with path.open("a", encoding="utf-8") as log:
        log.write(text)


def record(kind: str, seq: int, words: str, run: str = "7.0") -> str:
    body = f"sc1 {kind} {words} run={run} rank=0 seq={seq} t={1_800_000_000 + seq}"
    return f"{body} crc={zlib.crc32(body.encode()):08x}\n"


def step(number: int, run: str = "7.0", loss: float = 2.0) -> str:
    return record("step", number, f"{number}/1000 [#] loss={loss}", run)


def told(live: LiveProgress) -> Progress:
    found = live.poll()
    assert found is not None
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "a.out"


def test_a_log_that_is_not_there_yet_is_nothing_and_then_read_from_its_start(log: Path) -> None:
    live = LiveProgress(log)
    assert live.poll() is None
    log.write_text("setting up\n")
    assert live.poll() is None
    append(log, step(3))
    assert (told(live).step, told(live).total, told(live).loss) == (3, 1000, 2.0)


def test_it_goes_on_from_where_it_was(log: Path) -> None:
    log.write_text(step(1) + step(2))
    live = LiveProgress(log)
    assert told(live).losses == (2.0, 2.0)
    append(log, step(3, loss=1.5) + step(4)[:20])
    assert (told(live).step, told(live).losses) == (3, (2.0, 2.0, 1.5))
    append(log, step(4)[20:])
    assert told(live).step == 4
    append(log, record("end", 5, "why=done code=0"))
    ended = told(live).ended
    assert ended is not None
    assert (ended.why, ended.code) == ("done", 0)


def test_a_character_split_between_two_looks_is_whole(log: Path) -> None:
    line = record("end", 1, "why=fehler-ü code=1").encode()
    cut = line.index("ü".encode()) + 1
    log.write_bytes(line[:cut])
    live = LiveProgress(log)
    assert live.poll() is None
    with log.open("ab") as file:
        file.write(line[cut:])
    ended = told(live).ended
    assert ended is not None
    assert ended.why == "fehler-ü"


def test_of_a_long_log_the_head_and_the_end_are_read(log: Path) -> None:
    hello = record("hello", 0, "total=1000 world=8")
    log.write_text(hello + step(1) + "noise\n" * TAIL_BYTES + step(999))
    found = told(LiveProgress(log))
    assert (found.step, found.total, found.ranks) == (999, 1000, 8)
    assert found.losses == (2.0,)


def test_the_line_that_the_end_begins_in_is_not_misread(log: Path) -> None:
    bar = "50%|#####     | 5/10 [00:05<00:05,  1.00it/s]\n"
    after = "x" * (TAIL_BYTES - len(bar) - 1) + "\n"
    log.write_text("y" * 100_000 + "\nValidating: " + bar + after)
    live = LiveProgress(log)
    assert live.poll() is None
    append(log, bar)
    assert told(live).step == 5


def test_a_log_that_begins_anew_is_another_run(log: Path) -> None:
    log.write_text(step(500) + step(501))
    live = LiveProgress(log)
    assert told(live).step == 501
    log.write_text(step(1, run="8.0", loss=9.0))
    assert (told(live).step, told(live).losses) == (1, (9.0,))


def test_a_log_that_vanishes_keeps_what_is_known(log: Path) -> None:
    log.write_text(step(5))
    live = LiveProgress(log)
    assert told(live).step == 5
    log.unlink()
    assert told(live).step == 5


def test_much_that_is_new_is_read_in_several_looks(log: Path) -> None:
    live = LiveProgress(log)
    assert live.poll() is None
    log.write_text("noise\n" * (TAIL_BYTES // 2) + step(7))
    looks = 0
    while live.poll() is None:
        looks += 1
        assert looks < 10
    assert looks > 0
    assert told(live).step == 7


def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "fifo"):
        with pytest.raises(LogProblem):
            LiveProgress(path).poll()
