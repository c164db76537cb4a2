"""Shapes and meshes: the visible geometry of frames, for any renderer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.finishes import Finish, of_cap
from sim_node.world.shapes import SHEET

# Default colours, of what stands and of what moves. In the light of pages, the sides of both differ from the grounds of
# day and of night, and from each other.
PLAIN, MOVING = (0.46, 0.49, 0.54, 1.0), (0.20, 0.40, 0.68, 1.0)
# MuJoCo's convention: geoms of these groups are for contact only.
FIRST_HIDDEN_GROUP = 3
MUJOCO_PLAIN = (0.5, 0.5, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class TriangleMesh:
    """A triangle mesh.

    Attributes:
        vertices: (V, 3), m.
        faces: (F, 3) vertex indices.
        uv: (F, 3, 2) texture coordinates of the faces' corners, right and down; None for no texture.
        normals: (F, 3, 3) normals of the faces' corners; None for the normals of the faces.
    """

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]
    uv: npt.NDArray[np.float32] | None = None
    normals: npt.NDArray[np.float32] | None = None

    def corners(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the corners (3 F, 3) of the faces, their normals (3 F, 3) and their texture coordinates (3 F, 2)."""
        corners = self.vertices[self.faces].astype(np.float64)
        if self.normals is None:
            across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
            normals = np.repeat(across[:, None], 3, axis=1)
        else:
            normals = self.normals.astype(np.float64)
        uv = np.zeros((len(corners), 3, 2)) if self.uv is None else self.uv.astype(np.float64)
        return corners.reshape(-1, 3), normals.reshape(-1, 3), uv.reshape(-1, 2)


# Minimum edge length of a box that represents a plane, m.
_WIDE = 1.0


def are_sheets(edges: FloatArray) -> BoolArray:
    """Return which boxes with edges (..., 3), m, represent planes if they are static: thin and wide ones."""
    return np.asarray((edges[..., 2] <= SHEET) & (edges[..., :2].min(axis=-1) >= _WIDE))


@dataclass(frozen=True, eq=False)
class DrawnShape:
    """A solid on a frame.

    Attributes:
        row: Row of its frame.
        kind: box, sphere, cylinder (along z), plane (normal z), mesh, terrain (also a mesh) or glb.
        pose: (7,) in the frame, m.
        scale: (3,) scale of a cube of edge 1, a sphere of radius 1, a cylinder of radius 1 and length 1, or the units
            of the mesh or file.
        colour: (4,) red, green, blue and opacity, 0 to 1.
        file: The file of a mesh or glb.
        mesh: Its triangles, if they are not read from the file.
        collides: Whether it makes contact.
        mass: Mass of its body, kg; None if unknown.
        finish: Appearance besides the colour, which is then the mean of the finish; None for none.
        sheet: Whether it is a box that represents a plane.
    """

    row: int
    kind: str
    pose: FloatArray
    scale: FloatArray = field(default_factory=lambda: np.ones(3))
    colour: tuple[float, ...] = PLAIN
    mesh: TriangleMesh | None = None
    file: Path | None = None
    collides: bool = True
    mass: float | None = None
    finish: Finish | None = None
    sheet: bool = False

    @property
    def is_ground(self) -> bool:
        """Whether views ignore it when they are fitted, and it is not a wall."""
        return self.sheet or self.kind in ("plane", "terrain")


def capsule(shape: DrawnShape, radius: float, length: float) -> Iterator[DrawnShape]:
    """Yield a cylinder between two spheres, with the pose and the look of a shape."""
    yield replace(shape, kind="cylinder", scale=np.array([radius, radius, length]))
    for end in (-0.5, 0.5):
        at = poses.compose(shape.pose, np.array([0.0, 0.0, end * length, 0.0, 0.0, 0.0, 1.0]))
        finish = of_cap(shape.finish, end, radius, 0.5 * length)
        yield replace(shape, kind="sphere", pose=at, scale=np.full(3, radius), finish=finish)


def coloured(rgba: FloatArray | None) -> tuple[float, ...]:
    """Return a colour, or the default colour if there is none or it is MuJoCo's default."""
    if rgba is None or np.allclose(rgba, MUJOCO_PLAIN, atol=1e-6):
        return PLAIN
    return tuple(float(part) for part in np.clip(rgba, 0.0, 1.0))


def linear(srgb: FloatArray) -> npt.NDArray[np.uint8]:
    """Convert sRGB colours (..., 3) in 0 to 1 to linear bytes, as used by glTF and viser's instances and lines.

    IEC 61966-2-1.
    """
    light = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.round(light * 255.0), dtype=np.uint8)


# Formats that all versions of rviz show alike. Only since 2025 does rviz rotate the axes of glTF files, and Humble
# reads them only in recent releases (ros2/rviz#1001, #1154, #1482), so these are sent as triangles.
READ_BY_RVIZ = (".stl", ".obj", ".dae")


def uri(file: Path) -> str:
    """Return the file:// URI of a mesh."""
    return file.resolve().as_uri()


class FilePart(NamedTuple):
    """A part of a GLB or glTF file.

    vertices (V, 3) in the file's axes and units; faces (F, 3); colour (4,): that of the material, or a texture's
    mean; uv (V, 2): right and up in the texture, a Pillow image. Each is None if absent.
    """

    vertices: FloatArray
    faces: npt.NDArray[np.int32]
    colour: tuple[float, ...]
    uv: FloatArray | None
    image: Any


def parts_of(file: Path) -> Iterator[FilePart]:
    """Yield the parts of a file. Raises ImportError without trimesh, and trimesh's errors."""
    import trimesh

    for part in trimesh.load_scene(file).dump():
        if isinstance(part, trimesh.Trimesh) and len(part.faces):
            faces, uv = np.asarray(part.faces, dtype=np.int32), getattr(part.visual, "uv", None)
            uv = None if uv is None or len(uv) != len(part.vertices) else np.asarray(uv, dtype=np.float64)
            image = None if uv is None else _image(part.visual)
            # trimesh supplies a single-colour image if the file has none.
            if image is not None and all(low == high for low, high in image.convert("RGB").getextrema()):
                image = None
            yield FilePart(np.asarray(part.vertices), faces, _colour(part.visual), uv, image)


def _image(visual: Any) -> Any:
    material = getattr(visual, "material", None)
    return getattr(material, "baseColorTexture", None) or getattr(material, "image", None)


def _colour(visual: Any) -> tuple[float, ...]:
    material, texture = getattr(visual, "material", None), _image(visual)
    if texture is not None:
        return (*(np.asarray(texture.convert("RGB"), dtype=float).mean(axis=(0, 1)) / 255.0).tolist(), 1.0)
    colour = getattr(visual if material is None else material, "main_color", None)
    return PLAIN if colour is None else tuple((np.asarray(colour, dtype=float) / 255.0).tolist())
