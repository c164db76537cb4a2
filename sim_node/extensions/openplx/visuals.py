"""Visuals of models: shapes that are only seen, with the colours and textures of their materials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.openplx.meshes import file_of
from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import line_of, place_of, placed_shape
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.image_files import image_fault
from sim_node.world.surfaces import Material
from sim_node.world.systems import ContactGeometry

TEXTURED = "Visuals.Materials.TextureMaterial"
# What a material is seen by: itself, or what it has for visible light.
_VISIBLE = "visible"
Tell = Callable[[Object, str], None]


def visual_of(of: Object, tell: Tell) -> ContactGeometry | None:
    """Return a visual as a shape without mass and contacts; None for types that are not supported.

    Args:
        of: The visual.
        tell: Reports what is not as an object says.

    Raises:
        Fault: Numbers are out of range, or a file cannot be read.
    """
    made = placed_shape(of)
    if made is None:
        return None
    material = of.get("material")
    look: dict[str, Any] = {}
    if isinstance(material, Object):
        inner = material.value(_VISIBLE) if material.has(_VISIBLE) else material
        seen = inner if isinstance(inner, Object) else material
        look = {"colour": _colour(seen), "material": _material(material, seen, tell)}
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
    """Return the parts of a colour: {r, g, b, a}, or those of an object with these attributes."""
    if isinstance(tint, Object):
        parts = [tint.value(name) for name in "rgba" if tint.has(name)]
    elif isinstance(tint, tuple):
        parts = list(tint)
    else:
        return None
    return parts if len(parts) >= 3 and all(isinstance(part, (int, float)) for part in parts) else None


def _material(of: Object, seen: Object, tell: Tell) -> Material | None:
    roughness = seen.get("roughness")
    roughness = float(roughness) if isinstance(roughness, (int, float)) and 0.0 <= roughness <= 1.0 else None
    texture = None
    if of.is_a(TEXTURED):
        texture = file_of(of, "path")
        if fault := image_fault(texture):
            raise Fault(line_of(of, "path"), fault)
        of.instances.models.library.report.read.append(texture)
        if any(of.given(name) for name in ("repeat", "scale_u", "scale_v")):
            tell(of, "a texture covers its mesh once; repeat, scale_u and scale_v are ignored")
    return None if texture is None and roughness is None else Material(texture=texture, roughness=roughness)
