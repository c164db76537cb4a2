"""The tables of docs/seeds.md are those of the readers."""

from __future__ import annotations

from tools.seeds_tables import PAGE, written


def test_the_tables_of_formats_are_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run python tools/seeds_tables.py"
