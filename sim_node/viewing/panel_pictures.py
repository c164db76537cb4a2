"""Pictures of the panels of a schematic: views, graphs, numbers and gauges, laid out as on the page."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageDraw

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.feeds import FeedContext, feed_of
from sim_node.viewing.browser.panels import Curves
from sim_node.viewing.framebuffer import Pixels
from sim_node.viewing.framing import DEFAULT_SIZE, RenderError, lenses_of
from sim_node.viewing.graph_axes import LOOK, axis_range, ticks
from sim_node.viewing.render_requests import (
    PoseSource,
    RenderRequest,
    Watch,
    check_times,
    earlier_instants,
    font_for,
    render_source,
    write_time,
)
from sim_node.viewing.schematic import GraphPanel, Schematic, Split, Viewport
from sim_node.viewing.schematic.model import DataPanel, Panel, Tabs, Window
from sim_node.viewing.schematic.writing import head_of
from sim_node.viewing.sensor_numbers import labels_of
from sim_node.viewing.shown_signals import ShownSignals, TimedFields, scene_reference
from sim_node.world import FrameTable, WorldError, WorldWarning
from sim_node.world.layout import lay_out

# Gap between panels, and the minimum side of a view, pixels.
_GAP, _LEAST = 2, 16


class Palette(NamedTuple):
    """The colours of a theme, the same as on the page."""

    paper: str
    ink: str
    dim: str
    grid: str
    curves: tuple[str, ...]


_LIGHT = Palette("#ffffff", "#22262b", "#5a6470", "#e4e7eb", LOOK.light)
_DARK = Palette("#1f2226", "#e6e8eb", "#a8adb4", "#34383f", LOOK.dark)


class Box(NamedTuple):
    """A rectangle in the picture, pixels."""

    left: float
    top: float
    width: float
    height: float


def boxes(panels: Sequence[Panel], box: Box) -> Iterator[tuple[Panel, Box]]:
    """Yield the visible panels with their boxes: of tabs, the front one; floating panels last."""
    docked = [each for each in panels if not isinstance(each, Window)]
    if docked:
        yield from _within(_front(docked), box)
    for window in panels:
        if isinstance(window, Window) and window.panels:
            left, top, width, height = (part / 100.0 for part in window.rect)
            where = Box(box.left + left * box.width, box.top + top * box.height, width * box.width, height * box.height)
            yield from _within(_front(window.panels), where)


def _front(panels: Sequence[Panel]) -> Panel:
    return next((each for each in panels if each.active), panels[0])


def _within(panel: Panel, box: Box) -> Iterator[tuple[Panel, Box]]:
    if isinstance(panel, (Tabs, Window)):
        yield from boxes(panel.panels, box)
    elif isinstance(panel, Split):
        shares = np.array([each.share or 1.0 for each in panel.panels])
        ends = np.concatenate([[0.0], np.cumsum(shares / shares.sum())])
        for each, begin, end in zip(panel.panels, ends, ends[1:], strict=False):
            if panel.horizontal:
                part = Box(box.left + begin * box.width, box.top, (end - begin) * box.width, box.height)
            else:
                part = Box(box.left, box.top + begin * box.height, box.width, (end - begin) * box.height)
            yield from _within(each, part)
    else:
        yield panel, box


@dataclass(frozen=True)
class Pen:
    """Draws a panel at twice its size, to be scaled down afterwards.

    Attributes:
        draw: Pillow's drawing object.
        width, height: Size of the panel, in its own pixels.
        font: Font of texts.
        size: Size of the font, pixels.
        palette: The colours.
    """

    draw: ImageDraw.ImageDraw
    width: int
    height: int
    font: Any
    size: float
    palette: Palette

    def text(self, at: tuple[float, float], text: str, colour: str, anchor: str = "lm") -> None:
        """Draw a text. anchor: as in Pillow, for example lm for the middle of the left side."""
        self.draw.text(at, text, colour, font=self.font, anchor=anchor)


# Draws the present content of a panel, given the time, s.
Painter = Callable[[Pen, float], None]


def render_panels(
    source: PoseSource, request: RenderRequest, times_ns: Sequence[int], watch: Watch = lambda times_ns, what: times_ns
) -> Generator[Pixels, None, None]:
    """Yield pixels (height, width, 3) of the panels of a source's schematic at instants, in order.

    Of the request, only `size`, `has_time` and `sun_samples` are used. Camera panels show the camera's view at the
    instant. For a run, formulas may also refer to measurements, and those sensors are simulated; for a bag, to fields
    of its topics. References that pictures cannot resolve, such as topics of a run, and list panels cause a
    WorldWarning, and their boxes stay empty.

    Raises:
        RenderError: There are no panels, or the request is invalid.
    """
    world, frames = source.world, lay_out(source.world).frames
    schematic: Schematic | None = world.schematic
    if schematic is None or not schematic.panels:
        raise RenderError("the world's schematic has no panels")
    check_times(times_ns, source)
    fields = None if source.fields is None else source.fields(schematic.topics())
    signals = _signals_of(source, frames, fields)
    context = FeedContext(signals, frames, world, str, lambda: None)
    earlier = earlier_instants(source, times_ns)
    history: dict[int, FloatArray] = {}
    size = request.size or DEFAULT_SIZE
    shown = replace(source, poses=lambda instants: (history[each] for each in instants))
    curves: list[Curves] = []
    panes: list[tuple[Box, Iterator[Pixels] | Painter]] = []
    palette = _DARK if schematic.dark else _LIGHT
    for panel, box in boxes(schematic.panels, Box(0.0, 0.0, *size)):
        inner = (max(round(box.width) - _GAP, _LEAST), max(round(box.height) - _GAP, _LEAST))
        if (seen := _seen_by(panel, shown, request, inner, palette, times_ns)) is not None:
            panes.append((box, seen))
            continue
        try:
            if isinstance(panel, GraphPanel) and panel.style != "table":
                curves.append(Curves(panel, signals))
                panes.append((box, _titled(panel.name, _graph(curves[-1]))))
            elif (paint := _PAINTERS.get(getattr(panel, "kind", ""))) is not None:
                feed = feed_of(panel, context)  # type: ignore[arg-type]
                assert feed is not None
                panes.append((box, _titled(panel.name, _fed(paint, feed))))
            else:
                panes.append((box, _titled(panel.name, lambda pen, time_s: None)))
                warnings.warn(f"not in pictures: the panel {head_of(panel)}", WorldWarning, stacklevel=2)
        except WorldError as error:
            panes.append((box, _titled(panel.name, lambda pen, time_s: None)))
            warnings.warn(f"not in pictures: {error}", WorldWarning, stacklevel=2)
    columns: dict[int, Mapping[str, Any]] = {}
    for time_ns, posed, now in _followed(source, signals, fields, [*earlier, *times_ns], watch):
        history[time_ns], columns[time_ns] = posed, now

    def take(time_ns: int) -> float:
        time_s = (time_ns - source.zero_ns) / 1e9
        signals.update(frames.in_root(history[time_ns]), columns[time_ns], time_s)
        for each in curves:
            each.sample(time_s)
        return time_s

    for time_ns in earlier:
        take(time_ns)
    for time_ns in watch(times_ns, "drawn"):
        time_s = take(time_ns)
        for each in curves:
            each.settle()
        page = Image.new("RGB", size, palette.grid)
        font, text_size = font_for(page, 2.0)
        for box, shows in panes:
            at, (width, height) = (round(box.left), round(box.top)), (round(box.width), round(box.height))
            if isinstance(shows, Iterator):
                page.paste(Image.fromarray(next(shows)), at)
                continue
            large = Image.new("RGB", (2 * max(width - _GAP, 1), 2 * max(height - _GAP, 1)), palette.paper)
            shows(Pen(ImageDraw.Draw(large), large.width, large.height, font, text_size, palette), time_s)
            page.paste(large.reduce(2), at)
        pixels = np.asarray(page)
        yield write_time(pixels, time_s) if request.has_time else pixels


def _signals_of(source: PoseSource, frames: FrameTable, fields: TimedFields | None) -> ShownSignals:
    world = source.world
    reference = scene_reference(world.schematic, world)
    if source.columns is None:
        return ShownSignals(frames, fields=fields, reference=reference)
    return ShownSignals(frames, labels_of(world), world, reference=reference)


def _followed(
    source: PoseSource, signals: ShownSignals, fields: TimedFields | None, instants: Sequence[int], watch: Watch
) -> Iterator[tuple[int, FloatArray, Mapping[str, Any]]]:
    """Yield instants, with the poses of frames and the other data that signals read. Referenced sensors measure."""
    if signals.sensors:
        assert source.measuring is not None
        source = source.measuring(signals.sensors)
    watched = watch(instants, "simulated" if source.name == "world" else "read")
    for time_ns, posed in zip(instants, source.poses(watched), strict=True):
        now = {} if source.columns is None else source.columns(signals.columns)
        if fields is not None:
            fields.reach(time_ns)
            now = {**now, **fields.taken()}
        yield time_ns, posed, {name: (values, posed) for name, values in now.items()}


def _seen_by(
    panel: Panel,
    source: PoseSource,
    request: RenderRequest,
    size: tuple[int, int],
    palette: Palette,
    times_ns: Sequence[int],
) -> Iterator[Pixels] | None:
    """Return the view of a viewport or camera panel (`drone.cam` or `drone/cam`); None for other panels."""
    world, view = source.world, replace(request, has_time=False, frames=(), trails=())
    if isinstance(panel, Viewport):
        assert world.schematic is not None
        alone = replace(world.schematic, panels=(replace(panel, name="view"),))
        of_view = replace(source, world=replace(world, schematic=alone))
        return render_source(of_view, replace(view, viewport="view", camera="", size=size), times_ns)
    if not isinstance(panel, DataPanel) or panel.kind not in ("sensor_view", "video_stream"):
        return None
    lenses = {name: lens for name, lens in lenses_of(world).items() if not lens.depth}
    camera = next((each for each in (panel.of, panel.of.replace(".", "/")) if each in lenses), None)
    if camera is None:
        return None
    own = np.array([lenses[camera].width, lenses[camera].height])
    width, height = np.maximum(np.rint(own * (size / own).min()).astype(int), 1).tolist()
    of_camera = replace(view, viewport="", camera=camera, size=(width, height))
    return _centred(render_source(source, of_camera, times_ns), size, palette.paper)


def _centred(pictures: Iterator[Pixels], size: tuple[int, int], paper: str) -> Iterator[Pixels]:
    for pixels in pictures:
        page = Image.new("RGB", size, paper)
        page.paste(Image.fromarray(pixels), ((size[0] - pixels.shape[1]) // 2, (size[1] - pixels.shape[0]) // 2))
        yield np.asarray(page)


def _titled(title: str, paint: Painter) -> Painter:
    def painted(pen: Pen, time_s: float) -> None:
        paint(pen, time_s)
        pen.text((pen.width / 2.0, 0.2 * pen.size), title, pen.palette.ink, "mt")

    return painted


def _graph(curves: Curves) -> Painter:
    """Draw curves, with their names at the ends."""
    unit, style = curves.unit, curves.graph.style

    def paint(pen: Pen, time_s: float) -> None:
        rows = np.array(curves.rows, dtype=np.float64).reshape(len(curves.times), -1)
        limits = curves.graph.limits
        if not np.isfinite(rows).any() and limits is None:
            return
        if limits is None:
            shown = [*rows[np.isfinite(rows)], *((0.0,) if style == "bar" else ())]
            limits = axis_range(float(min(shown)), float(max(shown)))
        low, high = limits
        first, last = curves.times[0], max(curves.times[-1], curves.times[0] + 1e-3)
        size, palette = pen.size, pen.palette
        legend = min(max(pen.font.getlength(label) for label in curves.labels) + size, 0.45 * pen.width)
        rungs = {each: f"{each:.6g}" for each in ticks(low, high, max(2.0, pen.height / (4.0 * size)))}
        left = max([4.0 * size, *(pen.font.getlength(each) + 0.8 * size for each in rungs.values())])
        right, top, bottom = pen.width - legend, 1.6 * size, pen.height - 1.6 * size
        if right <= left or bottom <= top:
            return
        x = left + (np.array(curves.times) - first) / (last - first) * (right - left)
        y = bottom - (rows - low) / (high - low) * (bottom - top)
        for tick, written in rungs.items():
            at = bottom - (tick - low) / (high - low) * (bottom - top)
            pen.draw.line([(left, at), (right, at)], palette.grid, 2)
            pen.text((left - 0.4 * size, at), written, palette.dim, "rm")
        for tick in ticks(first, last, max(2.0, pen.width / (9.0 * size))):
            at = left + (tick - first) / (last - first) * (right - left)
            pen.draw.line([(at, top), (at, bottom)], palette.grid, 2)
            pen.text((at, bottom + 0.8 * size), f"{tick:.6g}", palette.dim, "mm")
        pen.text((left + 0.3 * size, top + 0.6 * size), unit, palette.dim)
        pen.text((pen.width - 0.3 * size, bottom + 0.8 * size), "s", palette.dim, "rm")
        zero = float(np.clip(bottom + low / (high - low) * (bottom - top), top, bottom))
        for curve in range(rows.shape[1]):
            colour = palette.curves[curve % len(palette.curves)]
            known = np.flatnonzero(np.isfinite(y[:, curve]))
            points = np.column_stack([x, np.clip(y[:, curve], top, bottom)])
            if style == "line":
                for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
                    pen.draw.line([tuple(each) for each in points[run]], colour, 3)
            for at_x, at_y in points[known] if style != "line" else ():
                box = (at_x - 3, at_y - 3, at_x + 3, at_y + 3) if style == "point" else (at_x - 2, at_y, at_x + 2, zero)
                pen.draw.rectangle((box[0], min(box[1], box[3]), box[2], max(box[1], box[3])), colour)
        ends = {curve: values[np.isfinite(values)][-1:].tolist() for curve, values in enumerate(y.T)}
        free, room = top, bottom - 1.15 * size * (len(ends) - 1)
        for curve in sorted(ends, key=lambda each: ends[each]):
            free = max(free, min(*ends[curve], room, bottom)) if ends[curve] else free
            pen.text((right + 0.3 * size, free), curves.labels[curve], palette.curves[curve % len(palette.curves)])
            free += 1.15 * size

    return paint


def _fed(paint: Callable[[Pen, Any], None], feed: Callable[[], Any]) -> Painter:
    def painted(pen: Pen, time_s: float) -> None:
        data = feed()
        if isinstance(data, dict) and "empty" in data:
            pen.text((pen.width / 2.0, pen.height / 2.0), data["empty"], pen.palette.dim, "mm")
        else:
            paint(pen, data)

    return painted


def _numbers(pen: Pen, rows: Sequence[tuple[str, float | None, str]]) -> None:
    for number, (name, value, unit) in enumerate(rows):
        at = (2.4 + 1.5 * number) * pen.size
        pen.text((0.6 * pen.size, at), name, pen.palette.dim)
        pen.text((0.75 * pen.width, at), "–" if value is None else f"{value:.3f}", pen.palette.ink, "rm")
        pen.text((0.78 * pen.width, at), unit, pen.palette.dim)


def _horizon(pen: Pen, data: Mapping[str, float | None]) -> None:
    roll, pitch, heading = data["roll"], data["pitch"], data["heading"]
    middle, radius = np.array([0.5 * pen.width, 0.5 * pen.height]), 0.38 * min(pen.width, pen.height)
    if roll is None or pitch is None or heading is None:
        pen.text((middle[0], middle[1]), "no attitude", pen.palette.dim, "mm")
        return
    # In picture coordinates, with y down, the sky rotates against the roll and sinks as the nose rises.
    turn = np.radians(-roll)
    across, down = np.array([np.cos(turn), np.sin(turn)]), np.array([-np.sin(turn), np.cos(turn)])
    circle = (*(middle - radius), *(middle + radius))
    pen.draw.ellipse(circle, "#4a90d9")
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    rim = np.stack([np.cos(angle), np.sin(angle)], axis=1) * radius
    level = float(np.clip(pitch * radius / 40.0, -radius, radius))
    ground = rim[rim @ down >= level]
    if len(ground) > 2:
        pen.draw.polygon([tuple(each) for each in middle + ground], "#8a6742")
    reach = np.sqrt(max(radius**2 - level**2, 0.0))
    ends = [tuple(middle + level * down + side * reach * across) for side in (-1.0, 1.0)]
    pen.draw.line(ends, "#ffffff", 4)
    for side in (-1.0, 1.0):
        pen.draw.line([(middle[0] + side * part * radius, middle[1]) for part in (0.55, 0.2)], "#f5b301", 6)
    pen.draw.ellipse(circle, outline=pen.palette.dim, width=3)
    text = f"roll {roll:.1f}°, pitch {pitch:.1f}°, heading {heading:.0f}°"
    pen.text((middle[0], pen.height - 0.8 * pen.size), text, pen.palette.ink, "mm")


def _orientation(pen: Pen, data: Mapping[str, Any]) -> None:
    """Draw the axes of a body, solid, within those of the world, thin, seen from the south-west and above."""
    middle, radius = np.array([0.5 * pen.width, 0.5 * pen.height]), 0.38 * min(pen.width, pen.height)
    c, s = np.cos(0.6), np.sin(0.6)
    onto = radius * np.array([[c, -s, 0.0], [-0.45 * s, -0.45 * c, -0.89]])

    def line(axis: Sequence[float | None], colour: str, width: int, name: str) -> None:
        vector = np.array([np.nan if part is None else part for part in axis])
        if np.isfinite(vector).all():
            pen.draw.line([tuple(middle), tuple(middle + onto @ vector)], colour, width)
            pen.text(tuple(middle + onto @ (1.14 * vector)), name, colour, "mm")

    for axis, name in zip(data["axes"], data["names"], strict=True):
        line(axis, pen.palette.dim, 2, name)
    for axis, name, colour in zip(data["body"], "xyz", pen.palette.curves, strict=False):
        line([None if part is None else 0.85 * part for part in axis], colour, 8, name)


# By panel kind: a function that draws the data of its feed.
_PAINTERS: dict[str, Callable[[Pen, Any], None]] = {
    "component_monitor": _numbers,
    "geo_position_gauge": _numbers,
    "horizon_gauge": _horizon,
    "orientation_gauge": _orientation,
}
