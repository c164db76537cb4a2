"""Choose the camera of a picture (one of the world's, a viewpoint, or an overview), and draw schematics."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.simulation.sensors import groups_of
from sim_node.simulation.sensors.camera import Camera, CameraType
from sim_node.simulation.sensors.context import Lens
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.viewing.cameras import ViewportCamera, pose_of
from sim_node.viewing.drawn_objects import ObjectDrawing, drawing_of
from sim_node.viewing.meshes import DrawnShape
from sim_node.viewing.mujoco_shapes import add_drawn_mesh, compilable_parts
from sim_node.viewing.renderer import Renderer
from sim_node.viewing.schematic import Schematic, Viewport
from sim_node.viewing.shown_signals import SceneReference, ShownSignals, scene_reference
from sim_node.viewing.view import DEFAULT_FOV, View, fitted, looking
from sim_node.world import WorldError, WorldWarning
from sim_node.world.frame_table import FrameTable
from sim_node.world.model import World
from sim_node.world.problems import quoted

_NEAR = 0.02
_GEOMS = {
    "box": (mujoco.mjtGeom.mjGEOM_BOX, np.array([0.5, 0.5, 0.5])),
    "sphere": (mujoco.mjtGeom.mjGEOM_ELLIPSOID, np.ones(3)),
    "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, np.array([1.0, 1.0, 0.5])),
}


def viewport_named(world: World, name: str) -> Viewport:
    """Return the viewport of a world's schematic. Raises ValueError with the nearest name."""
    schematic: Schematic | None = world.schematic
    viewports = () if schematic is None else schematic.viewports()
    found = next((each for each in viewports if each.name == name), None)
    if found is None:
        known = [each.name for each in viewports if each.name]
        there = f" (known: {', '.join(known)})" if known else "; the world's schematic has none with a name"
        raise ValueError(f"viewport: there is no {quoted(name)}{did_you_mean(name, known)}{there}")
    return found


class ViewportFraming:
    """Returns the view of a viewport, given the poses (N, 7) of the frames in the fixed frame.

    Args:
        viewport: The viewport, with `pos`.
        frames: The frames that its formulas may refer to.
        size: Width and height, pixels.
        reach: Distance of the farthest objects, m.
        reference: The reference of poses.

    Raises:
        WorldError: A formula contains an unknown name.
    """

    def __init__(
        self, viewport: Viewport, frames: FrameTable, size: tuple[int, int], reach: float, reference: SceneReference
    ) -> None:
        self._signals = ShownSignals(frames, reference=reference)
        self._camera = ViewportCamera(viewport, self._signals)
        across = horizontal(self._camera.vertical_fov, size)
        near = viewport.near or _NEAR
        far = viewport.far or max(1000.0, 10.0 * reach)
        self._lens = Lens(*size, across, near, far, depth=False)
        self._reach, self._limits = reach, (10.0 * near, far)

    def __call__(self, in_root: FloatArray) -> View:
        """Return the view. Raises ValueError if the camera looks at itself."""
        self._signals.update(in_root, {})
        sight = self._camera.sight()
        if sight is None:
            raise ValueError("viewport: the camera is at what it looks at")
        # The visible frames may be few and close together, with the camera far away.
        away = np.linalg.norm(np.vstack([in_root[:, :3], sight.target]) - sight.position, axis=1).max()
        return View(pose_of(sight), self._lens, float(np.clip(max(self._reach, away), *self._limits)))


def horizontal(vertical: float, size: tuple[int, int]) -> float:
    """Convert a vertical field of view to the horizontal one, rad."""
    return 2.0 * math.atan(math.tan(0.5 * vertical) * size[0] / size[1])


@dataclass(frozen=True, eq=False)
class _Part:
    """Triangles with the same colour in a model file: vertices (V, 3) including its scale, m, and faces (F, 3)."""

    mesh: str
    vertices: FloatArray
    faces: npt.NDArray[np.int32]
    colour: FloatArray


class DrawnSchematic:
    """The objects of a schematic, drawn in pictures.

    Objects that cannot be drawn cause a WorldWarning. Renderers of these pictures need `add_meshes`.

    Args:
        world: The world, for its schematic.
        frames: The frames that formulas may refer to.
    """

    def __init__(self, world: World, frames: FrameTable) -> None:
        schematic = world.schematic
        self._signals = ShownSignals(frames, reference=scene_reference(schematic, world))
        self._drawings: list[tuple[ObjectDrawing, list[_Part]]] = []
        count = 0
        for thing in () if schematic is None else schematic.objects:
            try:
                drawing = drawing_of(replace(schematic or Schematic(), objects=(thing,)), self._signals)
            except WorldError as error:
                warnings.warn(f"not in pictures: {error}", WorldWarning, stacklevel=2)
                continue
            parts = list(_parts(drawing.shapes[0], count))
            count += len(parts)
            if parts or drawing.shapes[0].kind in _GEOMS:
                self._drawings.append((drawing, parts))

    def __len__(self) -> int:
        return len(self._drawings)

    def add_meshes(self, spec: mujoco.MjSpec) -> None:
        """Add the meshes of model files to a renderer's specification."""
        for _, parts in self._drawings:
            for part in parts:
                add_drawn_mesh(spec, part.mesh, part.vertices, part.faces)

    def draw(self, renderer: Renderer, in_root: FloatArray) -> None:
        """Add the shapes at the poses (N, 7) of the frames in the fixed frame."""
        self._signals.update(in_root, {})
        for drawing, parts in self._drawings:
            shape, pose = drawing.shapes[0], drawing.poses()[0]
            if not np.isfinite(pose).all():
                continue
            placed = poses.compose(pose, shape.pose)
            if not parts:
                kind, unit = _GEOMS[shape.kind]
                scale = drawing.scales[0]() if drawing.scales else shape.scale
                _add_geom(renderer, kind, unit * scale, placed, np.array(shape.colour))
            for part in parts:
                _add_geom(renderer, mujoco.mjtGeom.mjGEOM_MESH, np.ones(3), placed, part.colour, part.mesh)


