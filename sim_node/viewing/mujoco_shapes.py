"""The shapes of bodies and attached models as compiled by MuJoCo, including visual-only meshes."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import numpy.typing as npt

from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.mujoco_model import compile_model
from sim_node.spatial.geometry.arrays import BoolArray, FloatArray
from sim_node.viewing.finishes import Finish, Texture, plane_uv
from sim_node.viewing.meshes import (
    FIRST_HIDDEN_GROUP,
    DrawnShape,
    FilePart,
    TriangleMesh,
    are_sheets,
    capsule,
    coloured,
    parts_of,
)
from sim_node.world.image_textures import add_flat, add_material, downwards
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.mujoco_source import HIDDEN_GROUP
from sim_node.world.problems import Problem, WorldWarning
from sim_node.world.shapes import Geometry


def add_shown(spec: mujoco.MjSpec, world: World) -> None:
    """Add visual-only geometry of bodies and models. An unreadable file causes a WorldWarning."""
    for body in world.bodies:
        for geometry in body.shapes:
            _add(spec, body.name, geometry)
    for model in world.models:
        for link, geometry in model.shown:
            _add(spec, model.full_name(link), geometry)


def _add(spec: mujoco.MjSpec, body: str, geometry: Geometry) -> None:
    if not geometry.is_shown_only or geometry.file is None:
        return
    try:
        parts = list(compilable_parts(geometry.file, geometry.size))
    except Exception as error:
        message = f"{geometry.file.name} cannot be shown: {' '.join(str(error).split()) or type(error).__name__}"
        warnings.warn(WorldWarning(str(Problem(geometry.place.where, geometry.place.key, message))), stacklevel=2)
        return
    for vertices, faces, colour, uv, image in parts:
        mesh = add_drawn_mesh(spec, f"sim_node/shown/{len(spec.meshes)}", vertices, faces)
        geom = spec.body(body).add_geom(
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=mesh.name,
            pos=geometry.pose[:3],
            quat=geometry.pose[[6, 3, 4, 5]],
            contype=0,
            conaffinity=0,
            mass=0.0,
        )
        if geometry.colour is not None or uv is None or image is None:
            geom.rgba = colour if geometry.colour is None else geometry.colour
            continue
        missing = len(mesh.uservert) // 3 - len(uv)
        mesh.usertexcoord = downwards(np.concatenate([uv, uv[:1].repeat(missing, axis=0)])).ravel()
        add_flat(spec, mesh.name, np.asarray(image.convert("RGB")))
        geom.material = add_material(spec, mesh.name)


def compilable_parts(file: Path, scale: FloatArray) -> Iterator[FilePart]:
    """Yield the parts of a GLB or glTF file, scaled.

    Raises ImportError without trimesh, various trimesh errors for damaged files, and MuJoCo's for parts without area.
    """
    for part in parts_of(file):
        scaled = part._replace(vertices=part.vertices * scale)
        alone = mujoco.MjSpec()
        add_drawn_mesh(alone, "part", scaled.vertices, part.faces)
        alone.compile()
        yield scaled


def add_drawn_mesh(
    spec: mujoco.MjSpec, name: str, vertices: FloatArray, faces: npt.NDArray[np.int32]
) -> mujoco.MjsMesh:
    """Add a mesh that is only drawn, and therefore need not be closed."""
    mesh = spec.add_mesh(name=name)
    missing = max(0, 4 - len(vertices))  # MuJoCo needs four vertices, so those of a single triangle are repeated
    mesh.uservert = np.concatenate([vertices, vertices[:1].repeat(missing, axis=0)]).ravel()
    mesh.userface = faces.ravel()
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    return mesh


_GEOM = mujoco.mjtGeom


def sheets_of(model: mujoco.MjModel) -> BoolArray:
    """Return which geoms (G,) represent a finite plane, such as those of SDF."""
    stands = model.body_weldid[model.geom_bodyid] == 0
    return np.asarray((model.geom_type == _GEOM.mjGEOM_BOX) & stands & are_sheets(2.0 * model.geom_size))


def geoms_of(world: World, layout: Layout) -> Iterator[DrawnShape]:
    """Yield the visible geoms of a world with bodies or models, on the frames of their bodies."""
    compiled = compile_model(world, layout)
    yield from _shapes(compiled, np.flatnonzero(_visible(compiled.model)).tolist())


def collision_geoms_of(world: World, layout: Layout) -> Iterator[DrawnShape]:
    """Yield the geoms of a world's own bodies that make contact but are not drawn."""
    only = {body.name for body in world.bodies if any(shape.only == "collision" for shape in body.geometry)}
    if only:
        compiled = compile_model(world, layout)
        model = compiled.model
        hidden = np.flatnonzero(model.geom_group == HIDDEN_GROUP).tolist()
        yield from _shapes(compiled, [k for k in hidden if model.body(model.geom_bodyid[k]).name in only])


