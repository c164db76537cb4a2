"""Mesh files of bodies: checks, and conversion for MuJoCo."""

from __future__ import annotations

import math
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.mujoco_source import message_of, mujoco_fault
from sim_node.world.problems import quoted
from sim_node.world.triangles import Triangles, hull_of, solid_of

if TYPE_CHECKING:
    from mujoco import MjSpec

    from sim_node.world.shapes import Geometry

# Meshes with contacts, by their convex hulls. Others are only shown.
MESHES, MESHES_SHOWN = (".stl", ".obj"), (".glb", ".gltf")
# From the sizes of a shape in their order, m^3.
VOLUMES: dict[str, Callable[..., float]] = {
    "box": lambda x, y, z: x * y * z,
    "sphere": lambda r: 4.0 / 3.0 * math.pi * r**3,
    "cylinder": lambda r, length: math.pi * r**2 * length,
    "capsule": lambda r, length: math.pi * r**2 * (length + 4.0 / 3.0 * r),
    "ellipsoid": lambda x, y, z: 4.0 / 3.0 * math.pi * x * y * z,
}
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
    """Add a mesh to a specification, once for each file or triangles, and scale. Return its name there.

    Mass and contacts use the convex hull, because meshes for display are seldom closed.
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
    # MuJoCo moves a mesh into its principal axes.
    turn = quaternions.to_matrix(model.mesh_quat[0][[1, 2, 3, 0]])
    return Triangles(model.mesh_vert.astype(np.float64) @ turn.T + model.mesh_pos[0], model.mesh_face)


def volume_of(shape: Geometry) -> float:
    """Return the volume of a shape, m^3. Raises ValueError for shapes without one."""
    if shape.shape == "mesh":
        return solid_mesh(shape)[0]
    if shape.shape not in VOLUMES:
        raise ValueError(f"a {shape.shape} has no volume; those with one are {', '.join(VOLUMES)}, mesh")
    return VOLUMES[shape.shape](*shape.size.tolist())


def solid_mesh(shape: Geometry) -> tuple[float, FloatArray, FloatArray]:
    """Return volume (m^3), centre (3,) and inertia (3, 3) about it per kg (m^2) of a mesh, in its own axes.

    They are those of its convex hull if the triangles are not closed.

    Raises:
        ValueError: It has no volume, or its file cannot be read.
        ImportError: The file needs MuJoCo.
    """
    found = scaled_triangles(shape)
    try:
        return solid_of(found if found.is_closed() else hull_of(found.vertices))
    except ValueError:  # inside out
        return solid_of(hull_of(found.vertices))


def scaled_triangles(shape: Geometry) -> Triangles:
    """Return the triangles of a mesh in metres. Raises as `solid_mesh` does."""
    if shape.triangles is not None:
        return shape.triangles.scaled(shape.size)
    if shape.file is None or shape.is_shown_only:
        raise ValueError("a mesh that is only shown has no volume")
    return triangles_of(shape.file).scaled(shape.size)


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
