"""The JSON Schema of world files and of vehicle models, from the keys that their readers declare."""

from __future__ import annotations

from typing import Any

from sim_node.world.readers.keys import ANYTHING, Keys, schema_of
from sim_node.world.readers.yaml_section import SECTION_ALIASES, SECTION_FORMS, SECTIONS
from sim_node.world.vehicle_models import MODEL_KEYS


def world_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft-07) of world files in YAML, with what installed plug-ins add.

    Whatever a reader accepts is valid. The reverse does not hold: what depends on several values, on other files or on
    the whole tree is left to the reader. The one exception is true or false in quotes, which only the reader accepts.
    """
    forms = {key: SECTION_FORMS.get(key, ANYTHING) for key in SECTIONS}
    keys = Keys(forms, aliases=SECTION_ALIASES, about="A world of sim_node.")
    return schema_of(keys, "sim_node world")


def vehicle_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft-07) of models of vehicles in YAML."""
    return schema_of(MODEL_KEYS, "sim_node vehicle model")


SCHEMAS = {"world": world_schema, "vehicle": vehicle_schema}
