"""The shapes of bodies and attached models as MuJoCo has them once compiled, with meshes that are only shown."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import mujoco
import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.physics.mujoco_model import compile_model
from sim_node.viewing.meshes import FIRST_HIDDEN_GROUP, Mesh, Shape, capsule, coloured, parts_of
from sim_node.world.bodies import Geometry
from sim_node.world.layout import Layout
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


_GEOM = mujoco.mjtGeom


def geoms_of(world: World, layout: Layout) -> Iterator[Shape]:
    """The geoms of a world with bodies or models, on the frames of their bodies."""
    compiled = compile_model(world, layout)
    model = compiled.model
    # What is fixed to a body comes after the body's own row.
    rows: dict[int, int] = {}
    for row, body in enumerate(compiled.solids.tolist()):
        rows.setdefault(body, row)
    meshes: dict[int, Mesh] = {}
    for geom in np.flatnonzero(_visible(model)).tolist():
        row = rows[int(model.geom_bodyid[geom])]
        colour = coloured(_colour(model, geom))
        pose = np.concatenate([model.geom_pos[geom], model.geom_quat[geom][[1, 2, 3, 0]]])
        size, kind, data = model.geom_size[geom], model.geom_type[geom], int(model.geom_dataid[geom])
        if kind == _GEOM.mjGEOM_PLANE:
            yield Shape(row, "plane", pose, np.array([2.0 * size[0], 2.0 * size[1], 1.0]), colour)
        elif kind == _GEOM.mjGEOM_BOX:
            yield Shape(row, "box", pose, 2.0 * size, colour)
        elif kind == _GEOM.mjGEOM_SPHERE:
            yield Shape(row, "sphere", pose, np.full(3, size[0]), colour)
        elif kind == _GEOM.mjGEOM_ELLIPSOID:
            yield Shape(row, "sphere", pose, np.array(size), colour)
        elif kind == _GEOM.mjGEOM_CYLINDER:
            yield Shape(row, "cylinder", pose, np.array([size[0], size[0], 2.0 * size[1]]), colour)
        elif kind == _GEOM.mjGEOM_CAPSULE:
            yield from capsule(row, pose, float(size[0]), 2.0 * float(size[1]), colour)
        elif kind == _GEOM.mjGEOM_MESH or kind == _GEOM.mjGEOM_SDF:
            if data not in meshes:
                meshes[data] = _mesh(model, data)
            yield Shape(row, "mesh", pose, colour=colour, mesh=meshes[data])
        elif kind == _GEOM.mjGEOM_HFIELD:
            yield Shape(row, "mesh", pose, colour=colour, mesh=_height_field(model, data))


def _visible(model: mujoco.MjModel) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which geoms (G,) are for the eye: not those of hidden groups, nor what collides on a body with visuals."""
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    shown = model.geom_group < FIRST_HIDDEN_GROUP
    visual = shown & ~collides & (model.geom_group > 0)
    covered = np.isin(model.geom_bodyid, model.geom_bodyid[visual])
    visible: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = shown & ~(covered & collides & (model.geom_group == 0))
    return visible


def _colour(model: mujoco.MjModel, geom: int) -> FloatArray:
    """Its own, or its material's, by the mean of its texture where that has one."""
    material = int(model.geom_matid[geom])
    if material < 0:
        return np.array(model.geom_rgba[geom], dtype=np.float64)
    rgba = np.array(model.mat_rgba[material], dtype=np.float64)
    texture = int(model.mat_texid[material][mujoco.mjtTextureRole.mjTEXROLE_RGB])
    if texture >= 0:
        start, channels = int(model.tex_adr[texture]), int(model.tex_nchannel[texture])
        size = int(model.tex_width[texture]) * int(model.tex_height[texture]) * channels
        pixels = model.tex_data[start : start + size].reshape(-1, channels)
        rgba[:3] *= pixels[:, :3].mean(axis=0) / 255.0
    return rgba


def _mesh(model: mujoco.MjModel, data: int) -> Mesh:
    vertex, face = int(model.mesh_vertadr[data]), int(model.mesh_faceadr[data])
    return Mesh(
        np.array(model.mesh_vert[vertex : vertex + int(model.mesh_vertnum[data])], dtype=np.float32),
        np.array(model.mesh_face[face : face + int(model.mesh_facenum[data])], dtype=np.uint32),
    )


def _height_field(model: mujoco.MjModel, data: int) -> Mesh:
    """Its upper side: rows along y, columns along x, heights above zero (MuJoCo, XML reference, asset/hfield)."""
    rows, columns, start = int(model.hfield_nrow[data]), int(model.hfield_ncol[data]), int(model.hfield_adr[data])
    half_x, half_y, top = model.hfield_size[data][:3]
    x, y = np.meshgrid(np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows))
    z = top * model.hfield_data[start : start + rows * columns].reshape(rows, columns)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    right, above = corner + 1, corner + columns
    faces = np.concatenate([np.stack([corner, right, above], 1), np.stack([right, above + 1, above], 1)])
    return Mesh(np.stack([x, y, z], axis=-1).reshape(-1, 3).astype(np.float32), faces.astype(np.uint32))