def _shapes(compiled: Compiled, geoms: list[int]) -> Iterator[DrawnShape]:
    model = compiled.model
    # Frames fixed to a body come after the body's own row.
    rows: dict[int, int] = {}
    for row, body in enumerate(compiled.solids.tolist()):
        rows.setdefault(body, row)
    meshes: dict[int, TriangleMesh] = {}
    finishes, sheets = Finishes(model), sheets_of(model)
    for geom in geoms:
        pose = np.concatenate([model.geom_pos[geom], model.geom_quat[geom][[1, 2, 3, 0]]])
        look = DrawnShape(
            rows[int(model.geom_bodyid[geom])],
            "mesh",
            pose,
            colour=coloured(_colour(model, geom)),
            collides=bool(model.geom_contype[geom] | model.geom_conaffinity[geom]),
            mass=float(model.body_mass[model.geom_bodyid[geom]]),
            finish=finishes.of(geom),
        )
        size, kind, data = model.geom_size[geom], model.geom_type[geom], int(model.geom_dataid[geom])
        if kind == _GEOM.mjGEOM_PLANE:
            yield replace(look, kind="plane", scale=np.array([2.0 * size[0], 2.0 * size[1], 1.0]))
        elif kind == _GEOM.mjGEOM_BOX:
            yield replace(look, kind="box", scale=2.0 * size, sheet=bool(sheets[geom]))
        elif kind == _GEOM.mjGEOM_SPHERE:
            yield replace(look, kind="sphere", scale=np.full(3, size[0]))
        elif kind == _GEOM.mjGEOM_ELLIPSOID:
            yield replace(look, kind="sphere", scale=np.array(size))
        elif kind == _GEOM.mjGEOM_CYLINDER:
            yield replace(look, kind="cylinder", scale=np.array([size[0], size[0], 2.0 * size[1]]))
        elif kind == _GEOM.mjGEOM_CAPSULE:
            yield from capsule(look, float(size[0]), 2.0 * float(size[1]))
        elif kind == _GEOM.mjGEOM_MESH or kind == _GEOM.mjGEOM_SDF:
            if data not in meshes:
                meshes[data] = _mesh(model, data)
            yield replace(look, mesh=meshes[data])
        elif kind == _GEOM.mjGEOM_HFIELD:
            yield replace(look, kind="terrain", mesh=_height_field(model, data, look.finish))


