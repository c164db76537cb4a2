"""Tables in HTML, for notebooks: what `_repr_html_` of public classes returns."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

# Maximum number of rows shown; further rows are only counted.
MAX_ROWS = 40
_CELL = "text-align:left;padding:2px 10px"


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with a title, for a notebook. All texts are escaped.

    Args:
        title: A line above the table.
        header: Names of the columns.
        rows: Cells of each row; only the first MAX_ROWS are shown.

    Returns:
        The HTML.
    """
    lines = [_row("th", header), *(_row("td", row) for row in rows[:MAX_ROWS])]
    if len(rows) > MAX_ROWS:
        lines.append(_row("td", (f"and {len(rows) - MAX_ROWS} more", *[""] * (len(header) - 1))))
    return f"<div><b>{escape(title)}</b><table>{''.join(lines)}</table></div>"


def text_block(title: str, text: str) -> str:
    """Return a multi-line text with a title, for a notebook. Both are escaped.

    Args:
        title: A line above the text.
        text: The text. Its spaces are preserved.

    Returns:
        The HTML.
    """
    return f"<div><b>{escape(title)}</b><pre>{escape(text)}</pre></div>"


def _row(kind: str, texts: Sequence[str]) -> str:
    cells = [f'<{kind} style="{_CELL}">{escape(text)}</{kind}>' for text in texts]
    return f"<tr>{''.join(cells)}</tr>"
