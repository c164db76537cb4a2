"""Mesh files for viewers: as URIs for those who can read them, and as triangles for others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray

# rviz turns a glTF file's axes since 2025 and did not before, and Humble reads it only lately (ros2/rviz#1001, #1154,
# #1482): as triangles it looks the same in all of them.
READ_BY_RVIZ = (".stl", ".obj", ".dae")
PLAIN = (0.62, 0.65, 0.70, 1.0)


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
