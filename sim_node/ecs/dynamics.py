"""Rigid bodies of worlds in Python: from forces to accelerations, and their integration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, Protocol

import numpy as np

from sim_node.ecs import rows
from sim_node.ecs.components import carrier_of
from sim_node.ecs.errors import EcsError, caller
from sim_node.ecs.jax_setup import jnp
from sim_node.ecs.rows import Quat, Vector
from sim_node.ecs.standard import Force, Inertia, WorldAccel, WorldPos, WorldVel
from sim_node.ecs.structure import State, Structure
from sim_node.ecs.systems import Apply, System, system_of
from sim_node.world.problems import Where

_POS, _VEL, _ACCEL, _FORCE, _INERTIA = (
    carrier_of(each).component for each in (WorldPos, WorldVel, WorldAccel, Force, Inertia)
)


class Integrator(Enum):
    """How `six_dof` integrates.

    Attributes:
        Rk4: The classical Runge-Kutta method of order 4, on rotations as well (Munthe-Kaas 1999).
        SemiImplicit: Velocities first, then positions with the new velocities; of order 1, and symplectic.
    """

    Rk4 = "rk4"
    SemiImplicit = "semi_implicit"


class Bodies(NamedTuple):
    """The motion of n bodies in the world: transforms (n, 7) [q p], velocities (n, 6) [w v]."""

    pos: Any
    vel: Any


class Evaluated(NamedTuple):
    """The equations of motion, evaluated: accelerations (n, 6), forces (n, 6), and the state that effectors left."""

    accel: Any
    force: Any
    state: State


Accelerations = Callable[[State, Bodies], Evaluated]
# Returns bodies after a time step, s, and the state that the effectors left.
Integrate = Callable[[Accelerations, State, Bodies, Any, float, float], tuple[Bodies, State]]


class Numerics(Protocol):
    """The equations of motion, and the methods that integrate them."""

    def acceleration(self, bodies: Bodies, inertia: Any, force: Any) -> Any:
        """Return the accelerations (n, 6) of bodies of inertias (n, 7) under forces (n, 6)."""

    def methods(self) -> dict[Integrator, Integrate]:
        """Return the function of each integrator."""

    def step(self, seconds: float) -> float:
        """Return the time between two ticks that is used for a requested one, s."""

    def microseconds(self, step: float, ticks: int) -> int:
        """Return the time that a number of ticks of a step, s, take, us."""


class NewtonEuler:
    """Newton's and Euler's equations, with the gyroscopic torque, and integrators of their stated order.

    Euler's equation is I dw/dt = t - w x I w (Featherstone 2008, section 2.14). Rk4 integrates momentum, m v and I w,
    whose derivative is the force: without one it is kept to rounding.
    """

    def acceleration(self, bodies: Bodies, inertia: Any, force: Any) -> Any:
        """Return the accelerations (n, 6) [dw/dt, dv/dt] of bodies along the world's axes."""
        q, w = rows.columns(bodies.pos[:, :4]), rows.columns(bodies.vel[:, :3])
        moments, mass = rows.columns(inertia[:, :3]), inertia[:, 6]
        torque, push = rows.columns(force[:, :3]), rows.columns(force[:, 3:])
        torque = rows.plus(torque, -1.0, rows.cross(w, _momentum(q, moments, w)))
        return jnp.stack([*_velocity(q, moments, torque), *(each / mass for each in push)], axis=1)

    def methods(self) -> dict[Integrator, Integrate]:
        """Return both integrators."""
        return {Integrator.Rk4: _rk4, Integrator.SemiImplicit: _semi_implicit}

    def step(self, seconds: float) -> float:
        """Return the requested time itself."""
        return seconds

    def microseconds(self, step: float, ticks: int) -> int:
        """Return the time of ticks, rounded once: no error adds up."""
        return round(ticks * step * 1e6)


def _momentum(q: Quat, moments: Vector, w: Vector) -> Vector:
    """Return R diag(I) R^T w, along the world's axes."""
    x, y, z = rows.rotate(rows.conjugate(q), w)
    return rows.rotate(q, (moments[0] * x, moments[1] * y, moments[2] * z))


def _velocity(q: Quat, moments: Vector, momentum: Vector) -> Vector:
    """Return R diag(I)^-1 R^T L, along the world's axes."""
    x, y, z = rows.rotate(rows.conjugate(q), momentum)
    return rows.rotate(q, (x / moments[0], y / moments[1], z / moments[2]))


