"""Mesh files of bodies: checks, and conversion for MuJoCo."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.mujoco_source import message_of, mujoco_fault
from sim_node.world.problems import quoted
from sim_node.world.triangles import Triangles

if TYPE_CHECKING:
    from mujoco import MjSpec

# Suffixes of meshes that can collide, with their convex hulls. Others are only shown.
MESHES, MESHES_SHOWN = (".stl", ".obj"), (".glb", ".gltf")
MAX_BYTES = 256 * 1024 * 1024
GLB_MAGIC = b"glTF"


def mesh_fault(path: Path) -> str:
    """Return why a mesh file is invalid; empty if it is valid. Triangles are checked only if MuJoCo is installed."""
    suffix = path.suffix.lower()
    if suffix not in (*MESHES, *MESHES_SHOWN):
        return f"{quoted(path.name)} is not a supported mesh; allowed: {', '.join((*MESHES, *MESHES_SHOWN))}"
    try:
        if path.stat().st_size > MAX_BYTES:
            return f"{quoted(path.name)} is too large; allowed: up to {MAX_BYTES // 1024**2} MB"
        if suffix == ".glb":
            with path.open("rb") as file:
                return (
                    "" if file.read(4) == GLB_MAGIC else f"{quoted(path.name)} is not GLB: it does not begin with glTF"
                )
    except OSError as error:
        return f"{quoted(path.name)} cannot be read: {error.strerror}"
    return "" if suffix in MESHES_SHOWN or mujoco_fault() else _triangle_fault(path)


def add_mesh(spec: MjSpec, source: Path | Triangles, scale: FloatArray) -> str:
    """Add a mesh to a specification, once for each file or set of triangles and scale. Return its name there.

    Mass and contacts use the convex hull, because visual meshes are seldom closed.
    """
    import mujoco

    name = f"{source.resolve() if isinstance(source, Path) else _digest(source)} {scale.tolist()}"
    if any(mesh.name == name for mesh in spec.meshes):
        return name
    mesh = spec.add_mesh(name=name, scale=np.asarray(scale))
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_CONVEX
    if isinstance(source, Path):
        mesh.file = f"{len(spec.meshes)}{source.suffix.lower()}"
        spec.assets = {**spec.assets, mesh.file: source.read_bytes()}
    else:
        mesh.uservert = source.vertices.ravel()
        mesh.userface = source.faces.ravel()
        if np.linalg.matrix_rank(source.vertices - source.vertices[0], tol=1e-9 * np.ptp(source.vertices)) < 3:
            mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    return name


def triangles_of(path: Path) -> Triangles:
    """Return the triangles of a mesh file that MuJoCo reads, in float32 precision. Raises ValueError, ImportError."""
    import mujoco

    spec = mujoco.MjSpec()
    name = add_mesh(spec, path, np.ones(3))
    spec.mesh(name).inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=name)
    try:
        model = spec.compile()
    except mujoco.FatalError as error:
        raise ValueError(message_of(str(error))) from None
    # MuJoCo transforms meshes to their principal axes.
    turn = quaternions.to_matrix(model.mesh_quat[0][[1, 2, 3, 0]])
    return Triangles(model.mesh_vert.astype(np.float64) @ turn.T + model.mesh_pos[0], model.mesh_face)


def _digest(triangles: Triangles) -> str:
    return blake2b(triangles.vertices.tobytes() + triangles.faces.tobytes(), digest_size=16).hexdigest()


def _triangle_fault(path: Path) -> str:
    import mujoco

    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=add_mesh(spec, path, np.ones(3)))
    try:
        spec.compile()
    except (ValueError, mujoco.FatalError) as error:
        return f"{quoted(path.name)}: {message_of(str(error)).partition('; Element')[0]}"
    return ""
