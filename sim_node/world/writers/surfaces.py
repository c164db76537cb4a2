"""Surfaces and materials of shapes as data of world files."""

from __future__ import annotations

from typing import Any

from sim_node.world.bodies import Geometry
from sim_node.world.contact_materials import ContactMaterial
from sim_node.world.part import Refer
from sim_node.world.surfaces import DEFAULT_CONTACT_TIME, DEFAULT_LAYER, Material, Surface


def surface_data(shape: Geometry, refer: Refer) -> dict[str, Any]:
    """Return the keys of a shape's surface, material and purpose, with None for those that it does not have."""
    data: dict[str, Any] = {"only": shape.only or None}
    if shape.surface is not None:
        data |= contact_data(shape.surface)
    if shape.material is not None:
        data["material"] = material_data(shape.material, refer)
    return data


def contact_data(surface: Surface) -> dict[str, Any]:
    """Return friction, restitution, layers and contact material."""
    return {
        "friction": friction_data(surface),
        "restitution": surface.restitution,
        "contact_time": surface.contact_time if surface.contact_time != DEFAULT_CONTACT_TIME else None,
        "layer": surface.layer if surface.layer != DEFAULT_LAYER else None,
        "touches": None if surface.touches is None else list(surface.touches),
        "contact_material": surface.contact_material or None,
    }


def friction_data(of: Surface | ContactMaterial) -> Any:
    """Return friction: a number if it is only against sliding, a mapping, or None."""
    friction = {key: getattr(of, key) for key in ("sliding", "torsional", "rolling")}
    stated = {key: value for key, value in friction.items() if value is not None}
    return of.sliding if stated.keys() == {"sliding"} else stated or None


def material_data(material: Material, refer: Refer) -> dict[str, Any]:
    """Return texture and roughness."""
    texture = material.texture
    data = {"roughness": material.roughness} if material.roughness is not None else {}
    return data if texture is None else {"texture": refer(texture), "texture_size": material.texture_size, **data}