def _rk4(
    accelerate: Accelerations, state: State, start: Bodies, inertia: Any, step: float, _: float
) -> tuple[Bodies, State]:
    """Integrate dq/dt = [w / 2, 0] q, dp/dt = v, and momenta, whose derivative is the force."""
    moments, mass = rows.columns(inertia[:, :3]), inertia[:, 6]
    q0, p0 = rows.columns(start.pos[:, :4]), rows.columns(start.pos[:, 4:])
    w0, v0 = rows.columns(start.vel[:, :3]), rows.columns(start.vel[:, 3:])
    momentum0 = (*_momentum(q0, moments, w0), *(mass * each for each in v0))

    def at(q: Quat, p: Vector, momentum: tuple[Any, ...]) -> Bodies:
        vel = (*_velocity(q, moments, momentum[:3]), *(each / mass for each in momentum[3:]))
        return Bodies(jnp.stack([*q, *p], axis=1), jnp.stack(vel, axis=1))

    bodies, left = start, state
    # For each stage: the rates of orientation, position and momentum.
    slopes: list[tuple[Any, Any, Any]] = []
    for fraction in (0.5, 0.5, 1.0, None):
        _, force, left = accelerate(state, bodies)
        w, v = rows.columns(bodies.vel[:, :3]), rows.columns(bodies.vel[:, 3:])
        turn = rows.multiply((*(0.5 * each for each in w), 0.0), rows.columns(bodies.pos[:, :4]))
        slopes.append((turn, v, rows.columns(force)))
        if fraction:
            of = fraction * step
            bodies = at(*(rows.plus(a, of, b) for a, b in zip((q0, p0, momentum0), slopes[-1], strict=True)))
    sums = [
        tuple(a + 2.0 * b + 2.0 * c + d for a, b, c, d in zip(*each, strict=True)) for each in zip(*slopes, strict=True)
    ]
    q, p, momentum = (rows.plus(a, step / 6.0, b) for a, b in zip((q0, p0, momentum0), sums, strict=True))
    return at(rows.normalized(q), p, momentum), left


def _semi_implicit(
    accelerate: Accelerations, state: State, start: Bodies, inertia: Any, step: float, _: float
) -> tuple[Bodies, State]:
    """Integrate velocities, then poses with the new velocities; the rotation of a tick is exact."""
    accel, _, left = accelerate(state, start)
    vel = start.vel + step * accel
    w, v = rows.columns(vel[:, :3]), rows.columns(vel[:, 3:])
    turn = rows.exponential((step * w[0], step * w[1], step * w[2]))
    q = rows.normalized(rows.multiply(turn, rows.columns(start.pos[:, :4])))
    p = rows.plus(rows.columns(start.pos[:, 4:]), step, v)
    return Bodies(jnp.stack([*q, *p], axis=1), vel), left


@dataclass(frozen=True)
class SixDof(System):
    """See `six_dof`."""

    time_step: float | None
    effectors: System
    integrator: Integrator
    where: Where

    def compiled(self, structure: Structure) -> Apply:
        """Return the motion of all bodies over one tick. Raises EcsError if there is none."""
        components = (_POS, _VEL, _INERTIA, _FORCE, _ACCEL)
        entities = structure.matching(components, self.where, "six_dof")
        rows = {each.name: structure.rows(each.name, entities) for each in components}
        forces = self.effectors.compiled(structure)
        numerics = structure.numerics
        step = structure.step if self.time_step is None else numerics.step(self.time_step)
        integrate = numerics.methods()[self.integrator]

        def read(state: State, name: str) -> Any:
            return state[name] if rows[name] is None else state[name][rows[name]]

        def write(state: State, **arrays: Any) -> State:
            changed = dict(state)
            for name, array in arrays.items():
                changed[name] = array if rows[name] is None else state[name].at[rows[name]].set(array)
            return changed

        def accelerate(state: State, bodies: Bodies) -> Evaluated:
            cleared = dict(write(state, world_pos=bodies.pos, world_vel=bodies.vel))
            cleared[_FORCE.name] = jnp.zeros_like(state[_FORCE.name])
            left = forces(cleared)
            force = read(left, _FORCE.name)
            accel = numerics.acceleration(bodies, read(left, _INERTIA.name), force)
            return Evaluated(accel, force, write(left, world_accel=accel))

        def apply(state: State) -> State:
            start = Bodies(read(state, _POS.name), read(state, _VEL.name))
            end, left = integrate(accelerate, state, start, read(state, _INERTIA.name), step, structure.step)
            return write(left, world_pos=end.pos, world_vel=end.vel)

        return apply

    def writes(self) -> frozenset[str]:
        """Return what it and its effectors write."""
        own = {each.name for each in (_POS, _VEL, _ACCEL, _FORCE)}
        return self.effectors.writes() | own

    def reads(self) -> tuple[tuple[Any, Where], ...]:
        """Return what it and its effectors name."""
        own = tuple((each, self.where) for each in (_POS, _VEL, _ACCEL, _FORCE, _INERTIA))
        return (*own, *self.effectors.reads())


def six_dof(time_step: float | None = None, sys: Any = None, integrator: Integrator = Integrator.Rk4) -> SixDof:
    """Return a system that moves all entities with the components of Body.

    In each evaluation of the equations of motion it clears `force`, runs the effectors, which add to it, and computes
    `world_accel`. With Rk4 these are four in each tick, all from the values that other components had before the tick;
    the components that effectors write keep the values of the last evaluation.

    Args:
        time_step: The time over which it integrates in each tick, s; by default the time between two ticks.
        sys: The effectors: systems that write `force`.
        integrator: The method.

    Raises:
        EcsError: The time step is not above zero, or an argument is of another type.
    """
    where = caller()
    if not isinstance(integrator, Integrator):
        raise EcsError(f"integrator: {integrator!r} is not an Integrator, such as Integrator.Rk4", where, "six_dof")
    if isinstance(time_step, System):
        raise EcsError("time_step comes first; write six_dof(sys=...)", where, "six_dof")
    if time_step is not None and not (np.isfinite(time_step) and time_step > 0):
        raise EcsError(f"time_step: {time_step!r} is not a number of seconds above zero", where, "six_dof")
    return SixDof(None if time_step is None else float(time_step), system_of(sys), integrator, where)
