import asyncio
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from textual import on
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip

from console.widgets.log_view import LogView

DEADLINE_S = 20.0


class LogApp(App[None]):
    """A log view and what it told."""

    def __init__(self, path: Path | None = None) -> None:
        super().__init__()
        self.path = path
        self.notes: list[str] = []
        self.follow_changes: list[bool] = []
        self.grew_to: list[int] = []

    def compose(self) -> ComposeResult:
        yield LogView()

    def on_mount(self) -> None:
        if self.path:
            self.query_one(LogView).show(self.path)

    @on(LogView.Noticed)
    def note(self, message: LogView.Noticed) -> None:
        self.notes.append(message.text)

    @on(LogView.FollowChanged)
    def change(self, message: LogView.FollowChanged) -> None:
        self.follow_changes.append(message.following)

    @on(LogView.Grew)
    def grew(self, message: LogView.Grew) -> None:
        self.grew_to.append(message.size)


def screen(app: LogApp) -> list[str]:
    """The text of the view's lines, as painted."""
    view = app.query_one(LogView)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


async def until(pilot: Pilot[None], condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        await pilot.pause()
        await asyncio.sleep(0.01)


def append(path: Path, text: str) -> None:
    with path.open("a") as log:
        log.write(text)


def record(seq: int) -> str:
    body = f"sc1 step {seq}/9999 [#---------] loss=2 run=7.0 rank=0 seq={seq} t=1"
    return f"{body} crc={zlib.crc32(body.encode()):08x}\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "big.out"
    path.write_text("".join(f"line {number}\n" for number in range(1_000_000)))
    return path


async def test_a_million_lines_open_at_their_end_and_are_followed(log: Path) -> None:
    app = LogApp(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[-1] == "line 999999")
        view = app.query_one(LogView)
        assert screen(app)[0] == "line 999976"
        assert len(view.rows) < 30_000
        append(log, "appended\nlive")
        await until(pilot, lambda: screen(app)[-2:] == ["appended", "live"])
        assert app.grew_to[-1] == log.stat().st_size
        append(log, " line\n")
        await until(pilot, lambda: screen(app)[-2:] == ["appended", "live line"])


async def test_scrolling_up_stops_following_and_f_follows_again(log: Path) -> None:
    app = LogApp(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[-1] == "line 999999")
        await pilot.press("k")
        assert app.query_one(LogView).following is False
        assert screen(app)[-1] == "line 999998"
        append(log, "appended\n")
        await until(pilot, lambda: app.grew_to)
        assert screen(app)[-1] == "line 999998"
        await pilot.press("j", "j")
        await until(pilot, lambda: len(app.query_one(LogView).rows) and not app.query_one(LogView).following)
        await pilot.press("f")
        await until(pilot, lambda: screen(app)[-1] == "appended")
        assert app.follow_changes == [False, True]


async def test_the_start_and_the_way_back_are_shown(log: Path) -> None:
    app = LogApp(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[-1] == "line 999999")
        await pilot.press("g")
        await until(pilot, lambda: screen(app)[0] == "line 0")
        await pilot.press("pagedown")
        assert screen(app)[0] == "line 23"
        await pilot.press("G")
        await until(pilot, lambda: screen(app)[-1] == "line 999999")


async def test_paging_up_passes_what_was_read_at_first(log: Path) -> None:
    app = LogApp(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[-1] == "line 999999")
        view = app.query_one(LogView)
        first = int(view.rows[0].text.split()[1])
        view.scroll_to(y=20, animate=False)
        await until(pilot, lambda: view.rows[0].text != f"line {first}")
        shown = [int(text.split()[1]) for text in screen(app)]
        assert shown == list(range(first + 20, first + 44))
        for _ in range(5):
            await pilot.press("pageup")
        shown = [int(text.split()[1]) for text in screen(app)]
        assert shown == list(range(first + 20 - 5 * 23, first + 44 - 5 * 23))


async def test_a_truncated_log_shows_its_new_content_and_says_so(log: Path) -> None:
    app = LogApp(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[-1] == "line 999999")
        log.write_text("second life\n")
        await until(pilot, lambda: screen(app)[0] == "second life")
        assert screen(app)[1:] == [""] * 23
        assert "truncated or replaced" in app.notes[-1]


async def test_a_missing_log_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "later.out"
    app = LogApp(path)
    async with app.run_test(size=(200, 24)) as pilot:
        sentence = f"The log is not there yet: {path}. It appears when the job starts."
        await until(pilot, lambda: sentence in "\n".join(screen(app)))
        path.write_text("hello\n")
        await until(pilot, lambda: screen(app)[0] == "hello")
        assert app.query_one(LogView).message == ""


async def test_a_log_that_vanished_stays_on_screen_and_is_told_once(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text("last words\n")
    app = LogApp(path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[0] == "last words")
        path.unlink()
        await pilot.press("f", "f")
        await until(pilot, lambda: app.notes)
        await app.workers.wait_for_complete()
        assert app.notes == [f"The log is not there: {path}."]
        assert screen(app)[0] == "last words"


async def test_a_directory_is_explained_and_a_message_shown_in_the_middle(tmp_path: Path) -> None:
    app = LogApp(tmp_path)
    async with app.run_test(size=(200, 24)) as pilot:
        await until(pilot, lambda: "is a directory" in "\n".join(screen(app)))
        app.query_one(LogView).show_message("No job is chosen.")
        lines = screen(app)
        (y,) = (y for y, line in enumerate(lines) if line)
        assert y in (11, 12)
        assert lines[y].strip() == "No job is chosen."
        assert abs(lines[y].index("N") - (199 - 17) // 2) <= 1


async def test_a_search_goes_to_matches_both_ways_and_marks_them(log: Path) -> None:
    app = LogApp(log)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen(app)[-1] == "line 999999")
        view = app.query_one(LogView)
        view.search("77777", backwards=True)
        await until(pilot, lambda: "line 977777" in screen(app))
        assert not view.following
        await pilot.press("N")
        await until(pilot, lambda: "line 877777" in screen(app))
        await pilot.press("n")
        await until(pilot, lambda: "line 977777" in screen(app))
        strip = view.render_line(screen(app).index("line 977777"))
        marked = [segment.text for segment in strip if segment.style and segment.style.reverse]
        assert marked == ["77777"]
        await pilot.press("n")
        await until(pilot, lambda: app.notes)
        assert app.notes == ["No match for “77777” below."]


async def test_lines_that_go_on_beside_the_screen_are_marked(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text("0123456789" * 4 + "\nshort\n")
    app = LogApp(path)
    async with app.run_test(size=(21, 24)) as pilot:
        await until(pilot, lambda: screen(app)[1] == "short")
        width = len(screen(app)[0])
        assert screen(app)[0] == ("0123456789" * 4)[: width - 1] + "›"
        assert "›" not in screen(app)[1]


async def test_a_thousand_progress_records_are_one_live_line_until_z(tmp_path: Path) -> None:
    path = tmp_path / "train.out"
    path.write_text("start\n" + "".join(map(record, range(1000))))
    app = LogApp(path)
    async with app.run_test(size=(160, 24)) as pilot:
        await until(pilot, lambda: screen(app)[1].startswith("(+999, z) sc1 step 999/9999 ["))
        assert screen(app)[0] == "start"
        assert screen(app)[2:] == [""] * 22
        append(path, record(1000))
        await until(pilot, lambda: "sc1 step 1000/" in screen(app)[1])
        await pilot.press("z")
        await until(pilot, lambda: "sc1 step 978/" in screen(app)[1])
        assert "sc1 step 1000/" in screen(app)[-1]
        await pilot.press("z")
        await until(pilot, lambda: screen(app)[0] == "start")


async def test_only_the_changed_line_is_painted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.out"
    path.write_text("start\n" + record(1) + record(2))
    app = LogApp(path)
    async with app.run_test(size=(160, 24)) as pilot:
        await until(pilot, lambda: "sc1 step 2/" in screen(app)[1])
        await pilot.pause()
        painted: list[int] = []
        original = LogView.render_line

        def count(view: LogView, y: int) -> Strip:
            painted.append(y)
            return original(view, y)

        monkeypatch.setattr(LogView, "render_line", count)
        append(path, record(3))
        await until(pilot, lambda: painted)
        await pilot.pause()
        assert set(painted) == {1}


async def test_long_lines_are_read_sideways(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_text("".join(f"{number:04d}" for number in range(100)) + "\nshort\n")
    app = LogApp(path)
    async with app.run_test(size=(81, 10)) as pilot:
        await until(pilot, lambda: screen(app)[0].startswith("0000"))
        await pilot.press("right")
        assert screen(app)[0].startswith("0002")
        await pilot.press("left", "left")
        assert screen(app)[0].startswith("0000")


async def test_escapes_in_a_log_do_not_reach_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "a.out"
    path.write_bytes(b"\x1b[31mred\x1b[0m\x1b]0;title\x07\x00 \xff\n[bold]no markup[/bold]\n")
    app = LogApp(path)
    async with app.run_test(size=(80, 10)) as pilot:
        await until(pilot, lambda: screen(app)[0])
        assert screen(app)[:2] == ["red \ufffd", "[bold]no markup[/bold]"]
