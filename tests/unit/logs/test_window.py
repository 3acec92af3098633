import zlib
from pathlib import Path

import pytest

from jobs.logs.follow import CHUNK, LINE_BYTES, Change
from jobs.logs.opening import LogMissing
from jobs.logs.search import find_line, matches
from jobs.logs.window import MAX_ROWS, LogWindow, row_of


def line(number: int) -> bytes:
    return b"line %07d of the log\n" % number  # 24 bytes


def lines(*numbers: int) -> bytes:
    return b"".join(map(line, range(*numbers)))


def record(seq: int) -> bytes:
    body = b"sc1 step %d/9999 [#---------] loss=2 run=7.0 rank=0 seq=%d t=1" % (seq, seq)
    return body + b" crc=%08x\n" % zlib.crc32(body)


def texts(window: LogWindow) -> list[str]:
    return [row.text for row in window.rows()]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "big.out"
    path.write_bytes(lines(100_000))
    return path


def test_a_big_log_opens_at_its_end_after_one_chunk(log: Path) -> None:
    window = LogWindow(log)
    window.open_end(100)
    assert texts(window)[-1] == "line 0099999 of the log"
    assert window.at_end
    assert len(window.rows()) == CHUNK // 24
    assert window.start == (100_000 - len(window.rows())) * 24


def test_going_back_to_the_start_shows_each_line_once(log: Path) -> None:
    window = LogWindow(log)
    window.open_end(1)
    while window.start:
        first = window.rows()[0].offset
        assert window.back()
        rows = window.rows()
        assert [row.offset for row in rows] == list(range(rows[0].offset, rows[0].offset + 24 * len(rows), 24))
        assert rows[0].offset < first
        assert len(rows) <= MAX_ROWS
    assert texts(window)[:2] == ["line 0000000 of the log", "line 0000001 of the log"]
    assert not window.back()
    assert not window.at_end


def test_going_forward_from_the_start_reaches_the_end(log: Path) -> None:
    window = LogWindow(log)
    window.open_at(0, 10)
    assert texts(window)[0] == "line 0000000 of the log"
    while not window.at_end:
        window.forward()
        assert len(window.rows()) <= MAX_ROWS + 1  # the unfinished line
    assert texts(window) == [f"line {number:07d} of the log" for number in range(100_000 - MAX_ROWS, 100_000)]
    assert window.start == (100_000 - MAX_ROWS) * 24


def test_a_place_in_the_middle_has_rows_around_it(log: Path) -> None:
    window = LogWindow(log)
    window.open_at(50_000 * 24 + 5, 100)
    rows = window.rows()
    index = row_of(rows, 50_000 * 24)
    assert rows[index].text == "line 0050000 of the log"
    assert index > 100
    assert len(rows) > index + 100


def test_followed_news_are_appended_and_an_unfinished_line_is_live(log: Path) -> None:
    window = LogWindow(log)
    window.open_end(10)
    count = len(window.rows())
    with log.open("ab") as out:
        out.write(b"new\nhal")
    assert window.poll(True, 10) is Change.GREW
    assert texts(window)[count:] == ["new", "hal"]
    with log.open("ab") as out:
        out.write(b"f\r 50%\r 60%")
    window.poll(True, 10)
    assert texts(window)[count:] == ["new", " 60%"]


def test_without_following_news_are_only_counted(log: Path) -> None:
    window = LogWindow(log)
    window.open_end(10)
    count = len(window.rows())
    with log.open("ab") as out:
        out.write(b"new\n")
    window.poll(False, 10)
    assert len(window.rows()) == count
    assert not window.at_end
    assert window.size == 2_400_004


def test_a_writer_far_ahead_is_caught_up_with_at_the_end(log: Path) -> None:
    window = LogWindow(log)
    window.open_end(10)
    with log.open("ab") as out:
        out.write(lines(100_000, 500_000))
    window.poll(True, 10)
    assert texts(window)[-1] == "line 0499999 of the log"
    assert window.at_end


