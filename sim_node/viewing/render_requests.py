"""Render requests: a world, its poses at instants, the camera and the annotations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import mujoco
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sim_node.simulation import Simulation, Snapshot
from sim_node.simulation.columns import Array
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.framebuffer import Framebuffer, Pixels
from sim_node.viewing.framing import (
    DrawnSchematic,
    PictureContent,
    RenderError,
    framing_for,
    framing_of_viewport,
    size_of,
)
from sim_node.viewing.renderer import Renderer
from sim_node.viewing.shown_signals import SENSOR, TimedFields
from sim_node.world.bounds import MAX_STAMP_NS
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.model import World

_INK, _PAPER = (28, 32, 36), (255, 255, 255)
# Text size, as a fraction of the picture's height
_TEXT_SIZE = 1 / 46
_MIN_TEXT_SIZE = 11.0


def write_names(pixels: Pixels, names: Sequence[str], at: FloatArray, depths: FloatArray) -> Pixels:
    """Write names beside pixels (F, 2) [column, row], nearest first. Names that would overlap others are left out.

    Frames behind the camera, with depths (F,) not above zero, get no name.
    """
    picture = Image.fromarray(pixels)
    draw = ImageDraw.Draw(picture)
    font, size = font_for(picture)
    occupied: list[tuple[float, float, float, float]] = []
    for row in np.argsort(depths, kind="stable"):
        if depths[row] <= 0.0 or not _inside(at[row], picture):
            continue
        name, (x, y) = names[row], at[row]
        width = draw.textlength(name, font=font)
        for left, top in ((x + 0.6 * size, y + 0.3 * size), (x - width - 0.6 * size, y + 0.3 * size)):
            box = (left - 2, top - 1, left + width + 2, top + 1.3 * size)
            if all(_apart(box, other) for other in occupied) and box[0] >= 0 and box[2] <= picture.width:
                occupied.append(box)
                draw.text((left, top), name, _INK, font=font, stroke_width=2, stroke_fill=_PAPER)
                break
    return np.asarray(picture)


def write_time(pixels: Pixels, time_s: float) -> Pixels:
    """Write the simulation time in the lower left corner."""
    picture = Image.fromarray(pixels)
    font, size = font_for(picture)
    place = (size, picture.height - 2.2 * size)
    ImageDraw.Draw(picture).text(place, f"{time_s:.2f} s", _INK, font=font, stroke_width=2, stroke_fill=_PAPER)
    return np.asarray(picture)


def font_for(picture: Image.Image, scale: float = 1.0) -> tuple[ImageFont.FreeTypeFont | ImageFont.ImageFont, float]:
    """Return the font of plots, the same on every machine, and its size, pixels, for a scaled picture."""
    size = scale * max(_MIN_TEXT_SIZE, picture.height * _TEXT_SIZE)
    # Pillow's own font lacks the characters of units such as m/s², and of names in most languages.
    path = _font_path()
    return ImageFont.truetype(path, size) if path.is_file() else ImageFont.load_default(size), size


@cache
def _font_path() -> Path:
    from matplotlib import get_data_path

    return Path(get_data_path(), "fonts", "ttf", "DejaVuSans.ttf")


def _inside(at: FloatArray, picture: Image.Image) -> bool:
    return bool(0 <= at[0] < picture.width and 0 <= at[1] < picture.height)


def _apart(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


# x red, y green, z blue, as in rviz.
AXES = ((0.90, 0.24, 0.26), (0.16, 0.62, 0.38), (0.22, 0.45, 0.95))
TRAILS = ((0.96, 0.60, 0.10), (0.55, 0.30, 0.85), (0.05, 0.62, 0.70), (0.85, 0.25, 0.55))
# Marks are emissive, so that their colours remain distinguishable in shadows.
_EMISSION = 0.35
# Fractions of an axis' length, and of a view's distance.
_AXIS_RADIUS, _TRAIL_RADIUS = 0.045, 0.0016


def draw_axes(renderer: Renderer, rooted: FloatArray, lengths: FloatArray) -> None:
    """Draw three rods at frames' poses (F, 7) in the fixed frame, of lengths (F,), m."""
    tips = quaternions.to_matrix(rooted[:, 3:])
    for pose, axes, length in zip(rooted, tips, lengths, strict=True):
        for axis, colour in enumerate(AXES):
            _rod(renderer, _AXIS_RADIUS * length, pose[:3], pose[:3] + length * axes[:, axis], colour)


def draw_trail(renderer: Renderer, points: FloatArray, distance: float, index: int) -> None:
    """Draw a line through points (P, 3), with a width for viewing from a distance. index: number of the trail."""
    colour = TRAILS[index % len(TRAILS)]
    for begin, end in pairwise(points):
        if not np.array_equal(begin, end):
            _rod(renderer, _TRAIL_RADIUS * distance, begin, end, colour)


