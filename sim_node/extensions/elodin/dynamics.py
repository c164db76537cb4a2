"""Rigid-body dynamics of worlds in Python: accelerations from forces, and their integration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sim_node.extensions.elodin import rows
from sim_node.extensions.elodin.components import carrier_of
from sim_node.extensions.elodin.errors import EcsError, caller
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.numerics import BodyMotions, Evaluated, Integrate, Integrator, State, TickMotion
from sim_node.extensions.elodin.rows import Quat, Vector
from sim_node.extensions.elodin.standard import Force, Inertia, SimulationTimeStep, WorldAccel, WorldPos, WorldVel
from sim_node.extensions.elodin.structure import ComponentStructure
from sim_node.extensions.elodin.systems import Apply, System, system_of
from sim_node.world.problems import Where

_POS, _VEL, _ACCEL, _FORCE, _INERTIA = (
    carrier_of(each).component for each in (WorldPos, WorldVel, WorldAccel, Force, Inertia)
)
_TIME_STEP = carrier_of(SimulationTimeStep).component


class NewtonEuler:
    """The Newton-Euler equations with the gyroscopic torque, and integrators that attain their stated order.

    Euler's equation is I dw/dt = t - w x I w (Featherstone 2008, section 2.14). Rk4 integrates momentum, m v and I w,
    whose derivative is the force: without a force, momentum is conserved up to rounding.
    """

    def acceleration(self, bodies: BodyMotions, inertia: Any, force: Any) -> Any:
        """Return the accelerations (n, 6) [dw/dt, dv/dt] of bodies in world axes."""
        (q, _), (w, _) = _split(bodies.pos, 4), _split(bodies.vel, 3)
        ix, iy, iz, _, _, _, mass = rows.columns(inertia)
        moments = (ix, iy, iz)
        torque, push = _split(force, 3)
        torque = rows.plus(torque, -1.0, rows.cross(w, _momentum(q, moments, w)))
        return jnp.stack([*_velocity(q, moments, torque), *(each / mass for each in push)], axis=1)

    def methods(self) -> dict[Integrator, Integrate]:
        """Return both integrators."""
        return {Integrator.Rk4: _rk4, Integrator.SemiImplicit: _semi_implicit}

    def step(self, seconds: float) -> float:
        """Return the requested time step unchanged."""
        return seconds

    def microseconds(self, step: float, ticks: Any) -> Any:
        """Return the time of ticks, rounded once, so that no error accumulates."""
        exact = ticks * step * 1e6
        return round(exact) if isinstance(exact, float) else np.rint(exact).astype(np.int64)


def _momentum(q: Quat, moments: Vector, w: Vector) -> Vector:
    """Return R diag(I) R^T w, in world axes."""
    x, y, z = rows.rotate(rows.conjugate(q), w)
    x, y, z = rows.together((moments[0] * x, moments[1] * y, moments[2] * z))
    return rows.together(rows.rotate(q, (x, y, z)))


def _velocity(q: Quat, moments: Vector, momentum: Vector) -> Vector:
    """Return R diag(I)^-1 R^T L, in world axes."""
    x, y, z = rows.rotate(rows.conjugate(q), momentum)
    x, y, z = rows.together((x / moments[0], y / moments[1], z / moments[2]))
    return rows.together(rows.rotate(q, (x, y, z)))


def _rk4(motion: TickMotion) -> tuple[BodyMotions, State]:
    """Integrate dq/dt = [w / 2, 0] q, dp/dt = v, and momenta, whose derivative is the force.

    Where effectors write the inertia, the momentum jumps with it but the velocity does not: mass that leaves a body
    takes its momentum along. In that case velocities are integrated instead; their derivative is the acceleration.
    """
    moved = sorted(motion.written & {_POS.name, _VEL.name})
    if moved:
        message = f"an effector writes {' and '.join(moved)}, which Rk4 integrates; run it before or after six_dof"
        raise EcsError(message, motion.where, "six_dof")
    momenta = _INERTIA.name not in motion.written
    ix, iy, iz, _, _, _, mass = rows.columns(motion.inertia)
    moments = (ix, iy, iz)
    q0, p0 = _split(motion.start.pos, 4)
    w0, v0 = _split(motion.start.vel, 3)
    moved0 = (*_momentum(q0, moments, w0), *(mass * each for each in v0)) if momenta else (*w0, *v0)

    at = partial(_bodies_at, moments if momenta else None, mass)
    bodies, left = motion.start, motion.state
    # For each stage: the rates of orientation, position, and momentum or velocity.
    slopes: list[tuple[Any, Any, Any]] = []
    for fraction in (0.5, 0.5, 1.0, None):
        _, accel, force, left, _ = motion.evaluate(motion.state, bodies)
        slopes.append(_rates(bodies, force if momenta else accel))
        if fraction:
            of = fraction * motion.step
            bodies = at(*(rows.plus(a, of, b) for a, b in zip((q0, p0, moved0), slopes[-1], strict=True)))
    sums = [
        tuple(a + 2.0 * b + 2.0 * c + d for a, b, c, d in zip(*each, strict=True)) for each in zip(*slopes, strict=True)
    ]
    q, p, moved1 = (rows.plus(a, motion.step / 6.0, b) for a, b in zip((q0, p0, moved0), sums, strict=True))
    return at(rows.normalized(rows.together(q)), p, moved1), left


@jax.jit  # type: ignore[untyped-decorator]
def _rates(bodies: BodyMotions, changing: Any) -> tuple[Any, Any, Any]:
    """Return the rates of orientations and positions, and those of momenta or velocities (n, 6) as they are."""
    w, v = _split(bodies.vel, 3)
    turn = rows.multiply((*(0.5 * each for each in w), 0.0), _split(bodies.pos, 4)[0])
    return turn, v, rows.columns(changing)


@jax.jit  # type: ignore[untyped-decorator]
def _bodies_at(moments: Vector | None, mass: Any, q: Quat, p: Vector, moved: tuple[Any, ...]) -> BodyMotions:
    """Return bodies from their momenta, or from their velocities if no moments of inertia are given."""
    q = rows.together(q)
    w, v = moved[:3], moved[3:]
    if moments is not None:
        w, v = _velocity(q, moments, w), tuple(each / mass for each in v)
    place = rows.together((*p, *v))
    return BodyMotions(jnp.stack([*q, *place[:3]], axis=1), jnp.stack([*w, *place[3:]], axis=1))


def _semi_implicit(motion: TickMotion) -> tuple[BodyMotions, State]:
    """Integrate momenta, then poses with the new momenta.

    The torque-free rotation is split into the terms m^2 / 2 I of the energy, each an exact rotation about its principal
    axis: Reich, Momentum conserving symplectic integrators, Physica D 76, 1994. Angular momentum is conserved up to
    rounding, and the energy does not drift.
    """
    start, accel, force, left, inertia = motion.evaluate(motion.state, motion.start)
    q, p0 = _split(start.pos, 4)
    w0, v0 = _split(start.vel, 3)
    step, moments = motion.step, rows.columns(inertia)[:3]
    momentum = rows.plus(_momentum(q, moments, w0), step, rows.columns(force)[:3])
    m = list(rows.rotate(rows.conjugate(q), momentum))
    for axis, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        angle = step * m[axis] / moments[axis]
        turn = [jnp.zeros_like(angle)] * 3
        turn[axis] = angle
        q = rows.multiply(q, rows.exponential(tuple(turn)))
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        m[j], m[k] = cos * m[j] + sin * m[k], cos * m[k] - sin * m[j]
    q = rows.normalized(q)
    w = rows.rotate(q, tuple(each / moment for each, moment in zip(m, moments, strict=True)))
    v = rows.plus(v0, step, rows.columns(accel)[3:])
    return BodyMotions(jnp.stack([*q, *rows.plus(p0, step, v)], axis=1), jnp.stack([*w, *v], axis=1)), left


def _split(array: Any, at: int) -> tuple[Any, Any]:
    """Return the coordinates (n,) of the angular and the linear part of spatial vectors (n, k)."""
    every = rows.columns(array)
    return every[:at], every[at:]


@dataclass(frozen=True)
class SixDof(System):
    """See `six_dof`."""

    time_step: float | None
    effectors: System
    integrator: Integrator
    where: Where

    def compiled(self, structure: ComponentStructure) -> Apply:
        """Return the motion of all bodies over one tick. Raises EcsError if no entity is a body."""
        components = (_POS, _VEL, _INERTIA, _FORCE, _ACCEL)
        entities = structure.matching(components, self.where, "six_dof")
        rows = {each.name: structure.rows(each.name, entities) for each in components}
        forces = self.effectors.compiled(structure)
        written = self.effectors.writes()
        numerics = structure.numerics
        integrate = numerics.methods()[self.integrator]

        def read(state: State, name: str) -> Any:
            return state[name] if rows[name] is None else state[name][rows[name]]

        def write(state: State, **arrays: Any) -> State:
            changed = dict(state)
            for name, array in arrays.items():
                changed[name] = array if rows[name] is None else jnp.asarray(state[name]).at[rows[name]].set(array)
            return changed

        # Compiled as a separate function, so that systems are traced once, however often an integrator calls it.
        @jax.jit  # type: ignore[untyped-decorator]
        def evaluate(state: State, bodies: BodyMotions) -> Evaluated:
            cleared = dict(write(state, world_pos=bodies.pos, world_vel=bodies.vel))
            cleared[_FORCE.name] = jnp.zeros_like(state[_FORCE.name])
            left = forces(cleared)
            force = read(left, _FORCE.name)
            bodies = BodyMotions(read(left, _POS.name), read(left, _VEL.name))
            accel = numerics.acceleration(bodies, read(left, _INERTIA.name), force)
            return Evaluated(bodies, accel, force, write(left, world_accel=accel), read(left, _INERTIA.name))

        def apply(state: State) -> State:
            start = BodyMotions(read(state, _POS.name), read(state, _VEL.name))
            inertia = read(state, _INERTIA.name)
            tick = state[_TIME_STEP.name][0]
            step = tick if self.time_step is None else self.time_step
            end, left = integrate(TickMotion(evaluate, state, start, inertia, step, tick, written, self.where))
            return write(left, world_pos=end.pos, world_vel=end.vel)

        return apply

    def writes(self) -> frozenset[str]:
        """Return the names of the components that it and its effectors write."""
        own = {each.name for each in (_POS, _VEL, _ACCEL, _FORCE)}
        return self.effectors.writes() | own

    def reads(self) -> tuple[tuple[Any, Where], ...]:
        """Return the components that it and its effectors name, and where."""
        own = tuple((each, self.where) for each in (_POS, _VEL, _ACCEL, _FORCE, _INERTIA))
        return (*own, *self.effectors.reads())


def six_dof(time_step: float | None = None, sys: Any = None, integrator: Integrator = Integrator.Rk4) -> SixDof:
    """Return a system that moves all entities with the components of Body.

    In each evaluation of the equations of motion it clears `force`, runs the effectors, which add to it, and computes
    `world_accel`. With Rk4 these are four in each tick. Each starts from the values that the other components had
    before the tick, and what effectors write in the last one is kept: an effector acts once in a tick, however often
    it is evaluated. `SimulationTick` is the same in all of them. An inertia that effectors write acts at once, and
    does not change the velocity: mass that leaves takes its momentum along. Thrust must be added as a force.

    Args:
        time_step: The time over which it integrates in each tick, s; by default the time between two ticks.
        sys: The effectors: systems that write `force`.
        integrator: The method.

    Returns:
        The system. It writes `world_pos`, `world_vel`, `world_accel`, `force`, and what the effectors write.

    Raises:
        EcsError: The time step is not above zero, or an argument is of another type.
    """
    where = caller()
    if not isinstance(integrator, Integrator):
        raise EcsError(f"integrator: {integrator!r} is not an Integrator, such as Integrator.Rk4", where, "six_dof")
    if isinstance(time_step, System):
        raise EcsError("time_step comes first; write six_dof(sys=...)", where, "six_dof")
    number = isinstance(time_step, (int, float, np.number)) and np.isfinite(time_step) and time_step > 0
    if time_step is not None and not number:
        raise EcsError(f"time_step: {time_step!r} is not a number of seconds above zero", where, "six_dof")
    return SixDof(None if time_step is None else float(time_step), system_of(sys), integrator, where)
