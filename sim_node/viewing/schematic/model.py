"""Schematics as frozen data: drawn objects and panel layouts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from sim_node.viewing.schematic.eql import Formula
from sim_node.world.problems import NO_PLACE, Place

Colour = tuple[float, float, float, float]
GREY: Colour = (0.62, 0.65, 0.70, 1.0)
WHITE, YELLOW = (1.0, 1.0, 1.0, 1.0), (1.0, 0.84, 0.18, 1.0)
# Vertical field of view of a viewport, degrees; and the neutral attitude (x, y, z, w) of a gauge.
FIELD_OF_VIEW, NEUTRAL = 45.0, (0.0, 0.0, 0.0, 1.0)
# The axes of the fixed frame, and all axes that formulas may use.
ENU, AXES = "ENU", ("ENU", "NED", "ECEF")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pane:
    """The common part of all panels.

    Attributes:
        name: Its name.
        active: Whether its tab is in front.
        share: Its weight in the enclosing split; None for 1.
        place: Its location in the text.
    """

    name: str = ""
    active: bool = False
    share: float | None = None
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True, slots=True)
class Viewport(Pane):
    """A view of the scene with a camera of its own.

    The camera looks along the x axis of `pos`, with z up; with `look_at`, it looks at that point and stays upright.

    Attributes:
        pos: Pose of the camera; None for a camera that the user moves.
        look_at: The point to look at; None for the direction of `pos`.
        up: The direction (3,) that is up in the picture; None for z of the fixed frame.
        frame: The axes of these formulas: ENU (the fixed frame), NED or ECEF.
        rolls: Whether up in the picture is up for `pos`, even with `look_at`.
        fov: Vertical field of view, degrees.
        near: Near clipping distance, m; None for the viewer's default.
        far: Far clipping distance, m.
        show_grid: Whether to draw the grid.
    """

    pos: Formula | None = None
    look_at: Formula | None = None
    up: Formula | None = None
    frame: str = ENU
    rolls: bool = False
    fov: float = FIELD_OF_VIEW
    near: float | None = None
    far: float | None = None
    show_grid: bool = False


@dataclass(frozen=True, slots=True)
class GraphPanel(Pane):
    """Numbers over time.

    Attributes:
        curves: Formulas for groups of curves, with one curve for each number.
        limits: Lowest and highest value to show; None to fit all values.
        style: Drawing style: line, point, bar or table.
    """

    curves: tuple[Formula, ...] = ()
    limits: tuple[float, float] | None = None
    style: str = "line"


@dataclass(frozen=True, slots=True)
class DataPanel(Pane):
    """A panel that is neither a graph nor a viewport.

    Attributes:
        kind: Name of its node, such as component_monitor.
        formula: The formula to show; None if it takes none.
        of: Name of what it shows, such as a camera; or a text.
        display: The axes in which a gauge displays its value.
        source: The axes of a gauge's formula: ENU, NED or ECEF.
        reference: The neutral attitude (x, y, z, w) of a gauge.
    """

    kind: str
    formula: Formula | None = None
    of: str = ""
    display: str = ""
    source: str = ENU
    reference: tuple[float, ...] = NEUTRAL


@dataclass(frozen=True, slots=True)
class Split(Pane):
    """Panels beside or below each other.

    Attributes:
        horizontal: Whether they are beside each other.
        panels: The panels.
    """

    horizontal: bool
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True, slots=True)
class Tabs(Pane):
    """Panels as tabs.

    Attributes:
        panels: The panels.
    """

    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True, slots=True)
class Window(Pane):
    """Panels that float above the others.

    Attributes:
        rect: Left, top, width and height, percent of the page.
        panels: The panels.
    """

    rect: tuple[float, ...] = (55.0, 10.0, 40.0, 50.0)
    panels: tuple[Panel, ...] = ()


Panel = Viewport | GraphPanel | DataPanel | Split | Tabs | Window


@dataclass(frozen=True, slots=True)
class Solid:
    """A shape of fixed size.

    Attributes:
        kind: box, sphere, cylinder (along z) or plane (normal z).
        size: Full lengths (x, y, z) of a box; (radius,); (radius, height); (width along x, depth along y). m.
        colour: Red, green, blue and opacity, 0 to 1.
    """

    kind: str
    size: tuple[float, ...]
    colour: Colour = GREY


@dataclass(frozen=True, slots=True)
class LiveEllipsoid:
    """An ellipsoid whose size may change.

    Attributes:
        scale: Formula of its three radii, m; None for a sphere of 1 m.
        colour: Red, green, blue and opacity, 0 to 1.
        covariance: Six numbers instead of radii: the lower triangle, by rows, of the Cholesky factor of a covariance,
            m, or the upper triangle, by rows, of the covariance itself, m^2.
        factored: Whether they are the Cholesky factor.
        confidence: Fraction of the distribution inside the ellipsoid in that case, percent.
    """

    scale: Formula | None = None
    colour: Colour = GREY
    covariance: Formula | None = None
    factored: bool = True
    confidence: float = 70.0


@dataclass(frozen=True, slots=True)
class GlbModel:
    """A model in a GLB or glTF file. Its y axis becomes z, then it is scaled, rotated and translated.

    Attributes:
        file: The file.
        scale: Scale factor.
        rotate: Angles (3,) about x, y and z, degrees: first x, then the rotated y and z axes.
        translate: Translation (3,), m.
    """

    file: Path
    scale: float = 1.0
    rotate: tuple[float, float, float] = (0.0, 0.0, 0.0)
    translate: tuple[float, float, float] = (0.0, 0.0, 0.0)


Drawn = Solid | LiveEllipsoid | GlbModel


@dataclass(frozen=True, slots=True)
class TrailLine:
    """The trail of a point.

    Attributes:
        point: Its position (3,), m, or a pose.
        frame: The axes of the formula: ENU (the fixed frame), NED or ECEF.
        width: Width of the line, pixels.
        colour: Red, green, blue and opacity, 0 to 1.
        place: Its location in the text.
    """

    point: Formula
    frame: str = ENU
    width: float = 1.0
    colour: Colour = YELLOW
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True, slots=True)
class VectorArrow:
    """An arrow from a point.

    Attributes:
        vector: Three numbers.
        origin: The point (3,), m, or a pose; None for the origin of `frame`.
        frame: The axes of both formulas: ENU (the fixed frame), NED or ECEF.
        scale: Length of the arrow for a vector of length 1, m.
        normalize: Whether the length is always `scale`, regardless of the vector's length.
        body_frame: Whether the vector is in the axes of the pose `origin`.
        colour: Red, green, blue and opacity, 0 to 1.
        name: Its label; empty for none.
        place: Its location in the text.
    """

    vector: Formula
    origin: Formula | None = None
    frame: str = ENU
    scale: float = 1.0
    normalize: bool = False
    body_frame: bool = False
    colour: Colour = WHITE
    name: str = ""
    place: Place = field(default=NO_PLACE, compare=False)


Marker = TrailLine | VectorArrow


@dataclass(frozen=True, slots=True)
class Object3d:
    """An object drawn at a pose.

    Attributes:
        pose: Its pose, or its position.
        drawn: What is drawn.
        frame: The axes of the position: ENU (the fixed frame), NED or ECEF.
        frame_orientation: The axes of the orientation; empty for those of the position.
        place: Its location in the text.
    """

    pose: Formula
    drawn: Drawn
    frame: str = ENU
    frame_orientation: str = ""
    place: Place = field(default=NO_PLACE, compare=False)


@dataclass(frozen=True, slots=True)
class Schematic:
    """The drawn objects and the panel layout of a world.

    Attributes:
        panels: The panels; several at the top level are tabs.
        objects: The drawn objects.
        markers: The drawn lines and arrows.
        dark: Whether its theme is dark; None if not specified.
        origin: Position of the fixed frame on Earth (degrees, degrees, m above the ellipsoid), for worlds without one.
        origin_place: The location of `origin` in the text.
        base: The frame that poses of frames are relative to; empty for the fixed frame.
        notes: Parts of the text without effect, as lines with locations, unless they went to a world's report.
        text: The text that it was read from.
        file: The file of the text, or None if the text is part of the world.
        place: Where the world refers to it.
    """

    panels: tuple[Panel, ...] = ()
    objects: tuple[Object3d, ...] = ()
    markers: tuple[Marker, ...] = ()
    dark: bool | None = None
    origin: tuple[float, float, float] | None = None
    base: str = ""
    notes: tuple[str, ...] = field(default=(), compare=False)
    text: str = field(default="", compare=False, repr=False)
    file: Path | None = field(default=None, compare=False)
    place: Place = field(default=NO_PLACE, compare=False)
    origin_place: Place = field(default=NO_PLACE, compare=False)

    def each(self) -> Iterator[Panel]:
        """Yield all panels, each before its children."""
        waiting = list(reversed(self.panels))
        while waiting:
            panel = waiting.pop()
            yield panel
            if isinstance(panel, (Split, Tabs, Window)):
                waiting += reversed(panel.panels)

    def viewports(self) -> tuple[Viewport, ...]:
        """Return the viewports in order."""
        return tuple(panel for panel in self.each() if isinstance(panel, Viewport))

    def graphs(self) -> tuple[GraphPanel, ...]:
        """Return the graphs in order."""
        return tuple(panel for panel in self.each() if isinstance(panel, GraphPanel))

    def data_panels(self) -> tuple[DataPanel, ...]:
        """Return the panels of other data in order."""
        return tuple(panel for panel in self.each() if isinstance(panel, DataPanel))

    def topics(self) -> tuple[str, ...]:
        """Return the topics that formulas refer to, in order."""
        names = (name for formula in self.formulas() for name in formula.names())
        return tuple(dict.fromkeys(name.parts[0] for name in names if name.parts[0].startswith("/")))

    def formulas(self) -> Iterator[Formula]:
        """Yield all formulas in order."""
        for panel in self.each():
            if isinstance(panel, Viewport):
                yield from (each for each in (panel.pos, panel.look_at, panel.up) if each is not None)
            elif isinstance(panel, GraphPanel):
                yield from panel.curves
            elif isinstance(panel, DataPanel) and panel.formula is not None:
                yield panel.formula
        for marker in self.markers:
            named = (marker.point,) if isinstance(marker, TrailLine) else (marker.vector, marker.origin)
            yield from (each for each in named if each is not None)
        for thing in self.objects:
            yield thing.pose
            if isinstance(thing.drawn, LiveEllipsoid):
                yield from (each for each in (thing.drawn.scale, thing.drawn.covariance) if each is not None)