def axis_lengths(rooted: FloatArray, span: float) -> FloatArray:
    """Return axis lengths (F,) for frames at poses (F, 7), shorter if others are near. span: width of the view, m."""
    apart = np.linalg.norm(rooted[:, None, :3] - rooted[None, :, :3], axis=2)
    apart[apart < 1e-3 * span] = np.inf
    nearest = apart.min(axis=1, initial=np.inf)
    return np.asarray(np.clip(0.45 * nearest, 0.025 * span, 0.09 * span))


def _rod(
    renderer: Renderer, radius: float, begin: FloatArray, end: FloatArray, colour: tuple[float, float, float]
) -> None:
    scene = renderer.scene
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    capsule, rgba = mujoco.mjtGeom.mjGEOM_CAPSULE, np.array([*colour, 1.0], dtype=np.float32)
    mujoco.mjv_initGeom(geom, capsule, np.zeros(3), np.zeros(3), np.eye(3).ravel(), rgba)
    mujoco.mjv_connector(geom, capsule, radius, begin - renderer.origin, end - renderer.origin)
    geom.emission, geom.specular, geom.shininess = _EMISSION, 0.2, 0.4
    geom.category = mujoco.mjtCatBit.mjCAT_DECOR
    scene.ngeom += 1


@dataclass(frozen=True, eq=False)
class PoseSource:
    """An assembled world in a time range, and the poses of its frames in it.

    Attributes:
        name: Its name, for messages.
        world: The assembled world.
        start_ns, end_ns: The time range.
        poses: For ascending instants, yields the poses (N, 7) of all frames of `lay_out(world)`, each in its parent.
        zero_ns: Origin of times given by users.
        columns: Returns columns by name, and the newest measurements by SENSOR and name, at the instant whose poses
            were yielded last; None if it is not a run.
        measuring: Returns the same run with the given sensors measuring; None if it is not a run.
        fields: Returns the fields of the given topics; None without recorded topics.
    """

    world: World
    poses: Callable[[Iterable[int]], Iterator[FloatArray]]
    start_ns: int
    end_ns: int = MAX_STAMP_NS
    zero_ns: int = 0
    name: str = "world"
    columns: Callable[[Iterable[str]], Mapping[str, Array]] | None = None
    measuring: Callable[[Collection[str]], PoseSource] | None = None
    fields: Callable[[Iterable[str]], TimedFields] | None = None


def source_of_run(
    world: World,
    seed: int = 0,
    seek: Callable[[Simulation, int], Snapshot] = Simulation.seek,
    sensors: Collection[str] = (),
) -> PoseSource:
    """Return the PoseSource of a run.

    Args:
        world: The world.
        seed: Seed of all random numbers.
        seek: Advances the run to an instant.
        sensors: The sensors that measure.

    Raises:
        WorldError: The world is invalid, as for a Simulation.
    """
    simulation = Simulation(world, seed, sensors=sensors)

    def poses(times_ns: Iterable[int]) -> Iterator[FloatArray]:
        return (seek(simulation, time_ns).poses for time_ns in times_ns)

    def columns(names: Iterable[str]) -> Mapping[str, Array]:
        found = dict(simulation.snapshot(*names).columns)
        for name in sensors:
            if (values := simulation.sensors[name].values) is not None:
                found[SENSOR + name] = values.copy()
        return found

    measuring = partial(source_of_run, world, seed, seek)
    return PoseSource(simulation.world, poses, simulation.world.time.start_ns, columns=columns, measuring=measuring)


# Iterates over instants and shows progress; the text says what is being done.
Watch = Callable[[Sequence[int], str], Iterable[int]]
EVERY_FRAME = "all"
# Maximum number of instants before the first picture, for trails.
_EARLIER = 600
# Fractions of the view's distance: minimum step of a trail, and span for axis lengths.
_TRAIL_STEP, _SPAN = 0.004, 0.5


@dataclass(frozen=True)
class RenderRequest:
    """What to show, and from where.

    Attributes:
        camera: Name of a sensor or frame, or a viewpoint as `framing` parses it; empty for a view of everything.
        follow: Frame that a viewpoint moves with, or empty.
        size: Width and height in pixels; None for the camera's own, or 1280 x 720.
        frames: Frames whose axes and names are shown; ("all",) for all; None for all if the world has no shapes.
        trails: Frames that leave a trail.
        viewport: Name of a viewport of the world's schematic, instead of `camera`; or empty.
        has_time: Whether to write the time on the picture.
        panels: Whether to show the panels of the world's schematic, laid out as on the page, instead of a single view.
        sun_samples: Number of sample points of the sun. More give softer shadows and take proportionally longer.
    """

    camera: str = ""
    follow: str = ""
    size: tuple[int, int] | None = None
    frames: tuple[str, ...] | None = None
    trails: tuple[str, ...] = ()
    has_time: bool = False
    viewport: str = ""
    sun_samples: int = 1
    panels: bool = False


