"""Schematics in pictures: cameras of viewports, and what is drawn."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import numpy.typing as npt

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
from sim_node.viewing.view import View
from sim_node.world import FrameTable, World, WorldError, WorldWarning
from sim_node.world.problems import quoted

_NEAR = 0.02
_GEOMS = {
    "box": (mujoco.mjtGeom.mjGEOM_BOX, np.array([0.5, 0.5, 0.5])),
    "sphere": (mujoco.mjtGeom.mjGEOM_ELLIPSOID, np.ones(3)),
    "cylinder": (mujoco.mjtGeom.mjGEOM_CYLINDER, np.array([1.0, 1.0, 0.5])),
}


def viewport_named(world: World, name: str) -> Viewport:
    """Return the viewport of a world's schematic. Raises ValueError, whose message names the nearest."""
    schematic: Schematic | None = world.schematic
    viewports = () if schematic is None else schematic.viewports()
    found = next((each for each in viewports if each.name == name), None)
    if found is None:
        known = [each.name for each in viewports if each.name]
        there = f" (known: {', '.join(known)})" if known else "; the world's schematic has none with a name"
        raise ValueError(f"viewport: there is no {quoted(name)}{did_you_mean(name, known)}{there}")
    return found


class ViewportFraming:
    """Returns the view of a viewport from the poses (N, 7) of the frames in the fixed frame.

    Args:
        viewport: The viewport, with `pos`.
        frames: The frames that its formulas can name.
        size: Width and height, pixels.
        reach: How far away things are, m.
        reference: What poses are relative to.

    Raises:
        WorldError: A formula names something else.
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
        # What it sees may be few frames in one place, with the camera far from them.
        away = np.linalg.norm(np.vstack([in_root[:, :3], sight.target]) - sight.position, axis=1).max()
        return View(pose_of(sight), self._lens, float(np.clip(max(self._reach, away), *self._limits)))


def horizontal(vertical: float, size: tuple[int, int]) -> float:
    """Return the horizontal field of view of a vertical one, rad."""
    return 2.0 * math.atan(math.tan(0.5 * vertical) * size[0] / size[1])


@dataclass(frozen=True, eq=False)
class _Part:
    """Triangles of one colour of a model in a file: vertices (V, 3) with its scale, m, and faces (F, 3)."""

    mesh: str
    vertices: FloatArray
    faces: npt.NDArray[np.int32]
    colour: FloatArray


class DrawnSchematic:
    """What a schematic draws, in pictures.

    What cannot be drawn causes a WorldWarning. Renderers of these pictures need `add_meshes`.

    Args:
        world: The world, for its schematic.
        frames: The frames that formulas can name.
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
        """Add the meshes of models in files to the specification of a renderer."""
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
    """Yield the parts of a model in a file, or warn that it cannot be read. count: of parts before."""
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
    """Add a geom at a pose (7,) in the fixed frame, if there is room for one more."""
    scene, model = renderer.scene, renderer.model
    if scene.ngeom >= scene.maxgeom:
        return
    geom = scene.geoms[scene.ngeom]
    number = model.mesh(mesh).id if mesh else -1
    if mesh:  # MuJoCo moved its vertices to the axes of its inertia
        moved = np.concatenate([model.mesh_pos[number], model.mesh_quat[number][[1, 2, 3, 0]]])
        pose = poses.compose(pose, moved)
    turn = quaternions.to_matrix(pose[3:]).ravel()
    mujoco.mjv_initGeom(geom, kind, size, pose[:3] - renderer.origin, turn, colour.astype(np.float32))
    if mesh:
        geom.dataid = 2 * number  # the odd numbers are convex hulls
    geom.category = mujoco.mjtCatBit.mjCAT_DYNAMIC
    scene.ngeom += 1
