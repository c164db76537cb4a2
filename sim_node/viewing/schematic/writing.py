"""Panels as KDL: layouts made on pages are kept, sent and saved as the text of a schematic."""

from __future__ import annotations

from collections.abc import Iterable

from sim_node.viewing.schematic.eql import Formula
from sim_node.viewing.schematic.model import (
    ENU,
    FIELD_OF_VIEW,
    NEUTRAL,
    DataPanel,
    GraphPanel,
    Panel,
    Split,
    Tabs,
    Viewport,
    Window,
)

_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
# Names of the property or argument that holds a panel's formula or text.
_FORMULA, _TEXT = {"component_monitor": "component_name"}, {"action_pane": "lua"}


def quoted(text: str) -> str:
    """Return a text as a KDL string."""
    return f'"{text.translate(_ESCAPES)}"'


def head_of(panel: Panel) -> str:
    """Return the node of a panel without its children, and without `share` and `active`."""
    words = [_kind(panel)]
    if isinstance(panel, Viewport):
        given = {name: getattr(panel, name) for name in ("pos", "look_at", "up", "near", "far")}
        words += [_property(name, each) for name, each in given.items() if each is not None]
        words += [f"fov={panel.fov!r}"] if panel.fov != FIELD_OF_VIEW else []
        words += ["show_grid=#true"] if panel.show_grid else []
        words += [f"frame={panel.frame}"] if panel.frame != ENU else []
    elif isinstance(panel, GraphPanel):
        words.append(quoted(", ".join(each.text for each in panel.curves)))
        words += [f"y_min={panel.limits[0]!r} y_max={panel.limits[1]!r}"] if panel.limits is not None else []
        words += [f"type={panel.style}"] if panel.style not in ("line", "table") else []
    elif isinstance(panel, DataPanel):
        if panel.formula is not None:
            words.append(_given(_FORMULA.get(panel.kind), panel.formula.text))
        if panel.of:
            words.append(_given(_TEXT.get(panel.kind), panel.of))
        words += [f"display={panel.display}"] if panel.display else []
        words += [f"source={panel.source}"] if panel.source != ENU else []
    if panel.name:
        words.append(f"{'title' if isinstance(panel, Window) else 'name'}={quoted(panel.name)}")
    return " ".join(words)


def inner_of(panel: Panel) -> str:
    """Return the children of a panel that are not panels."""
    if isinstance(panel, Window):
        return f"rect {' '.join(map(repr, panel.rect))}"
    if isinstance(panel, DataPanel) and panel.reference != NEUTRAL:
        return f"reference {' '.join(map(repr, panel.reference))}"
    return ""


def text_of(panels: Iterable[Panel], indent: str = "") -> str:
    """Convert panels to the text of a schematic.

    Args:
        panels: The panels.
        indent: Prefix of each line.

    Returns:
        Lines of KDL, from which `read_schematic` restores the same panels.
    """
    lines = []
    for panel in panels:
        words = [head_of(panel)]
        words += [] if panel.share is None else [f"share={panel.share!r}"]
        words += ["active=#true"] if panel.active else []
        inside = [f"{indent}    {inner}\n" for inner in [inner_of(panel)] if inner]
        inside += [text_of(panel.panels, f"{indent}    ")] if isinstance(panel, (Split, Tabs, Window)) else []
        braces = f" {{\n{''.join(inside)}{indent}}}" if inside else ""
        lines.append(f"{indent}{' '.join(words)}{braces}\n")
    return "".join(lines)


def _kind(panel: Panel) -> str:
    if isinstance(panel, DataPanel):
        return panel.kind
    if isinstance(panel, Split):
        return "hsplit" if panel.horizontal else "vsplit"
    if isinstance(panel, GraphPanel):
        return "query_table" if panel.style == "table" else "graph"
    return {Viewport: "viewport", Tabs: "tabs", Window: "window"}[type(panel)]


def _property(name: str, value: Formula | float) -> str:
    return f"{name}={quoted(value.text) if isinstance(value, Formula) else repr(value)}"


def _given(name: str | None, text: str) -> str:
    return quoted(text) if name is None else f"{name}={quoted(text)}"
