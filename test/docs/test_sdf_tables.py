"""The tables of docs/sdf.md are those of the readers."""

from __future__ import annotations

from tools.sdf_tables import PAGE, written


def test_the_tables_of_sdf_are_up_to_date() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page, "run python tools/sdf_tables.py"
