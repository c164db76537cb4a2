"""Force elements: forces on bodies, rotors and the like. A new kind is a new file with one `@force_element` entry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from sim_node.registry import Registry
from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.problems import WorldError

if TYPE_CHECKING:
    from mujoco import MjData

    from sim_node.simulation.physics.compiled import Compiled
    from sim_node.simulation.physics.handles import BaseRecord, VehicleRecord


@runtime_checkable
class ForceElement(Protocol):
    """Applies forces to bodies before each timestep, on the same MjData throughout a run.

    It declares its state, other than that of the bodies, as columns when it is opened.
    """

    def reset(self, seed: int) -> None:
        """Go back to the start of the run.

        Args:
            seed: Seed of the random numbers.
        """

    def act(self) -> None:
        """Add the wrenches of the next timestep to xfrc_applied, or write its own elements of qfrc_applied.

        Positions and velocities of bodies are those of the current state; wrenches are held during the timestep.
        xfrc_applied already contains the column `wrench` and the wrenches of preceding force elements.
        """


@dataclass(frozen=True)
class CompiledForces:
    """A force element: all forces of a kind.

    Attributes:
        act: Adds the forces to those of a timestep.
        memory: Values kept from the last timestep; NaN at the start.
    """

    act: Callable[[], None]
    memory: FloatArray = field(default_factory=lambda: np.empty(0))

    def reset(self, seed: int) -> None:
        """Forget the last timestep; there are no random numbers."""
        self.memory[:] = np.nan


@runtime_checkable
class Solved(Protocol):
    """A force element with forces that MuJoCo's solver finds, as it does for dry friction."""

    def act_on(self, data: MjData) -> None:
        """Act between mj_step1 and mj_step2 on other data of the model, such as a copy that is integrated ahead."""

    def add_efforts(self) -> None:
        """Add these forces to qfrc_actuator, once the solver has found the forces of the current state."""


@runtime_checkable
class Settling(Protocol):
    """A force element that also acts after each timestep."""

    def settle(self) -> None:
        """Read or set the positions and velocities of the new state, which has not been evaluated yet."""


@runtime_checkable
class Divisible(Protocol):
    """A force element that can act on different bodies in different threads."""

    def part(self, data: MjData, bodies: range) -> Callable[[], None] | None:
        """Return a function that acts on some bodies like `act`, without counting; None if that is impossible.

        Args:
            data: Data of a model of these bodies alone, with ids from 1.
            bodies: Their ids in the model of the world.
        """

    def acted(self) -> None:
        """Count a timestep after all parts have acted."""


@runtime_checkable
class Flown(Protocol):
    """A force element of vehicles that can be commanded externally."""

    @property
    def vehicles(self) -> Mapping[str, VehicleRecord | BaseRecord]:
        """Records of the vehicles, by name."""


# Opens a force element on a world's bodies, with its wind, or returns None if the world does not need it.
Opener = Callable[[World, Layout, "Compiled", "MjData", WindField, Columns], ForceElement | None]
# Force elements act in this order, and their forces are added.
FORCE_ELEMENTS: Registry[str, Opener] = Registry(
    "force element",
    shipped=tuple(
        f"sim_node.simulation.physics.{name}"
        for name in (
            "actuators",
            "forces",
            "vehicles",
            "bases",
            "kinematic_bodies",
            "moving_surfaces",
            "loop_closures",
        )
    ),
    group="sim_node.forces",
)
# Decorator that registers an opener under a name.
force_element = FORCE_ELEMENTS.add


def force_elements_for(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> tuple[dict[str, ForceElement], list[str]]:
    """Open the force elements that a world needs.

    Returns:
        The force elements by name, in the order of the registry, and the names of the columns that they declared.
    """
    force_elements: dict[str, ForceElement] = {}
    declared: list[str] = []
    for name, opener in FORCE_ELEMENTS.items():
        own = columns.owned_by(f"force element {name!r}")
        with FORCE_ELEMENTS.blaming(name, WorldError):
            opened = opener(world, layout, compiled, data, wind, own)
        FORCE_ELEMENTS.expect(name, opened, (ForceElement, type(None)), "a ForceElement or None")
        if opened is not None:
            force_elements[name] = opened if FORCE_ELEMENTS.is_shipped(name) else WatchedForce(name, opened, data)
            declared += own.added
    return force_elements, declared


class WatchedForce:
    """A force element of a plug-in, whose forces are checked: MuJoCo only reports that a state is not finite."""

    def __init__(self, name: str, force_element: ForceElement, data: MjData) -> None:
        self._name, self._force_element = name, force_element
        self._applied = data.xfrc_applied, data.qfrc_applied
        self.reset = force_element.reset

    def act(self) -> None:
        """Call its `act`. Raises PluginFault if forces are not finite."""
        self._force_element.act()
        if not all(np.isfinite(forces).all() for forces in self._applied):
            FORCE_ELEMENTS.refuse(self._name, "act() made forces that are not finite", self._force_element)
