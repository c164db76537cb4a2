"""What pushes bodies: forces, rotors. A new kind is a new file here with one `@actor` entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from sim_node.columns import Columns
from sim_node.physics.wind import WindField
from sim_node.registry import Registry
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import WorldError

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.physics.handles import VehicleRecord
    from sim_node.physics.mujoco_model import Compiled


@runtime_checkable
class Actor(Protocol):
    """Pushes some bodies. It acts before each timestep, on the same data all its life.

    What its future depends on, beside the bodies' own state, it declares as columns of state when it is opened.
    """

    def reset(self, seed: int) -> None:
        """Go back to the run's start, with randomness drawn from `seed`."""

    def act(self) -> None:
        """Add what it does in the next timestep to xfrc_applied, or write its own of qfrc_applied.

        Positions and velocities of bodies are those of the present state; a wrench is held for the timestep.
        xfrc_applied already holds the column `wrench` and what actors before this one added.
        """


@runtime_checkable
class Flown(Protocol):
    """An actor that moves vehicles which are commanded from outside."""

    @property
    def vehicles(self) -> Mapping[str, VehicleRecord]:
        """What the rest of a run may know of each, by name."""


# Opens an actor on a world's bodies, in its wind, or says None where the world has nothing for it to do.
Opener = Callable[[World, Layout, "Compiled", "MjData", WindField, Columns], Actor | None]
# In this order they act, and their forces are summed.
ACTORS: Registry[str, Opener] = Registry(
    "actor",
    shipped=tuple(
        f"sim_node.physics.{name}" for name in ("ball_springs", "buoyancy", "constant_force", "drag", "vehicles")
    ),
    group="sim_node.forces",
)
# Registers what opens an actor.
actor = ACTORS.add


def actors_for(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> tuple[dict[str, Actor], list[str]]:
    """Open the actors that have something to do in a world; by name, in the order of the registry.

    Returns:
        The actors, and the names of the columns that they declared.
    """
    actors: dict[str, Actor] = {}
    declared: list[str] = []
    for name, opener in ACTORS.items():
        own = columns.owned_by(f"force element {name!r}")
        with ACTORS.blaming(name, WorldError):
            opened = opener(world, layout, compiled, data, wind, own)
        ACTORS.expect(name, opened, (Actor, type(None)), "an Actor or None")
        if opened is not None:
            actors[name] = opened if ACTORS.is_shipped(name) else Watched(name, opened, data)
            declared += own.added
    return actors, declared


class Watched:
    """An actor of another package. What it does is looked at: MuJoCo could only say that a state is not finite."""

    def __init__(self, name: str, actor: Actor, data: MjData) -> None:
        self._name, self._actor = name, actor
        self._applied = data.xfrc_applied, data.qfrc_applied
        self.reset = actor.reset

    def act(self) -> None:
        """Has it act. Raises PluginFault for forces that are not finite."""
        self._actor.act()
        if not all(np.isfinite(forces).all() for forces in self._applied):
            ACTORS.refuse(self._name, "act() made forces that are not finite", self._actor)