@pytest.mark.parametrize("following", [True, False])
def test_a_truncated_log_shows_its_new_content(log: Path, following: bool) -> None:
    window = LogWindow(log)
    window.open_end(10)
    log.write_bytes(b"fresh\n")
    assert window.poll(following, 10) is Change.RESTARTED
    assert texts(window) == ["fresh"]


def test_a_vanished_log_keeps_its_rows(log: Path) -> None:
    window = LogWindow(log)
    window.open_end(10)
    count = len(window.rows())
    log.unlink()
    assert window.poll(True, 10) is Change.MISSING
    assert len(window.rows()) == count
    with pytest.raises(LogMissing):
        window.open_end(10)


def test_progress_records_fold_into_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"start\n" + b"".join(map(record, range(20_000))) + b"saved\n" + record(20_000) + record(20_001))
    window = LogWindow(path)
    window.open_end(100)
    rows = window.rows()
    assert [row.count for row in rows] == [1, 20_000, 1, 2]
    assert [row.text.split(" run=")[0].partition(" [")[0] for row in rows] == [
        "start",
        "sc1 step 19999/9999",
        "saved",
        "sc1 step 20001/9999",
    ]
    assert row_of(rows, rows[1].offset + 100_000) == 1
    with path.open("ab") as out:
        out.write(record(20_002)[:30])
    window.poll(True, 100)
    assert window.rows()[-1].count == 3


def test_unfolded_every_record_is_a_row(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"".join(map(record, range(1000))))
    window = LogWindow(path, folded=False)
    window.open_end(10)
    assert len(window.rows()) == 1000


def test_a_line_of_ten_megabytes_is_one_short_row(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"before\n" + b"h" + b"x" * 10_000_000 + b"\nafter\n")
    window = LogWindow(path)
    window.open_end(10)
    assert [text[:6] for text in texts(window)] == ["before", "hxxxxx", "after"]
    assert len(texts(window)[1]) <= LINE_BYTES + 1
    window.open_at(5_000_000, 10)
    assert [text[:6] for text in texts(window)] == ["before", "hxxxxx", "after"]


def test_the_place_asked_for_is_kept_among_the_shortest_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"\n" * 500_000 + b"here\n" + b"\n" * 500_000)
    window = LogWindow(path)
    window.open_at(500_000, 100)
    rows = window.rows()
    assert rows[row_of(rows, 500_000)].text == "here"
    assert len(rows) <= MAX_ROWS + 1
    while window.start > 400_000:
        window.back()
    while not window.at_end:
        window.forward()
    assert window.rows()[-1].offset == 1_000_004


def test_an_empty_log_has_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.touch()
    window = LogWindow(path)
    window.open_end(10)
    assert window.rows() == []


def test_text_is_found_both_ways(log: Path) -> None:
    def find(needle: str, number: int, backwards: bool) -> int | None:
        found = find_line(log, needle, number * 24, backwards, lambda: False)
        return None if found is None else found // 24

    assert find("0077777", 10, False) == 77_777
    assert find("0077777", 90_000, True) == 77_777
    assert find("0077777", 77_777, False) is None
    assert find("0077777", 77_777, True) is None
    assert find("777 of", 1000, False) == 1777
    assert find("777 of", 1777, True) == 777
    assert find("LINE 0000005", 0, False) is None
    assert find("line 0000000", 5, True) == 0


def test_a_search_can_be_given_up(log: Path) -> None:
    assert find_line(log, "0099999", 0, False, lambda: True) is None


def test_what_a_bar_has_overwritten_is_not_found(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"first\n10%\r20%\r30%\nlast 20%\n")
    assert find_line(path, "20%", 0, False, lambda: False) == 18


def test_case_counts_only_if_the_search_has_capitals() -> None:
    assert matches("error", "An ERROR")
    assert not matches("Error", "An ERROR")
