"""Mesh files of bodies: whether they can be read, and how MuJoCo takes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import MESHES, MESHES_SHOWN
from sim_node.world.mujoco_source import mujoco_fault, words_of
from sim_node.world.problems import quoted

if TYPE_CHECKING:
    from mujoco import MjSpec

MAX_BYTES = 256 * 1024 * 1024
GLB_MAGIC = b"glTF"


def mesh_fault(path: Path) -> str:
    """What is wrong with a mesh file, or nothing. Without MuJoCo its triangles are not looked at."""
    suffix = path.suffix.lower()
    if suffix not in (*MESHES, *MESHES_SHOWN):
        return f"{quoted(path.name)} is no mesh that can be read; allowed: {', '.join((*MESHES, *MESHES_SHOWN))}"
    try:
        if path.stat().st_size > MAX_BYTES:
            return f"{quoted(path.name)} is too large; allowed: up to {MAX_BYTES // 1024**2} MB"
        if suffix == ".glb":
            with path.open("rb") as file:
                return (
                    "" if file.read(4) == GLB_MAGIC else f"{quoted(path.name)} is no GLB: it does not begin with glTF"
                )
    except OSError as error:
        return f"{quoted(path.name)} cannot be read: {error.strerror}"
    return "" if suffix in MESHES_SHOWN or mujoco_fault() else _triangle_fault(path)


def add_mesh(spec: MjSpec, path: Path, scale: FloatArray) -> str:
    """Adds a mesh to a specification, once for each file and scale; returns its name there.

    Mass spreads over the convex hull, which is also what touches: files for display are seldom closed.
    """
    import mujoco

    name = f"{path.resolve()} {scale.tolist()}"
    if all(mesh.name != name for mesh in spec.meshes):
        file = f"{len(spec.meshes)}{path.suffix.lower()}"
        spec.assets = {**spec.assets, file: path.read_bytes()}
        mesh = spec.add_mesh(name=name, file=file, scale=np.asarray(scale))
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    return name


def _triangle_fault(path: Path) -> str:
    import mujoco

    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=add_mesh(spec, path, np.ones(3)))
    try:
        spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        return f"{quoted(path.name)}: {words_of(str(error)).partition('; Element')[0]}"
    return ""
