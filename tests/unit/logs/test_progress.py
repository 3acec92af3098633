import csv
import json
import zlib
from datetime import datetime, timezone
from pathlib import Path

import pytest

from jobs.logs.paths import LogMissing
from jobs.logs.progress import HISTORY, Ended, Progress, ProgressReader, read_progress
from jobs.logs.recognise import read_line, seconds

DATA = Path(__file__).parents[2] / "data" / "progress"
EXPECTED = list(csv.DictReader((DATA / "expected.tsv").open(), delimiter="\t"))
T0 = 1_800_000_000.0


def sc1(kind: str, seq: int, run: str = "7.0", rank: int = 0, t: float = T0, head: str = "", **fields: object) -> str:
    pairs = " ".join(f"{name}={value}" for name, value in fields.items())
    body = " ".join(part for part in ("sc1", kind, head, pairs) if part) + f" run={run} rank={rank} seq={seq} t={t}"
    return f"{body} crc={zlib.crc32(body.encode()):08x}\n"


def step(step: int, total: int = 100, run: str = "7.0", eta: str = "30s", loss: float = 2.0) -> str:
    head = f"{step}/{total} [#---] {step}% loss={loss} tok/s=500 eta={eta}"
    return sc1("step", step, run, t=T0 + step, head=head)


def feed(*pieces: str) -> Progress:
    reader = ProgressReader()
    for piece in pieces:
        reader.feed(piece, T0)
    return reader.progress


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row["file"])
def test_a_trainers_log_is_read(row: dict[str, str]) -> None:
    progress = read_progress(DATA / row["file"])
    assert progress is not None
    for name in ("format", "step", "total", "epoch", "loss", "rate", "rate_unit", "eta_s"):
        expected = row[name]
        value = getattr(progress, name)
        assert (value is None) if not expected else str(value) == expected or float(value) == float(expected), name


def test_what_only_looks_like_progress_is_refused() -> None:
    lines = (DATA / "no-progress.log").read_text().splitlines()
    assert len(lines) == 10
    assert [line for line in lines if read_line(line)] == []
    assert read_progress(DATA / "no-progress.log") is None


def test_the_fraction_is_steps_done_of_all() -> None:
    assert feed(step(40, 160)).fraction == 0.25
    assert feed(step(100, 100)).fraction == 1.0
    assert Progress(step=5).fraction is None
    assert Progress(step=5, total=0).fraction is None


def test_a_run_that_ended_early_is_not_complete() -> None:
    progress = feed(step(40, 100), sc1("end", 41, why="stopped", code=0, step=40))
    assert progress.ended == Ended("stopped", 0)
    fault = sc1("end", 0, why="fault", code=3, text="rank%20is%20not%20set")
    assert feed(fault).ended == Ended("fault", 3, "rank is not set")
    assert progress.fraction == 0.4
    assert progress.eta_s is None


def test_our_own_records_are_taken_over() -> None:
    progress = feed(
        sc1("hello", 0, total=100, unit="tok", per_step=64, world=4),
        sc1("phase", 1, name="train"),
        step(2),
        sc1("warn", 0, rank=3, text="slow%20disk"),
        sc1("alive", 3, phase="train", step=2),
    )
    assert (progress.format, progress.step, progress.total, progress.ranks) == ("sc1", 2, 100, 4)
    assert (progress.loss, progress.rate, progress.rate_unit, progress.eta_s) == (2.0, 500.0, "tok/s", 30.0)
    assert (progress.phase, progress.warnings) == ("train", ("rank 3: slow disk",))
    assert progress.updated_at == datetime.fromtimestamp(T0 + 2, timezone.utc)


def test_before_the_first_step_only_the_total_is_known() -> None:
    progress = feed(sc1("hello", 0, total=100, world=2))
    assert (progress.step, progress.total, progress.fraction, progress.loss) == (None, 100, None, None)


def test_without_an_eta_of_its_own_the_clock_of_the_steps_tells() -> None:
    # 10 steps in 10 seconds, 80 to go.
    assert feed(step(10, eta="?"), step(20, eta="?")).eta_s == 80.0
    assert feed(step(10, eta="?")).eta_s is None


