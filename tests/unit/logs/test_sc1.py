import zlib
from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.logs.sc1 import Seen, find_records
from payload.sc1 import format_record

EXAMPLE = (
    "sc1 step 40/10000 [#---------]  0.4% loss=7.7110 lr=3e-05 gn=1.03 tok/s=461712 mfu=0.399 step_ms=141.9 "
    "eta=23m41s run=4711.0 rank=0 seq=42 t=1796094079.1"
)


def line(body: str) -> str:
    return f"{body} crc={zlib.crc32(body.encode()):08x}"


def record(seq: int, rank: int = 0, run: str = "7.0") -> str:
    return line(f"sc1 step {seq}/100 loss=1 run={run} rank={rank} seq={seq} t=1796094079.1")


def test_a_step_record_is_read_whole() -> None:
    (step,) = find_records(line(EXAMPLE) + "\n")
    assert (step.kind, step.step, step.total) == ("step", 40, 10000)
    assert (step.run, step.rank, step.seq) == ("4711.0", 0, 42)
    assert step.number("loss") == 7.711
    assert step.number("tok/s") == 461712
    assert step.number("eta") is None
    assert step.text("eta") == "23m41s"
    assert step.time == datetime(2026, 12, 1, 3, 1, 19, 100000, tzinfo=timezone.utc)


def test_the_checksum_is_the_crc32_of_the_text_before_it() -> None:
    assert zlib.crc32(b"123456789") == 0xCBF43926
    assert find_records(line(EXAMPLE))
    assert not find_records(line(EXAMPLE).replace("loss=7", "loss=8"))
    assert not find_records(EXAMPLE + " crc=00000000")


def test_records_are_found_anywhere_in_the_stream() -> None:
    stream = f"0: {record(1)}{record(2)}\nnoise \x1b[32m{record(3)}\x1b[0m tail\n[default0]:{record(4)}\r\n"
    assert [found.seq for found in find_records(stream)] == [1, 2, 3, 4]


def test_a_torn_record_does_not_take_its_neighbour_along() -> None:
    assert [found.seq for found in find_records(record(1)[:30] + record(2))] == [2]
    assert [found.seq for found in find_records(record(1)[:-3] + "\n" + record(2))] == [2]


def test_what_the_payload_writes_is_read_back() -> None:
    text = format_record("warn", {"text": "a = b%\n"}, {"run": "7.0", "rank": 2, "seq": 9, "t": 1}).decode()
    (warn,) = find_records(text)
    assert (warn.kind, warn.text("text"), warn.run, warn.rank, warn.seq) == ("warn", "a = b% ", "7.0", 2, 9)


@given(st.text(max_size=60), st.text(max_size=60))
def test_text_around_a_record_does_not_hide_it(before: str, after: str) -> None:
    found = find_records(f"{before}\n{record(5)}\n{after}")
    assert 5 in [one.seq for one in found]


def test_text_values_are_decoded_and_harmless() -> None:
    (warn,) = find_records(line("sc1 warn text=loss%20is%1B%5B31m%3D%20nan run=7.0 rank=3 seq=0 t=1"))
    assert warn.text("text") == "loss is= nan"
    assert warn.rank == 3


def test_numbers_may_be_nan_or_infinite() -> None:
    (step,) = find_records(line("sc1 step 3 loss=nan gn=inf run=7.0 rank=0 seq=0 t=1"))
    assert step.number("loss") != step.number("loss")
    assert step.number("gn") == float("inf")
    assert (step.step, step.total) == (3, None)


@pytest.mark.parametrize("end", ["run=7.0 rank=x seq=1 t=1", "rank=0 seq=1 t=1", "run=7.0 rank=0 t=1"])
def test_a_record_without_its_identity_is_none(end: str) -> None:
    assert find_records(line(f"sc1 step 1/2 {end}")) == []


@pytest.mark.parametrize("time", ["", "nan", "inf", "1e300", "x"])
def test_an_impossible_time_is_unknown(time: str) -> None:
    (step,) = find_records(line(f"sc1 step 1/2 run=7.0 rank=0 seq=1 t={time}"))
    assert step.time is None


def test_a_repeated_record_is_seen_but_not_that_of_another_rank_or_run() -> None:
    seen = Seen()
    records = find_records("\n".join([record(1), record(1), record(1, rank=1), record(1, run="7.1"), record(2)]))
    assert [seen.add(one) for one in records] == [True, False, True, True, True]


def test_a_log_read_twice_adds_nothing_however_long_it_is() -> None:
    seen = Seen()
    records = find_records("\n".join(record(seq) for seq in range(6000)))
    assert len(records) == 6000
    assert all(seen.add(one) for one in records)
    assert not any(seen.add(one) for one in records)