def _visible(model: mujoco.MjModel) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Return which geoms (G,) are visible: neither in hidden groups nor collision geoms of a body with visuals."""
    collides = (model.geom_contype | model.geom_conaffinity) != 0
    shown = model.geom_group < FIRST_HIDDEN_GROUP
    visual = shown & ~collides & (model.geom_group > 0)
    covered = np.isin(model.geom_bodyid, model.geom_bodyid[visual])
    visible: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = shown & ~(covered & collides & (model.geom_group == 0))
    return visible


def _colour(model: mujoco.MjModel, geom: int) -> FloatArray:
    """Return the geom's own colour or its material's, including the mean of a texture."""
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


class Finishes:
    """Finishes of a compiled model's geoms: materials with a texture, or that are metallic or rough."""

    def __init__(self, model: mujoco.MjModel) -> None:
        self._model = model
        self._by_material: dict[int, Finish | None] = {}
        self._pixels: dict[int, npt.NDArray[np.uint8]] = {}

    def of(self, geom: int) -> Finish | None:
        """Return the finish of a geom; None if it only has a colour, or a texture that does not fit its shape."""
        model, material = self._model, int(self._model.geom_matid[geom])
        if material < 0:
            return None
        if material not in self._by_material:
            self._by_material[material] = self._made(material)
        finish = self._by_material[material]
        if finish is None or finish.texture is None or self._fits(geom, is_cube=finish.texture.is_cube):
            return finish
        # Without the texture, the tint is the geom's colour, which includes the texture's mean.
        metallic, roughness = float(model.mat_metallic[material]), float(model.mat_roughness[material])
        if metallic < 0.0 and roughness < 0.0:
            return None
        return replace(finish, tint=coloured(_colour(model, geom)), texture=None)

    def _fits(self, geom: int, *, is_cube: bool) -> bool:
        kind, data = self._model.geom_type[geom], int(self._model.geom_dataid[geom])
        if kind in (_GEOM.mjGEOM_MESH, _GEOM.mjGEOM_SDF):
            return not is_cube and int(self._model.mesh_texcoordnum[data]) > 0
        return not (is_cube and kind in (_GEOM.mjGEOM_PLANE, _GEOM.mjGEOM_HFIELD))

    def _made(self, material: int) -> Finish | None:
        model = self._model
        metallic, roughness = float(model.mat_metallic[material]), float(model.mat_roughness[material])
        texture = int(model.mat_texid[material][mujoco.mjtTextureRole.mjTEXROLE_RGB])
        if metallic < 0.0 and roughness < 0.0 and texture < 0:
            return None
        found = None
        if texture >= 0:
            repeat_x, repeat_y = model.mat_texrepeat[material].tolist()
            found = Texture(
                self._image(texture),
                model.tex_type[texture] != mujoco.mjtTexture.mjTEXTURE_2D,
                (repeat_x, repeat_y),
                bool(model.mat_texuniform[material]),
            )
        tint = tuple(np.clip(model.mat_rgba[material], 0.0, 1.0).astype(float).tolist())
        return Finish(tint, found, max(metallic, 0.0), roughness if roughness >= 0.0 else 1.0)

    def _image(self, texture: int) -> npt.NDArray[np.uint8]:
        if texture not in self._pixels:
            model = self._model
            shape = int(model.tex_height[texture]), int(model.tex_width[texture]), int(model.tex_nchannel[texture])
            start = int(model.tex_adr[texture])
            pixels = np.array(model.tex_data[start : start + math.prod(shape)], dtype=np.uint8).reshape(shape)
            self._pixels[texture] = pixels[..., :3] if shape[2] >= 3 else np.repeat(pixels[..., :1], 3, axis=2)
        return self._pixels[texture]


def _mesh(model: mujoco.MjModel, data: int) -> TriangleMesh:
    vertex, first = int(model.mesh_vertadr[data]), int(model.mesh_faceadr[data])
    faces = slice(first, first + int(model.mesh_facenum[data]))
    uv = normals = None
    if int(model.mesh_texcoordnum[data]) > 0:
        start, normal = int(model.mesh_texcoordadr[data]), int(model.mesh_normaladr[data])
        uv = np.array(model.mesh_texcoord[start + model.mesh_facetexcoord[faces]], dtype=np.float32)
        normals = np.array(model.mesh_normal[normal + model.mesh_facenormal[faces]], dtype=np.float32)
    return TriangleMesh(
        np.array(model.mesh_vert[vertex : vertex + int(model.mesh_vertnum[data])], dtype=np.float32),
        np.array(model.mesh_face[faces], dtype=np.uint32),
        uv,
        normals,
    )


def _height_field(model: mujoco.MjModel, data: int, finish: Finish | None) -> TriangleMesh:
    """Return the upper surface: rows along y, columns along x, heights above zero (MuJoCo, asset/hfield)."""
    rows, columns, start = int(model.hfield_nrow[data]), int(model.hfield_ncol[data]), int(model.hfield_adr[data])
    half_x, half_y, top = model.hfield_size[data][:3]
    x, y = np.meshgrid(np.linspace(-half_x, half_x, columns), np.linspace(-half_y, half_y, rows))
    z = top * model.hfield_data[start : start + rows * columns].reshape(rows, columns)
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    right, above = corner + 1, corner + columns
    faces = np.concatenate([np.stack([corner, right, above], 1), np.stack([right, above + 1, above], 1)])
    points = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    uv = None
    if finish is not None and finish.texture is not None:
        uv = plane_uv(points, model.hfield_size[data][:2], finish.texture)[faces].astype(np.float32)
    return TriangleMesh(points.astype(np.float32), faces.astype(np.uint32), uv)
