"""Choose the camera of a picture: one of the world's, a viewpoint, or one that sees everything."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sim_node.simulation.sensors import groups_of
from sim_node.simulation.sensors.camera import Camera, CameraType
from sim_node.simulation.sensors.context import Lens
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.viewing.renderer import Renderer
from sim_node.viewing.schematic_pictures import ViewportFraming, horizontal, viewport_named
from sim_node.viewing.shown_signals import scene_reference
from sim_node.viewing.view import DEFAULT_FOV, View, fitted, looking
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import World
from sim_node.world.problems import quoted

# Returns the view of an instant from the poses (N, 7) of all frames in the fixed frame.
Framing = Callable[[FloatArray], View]
DEFAULT_SIZE = 1280, 720
VIEWPOINT = "x,y,z[@x,y,z][,degrees]"
# Space around a followed frame, in radii of its subtree.
_ROOM = 1.7
_MAX_INSTANTS = 100
_NUMBER = re.compile(r"\s*[-+]?\.?\d")


class RenderError(Exception):
    """An invalid render request; the message gives the reason and what is allowed."""


@dataclass(frozen=True, eq=False)
class PictureContent:
    """The content of pictures: a renderer, and the poses (T, N, 7) of its frames in the fixed frame at T instants.

    shown: the rows whose axes are drawn; trails (P, 3): past positions of frames.
    """

    renderer: Renderer
    frames: FrameTable
    rooted: FloatArray
    shown: Sequence[int]
    trails: FloatArray

    def points(self, below: int = 0) -> FloatArray:
        """Return points (P, 3) around what is visible of a frame and its descendants, at some of the instants.

        Without shapes, these are the frames' origins.
        """
        rows = [row for row in range(len(self.frames)) if below in self.frames.chain(row)]
        some = self.rooted[np.linspace(0, len(self.rooted) - 1, min(_MAX_INSTANTS, len(self.rooted))).astype(int)]
        corners, of = self.renderer.corners(some)
        mine = np.isin(of, rows)
        marked = [row for row in rows if row in self.shown] or ([] if mine.any() else rows)
        points = [corners[:, mine].reshape(-1, 3), some[:, marked, :3].reshape(-1, 3)]
        return np.concatenate(points if below else [*points, self.trails])


def framing_for(camera: str, follow: str, size: tuple[int, int], world: World, content: PictureContent) -> Framing:
    """Return the camera that `camera` names; with `follow`, a viewpoint is relative to that frame and moves with it.

    Raises RenderError and FrameNotFound.
    """
    row = content.frames.index(follow) if follow else 0
    if camera and not _NUMBER.match(camera):
        if follow:
            raise RenderError(f"a camera of the world moves with its own frame, not with {follow}: give a viewpoint")
        return _on_board(camera, size, world, content)
    start = content.rooted[0, row, :3] if follow else np.zeros(3)
    view = _viewpoint(camera, size, start, content, row) if camera else _automatic(size, content, row)
    return (lambda now: view.moved(now[row, :3] - start)) if follow else (lambda now: view)


def framing_of_viewport(name: str, size: tuple[int, int], world: World, content: PictureContent) -> Framing:
    """Return the camera of a viewport of the world's schematic. Raises RenderError, and WorldError for its formulas."""
    try:
        viewport = viewport_named(world, name)
    except ValueError as error:
        raise RenderError(str(error)) from None
    if viewport.pos is None:
        view = fitted(content.points(), size, horizontal(math.radians(viewport.fov), size))
        return lambda now: view
    points = content.points()
    reach = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    framing = ViewportFraming(viewport, content.frames, size, reach, scene_reference(world.schematic, world))

    def checked(now: FloatArray) -> View:
        try:
            return framing(now)
        except ValueError as error:
            raise RenderError(str(error)) from None

    return checked


def size_of(camera: str, size: tuple[int, int] | None, world: World) -> tuple[int, int]:
    """Return the size of the pictures: as requested, as the camera's, or the default."""
    lens = _lenses(world).get(camera)
    return size or ((lens.width, lens.height) if lens else DEFAULT_SIZE)


def _automatic(size: tuple[int, int], content: PictureContent, row: int) -> View:
    if row == 0:
        return fitted(content.points(), size)
    # The followed frame stays in the middle: a box around it contains its subtree at the start.
    middle = content.rooted[0, row, :3]
    first = replace(content, rooted=content.rooted[:1])
    reach = max(float(np.linalg.norm(first.points(row) - middle, axis=1).max()), 0.1) * _ROOM
    return fitted(middle + reach * np.array([[1, 1, 1], [-1, -1, -1], [1, -1, 1], [-1, 1, -1]]) / np.sqrt(3.0), size)


def _viewpoint(text: str, size: tuple[int, int], start: FloatArray, content: PictureContent, row: int) -> View:
    """Parse x,y,z[@x,y,z][,degrees]: from where, at what (default: the centre, or the frame), field of view."""
    places = [part.split(",") for part in text.split("@")]
    try:
        numbers = [[float(number) for number in place] for place in places]
        fov = numbers[-1].pop() if len(numbers[-1]) == 4 else math.degrees(DEFAULT_FOV)
        if len(numbers) > 2 or any(len(place) != 3 for place in numbers) or not np.isfinite(numbers).all():
            raise ValueError
    except ValueError:
        raise RenderError(f"camera: {quoted(text)} is not a viewpoint; {VIEWPOINT} is needed, in m") from None
    if not 1.0 <= fov <= 170.0:
        raise RenderError(f"camera: an angle of {fov:g} degrees; allowed: 1 to 170")
    eye = start + numbers[0]
    if len(numbers) == 2:
        at = start + numbers[1]
    elif row:
        at = start
    else:
        points = content.points()
        at = 0.5 * (points.min(axis=0) + points.max(axis=0))
    try:
        return looking(eye, at, size, math.radians(fov))
    except ValueError as error:
        raise RenderError(f"camera: {error}") from None


def _on_board(name: str, size: tuple[int, int], world: World, content: PictureContent) -> Framing:
    """Return the view through a camera of the world, or along the x axis of any other frame."""
    lenses, frames = _lenses(world), content.frames
    if name not in frames.names:
        known = [*lenses, *frames.names]
        there = f" (cameras: {', '.join(lenses)})" if lenses else ""
        raise RenderError(f"camera: no frame {quoted(name)}{did_you_mean(name, known)}{there}; or {VIEWPOINT}, in m")
    row, own = frames.index(name), lenses.get(name, Camera().lens())
    lens = Lens(*size, own.horizontal_fov, own.near, own.far, depth=False)
    max_distance = np.linalg.norm(content.points() - content.rooted[0, row, :3], axis=1).max()
    distance = float(np.clip(max_distance, 10.0 * own.near, own.far))
    return lambda now: View(now[row], lens, distance)


def _lenses(world: World) -> dict[str, Lens]:
    """Return the cameras of a world."""
    return {
        name: sensor.lens()
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
        if isinstance(sensor, CameraType)
    }
