import os
from pathlib import Path

import pytest

from jobs.logs.follow import CHUNK, LINE_BYTES, Change, Tail
from jobs.logs.paths import LogProblem


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as log:
        log.write(data)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.out"
    path.write_bytes(b"one\ntwo\n")
    return path


def test_lines_come_once_and_in_order(log: Path) -> None:
    tail = Tail(log)
    assert tail.poll() == ["one", "two"]
    assert tail.poll() == []
    append(log, b"three\n")
    assert tail.poll() == ["three"]


def test_a_read_tells_whether_the_file_grew(log: Path) -> None:
    tail = Tail(log)
    changes = []
    for new in (b"", b"", b"three\n"):
        append(log, new)
        tail.read()
        changes.append(tail.change)
    assert changes == [Change.GREW, Change.SAME, Change.GREW]


def test_a_partial_line_is_live_and_completed_later(log: Path) -> None:
    tail = Tail(log)
    append(log, b"thr")
    assert tail.poll() == ["one", "two"]
    assert tail.partial == "thr"
    append(log, b"ee\nfo")
    assert tail.poll() == ["three"]
    assert tail.partial == "fo"


def test_a_character_split_between_polls_is_whole_in_its_line(log: Path) -> None:
    tail = Tail(log)
    append(log, "ä".encode()[:1])
    tail.poll()
    append(log, "ä".encode()[1:] + b"\n")
    assert tail.poll() == ["ä"]


def test_from_the_end_only_new_lines_come(log: Path) -> None:
    tail = Tail(log, back=0)
    assert tail.poll() == []
    append(log, b"three\n")
    assert tail.poll() == ["three"]


def test_some_way_back_begins_at_a_line_start(log: Path) -> None:
    assert Tail(log, back=6).poll() == ["two"]
    assert Tail(log, back=4).poll() == ["two"]
    assert Tail(log, back=100).poll() == ["one", "two"]


def test_a_truncated_file_is_read_from_its_start(log: Path) -> None:
    tail = Tail(log)
    tail.poll()
    log.write_bytes(b"new\n")
    assert tail.poll() == ["new"]
    assert tail.change is Change.RESTARTED


def test_a_file_rewritten_longer_is_read_from_its_start(log: Path) -> None:
    tail = Tail(log)
    tail.poll()
    log.write_bytes(b"another life\nof the job\n")
    assert tail.poll() == ["another life", "of the job"]
    assert tail.change is Change.RESTARTED


def test_a_replaced_file_is_read_from_its_start_even_if_it_continues_alike(log: Path, tmp_path: Path) -> None:
    tail = Tail(log)
    tail.poll()
    other = tmp_path / "other"
    other.write_bytes(b"one\ntwo\nthree\n")
    other.replace(log)
    assert tail.poll() == ["one", "two", "three"]
    assert tail.change is Change.RESTARTED


def test_the_partial_line_before_a_restart_is_not_glued_to_the_new_text(log: Path) -> None:
    append(log, b"cut off")
    tail = Tail(log)
    tail.poll()
    log.write_bytes(b"new\n")
    assert tail.poll() == ["cut off", "new"]


def test_a_file_seen_empty_after_truncation_starts_a_new_line(log: Path) -> None:
    append(log, b"cut off")
    tail = Tail(log)
    tail.poll()
    log.write_bytes(b"")
    assert tail.poll() == ["cut off"]
    append(log, b"new\n")
    assert tail.poll() == ["new"]


def test_a_missing_file_is_waited_for_and_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "later.out"
    tail = Tail(path, back=0)
    assert tail.poll() == []
    assert tail.change is Change.MISSING
    path.write_bytes(b"first\n")
    assert tail.poll() == ["first"]


def test_a_vanished_file_is_missing_and_its_successor_read_whole(log: Path) -> None:
    tail = Tail(log)
    tail.poll()
    log.unlink()
    assert tail.poll() == []
    assert tail.change is Change.MISSING
    log.write_bytes(b"next\nlife of it\n")
    assert tail.poll() == ["next", "life of it"]


def test_a_file_that_a_server_hid_for_a_moment_goes_on(log: Path, tmp_path: Path) -> None:
    append(log, b"thr")
    tail = Tail(log)
    tail.poll()
    log.rename(tmp_path / "hidden")
    assert tail.poll() == []
    (tmp_path / "hidden").rename(log)
    append(log, b"ee\n")
    assert tail.poll() == ["three"]


def test_a_file_swapped_for_a_fifo_is_a_problem_not_a_hang(log: Path) -> None:
    tail = Tail(log)
    tail.poll()
    log.unlink()
    os.mkfifo(log)
    with pytest.raises(LogProblem, match="FIFO"):
        tail.poll()


def test_nuls_and_invalid_utf8_are_text(log: Path) -> None:
    tail = Tail(log, back=0)
    tail.poll()
    append(log, b"a\0b \xff\xfe\n")
    assert tail.poll() == ["a\0b \ufffd\ufffd"]


def test_a_poll_reads_a_bounded_amount(log: Path) -> None:
    append(log, b"0123456789abcde\n" * (2 * CHUNK // 16))
    tail = Tail(log)
    assert len(tail.poll()) < CHUNK // 15
    assert tail.behind == 2 * CHUNK + 8 - CHUNK
    lines = 0
    while tail.behind:
        lines += len(tail.poll())
    assert tail.offset == log.stat().st_size


def test_a_line_of_ten_megabytes_is_kept_to_its_head(log: Path) -> None:
    append(log, b"head" + b"x" * 10_000_000)
    tail = Tail(log)
    got = tail.poll()
    while tail.behind:
        got += tail.poll()
        assert len(tail.partial) <= LINE_BYTES
    append(log, b"\nnext\n")
    got += tail.poll()
    assert [line[:4] for line in got] == ["one", "two", "head", "next"]
    assert len(got[2]) == LINE_BYTES


def test_a_bar_of_megabytes_without_newline_shows_its_live_end(log: Path) -> None:
    append(log, b"".join(b"\r%6d/200000" % i for i in range(200_001)))
    tail = Tail(log)
    tail.poll()
    while tail.behind:
        tail.poll()
    assert tail.partial.endswith("\r200000/200000")
    assert len(tail.partial) <= LINE_BYTES
