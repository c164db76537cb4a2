"""Schematics from KDL: each kind of panel has a function here, in a table by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_node.text import did_you_mean
from sim_node.viewing.schematic.fields import Fields, KdlSource, Properties
from sim_node.viewing.schematic.kdl import KdlFault, KdlNode, parse
from sim_node.viewing.schematic.model import GraphPanel, Object3d, Panel, Schematic, Split, Tabs, Viewport
from sim_node.viewing.schematic.objects import read_object
from sim_node.world.problems import WorldError, quoted
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import report_unread, unread

PanelReader = Callable[[Fields], "Panel | None"]
# Nodes of Elodin's editor that are known and not drawn, at the top or among panels.
NOT_DRAWN = (
    *("theme", "timeline", "coordinate", "window", "skybox", "environment", "telemetry_mode", "line_3d"),
    *("vector_arrow", "world_mesh", "inspector", "hierarchy", "schematic_tree", "data_overview", "component_monitor"),
    *("action_pane", "query_table", "query_plot", "geo_position_gauge", "orientation_gauge", "horizon_gauge"),
    *("dashboard", "video_stream", "sensor_view", "log_stream"),
)
# Of Elodin's editor.
_VIEWPORT_WITHOUT_EFFECT = (
    *("show_arrows", "create_frustum", "show_frustums", "show_frustum", "frustums_color", "projection_color"),
    *("frustums_thickness", "show_view_cube", "view_cube_frame", "effects", "cinematic"),
    *("aspect", "aspect_ratio", "ev100"),
)
# What reads each property of a panel that has one.
_NAMED: Properties = {"name": Fields.text, "active": Fields.flag, "share": Fields.share}
_VIEWPORT: Properties = {
    **dict.fromkeys(("pos", "look_at", "up"), Fields.formula),
    "fov": lambda fields, name: fields.number(name, 1.0, 170.0),
    **dict.fromkeys(("near", "far"), Fields.above_zero),
    "show_grid": Fields.flag,
    **_NAMED,
}
MAX_PANELS = 200


def read_schematic(
    text: str,
    file: str = "",
    *,
    path: Path | None = None,
    roots: Roots | None = None,
    report: Report | None = None,
    at: tuple[int, int] = (0, 0),
) -> Schematic:
    """Read a schematic.

    Args:
        text: The text, in KDL 1 or 2.
        file: The name of its file in messages.
        path: The file that paths in it are relative to; None for the current folder.
        roots: The folders that may be read; None for all.
        report: Where faults are recorded; None to raise them.
        at: How many lines and columns of the file are before the text.

    Returns:
        The schematic, without what is wrong.

    Raises:
        WorldError: It is invalid, and no report is given.
    """
    given = Report(file) if report is None else report.about(file)
    source = KdlSource(given, path, roots, *at)
    schematic = _read(text, source)
    if report is not None:
        return schematic
    if given.errors:
        raise WorldError(given.errors)
    return replace(schematic, notes=tuple(map(str, given.warnings)))


def _read(text: str, source: KdlSource) -> Schematic:
    try:
        nodes = parse(text)
    except KdlFault as fault:
        source.error(fault.message, fault.at)
        return Schematic(text=text)
    panels: list[Panel] = []
    objects: list[Object3d] = []
    for node in nodes:
        if node.name == "object_3d":
            thing = read_object(Fields(node, source))
            objects += [] if thing is None else [thing]
        else:
            panel = _panel(node, source, "", ("object_3d",))
            panels += [] if panel is None else [panel]
    schematic = Schematic(tuple(panels), tuple(objects), (), text)
    _check_size(schematic, source)
    document = KdlNode("", (1, 1), (), {}, {}, nodes)
    places = (each._replace(at=source.place(each.at).where[1:], key=each.key.lstrip(".")) for each in unread(document))
    report_unread(places, source.report)
    return schematic


def _panel(node: KdlNode, source: KdlSource, key: str, also: tuple[str, ...] = ()) -> Panel | None:
    read = PANELS.get(node.name)
    if read is not None:
        return read(Fields(node, source, key))
    if node.name not in NOT_DRAWN:
        known = [*PANELS, *also]
        message = f"unknown node{did_you_mean(node.name, known)} (known: {', '.join(known)})"
        Fields(node, source, key).error(message)
    return None


def _inside(fields: Fields) -> tuple[Panel, ...]:
    """Return the panels in the braces of a node."""
    panels = (_panel(child, fields.source, fields.key) for child in fields.node.children)
    return tuple(panel for panel in panels if panel is not None)


def _no_arguments(fields: Fields) -> None:
    for value in fields.node.arguments:
        fields.error(f"takes properties only, found {quoted(str(value.value))}", value.at)


def read_viewport(fields: Fields) -> Viewport:
    """Read a viewport."""
    _no_arguments(fields)
    fields.only((*_VIEWPORT, "hdr", "frame"), _VIEWPORT_WITHOUT_EFFECT)
    fields.only_enu()
    given = fields.read(_VIEWPORT)
    near, far = given.get("near"), given.get("far")
    if near is not None and far is not None and near >= far:
        fields.error(f"near is {near:g} m, far {far:g} m; far must be farther")
    return Viewport(**given, place=fields.place)


def read_graph(fields: Fields) -> GraphPanel | None:
    """Read a graph."""
    fields.only((*_NAMED, "y_min", "y_max", "auto_y_range"), ("type", "lock"))
    value = fields.argument("the formula of its curves")
    curves = None if value is None else fields.parsed(value)
    low, high = (fields.number(name, -1e300, 1e300) for name in ("y_min", "y_max"))
    limits = None
    if low is not None and high is not None and not fields.flag("auto_y_range"):
        limits = (low, high)
        if low >= high:
            fields.error(f"y_min is {low:g}, y_max {high:g}; y_max must be greater")
    else:
        fields.unused("y_min", "y_max")
    if curves is None:
        return None
    return GraphPanel(curves=curves.curves(), limits=limits, place=fields.place, **fields.read(_NAMED))


def read_tabs(fields: Fields) -> Tabs:
    """Read panels of which one is in front."""
    return Tabs(**_holder(fields))


def read_hsplit(fields: Fields) -> Split:
    """Read panels side by side."""
    return Split(True, **_holder(fields))


def read_vsplit(fields: Fields) -> Split:
    """Read panels one below the other."""
    return Split(False, **_holder(fields))


def _holder(fields: Fields) -> dict[str, Any]:
    """Return the fields of a panel that has others in its braces."""
    _no_arguments(fields)
    fields.only(_NAMED)
    # Kinds of panels that are known and not drawn.
    others = dict.fromkeys(child.name for child in fields.node.children if child.name in NOT_DRAWN)
    place, panels = fields.place, _inside(fields)
    return {**fields.read(_NAMED), "panels": panels, "place": place, "not_drawn": tuple(others)}


PANELS: dict[str, PanelReader] = {
    "viewport": read_viewport,
    "graph": read_graph,
    "hsplit": read_hsplit,
    "vsplit": read_vsplit,
    "tabs": read_tabs,
}


def _check_size(schematic: Schematic, source: KdlSource) -> None:
    panels = list(schematic.each())
    if len(panels) > MAX_PANELS:
        source.error(f"has {len(panels)} panels; allowed: up to {MAX_PANELS}", (1, 1))
