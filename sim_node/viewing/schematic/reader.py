"""Read schematics from KDL. Each kind of panel has a function here, in a table by node name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sim_node.text import did_you_mean
from sim_node.viewing.schematic.eql import Formula
from sim_node.viewing.schematic.fields import MAX_NUMBER, Fields, KdlSource, Properties
from sim_node.viewing.schematic.kdl import KdlFault, KdlNode, parse
from sim_node.viewing.schematic.model import (
    AXES,
    ENU,
    WHITE,
    YELLOW,
    DataPanel,
    GraphPanel,
    Marker,
    Object3d,
    Panel,
    Schematic,
    Split,
    Tabs,
    TrailLine,
    VectorArrow,
    Viewport,
    Window,
)
from sim_node.viewing.schematic.objects import read_colour, read_object
from sim_node.world.problems import NO_PLACE, quoted, refuse_any
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import report_unread, unread

PanelReader = Callable[[Fields], "Panel | None"]
# Nodes for features of Elodin's editor only, such as its lights.
NOT_DRAWN = (*("timeline", "skybox", "environment", "telemetry_mode", "world_mesh", "dashboard"),)
STYLES = ("line", "point", "bar")
# Viewport properties of Elodin's editor.
VIEWPORT_WITHOUT_EFFECT = (
    *("show_arrows", "create_frustum", "show_frustums", "show_frustum", "frustums_color", "projection_color"),
    *("frustums_thickness", "show_view_cube", "view_cube_frame", "effects", "cinematic"),
    *("aspect", "aspect_ratio", "ev100", "smoothing"),
)
# The readers of the properties that all panels have.
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
    frame: str = ENU,
) -> Schematic:
    """Read a schematic.

    Args:
        text: The text, in KDL 1 or 2.
        file: The name of its file in messages.
        path: The file that paths in it are relative to; None for the current folder.
        roots: The folders that may be read; None for all.
        report: Where faults are recorded; None to raise them.
        at: Number of lines and columns of the file before the text.
        frame: The default axes of formulas: ENU, NED or ECEF.

    Returns:
        The schematic, without invalid parts.

    Raises:
        WorldError: It is invalid, and no report is given.
    """
    given = Report(file) if report is None else report.about(file)
    source = KdlSource(given, path, roots, *at, frame)
    schematic = _read(text, source)
    if report is not None:
        return schematic
    refuse_any(given.errors)
    return replace(schematic, notes=tuple(map(str, given.warnings)))


def _read(text: str, source: KdlSource) -> Schematic:
    try:
        nodes = parse(text)
    except KdlFault as fault:
        source.error(fault.message, fault.at)
        return Schematic(text=text)
    panels: list[Panel] = []
    objects: list[Object3d] = []
    markers: list[Marker] = []
    dark: bool | None = None
    origin: tuple[float, float, float] | None = None
    origin_place = NO_PLACE
    # The `coordinate` node, wherever it is, sets the default axes.
    for node in (each for each in nodes if each.name == "coordinate"):
        frame, origin = read_coordinate(Fields(node, source))
        origin_place = source.place(node.at, node.name)
        source = replace(source, frame=frame)
    for node in nodes:
        if node.name == "coordinate":
            continue
        fields = Fields(node, source) if node.name in TOP else None
        if fields is None:
            panel = _panel(node, source, "", TOP)
            panels += [] if panel is None else [panel]
        elif node.name == "object_3d":
            thing = read_object(fields)
            objects += [] if thing is None else [thing]
        elif node.name == "theme":
            fields.only(("mode",), ("scheme",))
            dark = fields.choice("mode", ("dark", "light")) == "dark"
        else:
            marker = read_line(fields) if node.name == "line_3d" else read_arrow(fields)
            markers += [] if marker is None else [marker]
    schematic = Schematic(
        tuple(panels), tuple(objects), tuple(markers), dark, origin, text=text, origin_place=origin_place
    )
    _check_size(schematic, source)
    document = KdlNode("", (1, 1), (), {}, {}, nodes)
    places = (each._replace(at=source.place(each.at).where[1:], key=each.key.lstrip(".")) for each in unread(document))
    report_unread(places, source.report)
    return schematic


def read_coordinate(fields: Fields) -> tuple[str, tuple[float, float, float] | None]:
    """Read the default axes, and the position of the fixed frame on Earth."""
    _no_arguments(fields)
    # `body` has no effect: the Moon has another ellipsoid.
    fields.only(("frame", "lat", "lon", "alt"), ("body",))
    if "frame" not in fields.node.properties:
        fields.error(f"needs frame=: {', '.join(AXES)}")
    latitude, longitude = fields.number("lat", -90.0, 90.0), fields.number("lon", -360.0, 360.0)
    altitude = fields.number("alt", -MAX_NUMBER)
    there = [name in fields.node.properties for name in ("lat", "lon", "alt")]
    if there[0] != there[1] or (there[2] and not there[0]):
        fields.error("needs both lat= and lon=, or neither them nor alt=")
    if latitude is None or longitude is None:
        return fields.axes(), None
    return fields.axes(), (latitude, longitude, altitude or 0.0)


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
    fields.only((*_VIEWPORT, "hdr", "frame"), VIEWPORT_WITHOUT_EFFECT)
    given = fields.read(_VIEWPORT)
    near, far = given.get("near"), given.get("far")
    if near is not None and far is not None and near >= far:
        fields.error(f"near is {near:g} m, far {far:g} m; far must be farther")
    return Viewport(**given, frame=fields.axes(), place=fields.place)


def read_graph(fields: Fields) -> GraphPanel | None:
    """Read a graph."""
    fields.only((*_NAMED, "y_min", "y_max", "auto_y_range", "type"), ("lock",))
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
    return _graph(fields, curves, limits=limits, style=fields.choice("type", STYLES) or "line")


def _graph(fields: Fields, curves: Formula | None, **given: Any) -> GraphPanel | None:
    if curves is None:
        return None
    return GraphPanel(curves=curves.curves(), place=fields.place, **given, **fields.read(_NAMED))


def _in_sql(fields: Fields) -> bool:
    """Return whether a query is SQL, for Elodin's database. It is then reported and not drawn."""
    if fields.choice("type", ("eql", "sql")) != "sql":
        return False
    fields.read(_NAMED)
    fields.text("query")
    place = fields.place
    fields.source.report.warning("a query in SQL, of Elodin's database; nothing is drawn", place.where[1:], place.key)
    return True


