"""RowTable: the cursor belongs to a key, sorting and repainting."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.app import App, ComposeResult
from textual.geometry import Region

from console.columns.column import Column
from console.widgets.row_table import RowTable

Row = tuple[str, int]

COLUMNS: tuple[Column[Row], ...] = (
    Column("KEY", lambda row: (row[0], ""), lambda row: row[0]),
    Column("VALUE", lambda row: (str(row[1]), ""), lambda row: row[1], right=True),
)


class TableApp(App[None]):
    def compose(self) -> ComposeResult:
        yield RowTable[Row](COLUMNS, lambda row: row[0], empty="nothing here")

    @property
    def table(self) -> RowTable[Row]:
        return self.query_one(RowTable)


def rows(*keys: str) -> list[Row]:
    return [(key, ord(key[0])) for key in keys]


def line(table: RowTable[Row], y: int) -> str:
    return "".join(segment.text for segment in table.render_line(y))


async def test_the_cursor_stays_on_its_key_when_rows_come_and_go() -> None:
    async with TableApp().run_test() as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows(rows("a", "b", "c"))
        await pilot.press("down")
        assert table.cursor_key == "b"
        table.set_rows(rows("x", "y", "a", "b", "c"))
        assert table.cursor_key == "b"
        assert table.cursor_row == ("b", ord("b"))


async def test_when_its_row_goes_the_cursor_takes_the_row_in_its_place() -> None:
    async with TableApp().run_test() as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows(rows("a", "b", "c"))
        await pilot.press("down")
        table.set_rows(rows("a", "c"))
        assert table.cursor_key == "c"
        table.set_rows(rows("a"))
        assert table.cursor_key == "a"
        table.set_rows([])
        assert table.cursor_key is None
        assert "nothing here" in line(table, 2)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [(["G"], "e"), (["G", "g"], "a"), (["down", "down", "up"], "b"), (["k"], "a"), (["j", "j"], "c")],
)
async def test_keys_move_the_cursor(keys: Sequence[str], expected: str) -> None:
    async with TableApp().run_test() as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows(rows("a", "b", "c", "d", "e"))
        await pilot.press(*keys)
        assert table.cursor_key == expected


async def test_the_cursor_is_scrolled_into_view_and_the_header_stays() -> None:
    async with TableApp().run_test(size=(40, 10)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows([(f"{i:03}", i) for i in range(1000)])
        await pilot.press("G")
        await pilot.pause()
        assert "999" in line(table, 9)
        assert "KEY" in line(table, 0)
        await pilot.press("pageup")
        assert table.cursor_key == "990"


async def test_sorting_goes_through_the_columns_and_back_to_the_given_order() -> None:
    async with TableApp().run_test() as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows([("b", 1), ("a", 3), ("c", 2)])
        await pilot.press("s")
        assert [key for key, _ in table.rows] == ["a", "b", "c"]
        await pilot.press("s", "S")
        assert [value for _, value in table.rows] == [3, 2, 1]
        await pilot.press("s")
        assert [key for key, _ in table.rows] == ["b", "a", "c"]


async def test_only_changed_rows_are_repainted(monkeypatch: pytest.MonkeyPatch) -> None:
    async with TableApp().run_test(size=(40, 20)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows([(key, 1) for key in "abcdef"])
        await pilot.pause()
        painted: list[Region] = []
        monkeypatch.setattr(table, "refresh", lambda *regions, **_: painted.extend(regions))
        table.set_rows([(key, 2 if key == "c" else 1) for key in "abcdef"])
        assert [(region.y, region.height) for region in painted] == [(3, 1)]


async def test_a_click_moves_the_cursor_and_a_click_on_the_header_sorts() -> None:
    async with TableApp().run_test(size=(40, 20)) as pilot:
        table = pilot.app.query_one(RowTable)
        table.set_rows([("b", 1), ("a", 2)])
        await pilot.click(RowTable, offset=(2, 2))
        assert table.cursor_key == "a"
        await pilot.click(RowTable, offset=(2, 0))
        assert [key for key, _ in table.rows] == ["a", "b"]
