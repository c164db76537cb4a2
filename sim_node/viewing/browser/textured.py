"""Shapes with a finish as GLB: their triangles with normals and texture coordinates, and their material."""

from __future__ import annotations

from functools import cache

import numpy as np
import trimesh
from PIL import Image

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing.finishes import Finish, cube_uv, flat_uv, plane_uv
from sim_node.viewing.meshes import DrawnShape, linear

# Number of cells: along an edge of a box or of one sixth of a sphere; around and along a cylinder, and to its rim.
_EDGE, _AROUND, _ALONG, _OUT = 16, 64, 24, 8
_LIMIT = 4096


def textured_glb(shape: DrawnShape) -> bytes:
    """Return a shape with a finish as GLB: a unit form, to be stretched by its scale, or its mesh."""
    finish = shape.finish
    assert finish is not None
    if shape.mesh is not None:
        corners, normals, uv = shape.mesh.corners()
        if shape.kind != "terrain" and finish.texture is not None:
            uv = uv * finish.texture.repeat
    else:
        cells, normals = unit_cells(shape.kind)
        uv = _uv(cells, shape, finish)
        corners, normals = cells.reshape(-1, 3), normals.reshape(-1, 3)
    return _exported(corners, normals, uv, finish, quads=shape.mesh is None)


def plane_glb(finish: Finish, halves: FloatArray, reach: float) -> bytes:
    """Return a plane with normal z as GLB.

    Args:
        finish: A finish with a texture.
        halves: (2,) half its size, m; 0 where it is infinite.
        reach: Half the size to draw of an infinite plane, m.
    """
    assert finish.texture is not None
    x, y = np.where(halves > 0.0, halves, reach)
    cell = np.array([[[-x, -y, 0.0], [x, -y, 0.0], [x, y, 0.0], [-x, y, 0.0]]])
    uv = plane_uv(cell, halves, finish.texture)
    return _exported(cell.reshape(-1, 3), np.tile([0.0, 0.0, 1.0], (4, 1)), uv.reshape(-1, 2), finish, quads=True)


@cache
def unit_cells(kind: str) -> tuple[FloatArray, FloatArray]:
    """Return the cells (Q, 4, 3) of a cube of edge 1, or a sphere or cylinder of radius 1, and their normals.

    Cells are small enough for the faces of a cube map. Their corners are anticlockwise seen from outside.
    """
    if kind == "cylinder":
        return _cylinder()
    line = np.linspace(-1.0, 1.0, _EDGE + 1)
    # For a sphere, choose cells of similar size.
    u, v = np.meshgrid(np.tan(0.25 * np.pi * line) if kind == "sphere" else line, line, indexing="ij")
    v = np.tan(0.25 * np.pi * v) if kind == "sphere" else v
    top = _cells(np.stack([u, v, np.ones_like(u)], axis=-1))
    turned = [top, top[..., [1, 2, 0]], top[..., [2, 0, 1]]]
    # The opposite faces, with reversed corner order.
    cells = np.concatenate([*turned, *(-each[:, ::-1] for each in turned)])
    if kind == "sphere":
        normals = cells / np.linalg.norm(cells, axis=-1, keepdims=True)
        # trimesh stores equal arrays once, and the page does not draw a mesh whose positions and normals share memory.
        return np.asarray(normals * (1.0 + 1e-6)), normals
    normals = np.where(np.abs(cells.mean(axis=1, keepdims=True)) == 1.0, cells, 0.0)
    return 0.5 * cells, normals


def _cylinder() -> tuple[FloatArray, FloatArray]:
    angle = np.linspace(0.0, 2.0 * np.pi, _AROUND + 1)
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=-1)
    up = np.array([0.0, 0.0, 1.0])
    side = _cells(ring[:, None] + np.linspace(-0.5, 0.5, _ALONG + 1)[None, :, None] * up)
    radii = np.linspace(0.0, 1.0, _OUT + 1)
    lid = _cells((radii[:, None, None] * ring[None]).reshape(_OUT + 1, _AROUND + 1, 3)) + 0.5 * up
    base = lid[:, ::-1] * (1.0, 1.0, -1.0)
    cells = np.concatenate([side, lid, base])
    normals = np.concatenate([side * (1.0, 1.0, 0.0), np.zeros_like(lid) + up, np.zeros_like(base) - up])
    return cells, normals


def _cells(grid: FloatArray) -> FloatArray:
    """Return the cells (Q, 4, 3) of a grid of points (M, N, 3)."""
    corners = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    return np.stack(corners, axis=2).reshape(-1, 4, 3)


def _uv(cells: FloatArray, shape: DrawnShape, finish: Finish) -> FloatArray:
    """Return the texture coordinates (4 Q, 2) of the cells of a unit form."""
    texture = finish.texture
    if texture is None:
        return np.zeros((4 * len(cells), 2))
    # From the unit form to a form with half extents of 1, and to metres.
    unit = {"box": np.full(3, 2.0), "cylinder": np.array([1.0, 1.0, 2.0])}.get(shape.kind, np.ones(3))
    if texture.is_cube:
        points = cells * unit + texture.offset
        if texture.is_metric:
            points = points * (shape.scale / unit if texture.halves is None else texture.halves)
        return np.asarray(cube_uv(points).reshape(-1, 2))
    return np.asarray(flat_uv(shape.kind, cells * unit, shape.scale / unit, texture).reshape(-1, 2))


def _exported(corners: FloatArray, normals: FloatArray, uv: FloatArray, finish: Finish, *, quads: bool) -> bytes:
    first = np.arange(0, len(corners), 4 if quads else 3)
    faces = first[:, None] + np.array([0, 1, 2])
    if quads:
        faces = np.concatenate([faces, first[:, None] + np.array([0, 2, 3])])
    pixels = None if finish.texture is None else finish.texture.pixels
    image = None if pixels is None else Image.fromarray(pixels)
    if image is not None and max(image.size) > _LIMIT:
        image.thumbnail((_LIMIT, _LIMIT))
    tint = [*linear(np.array(finish.tint[:3])).tolist(), round(255.0 * finish.tint[3])]
    material = trimesh.visual.material.PBRMaterial(
        baseColorFactor=tint,
        baseColorTexture=image,
        metallicFactor=finish.metallic,
        roughnessFactor=finish.roughness,
        alphaMode="BLEND" if finish.tint[3] < 1.0 else "OPAQUE",
        doubleSided=not quads,
    )
    # In trimesh, v points up.
    visual = trimesh.visual.TextureVisuals(uv=np.stack([uv[:, 0], 1.0 - uv[:, 1]], axis=1), material=material)
    solid = trimesh.Trimesh(corners, faces, vertex_normals=normals, visual=visual, process=False)
    exported: bytes = trimesh.exchange.gltf.export_glb(solid.scene(), include_normals=True)
    return exported
