"""Surfaces and materials of shapes in world files, and options of the contact solver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import BAD
from sim_node.world.image_files import image_fault
from sim_node.world.problems import Place, quoted
from sim_node.world.quantities import Colour
from sim_node.world.readers.keys import Keys, choice, either, listing, number, text
from sim_node.world.readers.yaml_nodes import Mapping, Scalar
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.surfaces import (
    DEFAULT_CONTACT_TIME,
    DEFAULT_LAYER,
    ONLY,
    RANGES,
    Material,
    Surface,
)

FRICTION_KEYS = Keys(
    {
        "sliding": number("Coefficient of sliding friction.", *RANGES["sliding"][:2]),
        "torsional": number("Coefficient of torsional friction, m.", *RANGES["torsional"][:2]),
        "rolling": number("Coefficient of rolling friction, m.", *RANGES["rolling"][:2]),
    }
)
MATERIAL_KEYS = Keys(
    {
        "texture": text("An image, relative to this file."),
        "texture_size": number("Edge of the square that the image covers, m.", *RANGES["texture_size"][:2]),
        "roughness": number("0 for a mirror, 1 for a dull surface.", *RANGES["roughness"][:2]),
    },
    about="Texture and roughness.",
    define="material",
)
CONTACT_KEYS = Keys(
    {
        "friction": either(
            "Friction: a number, against sliding, or each kind.",
            FRICTION_KEYS["sliding"],
            {"allOf": [FRICTION_KEYS], "minProperties": 1},
        ),
        "restitution": number("Share of the speed that a bounce keeps.", *RANGES["restitution"][:2]),
        "contact_time": number("Time constant of contacts, s.", *RANGES["contact_time"][:2]),
        "layer": text("The collision layer of the shape.", least=1),
        "touches": listing("Layers that the shape makes contact with.", text("", least=1)),
        "contact_material": text("What it is made of, for contact_materials.", least=1),
    }
)
SURFACE_KEYS = Keys(
    {
        **CONTACT_KEYS,
        "only": choice("Whether the shape is only seen, or only makes contact.", ONLY),
        "material": MATERIAL_KEYS,
    }
)
COLOUR = Colour().form("Colour.")


def read_surface(table: Table, context: Context) -> dict[str, Any]:
    """Return surface, material and purpose of a shape that a file gives, as fields of Geometry."""
    fields: dict[str, Any] = {}
    if any(key in table for key in CONTACT_KEYS):
        fields["surface"] = read_contact(table)
    only, material = table.get("only"), table.get("material")
    if only is not None:
        fields["only"] = only.choice(ONLY, "")
    if material is not None:
        fields["material"] = read_material(material, context)
    return fields


def read_contact(table: Table) -> Surface:
    """Read friction, restitution and collision layer."""
    given = {key: value for key in CONTACT_KEYS if (value := table.get(key)) is not None}
    places = {key: value.place for key, value in given.items()}
    layer, touches, made_of = (given.get(key) for key in ("layer", "touches", "contact_material"))
    contact_time = _number(given.get("contact_time"), "contact_time")
    return Surface(
        **read_friction(given.get("friction"), places),
        restitution=_number(given.get("restitution"), "restitution"),
        contact_time=DEFAULT_CONTACT_TIME if contact_time is None else contact_time,
        layer=DEFAULT_LAYER if layer is None else read_name(layer, "layer"),
        touches=None if touches is None else tuple(read_name(each, "layer") for each in touches.items()),
        contact_material="" if made_of is None else read_name(made_of, "contact material"),
        places=places,
    )


def read_material(value: Value, context: Context) -> Material:
    """Read texture and roughness."""
    table = value.table(MATERIAL_KEYS)
    given = {key: each for key in MATERIAL_KEYS if (each := table.get(key)) is not None}
    size, texture = given.get("texture_size"), given.get("texture")
    if size is not None and texture is None:
        size.error("needs a texture")
    return Material(
        texture=None if texture is None else read_image(texture, context),
        texture_size=1.0 if size is None else size.number(*RANGES["texture_size"][:2], default=1.0),
        roughness=_number(given.get("roughness"), "roughness"),
        places={"material": value.place, **{key: each.place for key, each in given.items()}},
    )


def read_colour(value: Value) -> FloatArray | None:
    """Read red, green, blue and, if given, opacity (4,), each 0 to 1. Return None with the fault recorded."""
    found = Colour().read(value, None)
    return None if found is BAD else found


def read_image(value: Value, context: Context) -> Path | None:
    """Return the file of an image, or None with the fault recorded."""
    found = context.find(value)
    if found is None:
        return None
    if fault := image_fault(found[0]):
        value.error(fault)
        return None
    context.report.read.append(found[0])
    return found[0]


def read_friction(value: Value | None, places: dict[str, Place]) -> dict[str, float | None]:
    """Read friction from a number, against sliding, or a mapping. Add where its keys are given to `places`."""
    if value is None:
        return {}
    if isinstance(value.node, Scalar):
        return {"sliding": _number(value, "sliding")}
    table = value.table(FRICTION_KEYS)
    given = {key: each for key in FRICTION_KEYS if (each := table.get(key)) is not None}
    if isinstance(value.node, Mapping) and not value.node.entries:
        value.error(f"is empty; allowed: a number, or {', '.join(FRICTION_KEYS)}")
    places.update({key: each.place for key, each in given.items()})
    return {key: _number(each, key) for key, each in given.items()}


def _number(value: Value | None, key: str) -> float | None:
    low, high, _ = RANGES[key]
    return None if value is None else value.number(low, high, default=low)


def read_name(value: Value, of: str) -> str:
    """Read the name of a layer or a material."""
    errors = len(value.report.errors)
    name = value.text()
    if len(value.report.errors) == errors and not name.strip():
        value.error(f"found {quoted(name)}; a {of} needs a name")
    return name
