"""What to render: a world, its poses at instants, the camera and what is shown."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.simulation import Simulation, Snapshot
from sim_node.viewing.framebuffer import Framebuffer, Pixels
from sim_node.viewing.framing import Content, RenderError, framing_for, size_of
from sim_node.viewing.marks import axis_lengths, draw_axes, draw_trail, write_names, write_time
from sim_node.viewing.renderer import Renderer
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.model import LATEST_NS, World


@dataclass(frozen=True, eq=False)
class PoseSource:
    """An assembled world from a time to another, and where its frames are in between.

    poses: of instants (rising) the poses (N, 7) of all frames of `lay_out(world)`, each in its parent. name: what it
    is, for messages. zero_ns: what times that people give are counted from.
    """

    world: World
    poses: Callable[[Iterable[int]], Iterator[FloatArray]]
    start_ns: int
    end_ns: int = LATEST_NS
    zero_ns: int = 0
    name: str = "world"


def source_of_run(
    world: World, seed: int = 0, seek: Callable[[Simulation, int], Snapshot] = Simulation.seek
) -> PoseSource:
    """A run of a world; seek: how it gets to an instant. Raises what a Simulation does."""
    simulation = Simulation(world, seed, sensors=False)

    def poses(times_ns: Iterable[int]) -> Iterator[FloatArray]:
        return (seek(simulation, time_ns).poses for time_ns in times_ns)

    return PoseSource(simulation.world, poses, simulation.world.time.start_ns)


# Goes over instants, and shows how far it is: of them, and a word for what is done.
Watch = Callable[[Sequence[int], str], Iterable[int]]
EVERY_FRAME = "all"
# Instants before the first picture, of which trails are made.
_EARLIER = 600
# Of the distance of a view: a trail goes on where its frame has gone so far; what lengths of axes are measured by.
_TRAIL_STEP, _SPAN = 0.004, 0.5


@dataclass(frozen=True)
class RenderRequest:
    """What is to be shown, and from where.

    camera: a sensor's or frame's name or a viewpoint, as `framing` reads it, or empty for a view of all that there is;
    follow: the frame that a viewpoint goes along with, or empty. size: width and height in pixels; None for the
    camera's own, or 1280 x 720. frames: those whose axes and names are shown; ("all",) for every one, None for every
    one of a world without shapes. trails: the frames that leave one. has_time: whether the time is written on it.
    suns: the points of the sun that shine; with more of them shadows are softer, and take as many times as long.
    """

    camera: str = ""
    follow: str = ""
    size: tuple[int, int] | None = None
    frames: tuple[str, ...] | None = None
    trails: tuple[str, ...] = ()
    has_time: bool = False
    sun_samples: int = 1


def draw(
    world: World,
    request: RenderRequest,
    times_ns: Sequence[int],
    seed: int = 0,
    watch: Watch = lambda times_ns, what: times_ns,
) -> Generator[Pixels, None, None]:
    """Pictures (height, width, 3) of a world at instants of its time, in their order; the run goes before the drawing.

    Raises ShotError, UnknownFrame, NoOpenGL, WorldError and Diverged with the first picture.
    """
    yield from render_source(source_of_run(world, seed), request, times_ns, watch)


def render_source(
    source: PoseSource, request: RenderRequest, times_ns: Sequence[int], watch: Watch = lambda times_ns, what: times_ns
) -> Generator[Pixels, None, None]:
    """Pictures (height, width, 3) of a take at instants of it, in their order, as `draw` gives them of a world."""
    world, layout = source.world, lay_out(source.world)
    frames = layout.frames
    _check(times_ns, source)
    size = size_of(request.camera, request.size, world)
    try:
        renderer = Renderer(world, layout, size)
    except ValueError as error:
        raise RenderError(f"MuJoCo refuses what is to be drawn: {' '.join(str(error).split())}") from None
    shown = _rows(request.frames, frames, bare=renderer.is_bare)
    trails = [frames.index(name) for name in request.trails]
    with Framebuffer(size) as framebuffer:
        earlier = np.linspace(source.start_ns, times_ns[0], _EARLIER, endpoint=False).astype(np.int64).tolist()
        history = list(source.poses(watch([*earlier, *times_ns], "simulated" if source.name == "world" else "read")))
        rooted = frames.in_root(np.stack(history))
        pictured = rooted[_EARLIER:]
        content = Content(renderer, frames, pictured, shown, rooted[:, trails, :3].reshape(-1, 3))
        framing = framing_for(request.camera, request.follow, size, world, content)
        renderer.lay_ground(pictured)
        first = framing(pictured[0])
        framebuffer.prepare(renderer.prepare(first))
        lengths = axis_lengths(pictured[0, shown], _SPAN * first.distance)
        paths = [_Path(rooted[:, row, :3], _TRAIL_STEP * first.distance) for row in trails]
        for index, time_ns in enumerate(watch(times_ns, "drawn")):
            now = pictured[index]
            view = framing(now)
            renderer.place(now, view)
            draw_axes(renderer, now[shown], lengths)
            for number, path in enumerate(paths):
                draw_trail(renderer, path.until(_EARLIER + index), view.distance, number)
            pixels = _lit(renderer, framebuffer, request.sun_samples)
            if shown:
                pixels = write_names(pixels, [frames.names[row] for row in shown], *view.project(now[shown, :3]))
            yield write_time(pixels, (time_ns - source.zero_ns) / 1e9) if request.has_time else pixels


def _lit(renderer: Renderer, framebuffer: Framebuffer, sun_samples: int) -> Pixels:
    total = np.zeros((*framebuffer.size[::-1], 3), dtype=np.uint32)
    for part in range(sun_samples):
        renderer.shine(part, sun_samples)
        total += framebuffer.draw(renderer.scene)
    return ((total + sun_samples // 2) // sun_samples).astype(np.uint8)


class _Path:
    """The way (T, 3) of a frame, thinned to points at least `step` m apart: what is kept once stays."""

    def __init__(self, way: FloatArray, step: float) -> None:
        kept = [0]
        for index in range(1, len(way)):
            if np.linalg.norm(way[index] - way[kept[-1]]) >= step:
                kept.append(index)
        self._way, self._kept = way, np.array(kept)

    def until(self, index: int) -> FloatArray:
        """Points (P, 3) up to an instant, that of the instant last."""
        return self._way[[*self._kept[: np.searchsorted(self._kept, index)], index]]


def _check(times_ns: Sequence[int], source: PoseSource) -> None:
    for time_ns in (times_ns[0], times_ns[-1]):
        said, start, end = ((each - source.zero_ns) / 1e9 for each in (time_ns, source.start_ns, source.end_ns))
        if time_ns < source.start_ns:
            raise RenderError(f"{said:g} s is before the {source.name}'s start at {start:g} s")
        if time_ns > LATEST_NS:
            raise RenderError(f"{said:g} s is beyond the last time that a stamp can tell, {LATEST_NS // 10**9} s")
        if time_ns > source.end_ns:
            raise RenderError(f"{said:g} s is after the {source.name}'s end at {end:g} s")


def _rows(names: tuple[str, ...] | None, frames: FrameTable, *, bare: bool) -> list[int]:
    if names == (EVERY_FRAME,) or (names is None and bare):
        return list(range(len(frames)))
    return [frames.index(name) for name in names or ()]
