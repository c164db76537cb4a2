"""Meshes that are shown and do nothing else (.glb, .gltf), as shapes of a MuJoCo specification."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Geometry
from sim_node.world.model import World
from sim_node.world.problems import WorldWarning

_PLAIN = (0.72, 0.74, 0.77, 1.0)


def add_shown(spec: mujoco.MjSpec, world: World) -> None:
    """Adds what bodies and models of a world only show. A file that cannot be read is told as a WorldWarning."""
    for body in world.bodies:
        for geometry in body.geometry:
            _add(spec, body.name, geometry)
    for model in world.models:
        for link, geometry in model.shown:
            _add(spec, model.full_name(link), geometry)


def _add(spec: mujoco.MjSpec, body: str, geometry: Geometry) -> None:
    if not geometry.is_shown_only or geometry.file is None:
        return
    try:
        parts = list(_triangles(geometry.file))
    except Exception as error:
        warnings.warn(f"{geometry.file.name} is not drawn: {error}", WorldWarning, stacklevel=2)
        return
    for vertices, faces, colour in parts:
        mesh = spec.add_mesh(name=f"sim_node/shown/{len(spec.meshes)}")
        mesh.uservert, mesh.userface = (vertices * geometry.size).ravel(), faces.ravel()
        # Files for display may be open, or flat.
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        spec.body(body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            pos=geometry.pose[:3],
            quat=geometry.pose[[6, 3, 4, 5]],
            rgba=colour if geometry.colour is None else geometry.colour,
            contype=0,
            conaffinity=0,
            mass=0.0,
        )


def _triangles(path: Path) -> Iterator[tuple[FloatArray, npt.NDArray[np.int32], tuple[float, ...]]]:
    """Of each part of a file: vertices (V, 3) in its own axes, faces (F, 3), and the colour of its material."""
    import trimesh

    for part in trimesh.load_scene(path).dump():
        if isinstance(part, trimesh.Trimesh) and len(part.faces):
            yield np.asarray(part.vertices), np.asarray(part.faces, dtype=np.int32), _colour(part.visual)


def _colour(visual: Any) -> tuple[float, ...]:
    """One colour for all of a part: of a texture its mean."""
    material = getattr(visual, "material", None)
    texture = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if texture is not None:
        return (*(np.asarray(texture.convert("RGB"), dtype=float).mean(axis=(0, 1)) / 255.0).tolist(), 1.0)
    colour = getattr(visual if material is None else material, "main_color", None)
    return _PLAIN if colour is None else tuple((np.asarray(colour, dtype=float) / 255.0).tolist())
