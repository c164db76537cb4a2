"""Contact materials as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim_node.world.contact_materials import ContactMaterial, contact_material_problems
from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.surfaces import DEFAULT_CONTACT_TIME
from sim_node.world.writers.surfaces import friction_data
from sim_node.world.writers.values import given


@part("contact_materials", ContactMaterial)
class ContactMaterials(Kind[ContactMaterial]):
    """What shapes of two materials do where they touch. Materials, like layers, are those of all included files."""

    def data(self, part: ContactMaterial, refer: Refer) -> dict[str, Any]:
        """Return the materials, and what is not a default."""
        return given(
            {
                "between": list(part.between),
                "friction": friction_data(part),
                "restitution": part.restitution,
                "contact_time": part.contact_time if part.contact_time != DEFAULT_CONTACT_TIME else None,
                "stiffness": part.stiffness,
                "damping": part.damping,
            }
        )

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names, numbers and timesteps."""
        return contact_material_problems(world)

    def renamed(self, part: ContactMaterial, rename: Rename) -> ContactMaterial:
        """Return it as it is."""
        return part