def read_query_table(fields: Fields) -> GraphPanel | None:
    """Read a table of numbers over time."""
    fields.only((*_NAMED, "type"))
    if _in_sql(fields):
        return None
    value = fields.argument("the formula of its columns")
    return _graph(fields, None if value is None else fields.parsed(value), style="table")


def read_query_plot(fields: Fields) -> GraphPanel | None:
    """Read a graph that is written as a query."""
    _no_arguments(fields)
    fields.only((*_NAMED, "query", "type"), ("refresh_interval", "auto_refresh", "mode", "x_label", "y_label", "color"))
    if _in_sql(fields):
        return None
    query = fields.formula("query")
    if query is None:
        fields.error("needs query=, the formula of its curves")
    return _graph(fields, query)


def _plain(fields: Fields) -> DataPanel:
    """Read a panel without an argument."""
    _no_arguments(fields)
    fields.only(_NAMED)
    return _data(fields)


def _of_name(fields: Fields) -> DataPanel | None:
    """Read a panel whose argument is the name of what it shows."""
    fields.only(_NAMED)
    value = fields.argument("the name of what it shows")
    return None if value is None else _data(fields, of=str(value.value))


def _log(fields: Fields) -> DataPanel:
    """Read a panel of log lines. Elodin's refers to a message; here it shows the log of the run or the bag."""
    fields.only(_NAMED)
    return _data(fields)


def _monitor(fields: Fields) -> DataPanel | None:
    """Read a panel of present values."""
    _no_arguments(fields)
    fields.only(("component_name", *_NAMED))
    formula = fields.formula("component_name")
    if formula is None:
        fields.error("needs component_name=, the formula of its numbers")
        return None
    return _data(fields, formula=formula)


def _action(fields: Fields) -> DataPanel:
    """Read a panel with a script."""
    _no_arguments(fields)
    fields.only(("lua", *_NAMED))
    return _data(fields, of=fields.text("lua"))


def _gauge(*displays: str) -> PanelReader:
    """Return the reader of a gauge, given the axes that it may use."""

    def read(fields: Fields) -> DataPanel | None:
        shown, turned = ("display",) if displays else (), fields.node.name != "geo_position_gauge"
        fields.only(("eql", "source", *shown, *_NAMED))
        source = fields.axes("source")
        if fields.node.arguments or "eql" not in fields.node.properties:
            value = fields.argument("the pose that it shows")
            formula = None if value is None else fields.parsed(value)
        else:
            formula = fields.formula("eql")
        display = (fields.choice("display", displays) or "NED") if displays else ""
        given = {}
        for child in fields.node.children if turned else ():
            inner = Fields(child, fields.source, fields.key)
            if child.name != "reference" or len(child.arguments) != 4:
                inner.error("unknown node (known: reference x y z w)")
            else:
                given["reference"] = tuple(inner.numbers(child.arguments, -1.0, 1.0))
        return None if formula is None else _data(fields, formula=formula, display=display, source=source, **given)

    return read


