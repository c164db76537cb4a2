"""Meshes that are shown and do nothing else (.glb, .gltf), as shapes of a MuJoCo specification."""

from __future__ import annotations

import warnings

import mujoco

from sim_node.viewing.mesh_files import parts_of
from sim_node.world.bodies import Geometry
from sim_node.world.model import World
from sim_node.world.problems import WorldWarning


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
        parts = list(parts_of(geometry.file))
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