def _parts(shape: DrawnShape, count: int) -> Iterator[_Part]:
    """Yield the parts of a model file, or warn that it cannot be read. count: number of previous parts."""
    if shape.file is None:
        return
    try:
        for number, part in enumerate(compilable_parts(shape.file, shape.scale), count):
            yield _Part(f"sim_node/viewing/schematic/{number}", part.vertices, part.faces, np.array(part.colour))
    except Exception as error:  # trimesh raises nearly anything for damaged files; MuJoCo refuses meshes without area
        message = " ".join(str(error).split()) or type(error).__name__
        warnings.warn(f"not in pictures: {shape.file.name}: {message}", WorldWarning, stacklevel=2)


def _add_geom(
    renderer: Renderer, kind: int, size: FloatArray, pose: FloatArray, colour: FloatArray, mesh: str = ""
) -> None:
    """Add a geom at a pose (7,) in the fixed frame, unless the scene is full."""
    scene, model = renderer.scene, renderer.model
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    number = model.mesh(mesh).id if mesh else -1
    if mesh:  # MuJoCo moved its vertices to its principal axes of inertia
        moved = np.concatenate([model.mesh_pos[number], model.mesh_quat[number][[1, 2, 3, 0]]])
        pose = poses.compose(pose, moved)
    turn = quaternions.to_matrix(pose[3:]).ravel()
    mujoco.mjv_initGeom(geom, kind, size, pose[:3] - renderer.origin, turn, colour.astype(np.float32))
    if mesh:
        geom.dataid = 2 * number  # odd numbers are convex hulls
    geom.category = mujoco.mjtCatBit.mjCAT_DYNAMIC
    scene.ngeom += 1


# Returns the view at an instant, given the poses (N, 7) of all frames in the fixed frame.
Framing = Callable[[FloatArray], View]
DEFAULT_SIZE = 1280, 720
VIEWPOINT = "x,y,z[@x,y,z][,degrees]"
# Viewing distance around a followed frame, in radii of its subtree.
_ROOM = 1.7
_MAX_INSTANTS = 100
_NUMBER = re.compile(r"\s*[-+]?\.?\d")


class RenderError(Exception):
    """An invalid render request. The message gives the reason and what is allowed."""


@dataclass(frozen=True, eq=False)
class PictureContent:
    """The content of pictures: a renderer, and the poses (T, N, 7) of its frames in the fixed frame at T instants.

    shown: rows whose axes are drawn. trails (P, 3): past positions of frames.
    """

    renderer: Renderer
    frames: FrameTable
    rooted: FloatArray
    shown: Sequence[int]
    trails: FloatArray

    def points(self, below: int = 0) -> FloatArray:
        """Return points (P, 3) around the visible parts of a frame and its descendants, at some of the instants.

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
    """Return the camera named by `camera`. With `follow`, a viewpoint is relative to that frame and moves with it.

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
    """Return the size of the pictures: the requested size, the camera's, or the default."""
    lens = lenses_of(world).get(camera)
    return size or ((lens.width, lens.height) if lens else DEFAULT_SIZE)


def _automatic(size: tuple[int, int], content: PictureContent, row: int) -> View:
    if row == 0:
        return fitted(content.points(), size)
    # The followed frame stays in the centre of a box that contains its initial subtree.
    middle = content.rooted[0, row, :3]
    first = replace(content, rooted=content.rooted[:1])
    reach = max(float(np.linalg.norm(first.points(row) - middle, axis=1).max()), 0.1) * _ROOM
    return fitted(middle + reach * np.array([[1, 1, 1], [-1, -1, -1], [1, -1, 1], [-1, 1, -1]]) / np.sqrt(3.0), size)


def _viewpoint(text: str, size: tuple[int, int], start: FloatArray, content: PictureContent, row: int) -> View:
    """Parse x,y,z[@x,y,z][,degrees]: position, target (default: the centre, or the frame), and field of view."""
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
    lenses, frames = lenses_of(world), content.frames
    if name not in frames.names:
        known = [*lenses, *frames.names]
        there = f" (cameras: {', '.join(lenses)})" if lenses else ""
        raise RenderError(f"camera: no frame {quoted(name)}{did_you_mean(name, known)}{there}; or {VIEWPOINT}, in m")
    row, own = frames.index(name), lenses.get(name, Camera().lens())
    lens = Lens(*size, own.horizontal_fov, own.near, own.far, depth=False)
    max_distance = np.linalg.norm(content.points() - content.rooted[0, row, :3], axis=1).max()
    distance = float(np.clip(max_distance, 10.0 * own.near, own.far))
    return lambda now: View(now[row], lens, distance)


def lenses_of(world: World) -> dict[str, Lens]:
    """Return the lenses of the cameras of a world, by name."""
    return {
        name: sensor.lens()
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
        if isinstance(sensor, CameraType)
    }