def test_the_eta_of_foreign_steps_comes_from_their_arrival() -> None:
    reader = ProgressReader()
    for arrival, done in [(0, 100), (10, 120), (20, 140)]:
        reader.feed(f"step {done}/1000 loss 2.5\n", T0 + arrival)
    # 40 steps in 20 s; 860 to go at 2 a second.
    assert reader.progress.eta_s == 430.0
    assert (reader.progress.rate, reader.progress.rate_unit) == (2.0, "it/s")
    assert reader.progress.updated_at == datetime.fromtimestamp(T0 + 20, timezone.utc)


def test_repeated_lines_are_one_point_of_the_history() -> None:
    line = "step: 4  loss: 7.5  tps: 10,050\n"
    assert feed(line * 4, step(0)[:20]).losses == (7.5,)
    assert feed(step(1), step(1), step(2, loss=1.5)).losses == (2.0, 1.5)


def test_the_history_is_bounded_and_ends_with_the_newest() -> None:
    progress = feed("".join(step(n, 1000, loss=n) for n in range(1, 501)))
    assert len(progress.losses) == len(progress.rates) == HISTORY
    assert progress.losses[-1] == 500.0


def test_text_may_come_in_any_pieces() -> None:
    whole = sc1("hello", 0, total=100, world=2) + step(1) + step(2, loss=1.25)
    reader = ProgressReader()
    for char in whole:
        reader.feed(char, T0)
    assert reader.progress == feed(whole)


def test_a_line_of_text_counts_when_it_is_whole() -> None:
    reader = ProgressReader()
    reader.feed("step 7/9 loss 2.", T0)
    assert reader.progress.format is None
    reader.feed("25\n", T0)
    assert reader.progress.loss == 2.25


def test_a_requeued_jobs_next_life_starts_over() -> None:
    progress = feed(step(90), sc1("end", 91, why="signal", code=75), step(10, run="7.1", loss=3.0))
    assert (progress.step, progress.ended, progress.losses) == (10, None, (3.0,))


def test_our_own_records_win_over_bars() -> None:
    bar = "50%|#####     | 5/10 [00:01<00:01, 5.00it/s]\r"
    assert feed(bar, step(3), bar * 5).step == 3


def test_another_format_is_believed_after_three_lines() -> None:
    bars = [f"{n}0%|#         | {n}/10 [00:01<00:09, 1.00it/s]\r" for n in range(1, 5)]
    start = "step 500/1000 loss 2.0\n"
    assert feed(start, *bars[:2]).step == 500
    assert feed(start, *bars[:3]).step == 3


def test_a_nan_loss_is_kept_and_null_in_json() -> None:
    progress = feed(step(3, loss=float("nan")))
    assert progress.loss != progress.loss
    text = json.dumps(progress.to_json(), allow_nan=False)
    wanted = {
        "format",
        "step",
        "total",
        "epoch",
        "fraction",
        "loss",
        "rate",
        "rate_unit",
        "eta_s",
        "updated_at",
        "ranks",
    }
    assert wanted <= json.loads(text).keys()
    assert json.loads(text)["loss"] is None


def test_a_huge_log_is_read_at_its_head_and_tail(tmp_path: Path) -> None:
    path = tmp_path / "big.out"
    noise = "noise without meaning\n" * 100_000
    path.write_text(sc1("hello", 0, total=100, world=8) + step(1) + noise + step(77) + "x" * 100)
    progress = read_progress(path)
    assert progress is not None
    assert (progress.step, progress.total, progress.ranks) == (77, 100, 8)


def test_a_huge_bar_without_a_single_newline_is_read_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "bar.err"
    path.write_text("".join(f"\r{n // 300}%|###  | {n}/30000 [00:10<01:20, 120it/s]" for n in range(30_000)))
    progress = read_progress(path)
    assert progress is not None
    assert (progress.step, progress.total) == (29_999, 30_000)


def test_a_missing_log_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(LogMissing):
        read_progress(tmp_path / "none.out")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("41s", 41),
        ("23m41s", 1421),
        ("2h05m", 7500),
        ("2d3h", 183600),
        ("1:02", 62),
        ("9:07:58", 32878),
        ("1 day, 0:00:01", 86401),
        ("?", None),
        ("", None),
        ("soon", None),
    ],
)
def test_durations_are_read(text: str, expected: float | None) -> None:
    assert seconds(text) == expected
