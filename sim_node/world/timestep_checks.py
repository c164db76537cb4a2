"""Whether a world's timestep is small enough for the bounces of its contacts."""

from __future__ import annotations

import math

from sim_node.world.model import World
from sim_node.world.surfaces import largest_timestep


def timestep_fault(world: World, restitution: float | None, contact_time: float) -> str:
    """Return that a world's timestep is too large for a restitution, with the largest that works; empty if it is not.

    Args:
        world: The world.
        restitution: Coefficient of restitution, or None.
        contact_time: Duration of a bounce, s.
    """
    step_ns, integrator = world.time.step_ns, world.physics.integrator
    substeps = world.physics.substeps(step_ns)
    if restitution is None or not contact_time > 0.0 or substeps < 1 or not world.physics.contact:
        return ""
    largest_ns = 1e9 * largest_timestep(restitution, contact_time, integrator)
    if step_ns / substeps <= largest_ns * (1.0 + 1e-9):
        return ""
    least = math.ceil(step_ns / largest_ns)
    parts = next((n for n in range(least, 100 * least) if step_ns % n == 0), least)
    return (
        f"{restitution:g} needs timesteps of at most {largest_ns / 1e9:.3g} s with {integrator}, found "
        f"{step_ns / substeps / 1e9:.3g} s; the largest that divides the world's step is "
        f"physics.timestep: {step_ns // parts / 1e9:.10g}"
    )
