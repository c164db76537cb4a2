"""The triangles of a unit box, ball and cylinder."""

from __future__ import annotations

from functools import cache

import numpy as np
import trimesh

from sim_node.viewing.shape import Mesh


@cache
def solid(kind: str) -> Mesh:
    """A box of edge 1, a sphere of radius 1, or a cylinder of radius 1 and length 1 along z, about the origin."""
    if kind == "box":
        made = trimesh.creation.box((1.0, 1.0, 1.0))
    elif kind == "sphere":
        made = trimesh.creation.icosphere(subdivisions=3, radius=1.0)
    else:
        made = trimesh.creation.cylinder(radius=1.0, height=1.0, sections=32)
    # Edges stay sharp where normals are not shared: each face of a box and a lid has corners of its own.
    if kind != "sphere":
        made.unmerge_vertices()
    return Mesh(np.asarray(made.vertices, dtype=np.float32), np.asarray(made.faces, dtype=np.uint32))
