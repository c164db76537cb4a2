"""Meshes of models, inline or in separate files, and visuals: shapes without contacts, with colours and textures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import line_of, place_of, placed_shape, shape, value_of
from sim_node.extensions.openplx.values import OPAQUE, Undefined, components
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.image_files import image_fault
from sim_node.world.locate import LocateError
from sim_node.world.mesh_files import mesh_fault
from sim_node.world.shapes import Geometry, scaled_triangles
from sim_node.world.surfaces import Material
from sim_node.world.systems import ContactGeometry
from sim_node.world.triangles import Triangles, hull_of, solid_of

# A convex hull whose volume exceeds that of its mesh by more than this fraction is reported.
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
    """Return the file that an attribute names, relative to the file that assigns it. Raises Fault."""
    reference = of.value(name)
    if not isinstance(reference, str):
        raise Fault(line_of(of, name), f"{name} has no value")
    stated = [entry for entry, _, _ in of.lines(name) if entry.value is not None]
    try:
        return of.instances.models.library.roots.resolve(reference, stated[-1].source.path)
    except LocateError as error:
        raise Fault(line_of(of, name), str(error)) from None


def mesh_notes(made: Geometry, *, massive: bool) -> Iterator[str]:
    """Yield notes on how the simulated mass and contacts differ from a mesh."""
    try:
        triangles = scaled_triangles(made)
        hull = solid_of(hull_of(triangles.vertices))[0]
        closed = triangles.is_closed()
        volume = solid_of(triangles)[0] if closed else hull
    except (ValueError, ImportError):  # reported with the shape, or a dependency is missing
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


TEXTURED = "Visuals.Materials.TextureMaterial"
# The attribute of a material for visible light; without it, the material itself is used.
_VISIBLE = "visible"
Note = Callable[[Object, str], None]


def visual_of(of: Object, note: Note) -> ContactGeometry | None:
    """Return a visual as a shape without mass and contacts; None for unsupported types.

    Args:
        of: The visual.
        note: Reports where the rendering differs from an object's specification.

    Raises:
        Fault: A number is out of range, or a file cannot be read.
    """
    made = placed_shape(of)
    if made is None:
        return None
    material = of.get("material")
    look: dict[str, Any] = {}
    if isinstance(material, Object):
        inner = material.value(_VISIBLE) if material.has(_VISIBLE) else material
        seen = inner if isinstance(inner, Object) else material
        look = {"colour": _colour(seen), "material": _material(material, seen, note)}
    return ContactGeometry(of.name, replace(made, only="visual", **look), massive=False, place=place_of(of))


def _colour(of: Object) -> FloatArray | None:
    """Return red, green, blue and opacity (4,) of a material; None if it has no colour."""
    tint = of.get("base_color_tint")
    parts = _numbers(tint)
    if parts is None:
        return None
    alpha = of.get("alpha")
    opacity = float(alpha) if isinstance(alpha, (int, float)) else [*parts, 1.0][3]
    colour = np.array([*parts[:3], opacity])
    if not ((colour >= 0.0) & (colour <= 1.0)).all():
        raise Fault(line_of(of, "base_color_tint"), f"{colour.tolist()} is out of range; allowed: 0 to 1")
    return colour


def _numbers(tint: Any) -> list[float] | None:
    """Return the components of a colour: {r, g, b, a}, or those of an object with these attributes."""
    if isinstance(tint, Object):
        parts = [tint.value(name) for name in "rgba" if tint.has(name)]
    elif isinstance(tint, tuple):
        parts = list(tint)
    else:
        return None
    return parts if len(parts) >= 3 and all(isinstance(part, (int, float)) for part in parts) else None


def _material(of: Object, seen: Object, note: Note) -> Material | None:
    roughness = seen.get("roughness")
    roughness = float(roughness) if isinstance(roughness, (int, float)) and 0.0 <= roughness <= 1.0 else None
    texture = None
    if of.is_a(TEXTURED):
        texture = file_of(of, "path")
        if fault := image_fault(texture):
            raise Fault(line_of(of, "path"), fault)
        of.instances.models.library.report.read.append(texture)
        if any(of.given(name) for name in ("repeat", "scale_u", "scale_v")):
            note(of, "a texture covers its mesh once; repeat, scale_u and scale_v are ignored")
    return None if texture is None and roughness is None else Material(texture=texture, roughness=roughness)
