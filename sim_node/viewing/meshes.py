"""Shapes and meshes: what is visible of a frame, whatever draws it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray

# Of what was given no colour.
PLAIN = (0.62, 0.65, 0.70, 1.0)
# MuJoCo's convention: geoms of these groups are for contact and not for the eye.
FIRST_HIDDEN_GROUP = 3
_MUJOCO_PLAIN = (0.5, 0.5, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles: vertices (V, 3) m, faces (F, 3)."""

    vertices: npt.NDArray[np.float32]
    faces: npt.NDArray[np.uint32]


@dataclass(frozen=True, eq=False)
class Shape:
    """A solid on a frame. row: of its frame; pose (7,): in the frame; colour (4,): red, green, blue, opacity.

    kind: box, sphere, cylinder (along z), plane (faces z), mesh or glb. scale (3,): what a cube of edge 1, a ball of
    radius 1, a cylinder of radius 1 and length 1, the mesh's or the file's own units are multiplied by.
    """

    row: int
    kind: str
    pose: FloatArray
    scale: FloatArray = field(default_factory=lambda: np.ones(3))
    colour: tuple[float, ...] = PLAIN
    mesh: Mesh | None = None
    file: Path | None = None


def capsule(row: int, pose: FloatArray, radius: float, length: float, colour: tuple[float, ...]) -> Iterator[Shape]:
    """A cylinder between two balls."""
    yield Shape(row, "cylinder", pose, np.array([radius, radius, length]), colour)
    for end in (-0.5, 0.5):
        at = poses.compose(pose, np.array([0.0, 0.0, end * length, 0.0, 0.0, 0.0, 1.0]))
        yield Shape(row, "sphere", at, np.full(3, radius), colour)


def coloured(rgba: FloatArray | None) -> tuple[float, ...]:
    """A colour as given, or the plain one where it is none or MuJoCo's for what has none."""
    if rgba is None or np.allclose(rgba, _MUJOCO_PLAIN, atol=1e-6):
        return PLAIN
    return tuple(float(part) for part in np.clip(rgba, 0.0, 1.0))


# rviz turns a glTF file's axes since 2025 and did not before, and Humble reads it only lately (ros2/rviz#1001, #1154,
# #1482): as triangles it looks the same in all of them.
READ_BY_RVIZ = (".stl", ".obj", ".dae")


def uri(file: Path) -> str:
    """The file:// URI of a mesh."""
    return file.resolve().as_uri()


def parts_of(file: Path) -> Iterator[tuple[FloatArray, npt.NDArray[np.int32], tuple[float, ...]]]:
    """Of each part of a GLB or glTF file: vertices (V, 3) in its own axes and units, faces (F, 3), a colour.

    A part's colour is its material's, of a texture the mean. Raises ImportError without trimesh, and whatever that has
    against the file.
    """
    import trimesh

    for part in trimesh.load_scene(file).dump():
        if isinstance(part, trimesh.Trimesh) and len(part.faces):
            yield np.asarray(part.vertices), np.asarray(part.faces, dtype=np.int32), _colour(part.visual)


def _colour(visual: Any) -> tuple[float, ...]:
    material = getattr(visual, "material", None)
    texture = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if texture is not None:
        return (*(np.asarray(texture.convert("RGB"), dtype=float).mean(axis=(0, 1)) / 255.0).tolist(), 1.0)
    colour = getattr(visual if material is None else material, "main_color", None)
    return PLAIN if colour is None else tuple((np.asarray(colour, dtype=float) / 255.0).tolist())
