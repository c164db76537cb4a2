"""The section `contact_materials` of a world file: what shapes of two materials do where they touch."""

from __future__ import annotations

from typing import Any

from sim_node.world.contact_materials import MAX_STIFFNESS, ContactMaterial
from sim_node.world.readers.keys import Keys, listing, number, text
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_surfaces import CONTACT_KEYS, read_friction, read_name
from sim_node.world.readers.yaml_values import Value
from sim_node.world.surfaces import RANGES

PAIR_KEYS = Keys(
    {
        "between": listing("The two materials.", text("", least=1), 2, 2),
        **{key: CONTACT_KEYS[key] for key in ("friction", "restitution", "contact_time")},
        "stiffness": number("Stiffness of each contact point, N/m.", high=MAX_STIFFNESS, above=0.0),
        "damping": number("Damping of each contact point, N s/m.", 0.0),
    },
    required=("between",),
)


@section("contact_materials", listing("What shapes of two materials do where they touch.", PAIR_KEYS))
def read_contact_materials(value: Value, context: Context) -> None:
    """Read a list of pairs of materials."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(PAIR_KEYS)
        given = {key: each for key in PAIR_KEYS if (each := table.get(key)) is not None}
        places = {key: each.place for key, each in given.items()}
        between = given.get("between")
        names = [] if between is None else [read_name(each, "contact material") for each in between.items()]
        if between is not None and len(names) != 2 and len(entry.report.errors) == errors:
            between.error(f"two materials are needed, found {between.found()}")
        fields: dict[str, Any] = read_friction(given.get("friction"), places)
        for key in ("restitution", "contact_time"):
            if key in given:
                fields[key] = given[key].number(*RANGES[key][:2], default=RANGES[key][0])
        for key in ("stiffness", "damping"):
            if key in given:
                fields[key] = given[key].number(0.0, MAX_STIFFNESS)
        if len(names) == 2 and len(entry.report.errors) == errors:
            context.add(ContactMaterial((names[0], names[1]), **fields, places=places, place=entry.place))
