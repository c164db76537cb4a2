"""Shapes as URDF says them."""

from __future__ import annotations

from sim_node.geometry.arrays import FloatArray
from sim_node.viewing.mesh_files import uri
from sim_node.viewing.shape import Shape
from sim_node.world.bodies import Geometry


def in_urdf(shape: Shape) -> bool:
    """Whether URDF has a shape: not planes, ellipsoids, triangles without a file and files of a model's own."""
    if shape.kind == "sphere":
        return bool(shape.scale.max() == shape.scale.min())
    if shape.kind == "cylinder":
        return bool(shape.scale[0] == shape.scale[1])
    return shape.kind == "box"


def urdf_geometry(shape: Shape) -> tuple[str, dict[str, str]]:
    """The element of a shape that `in_urdf` accepts: its name and attributes."""
    x, y, z = (f"{size:.17g}" for size in shape.scale)
    if shape.kind == "sphere":
        return "sphere", {"radius": x}
    if shape.kind == "cylinder":
        return "cylinder", {"radius": x, "length": z}
    return "box", {"size": f"{x} {y} {z}"}


def urdf_mesh(part: Geometry) -> tuple[str, dict[str, str]]:
    """The element of a body's mesh file."""
    assert part.file is not None
    return "mesh", {"filename": uri(part.file), "scale": numbers(part.size)}


def numbers(values: FloatArray) -> str:
    """Numbers as they are, to the bit; no minus sign in front of zero."""
    return " ".join(f"{value + 0.0:.17g}" for value in values)
