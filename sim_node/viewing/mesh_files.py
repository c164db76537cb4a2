"""Mesh files for people who cannot read the files: as triangles, and as URIs for those who can."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sim_node.geometry.arrays import FloatArray

# rviz turns a glTF file's axes since 2025 and did not before, and Humble reads it only lately (ros2/rviz#1001, #1154,
# #1482): as triangles it looks the same in all of them.
READ_BY_RVIZ = (".stl", ".obj", ".dae")
PLAIN = (0.62, 0.65, 0.70, 1.0)


def uri(file: Path) -> str:
    """The file:// URI of a mesh."""
    return file.resolve().as_uri()


def coloured_triangles(file: Path) -> list[tuple[FloatArray, tuple[float, ...]]]:
    """The parts of a GLB or glTF file: corners (3 T, 3) in the file's own axes and units, and the colour of each part.

    A part's colour is its material's, by the mean of its texture where it has one. Raises ImportError without trimesh.
    """
    import trimesh

    scene = trimesh.load_scene(file)
    return [
        (np.array(mesh.triangles, dtype=np.float64).reshape(-1, 3), _colour(mesh))
        for mesh in scene.dump()
        if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces)
    ]


def _colour(mesh: object) -> tuple[float, ...]:
    visual = getattr(mesh, "visual", None)
    if visual is None or not visual.defined:
        return PLAIN
    if visual.kind == "texture":
        return tuple((np.array(visual.material.main_color, dtype=np.float64) / 255.0).tolist())
    mean: FloatArray = np.mean(np.asarray(visual.vertex_colors, dtype=np.float64), axis=0) / 255.0
    return tuple(mean.tolist())
