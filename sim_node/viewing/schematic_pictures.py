"""Schematics in pictures: cameras of viewports, and what is drawn."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import mujoco
import numpy as np

from sim_node.geometry import poses, quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.schematic import Schematic, Viewport
from sim_node.sensors.context import Lens
from sim_node.text import did_you_mean
from sim_node.viewing.cameras import Camera, pose_of
from sim_node.viewing.drawn_objects import Drawing, drawing_of
from sim_node.viewing.renderer import Renderer
from sim_node.viewing.shown_signals import ShownSignals
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

    Raises:
        WorldError: A formula names something else.
    """

    def __init__(self, viewport: Viewport, frames: FrameTable, size: tuple[int, int], reach: float) -> None:
        self._signals = ShownSignals(frames)
        self._camera = Camera(viewport, self._signals)
        across = horizontal(self._camera.vertical_fov, size)
        near = viewport.near or _NEAR
        far = viewport.far or max(1000.0, 10.0 * reach)
        self._lens = Lens(*size, across, near, far, depth=False)
        self._distance = float(np.clip(reach, 10.0 * near, far))

    def __call__(self, in_root: FloatArray) -> View:
        """Return the view. Raises ValueError if the camera looks at itself."""
        self._signals.update(in_root, {})
        sight = self._camera.sight()
        if sight is None:
            raise ValueError("viewport: the camera is at what it looks at")
        return View(pose_of(sight), self._lens, self._distance)


def horizontal(vertical: float, size: tuple[int, int]) -> float:
    """Return the horizontal field of view of a vertical one, rad."""
    return 2.0 * math.atan(math.tan(0.5 * vertical) * size[0] / size[1])


class DrawnSchematic:
    """What a schematic draws, in pictures: shapes, without models of files.

    What cannot be drawn causes a WorldWarning.

    Args:
        schematic: The schematic, or None.
        frames: The frames that formulas can name.
    """

    def __init__(self, schematic: Schematic | None, frames: FrameTable) -> None:
        self._signals = ShownSignals(frames)
        self._drawings: list[Drawing] = []
        for thing in () if schematic is None else schematic.objects:
            try:
                drawing = drawing_of(replace(schematic or Schematic(), objects=(thing,)), self._signals)
            except WorldError as error:
                warnings.warn(f"not in pictures: {error}", WorldWarning, stacklevel=2)
                continue
            if drawing.shapes[0].kind in _GEOMS:
                self._drawings.append(drawing)
            else:
                warnings.warn("not in pictures: models of files in a schematic", WorldWarning, stacklevel=2)

    def __len__(self) -> int:
        return len(self._drawings)

    def draw(self, renderer: Renderer, in_root: FloatArray) -> None:
        """Add the shapes at the poses (N, 7) of the frames in the fixed frame."""
        self._signals.update(in_root, {})
        scene = renderer.scene
        for drawing in self._drawings:
            shape, pose = drawing.shapes[0], drawing.poses()[0]
            if not np.isfinite(pose).all() or scene.ngeom >= scene.maxgeom:
                continue
            placed = poses.compose(pose, shape.pose)
            kind, unit = _GEOMS[shape.kind]
            scale = drawing.scales[0]() if drawing.scales else shape.scale
            geom = scene.geoms[scene.ngeom]
            turn = quaternions.to_matrix(placed[3:]).ravel()
            colour = np.array(shape.colour, dtype=np.float32)
            mujoco.mjv_initGeom(geom, kind, unit * scale, placed[:3] - renderer.origin, turn, colour)
            geom.category = mujoco.mjtCatBit.mjCAT_DYNAMIC
            scene.ngeom += 1