def _data(fields: Fields, **given: Any) -> DataPanel:
    return DataPanel(kind=fields.node.name, place=fields.place, **given, **fields.read(_NAMED))


def read_window(fields: Fields) -> Window:
    """Read floating panels."""
    _no_arguments(fields)
    fields.only(("title",), ("path", "file", "screen"))
    panels: list[Panel] = []
    given: dict[str, Any] = {"name": fields.text("title")} if "title" in fields.node.properties else {}
    for child in fields.node.children:
        inner = Fields(child, fields.source, fields.key) if child.name == "rect" else None
        if inner is None:
            panel = _panel(child, fields.source, fields.key)
            panels += [] if panel is None else [panel]
        elif len(child.arguments) != 4:
            inner.error(f"needs left, top, width and height in percent, found {len(child.arguments)} values")
        else:
            given["rect"] = tuple(inner.numbers(child.arguments, 0.0, 100.0))
    return Window(panels=tuple(panels), place=fields.place, **given)


def read_line(fields: Fields) -> TrailLine | None:
    """Read the trail of a point."""
    fields.only(("line_width", "frame"), ("future_color", "perspective"))
    frame = fields.axes()
    value = fields.argument("the position of a point, such as ball.world_pos,")
    point = None if value is None else fields.parsed(value)
    width = fields.above_zero("line_width") or 1.0
    colour = read_colour(fields, YELLOW)
    return None if point is None else TrailLine(point, frame, width, colour, fields.place)


def read_arrow(fields: Fields) -> VectorArrow | None:
    """Read an arrow."""
    named = ("origin", "scale", "normalize", "body_frame", "in_body_frame", "name", "show_name", "frame")
    fields.only(named, ("arrow_thickness", "label_position", "color"))
    value = fields.argument("three numbers, such as ball.world_vel.linear(),")
    vector = None if value is None else fields.parsed(value)
    given = fields.read({"origin": Fields.formula, "scale": lambda each, name: each.number(name, -1e9, 1e9)})
    given |= {"normalize": fields.flag("normalize"), "frame": fields.axes()}
    given |= {"body_frame": fields.flag("body_frame") or fields.flag("in_body_frame")}
    shown = fields.flag("show_name") if "show_name" in fields.node.properties else True
    name = fields.text("name")
    colour = read_colour(fields, WHITE)
    if vector is None:
        return None
    return VectorArrow(vector, **given, colour=colour, name=name if shown else "", place=fields.place)


def read_tabs(fields: Fields) -> Tabs:
    """Read panels as tabs."""
    return Tabs(**_holder(fields))


def read_hsplit(fields: Fields) -> Split:
    """Read panels side by side."""
    return Split(True, **_holder(fields))


def read_vsplit(fields: Fields) -> Split:
    """Read panels one below the other."""
    return Split(False, **_holder(fields))


def _holder(fields: Fields) -> dict[str, Any]:
    """Return the fields of a panel that contains others."""
    _no_arguments(fields)
    fields.only(_NAMED)
    place, panels = fields.place, _inside(fields)
    return {**fields.read(_NAMED), "panels": panels, "place": place}


PANELS: dict[str, PanelReader] = {
    "viewport": read_viewport,
    "graph": read_graph,
    "hsplit": read_hsplit,
    "vsplit": read_vsplit,
    "tabs": read_tabs,
    "window": read_window,
    "query_table": read_query_table,
    "query_plot": read_query_plot,
    "component_monitor": _monitor,
    "geo_position_gauge": _gauge("ENU", "NED", "ECEF", "LLA"),
    "orientation_gauge": _gauge("ENU", "NED", "ECEF"),
    "horizon_gauge": _gauge(),
    "action_pane": _action,
    "sensor_view": _of_name,
    "video_stream": _of_name,
    "log_stream": _log,
    **dict.fromkeys(("inspector", "hierarchy", "schematic_tree", "data_overview"), _plain),
    # Specific to sim_node: the scene with its own panel, the newest message of a topic, the parameters of the world.
    **dict.fromkeys(("scene", "messages", "parameters"), _plain),
}
# Nodes allowed only at the top level.
TOP = ("object_3d", "line_3d", "vector_arrow", "theme", "coordinate")


def _check_size(schematic: Schematic, source: KdlSource) -> None:
    panels = list(schematic.each())
    if len(panels) > MAX_PANELS:
        source.error(f"has {len(panels)} panels; allowed: up to {MAX_PANELS}", (1, 1))