def render_source(
    source: PoseSource, request: RenderRequest, times_ns: Sequence[int], watch: Watch = lambda times_ns, what: times_ns
) -> Generator[Pixels, None, None]:
    """Yield pixels (height, width, 3) of a source at instants, in order, as `draw` does for a world."""
    world, layout = source.world, lay_out(source.world)
    frames = layout.frames
    check_times(times_ns, source)
    size = size_of(request.camera, request.size, world)
    schematic = DrawnSchematic(world, frames)
    try:
        renderer = Renderer(world, layout, size, schematic.add_meshes)
    except ValueError as error:
        raise RenderError(f"MuJoCo cannot render this: {' '.join(str(error).split())}") from None
    shown = _rows(request.frames, frames, bare=renderer.is_bare and not len(schematic))
    trails = [frames.index(name) for name in request.trails]
    with Framebuffer(size) as framebuffer:
        instants = [*earlier_instants(source, times_ns), *times_ns]
        history = list(source.poses(watch(instants, "simulated" if source.name == "world" else "read")))
        rooted = frames.in_root(np.stack(history))
        pictured = rooted[_EARLIER:]
        content = PictureContent(renderer, frames, pictured, shown, rooted[:, trails, :3].reshape(-1, 3))
        framing = (
            framing_of_viewport(request.viewport, size, world, content)
            if request.viewport
            else framing_for(request.camera, request.follow, size, world, content)
        )
        renderer.lay_ground(pictured)
        first = framing(pictured[0])
        framebuffer.prepare(renderer.prepare(first))
        lengths = axis_lengths(pictured[0, shown], _SPAN * first.distance)
        paths = [_Path(rooted[:, row, :3], _TRAIL_STEP * first.distance) for row in trails]
        for index, time_ns in enumerate(watch(times_ns, "drawn")):
            now = pictured[index]
            view = framing(now)
            renderer.place(now, view)
            schematic.draw(renderer, now)
            draw_axes(renderer, now[shown], lengths)
            for number, path in enumerate(paths):
                draw_trail(renderer, path.until(_EARLIER + index), view.distance, number)
            pixels = _lit(renderer, framebuffer, request.sun_samples)
            if shown:
                pixels = write_names(pixels, [frames.names[row] for row in shown], *view.project(now[shown, :3]))
            yield write_time(pixels, (time_ns - source.zero_ns) / 1e9) if request.has_time else pixels


def earlier_instants(source: PoseSource, times_ns: Sequence[int]) -> list[int]:
    """Return instants from the start of a source to before the first picture, for trails and graphs."""
    instants: list[int] = np.linspace(source.start_ns, times_ns[0], _EARLIER, endpoint=False).astype(np.int64).tolist()
    return instants


def _lit(renderer: Renderer, framebuffer: Framebuffer, sun_samples: int) -> Pixels:
    total = np.zeros((*framebuffer.size[::-1], 3), dtype=np.uint32)
    for part in range(sun_samples):
        renderer.shine(part, sun_samples)
        total += framebuffer.draw(renderer.scene)
    return ((total + sun_samples // 2) // sun_samples).astype(np.uint8)


class _Path:
    """The path (T, 3) of a frame, thinned to points at least `step` m apart. Points that were kept stay."""

    def __init__(self, path: FloatArray, step: float) -> None:
        kept = [0]
        for index in range(1, len(path)):
            if np.linalg.norm(path[index] - path[kept[-1]]) >= step:
                kept.append(index)
        self._path, self._kept = path, np.array(kept)

    def until(self, index: int) -> FloatArray:
        """Return points (P, 3) up to and including an instant."""
        return self._path[[*self._kept[: np.searchsorted(self._kept, index)], index]]


def check_times(times_ns: Sequence[int], source: PoseSource) -> None:
    """Raise RenderError if an instant is outside the time range of a source."""
    for time_ns in (times_ns[0], times_ns[-1]):
        requested, start, end = ((each - source.zero_ns) / 1e9 for each in (time_ns, source.start_ns, source.end_ns))
        if time_ns < source.start_ns:
            raise RenderError(f"{requested:g} s is before the {source.name}'s start at {start:g} s")
        if time_ns > MAX_STAMP_NS:
            raise RenderError(
                f"{requested:g} s is after the last time that fits into a stamp, {MAX_STAMP_NS // 10**9} s"
            )
        if time_ns > source.end_ns:
            raise RenderError(f"{requested:g} s is after the {source.name}'s end at {end:g} s")


def _rows(names: tuple[str, ...] | None, frames: FrameTable, *, bare: bool) -> list[int]:
    if names == (EVERY_FRAME,) or (names is None and bare):
        return list(range(len(frames)))
    return [frames.index(name) for name in names or ()]
