"""Meshes of models, in the file or in files of their own, as shapes for contacts and to be seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import line_of, shape, value_of
from sim_node.extensions.openplx.values import OPAQUE, Undefined, components
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.locate import LocateError
from sim_node.world.mesh_files import mesh_fault
from sim_node.world.shapes import Geometry, scaled_triangles
from sim_node.world.triangles import Triangles, hull_of, solid_of

# A hull that is larger than its mesh by more is told of.
HULL_TOLERANCE = 0.01


@shape("ConvexMesh")
def _convex(of: Object) -> Geometry:
    return _mesh(of, lambda: hull_of(_vertices(of)))


@shape("TriMesh")
def _triangles(of: Object) -> Geometry:
    faces = np.array(_listed(of, "indices"), dtype=np.int64)
    if len(faces) % 3:
        raise Fault(line_of(of, "indices"), f"{len(faces)} indices are not triangles")
    return _mesh(of, lambda: Triangles(_vertices(of), faces))


@shape("ExternalTriMeshGeometry")
def _external(of: Object) -> Geometry:
    file = file_of(of, "path")
    if fault := mesh_fault(file):
        raise Fault(line_of(of, "path"), fault)
    of.instances.models.library.report.read.append(file)
    return Geometry("mesh", np.array(components(value_of(of, "scale"))), file=file)


def file_of(of: Object, name: str) -> Path:
    """Return the file that an attribute names, relative to the file that says so. Raises Fault."""
    reference = of.value(name)
    if not isinstance(reference, str):
        raise Fault(line_of(of, name), f"{name} has no value")
    stated = [entry for entry, _, _ in of.lines(name) if entry.value is not None]
    try:
        return of.instances.models.library.roots.resolve(reference, stated[-1].source.path)
    except LocateError as error:
        raise Fault(line_of(of, name), str(error)) from None


def mesh_notes(made: Geometry, *, massive: bool) -> Iterator[str]:
    """Yield how mass and contacts of a mesh differ from it."""
    try:
        triangles = scaled_triangles(made)
        hull = solid_of(hull_of(triangles.vertices))[0]
        closed = triangles.is_closed()
        volume = solid_of(triangles)[0] if closed else hull
    except (ValueError, ImportError):  # reported with the shape, or nothing to compute with
        return
    if massive and not closed:
        yield "its triangles are not closed; its mass is that of its convex hull"
    if made.only != "visual" and hull > (1.0 + HULL_TOLERANCE) * volume:
        yield f"it makes contact by its convex hull, whose volume is {hull / volume:.2f} times its own"


def _mesh(of: Object, make: Callable[[], Triangles]) -> Geometry:
    try:
        triangles = make()
        hull_of(triangles.vertices)
    except ValueError as error:
        raise Fault(line_of(of, "indices", "vertices"), str(error)) from None
    return Geometry("mesh", np.ones(3), triangles=triangles)


def _vertices(of: Object) -> FloatArray:
    return np.array([components(each) for each in _listed(of, "vertices")], dtype=np.float64).reshape(-1, 3)


def _listed(of: Object, name: str) -> list[Any]:
    found = of.value(name)
    if not isinstance(found, list) or any(isinstance(each, Undefined) or each is OPAQUE for each in found):
        raise Fault(line_of(of, name), f"{name} has no value")
    return found
