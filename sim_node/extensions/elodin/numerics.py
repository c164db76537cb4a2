"""Interfaces of rigid-body dynamics for worlds in Python: equations of motion, and the methods that integrate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple, Protocol

from sim_node.world.problems import Where

# Arrays (n, *shape) by component name.
State = Mapping[str, Any]


class Integrator(Enum):
    """How `six_dof` integrates.

    Attributes:
        Rk4: The classical Runge-Kutta method of order 4, on rotations as well (Munthe-Kaas 1999).
        SemiImplicit: Momenta first, then poses with the new momenta; of order 1, and symplectic.
    """

    Rk4 = "rk4"
    SemiImplicit = "semi_implicit"


class BodyMotions(NamedTuple):
    """The motion of n bodies in the world: transforms (n, 7) [q p], velocities (n, 6) [w v]."""

    pos: Any
    vel: Any


class Evaluated(NamedTuple):
    """The result of an evaluation of the equations of motion.

    Attributes:
        bodies: The motion at which they were evaluated, as the effectors left it.
        accel: Accelerations (n, 6).
        force: Forces (n, 6).
        state: The state that the effectors left, with the accelerations.
        inertia: Inertias (n, 7), as the effectors left them.
    """

    bodies: BodyMotions
    accel: Any
    force: Any
    state: State
    inertia: Any


class TickMotion(NamedTuple):
    """One tick of `six_dof` to be integrated.

    Attributes:
        evaluate: Evaluates the equations of motion for a state and a motion of the bodies.
        state: The state before the tick.
        start: The bodies before the tick.
        inertia: Their inertias (n, 7) before the tick.
        step: The time to integrate over, s.
        tick: The time between two ticks, s.
        written: The names of the components that effectors write.
        where: The location of `six_dof` in the user's file, for messages.
    """

    evaluate: Callable[[State, BodyMotions], Evaluated]
    state: State
    start: BodyMotions
    inertia: Any
    step: Any
    tick: Any
    written: frozenset[str]
    where: Where


# Returns the bodies after a tick, and the state that the effectors left.
Integrate = Callable[[TickMotion], tuple[BodyMotions, State]]


class Numerics(Protocol):
    """The equations of motion, and the methods that integrate them."""

    def acceleration(self, bodies: BodyMotions, inertia: Any, force: Any) -> Any:
        """Return the accelerations (n, 6) of bodies with inertias (n, 7) under forces (n, 6)."""

    def methods(self) -> dict[Integrator, Integrate]:
        """Return the function of each integrator."""

    def step(self, seconds: float) -> float:
        """Return the time between two ticks that is used for a requested time, s."""

    def microseconds(self, step: float, ticks: Any) -> Any:
        """Return the time, us, that a number of ticks, or numbers (k,) of ticks, take with a step, s."""
