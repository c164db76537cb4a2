"""Triangles of meshes: convex hulls, volumes, centres and moments of inertia."""

from __future__ import annotations

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.fields import compared

MAX_TRIANGLES = 1_000_000


@compared
class Triangles:
    """A mesh in memory.

    Attributes:
        vertices: Vertices (V, 3), m.
        faces: Vertex indices (F, 3) of each triangle, counterclockwise seen from outside.

    Raises:
        ValueError: A vertex is not finite, or a face refers to a vertex that does not exist.
    """

    vertices: FloatArray
    faces: IntArray

    def __post_init__(self) -> None:
        vertices = np.array(self.vertices, dtype=np.float64).reshape(-1, 3)
        faces = np.array(self.faces, dtype=np.int64).reshape(-1, 3)
        if not 0 < len(faces) <= MAX_TRIANGLES:
            raise ValueError(f"{len(faces)} triangles; allowed: 1 to {MAX_TRIANGLES}")
        if not np.isfinite(vertices).all():
            raise ValueError("a vertex is not finite")
        if not (faces.min() >= 0 and faces.max() < len(vertices)):
            found = int(faces.min() if faces.min() < 0 else faces.max())
            raise ValueError(f"no vertex {found}; there are {len(vertices)}, from 0")
        for name, array in (("vertices", vertices), ("faces", faces)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def scaled(self, factors: FloatArray) -> Triangles:
        """Return the mesh scaled by positive factors (3,) along its axes."""
        return Triangles(self.vertices * factors, self.faces)

    def is_closed(self) -> bool:
        """Return whether the triangles enclose a volume: each edge belongs to two, in opposite directions."""
        _, corners = np.unique(self.vertices, axis=0, return_inverse=True)
        faces = corners.reshape(-1)[self.faces]
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        there, back = np.unique(edges, axis=0), np.unique(edges[:, ::-1], axis=0)
        return len(there) == len(edges) and np.array_equal(there, back)


def hull_of(vertices: FloatArray) -> Triangles:
    """Return the convex hull of vertices (V, 3). Raises ValueError if they span no volume."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(np.asarray(vertices, dtype=np.float64).reshape(-1, 3))
    except (QhullError, ValueError):
        raise ValueError("its vertices span no volume") from None
    rows = np.full(len(vertices), -1)
    rows[hull.vertices] = np.arange(len(hull.vertices))
    faces = rows[hull.simplices]
    corners = hull.points[hull.simplices]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = np.einsum("ij,ij->i", across, hull.equations[:, :3]) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    return Triangles(hull.points[hull.vertices], faces)


def solid_of(triangles: Triangles) -> tuple[float, FloatArray, FloatArray]:
    """Return volume (m^3), centre (3,) and inertia (3, 3) about it per kg (m^2) of the solid that triangles enclose.

    The sum of the tetrahedra between a point and each triangle: J. Blow, A. Binstock, How to find the inertia tensor
    (or other mass properties) of a 3D solid body represented by a triangle mesh, 2004.

    Raises:
        ValueError: They enclose nothing, or are inside out.
    """
    near = triangles.vertices.mean(axis=0)
    a, b, c = (triangles.vertices[triangles.faces[:, k]] - near for k in range(3))
    six = np.einsum("ij,ij->i", a, np.cross(b, c))
    volume = float(six.sum()) / 6.0
    if not volume > 0.0:
        raise ValueError("its triangles enclose no volume, or are inside out")
    total = a + b + c
    centre = np.einsum("i,ij->j", six, total) / 24.0 / volume
    moments = sum(np.einsum("i,ij,ik->jk", six, each, each) for each in (a, b, c, total)) / 120.0 / volume
    moments -= np.outer(centre, centre)
    return volume, near + centre, np.trace(moments) * np.eye(3) - moments
