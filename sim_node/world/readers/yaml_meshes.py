"""Meshes of shapes in world files: a file, or vertices and faces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.mesh_files import mesh_fault
from sim_node.world.readers.keys import Keys, either, listing, text, vector
from sim_node.world.readers.yaml_nodes import Mapping
from sim_node.world.readers.yaml_poses import scale_of
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.triangles import Triangles, hull_of

TRIANGLE_KEYS = Keys(
    {
        "vertices": listing("Positions [x, y, z], m.", vector("", 3, MAX_DISTANCE)),
        "faces": listing("Three vertices each, from 0, counterclockwise seen from outside.", vector("", 3)),
    },
    required=("vertices", "faces"),
)
MESH = either("A mesh: a file, relative to this one, or its triangles.", text(""), TRIANGLE_KEYS)


def read_mesh(value: Value, context: Context) -> dict[str, Any]:
    """Return the file or the triangles of a mesh, as fields of Geometry."""
    if isinstance(value.node, Mapping):
        return {"triangles": _triangles(value)}
    return {"file": _file(value, context)}


def mesh_scale(table: Table) -> FloatArray:
    """Read factors along the mesh's axes: one number for all three, or three."""
    return np.ones(3) if "scale" not in table or (scale := scale_of(table)) is None else scale


def _file(value: Value, context: Context) -> Path | None:
    """Return the file of a mesh, if it can be read."""
    found = context.find(value)
    if found is None:
        return None
    fault = mesh_fault(found[0])
    if fault:
        value.error(fault)
        return None
    context.report.read.append(found[0])
    return found[0]


def _triangles(value: Value) -> Triangles | None:
    """Read vertices and faces. Return None with the fault recorded."""
    table = value.table(TRIANGLE_KEYS)
    errors = len(value.report.errors)
    given = [each for key in TRIANGLE_KEYS if (each := table.get(key)) is not None]
    rows = [[row.vector(3) for row in each.items()] for each in given]
    if len(rows) < len(TRIANGLE_KEYS) or len(value.report.errors) > errors:
        return None
    vertices, faces = (np.array(each, dtype=np.float64).reshape(-1, 3) for each in rows)
    if not np.array_equal(faces, np.round(faces)):
        given[1].error("faces are whole numbers, the rows of vertices")
        return None
    try:
        triangles = Triangles(vertices, faces.astype(np.int64))
        hull_of(triangles.vertices)
    except ValueError as error:
        value.error(str(error))
        return None
    return triangles
