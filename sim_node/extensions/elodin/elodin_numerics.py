"""The equations and integrators of Elodin 0.16, for worlds that reproduce its results: `World(compat="elodin")`."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sim_node.extensions.elodin import rows
from sim_node.extensions.elodin.algebra import SpatialMotion, SpatialTransform
from sim_node.extensions.elodin.jax_setup import jax, jnp
from sim_node.extensions.elodin.numerics import BodyMotions, Integrate, Integrator, State, TickMotion


class ElodinNumerics:
    """Elodin's numerics: no gyroscopic torque, first-order rotations, and an Rk4 that is not of order 4 in position.

    Its stages advance the position with the velocity at the start of the tick, and all stages use the time between two
    ticks even if `six_dof` was given another time step. Components that effectors write carry over from stage to stage:
    with Rk4, an effector that counts adds four in each tick.
    """

    def acceleration(self, bodies: BodyMotions, inertia: Any, force: Any) -> Any:
        """Return the accelerations (n, 6): R (R^-1 t / I), R (R^-1 f / m)."""
        q = rows.columns(bodies.pos[:, :4])
        parts: list[Any] = []
        for given, by in ((force[:, :3], inertia[:, :3]), (force[:, 3:], inertia[:, [6, 6, 6]])):
            own = rows.rotate(rows.conjugate(q), rows.columns(given))
            x, y, z = (a / b for a, b in zip(own, rows.columns(by), strict=True))
            parts.extend(rows.rotate(q, (x, y, z)))
        return jnp.stack(parts, axis=1)

    def methods(self) -> dict[Integrator, Integrate]:
        """Return both integrators."""
        return {Integrator.Rk4: _rk4, Integrator.SemiImplicit: _semi_implicit}

    def step(self, seconds: float) -> float:
        """Return the time step rounded to whole nanoseconds."""
        return round(Fraction(seconds) * 10**9) / 1e9

    def microseconds(self, step: float, ticks: Any) -> Any:
        """Return the time of ticks in whole nanoseconds, truncated to microseconds."""
        return ticks * round(step * 1e9) // 1000


def _moved(pos: Any, by: Any) -> Any:
    def one(pos: Any, by: Any) -> Any:
        return (SpatialTransform.from_array(pos) + SpatialMotion.from_array(by)).arr

    return jax.vmap(one)(pos, by)


def _rk4(motion: TickMotion) -> tuple[BodyMotions, State]:
    start, left = motion.start, motion.state
    accel: Any = jnp.zeros_like(start.vel)
    slopes: list[tuple[Any, Any]] = []
    for fraction in (0.0, 0.5, 0.5, 1.0):
        by = fraction * motion.tick
        bodies = BodyMotions(_moved(start.pos, by * start.vel), start.vel + by * accel)
        evaluated = motion.evaluate(left, bodies)
        accel, left = evaluated.accel, evaluated.state
        slopes.append((evaluated.bodies.vel, accel))
    vel, accel = (motion.step / 6.0 * (a + 2.0 * b + 2.0 * c + d) for a, b, c, d in zip(*slopes, strict=True))
    return BodyMotions(_moved(start.pos, vel), start.vel + accel), left


def _semi_implicit(motion: TickMotion) -> tuple[BodyMotions, State]:
    start, accel, _, left, _ = motion.evaluate(motion.state, motion.start)
    vel = start.vel + motion.step * accel
    return BodyMotions(_moved(start.pos, motion.step * vel), vel), left
