"""What rank 0 says and when: schedule, rates, ETA, heartbeats and the end."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from launches import Record, records_of

from payload.progress import Heartbeat, Progress, bar, duration, report_interval
from payload.sc1 import Writer


class Voice:
    """A Progress with a hand-driven clock that writes to a file."""

    def __init__(self, path: Path, rank: int) -> None:
        self.path = path
        self.now = 100.0
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.progress = Progress(Writer("4711.0", rank, self.fd), clock=lambda: self.now)

    def records(self, kind: str) -> list[Record]:
        return [record for record in records_of(self.path.read_bytes()) if record.kind == kind]

    def train(self, total: int, step_s: float) -> None:
        self.progress.hello(total=total, unit="tok", per_step=2048)
        self.progress.start()
        for step in range(1, total + 1):
            self.now += step_s
            self.progress.step(step, loss=1 / step)


@pytest.fixture
def voice(tmp_path: Path) -> Iterator[Voice]:
    first = Voice(tmp_path / "log", 0)
    yield first
    os.close(first.fd)


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Voice]:
    second = Voice(tmp_path / "other", 1)
    yield second
    os.close(second.fd)


def steps(voice: Voice) -> list[int]:
    return [int(record.head.split("/")[0]) for record in voice.records("step")]


def test_first_five_steps_and_the_last_are_told(voice: Voice) -> None:
    voice.train(total=40, step_s=0.001)
    assert steps(voice) == [1, 2, 3, 4, 5, 40]


def test_then_steps_are_told_by_time(voice: Voice) -> None:
    voice.train(total=20, step_s=0.25)
    assert steps(voice) == [1, 2, 3, 4, 5, 7, 9, 11, 13, 15, 17, 19, 20]


@pytest.mark.parametrize(("elapsed", "interval"), [(0, 0.5), (59, 0.5), (60, 1), (599, 1), (600, 5), (1e6, 5)])
def test_the_interval_grows(elapsed: float, interval: float) -> None:
    assert report_interval(elapsed) == interval


def test_rate_step_time_and_eta_follow_from_the_clock(voice: Voice) -> None:
    voice.train(total=100, step_s=0.5)
    middle = voice.records("step")[49]
    assert middle.head == "50/100 [#####-----]  50.0%"
    assert (middle.fields["tok/s"], middle.fields["step_ms"], middle.fields["eta"]) == ("4096", "500", "25s")


def test_a_slow_start_does_not_stay_in_the_eta(voice: Voice) -> None:
    voice.progress.hello(total=40, unit="samples", per_step=8)
    voice.progress.start()
    for step in range(1, 31):
        voice.now += 60.0 if step <= 10 else 1.0
        voice.progress.step(step)
    last = voice.records("step")[-1]
    assert (last.fields["eta"], last.fields["samples/s"]) == ("10s", "8")


@pytest.mark.parametrize(
    ("step", "total", "drawn"),
    [(0, 10, "[----------]"), (1, 10000, "[#---------]"), (99, 100, "[#########-]"), (100, 100, "[##########]")],
)
def test_bar_is_full_only_at_the_end(step: int, total: int, drawn: str) -> None:
    assert bar(step, total) == drawn


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59.4, "59s"), (59.6, "1m00s"), (1421, "23m41s"), (3599.7, "1h00m"), (90061, "25h01m")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_hello_is_repeated_every_ten_minutes(voice: Voice) -> None:
    voice.progress.hello(total=40, unit="tok", per_step=2048)
    for _ in range(130):
        voice.now += 10
        voice.progress.beat()
    assert [record.fields["unit"] for record in voice.records("hello")] == ["tok", "tok", "tok"]
    assert len(voice.records("alive")) == 130


def test_heartbeat_tells_the_phase_and_the_age_of_the_last_step(voice: Voice) -> None:
    voice.train(total=3, step_s=1.0)
    voice.now += 42.5
    voice.progress.beat()
    (alive,) = voice.records("alive")
    assert (alive.fields["phase"], alive.fields["step"], alive.fields["age"]) == ("train", "3", "42.5")


def test_other_ranks_are_silent_but_for_rank_alive_signal_and_warn(other: Voice) -> None:
    other.progress.rank(host="n02", local=1)
    other.progress.phase("init")
    other.train(total=3, step_s=1.0)
    other.progress.beat()
    other.progress.signal("SIGUSR1")
    other.progress.end("fault", 3, "wrong")
    assert [record.kind for record in records_of(other.path.read_bytes())] == [
        "rank",
        "alive",
        "signal",
        "warn",
        "alive",
    ]


def test_end_tells_why_the_code_and_the_last_step(voice: Voice) -> None:
    voice.train(total=3, step_s=1.0)
    voice.progress.end("stopped", 75)
    (end,) = voice.records("end")
    assert (end.fields["why"], end.fields["code"], end.fields["step"]) == ("stopped", "75", "3")


def test_heartbeat_thread_ends_with_its_block(voice: Voice) -> None:
    heartbeat = Heartbeat(voice.progress, 1)
    with heartbeat:
        assert heartbeat.running
    assert not heartbeat.running
