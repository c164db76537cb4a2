"""The surroundings of the scene: the sky, a ground on each plane, and shadows; by day or night."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import trimesh
from PIL import Image

from sim_node.simulation.physics.scene import HORIZON, ZENITH
from sim_node.spatial.geometry import poses as pose_math
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.browser.batches import WXYZ
from sim_node.viewing.browser.textured import plane_glb
from sim_node.viewing.extent import Extent
from sim_node.viewing.meshes import PLAIN, DrawnShape, linear
from sim_node.world.scene import Sky

# The sky is outside /world, so it stays in place when the page follows a frame.
SKY = "/sky"
# Approximate number of grid cells per scene radius, and the distance in radii at which the ground fades into haze.
_CELLS, _HAZE = 8.0, 12.0
# Minimum radius of the sky, m, and its radius in scene radii.
_MIN_SKY, _SKY = 400.0, 40.0
# Darkness of a shadow on the ground, and of lines on a coloured ground.
_SHADOW, _LINE_SHADE, _BOLD_SHADE = 0.35, 0.9, 0.75
_STEPS = 181
# Height of a bare grid above its plane, in radii. Otherwise a floor drawn in the same plane, such as that of a run's
# markers, would hide it or not depending on depth rounding.
_ABOVE = 1e-3
# Depth of the haze below the horizon, as a fraction of a right angle.
_GROUND_HAZE = 0.08


class SkyAndGround(NamedTuple):
    """Colours in sRGB, 0 to 1, of the sky overhead, the sky at the horizon, the ground, and the lines on it."""

    zenith: Sequence[float]
    horizon: Sequence[float]
    ground: Sequence[float]
    lines: Sequence[float]
    bold_lines: Sequence[float]


# Floors of topics by night. Solids are lit and grids are not, so floors are darker than the ground.
FLOOR_BY_NIGHT = (0.19, 0.20, 0.21)
LIGHT = SkyAndGround(ZENITH, HORIZON, (0.80, 0.80, 0.77), (0.72, 0.72, 0.70), (0.60, 0.61, 0.60))
DARK = SkyAndGround((0.06, 0.08, 0.12), (0.20, 0.22, 0.26), (0.26, 0.27, 0.29), (0.32, 0.33, 0.35), (0.42, 0.43, 0.45))


def sky_radius(extent: Extent) -> float:
    """Return the radius of the sky, m, which must enclose the scene, and also the origin, where a followed frame is."""
    return max(_MIN_SKY, _SKY * extent.radius) + float(np.linalg.norm(extent.centre))


class PageSurroundings:
    """The sky and the ground of a page, with the colours of its world.

    Args:
        scene: viser's scene.
        node: The node of the ground.
    """

    def __init__(self, scene: Any, node: str) -> None:
        self._scene, self._node = scene, node
        self._grounds = 0
        self._sky = Sky()
        self._dark = False
        # Its mesh and its node. It is not sent again where it is the same: pages read it anew, and are white meanwhile.
        self._dome: tuple[bytes, Any] = b"", None
        self._content: tuple[Sequence[DrawnShape], FloatArray, Extent] | None = None

    def change(self, shapes: Sequence[DrawnShape], in_root: FloatArray, extent: Extent, sky: Sky | None) -> None:
        """Put the ground on the planes among the shapes, given the poses (N, 7) of all frames in the fixed frame."""
        self._content, self._sky = (shapes, in_root, extent), sky or Sky()
        self._draw()

    def set_dark(self, dark: bool) -> None:
        """Switch to the colours of night, which replace those of the world, or of day."""
        self._dark = dark
        self._draw()

    def set_shadows(self, shadows: bool) -> None:
        """Enable or disable shadows."""
        self._scene.configure_default_lights(cast_shadow=shadows)

    def _draw(self) -> None:
        if self._content is None:
            return
        shapes, in_root, extent = self._content
        planes = [shape for shape in shapes if shape.kind == "plane"]
        for number, plane in enumerate(planes):
            pose = pose_math.compose(in_root[plane.row], plane.pose)
            if plane.finish is not None and plane.finish.texture is not None:
                glb = plane_glb(plane.finish, 0.5 * plane.scale[:2], sky_radius(extent))
                self._scene.add_glb(
                    f"{self._node}/{number}", glb, position=pose[:3], wxyz=pose[WXYZ], cast_shadow=False
                )
            else:
                self._lay(f"{self._node}/{number}", pose, plane.colour, extent, opaque=True)
        if not planes:
            above = np.array([0.0, 0.0, _ABOVE * extent.radius, 0.0, 0.0, 0.0, 1.0])
            self._lay(f"{self._node}/0", above, PLAIN, extent, opaque=False)
        count = max(len(planes), 1)
        for number in range(count, self._grounds):
            self._scene.remove_by_name(f"{self._node}/{number}")
        self._grounds = count
        palette, sky = DARK if self._dark else LIGHT, Sky() if self._dark else self._sky
        own = bool(planes) and not self._dark and tuple(planes[0].colour) != PLAIN
        zenith = palette.zenith if sky.zenith is None else sky.zenith
        horizon = palette.horizon if sky.horizon is None else sky.horizon
        mesh = dome(np.array(zenith), np.array(horizon), np.array(planes[0].colour[:3] if own else palette.ground))
        radius = sky_radius(extent)
        if mesh == self._dome[0]:
            self._dome[1].scale, self._dome[1].position = radius, extent.centre
        else:
            look = {"cast_shadow": False, "receive_shadow": False}
            self._dome = mesh, self._scene.add_glb(SKY, mesh, scale=radius, position=extent.centre, **look)

    def _lay(self, node: str, pose: FloatArray, colour: Sequence[float], extent: Extent, *, opaque: bool) -> None:
        """Add a grid with cells of 1, 10, 100 ... m or fractions of a metre, depending on the size of the scene."""
        cell = 10.0 ** round(math.log10(extent.radius / _CELLS))
        _, _, ground, lines, bold_lines = DARK if self._dark else LIGHT
        if not self._dark and tuple(colour) != PLAIN:
            ground = tuple(colour[:3])
            lines, bold_lines = ([shade * part for part in ground] for shade in (_LINE_SHADE, _BOLD_SHADE))
        self._scene.add_grid(
            node,
            infinite_grid=True,
            cell_size=cell,
            section_size=10.0 * cell,
            cell_color=_bytes(lines),
            section_color=_bytes(bold_lines),
            cell_thickness=0.8,
            section_thickness=1.2,
            fade_distance=_HAZE * extent.radius,
            shadow_opacity=_SHADOW if opaque else 0.0,
            plane_color=_bytes(ground),
            plane_opacity=1.0 if opaque else 0.0,
            position=pose[:3],
            wxyz=pose[WXYZ],
        )


def night() -> dict[str, Any]:
    """Return what a page without a server needs for dark mode, for JSON: properties of grids, floors and the sky.

    The colours of night replace those of any world.
    """
    sky = dome(*(np.array(colour) for colour in (DARK.zenith, DARK.horizon, DARK.ground)))
    grid = {"plane_color": DARK.ground, "cell_color": DARK.lines, "section_color": DARK.bold_lines}
    colours = {name: _bytes(colour) for name, colour in grid.items()}
    floor = linear(np.array(FLOOR_BY_NIGHT)).tolist()
    return {"grid": colours, "floor": floor, "sky": base64.b64encode(sky).decode(), "sky_node": SKY}


def dome(zenith: FloatArray, horizon: FloatArray, ground: FloatArray) -> bytes:
    """Return a sphere of radius 1, seen from inside, as GLB: from the zenith to the horizon, and the ground below.

    The ground begins in haze; it is the background for objects below a ground that consists of lines. Lighting does not
    affect the colours (KHR_materials_unlit).

    Args:
        zenith: (3,) in sRGB, 0 to 1.
        horizon: (3,) in sRGB, 0 to 1.
        ground: (3,) in sRGB, 0 to 1.
    """
    sphere = trimesh.creation.uv_sphere(radius=1.0, count=(46, 24))
    # As in rendered pictures: linear in the elevation.
    share = np.linspace(1.0, -1.0, _STEPS)[:, None, None]
    below = np.clip(-share / _GROUND_HAZE, 0.0, 1.0)
    colours = horizon + np.clip(share, 0.0, 1.0) * (zenith - horizon) + below * (ground - horizon)
    pixels = np.round(255.0 * colours).astype(np.uint8)
    elevation = np.arcsin(np.clip(sphere.vertices[:, 2], -1.0, 1.0)) / (0.5 * math.pi)
    # The centres of the first and the last pixel are at the ends.
    v = (0.5 + 0.5 * (1.0 + elevation) * (_STEPS - 1)) / _STEPS
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.fromarray(pixels), metallicFactor=0.0, roughnessFactor=1.0
    )
    visual = trimesh.visual.TextureVisuals(uv=np.stack([np.full(len(v), 0.5), v], axis=1), material=material)
    inside = trimesh.Trimesh(sphere.vertices, sphere.faces[:, ::-1], visual=visual, process=False)

    def unlit(tree: dict[str, Any]) -> None:
        tree["extensionsUsed"] = ["KHR_materials_unlit"]
        for each in tree["materials"]:
            each["extensions"] = {"KHR_materials_unlit": {}}

    exported: bytes = trimesh.exchange.gltf.export_glb(inside.scene(), tree_postprocessor=unlit)
    return exported


def _bytes(colour: Sequence[float]) -> tuple[int, ...]:
    return tuple(round(255.0 * part) for part in colour)
