"""What pushes bodies: forces, rotors. A new kind is a new file here with one `@actor` entry."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from sim_node.physics.wind import WindField
from sim_node.registry import Registry
from sim_node.world.layout import Layout
from sim_node.world.model import World

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.physics.mujoco_model import Compiled


@runtime_checkable
class Actor(Protocol):
    """Pushes some bodies. It acts before each timestep, on the same data all its life."""

    def reset(self, seed: int) -> None:
        """Goes back to the run's start, with randomness drawn from `seed`."""

    def act(self) -> None:
        """Adds what it does in the next timestep to xfrc_applied, which was zero, or writes its own of qfrc_applied.

        Positions and velocities of bodies are those of the present state; a wrench is held for the timestep.
        """

    def state(self) -> bytes:
        """All that its future depends on, beside the bodies' own."""

    def restore(self, state: bytes) -> None:
        """Goes on from a state of the same world, to the bit."""


# Opens an actor on a world's bodies, in its wind, or says None where the world has nothing for it to do.
Opener = Callable[[World, Layout, "Compiled", "MjData", WindField], Actor | None]
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


def actors_for(world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField) -> dict[str, Actor]:
    """The actors that have something to do in a world, by name, in the order of the registry."""
    found: dict[str, Actor] = {}
    for name, opener in ACTORS.items():
        actor = opener(world, layout, compiled, data, wind)
        ACTORS.expect(name, actor, (Actor, type(None)), "an Actor or None")
        if actor is not None:
            found[name] = actor if ACTORS.is_shipped(name) else Watched(name, actor, data)
    return found


class Watched:
    """An actor of another package. What it does is looked at: MuJoCo could only say that a state is not finite."""

    def __init__(self, name: str, actor: Actor, data: MjData) -> None:
        self._name, self._actor = name, actor
        self._applied = data.xfrc_applied, data.qfrc_applied
        self.reset, self.restore = actor.reset, actor.restore

    def act(self) -> None:
        """Has it act. Raises PluginFault for forces that are not finite."""
        self._actor.act()
        if not all(np.isfinite(forces).all() for forces in self._applied):
            ACTORS.refuse(self._name, "act() made forces that are not finite", self._actor)

    def state(self) -> bytes:
        """Return its state. Raises PluginFault for what is no bytes."""
        state = self._actor.state()
        ACTORS.expect(self._name, state, bytes, "from state(), bytes")
        return state
