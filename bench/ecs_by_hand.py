"""The step of rigid bodies as one would write it in plain JAX: RK4 with the gyroscopic torque, mapped over bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

# Forces (n, 6) [torque force] of poses (n, 7) [q p] and inertias (n, 7).
Forces = Callable[[Any, Any], Any]
# Poses, velocities, accelerations and forces of all bodies, and the number of ticks.
State = tuple[Any, Any, Any, Any, Any]


def product(p: Any, q: Any) -> Any:
    """The Hamilton product of quaternions [x y z w]."""
    a, b, c, d = p
    e, f, g, h = q
    return jnp.array(
        [
            d * e + a * h + b * g - c * f,
            d * f - a * g + b * h + c * e,
            d * g + a * f - b * e + c * h,
            d * h - a * e - b * f - c * g,
        ]
    )


def rotated(q: Any, v: Any) -> Any:
    """A vector rotated by a quaternion."""
    t = 2 * jnp.cross(q[:3], v)
    return v + q[3] * t + jnp.cross(q[:3], t)


def rates(pos: Any, vel: Any, inertia: Any, force: Any) -> tuple[Any, Any]:
    """The rates of pose (7,) and velocity (6,) of one body."""
    q, w, moments = pos[:4], vel[:3], inertia[:3]
    inverse = q * np.array([-1.0, -1.0, -1.0, 1.0])
    turning, torque = rotated(inverse, w), rotated(inverse, force[:3])
    alpha = rotated(q, (torque - jnp.cross(turning, moments * turning)) / moments)
    turn = 0.5 * product(jnp.concatenate([w, jnp.zeros(1)]), q)
    return jnp.concatenate([turn, vel[3:]]), jnp.concatenate([alpha, force[3:] / inertia[6]])


def tick(state: State, inertia: Any, step: Any, forces: Forces) -> State:
    """One tick."""
    pos, vel, _, _, count = state
    slopes: list[tuple[Any, Any]] = []
    now, moving = pos, vel
    for fraction in (0.5, 0.5, 1.0, None):
        force = forces(now, inertia)
        slopes.append(jax.vmap(rates)(now, moving, inertia, force))
        if fraction:
            now, moving = pos + fraction * step * slopes[-1][0], vel + fraction * step * slopes[-1][1]
    end, after = (
        start + step / 6 * (a + 2 * b + 2 * c + d)
        for start, (a, b, c, d) in zip((pos, vel), zip(*slopes, strict=True), strict=True)
    )
    q = end[:, :4] / jnp.linalg.norm(end[:, :4], axis=1, keepdims=True)
    return jnp.concatenate([q, end[:, 4:]], axis=1), after, slopes[-1][1], force, count + 1


def fall(_: Any, inertia: Any) -> Any:
    """Weight."""
    return jnp.concatenate([jnp.zeros((len(inertia), 3)), inertia[:, 6:] * np.array([0.0, 0.0, -9.81])], axis=1)


def attract(pos: Any, inertia: Any) -> Any:
    """Newton's attraction of all pairs, with a gravitational constant of 1."""
    r = pos[None, :, 4:] - pos[:, None, 4:]
    distance = jnp.sqrt((r**2).sum(2) + np.eye(len(pos)))
    pull = (inertia[:, None, 6:] * inertia[None, :, 6:] * r / distance[:, :, None] ** 3).sum(1)
    return jnp.concatenate([jnp.zeros((len(pos), 3)), pull], axis=1)
