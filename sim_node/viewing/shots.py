"""A world as it is to be shown: run through, then drawn instant by instant."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.canvas import Canvas, Pixels
from sim_node.viewing.framing import Content, ShotError, framing_for, size_of
from sim_node.viewing.labels import write_names, write_time
from sim_node.viewing.marks import axis_lengths, draw_axes, draw_trail
from sim_node.viewing.stage import Stage
from sim_node.viewing.takes import Take, run_of
from sim_node.world.frame_table import FrameTable
from sim_node.world.layout import lay_out
from sim_node.world.model import LATEST_NS, World

# Goes over instants, and shows how far it is: of them, and a word for what is done.
Watch = Callable[[Sequence[int], str], Iterable[int]]
EVERY_FRAME = "all"
# Instants before the first picture, of which trails are made.
_EARLIER = 600
# Of the distance of a view: a trail goes on where its frame has gone so far; what lengths of axes are measured by.
_TRAIL_STEP, _SPAN = 0.004, 0.5


@dataclass(frozen=True)
class Shot:
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
    suns: int = 1


def draw(
    world: World, shot: Shot, times_ns: Sequence[int], seed: int = 0, watch: Watch = lambda times_ns, what: times_ns
) -> Generator[Pixels, None, None]:
    """Pictures (height, width, 3) of a world at instants of its time, in their order; the run goes before the drawing.

    Raises ShotError, UnknownFrame, NoOpenGL, WorldError and Diverged with the first picture.
    """
    yield from draw_take(run_of(world, seed), shot, times_ns, watch)


def draw_take(
    take: Take, shot: Shot, times_ns: Sequence[int], watch: Watch = lambda times_ns, what: times_ns
) -> Generator[Pixels, None, None]:
    """Pictures (height, width, 3) of a take at instants of it, in their order, as `draw` gives them of a world."""
    world, layout = take.world, lay_out(take.world)
    frames = layout.frames
    _check(times_ns, take)
    size = size_of(shot.camera, shot.size, world)
    try:
        stage = Stage(world, layout, size)
    except ValueError as error:
        raise ShotError(f"MuJoCo refuses what is to be drawn: {' '.join(str(error).split())}") from None
    shown = _rows(shot.frames, frames, bare=stage.is_bare)
    trails = [frames.index(name) for name in shot.trails]
    with Canvas(size) as canvas:
        earlier = np.linspace(take.start_ns, times_ns[0], _EARLIER, endpoint=False).astype(np.int64).tolist()
        history = list(take.poses(watch([*earlier, *times_ns], "simulated" if take.name == "world" else "read")))
        rooted = frames.in_root(np.stack(history))
        pictured = rooted[_EARLIER:]
        content = Content(stage, frames, pictured, shown, rooted[:, trails, :3].reshape(-1, 3))
        framing = framing_for(shot.camera, shot.follow, size, world, content)
        stage.lay_ground(pictured)
        first = framing(pictured[0])
        canvas.prepare(stage.prepare(first))
        lengths = axis_lengths(pictured[0, shown], _SPAN * first.distance)
        paths = [_Path(rooted[:, row, :3], _TRAIL_STEP * first.distance) for row in trails]
        for index, time_ns in enumerate(watch(times_ns, "drawn")):
            now = pictured[index]
            view = framing(now)
            stage.place(now, view)
            draw_axes(stage, now[shown], lengths)
            for number, path in enumerate(paths):
                draw_trail(stage, path.until(_EARLIER + index), view.distance, number)
            pixels = _lit(stage, canvas, shot.suns)
            if shown:
                pixels = write_names(pixels, [frames.names[row] for row in shown], *view.project(now[shown, :3]))
            yield write_time(pixels, (time_ns - take.zero_ns) / 1e9) if shot.has_time else pixels


def _lit(stage: Stage, canvas: Canvas, suns: int) -> Pixels:
    total = np.zeros((*canvas.size[::-1], 3), dtype=np.uint32)
    for part in range(suns):
        stage.shine(part, suns)
        total += canvas.draw(stage.scene)
    return ((total + suns // 2) // suns).astype(np.uint8)


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


def _check(times_ns: Sequence[int], take: Take) -> None:
    for time_ns in (times_ns[0], times_ns[-1]):
        said, start, end = ((each - take.zero_ns) / 1e9 for each in (time_ns, take.start_ns, take.end_ns))
        if time_ns < take.start_ns:
            raise ShotError(f"{said:g} s is before the {take.name}'s start at {start:g} s")
        if time_ns > LATEST_NS:
            raise ShotError(f"{said:g} s is beyond the last time that a stamp can tell, {LATEST_NS // 10**9} s")
        if time_ns > take.end_ns:
            raise ShotError(f"{said:g} s is after the {take.name}'s end at {end:g} s")


def _rows(names: tuple[str, ...] | None, frames: FrameTable, *, bare: bool) -> list[int]:
    if names == (EVERY_FRAME,) or (names is None and bare):
        return list(range(len(frames)))
    return [frames.index(name) for name in names or ()]
