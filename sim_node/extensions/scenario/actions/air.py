"""Wind that changes, and gusts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from sim_node.extensions.scenario.acting import JointEffect, Seconds, action, begin, lasting
from sim_node.extensions.scenario.effects import Lasting, effect
from sim_node.simulation import Simulation
from sim_node.simulation.requests import Floats
from sim_node.world.quantities import Number

if TYPE_CHECKING:
    from sim_node.simulation.physics import WindField

Velocity = Annotated[list[float], Floats((3,), "X,Y,Z in the fixed frame, m/s")]


@effect("gust", "wind")
class _Air(JointEffect):
    """Air that moves beside the world's wind: all that lasts is added up."""

    kinds = ("gust", "wind")

    def act(self, run: Simulation, of: Lasting, every: Sequence[Lasting]) -> None:
        """Add the velocities of the present step."""
        x = y = z = 0.0  # in plain numbers: it is done at each step
        for each in every:
            part, whole = _part(each, run), each.arguments["velocity"]
            x, y, z = x + whole[0] * part, y + whole[1] * part, z + whole[2] * part
        wind_of(run).add((x, y, z))


def wind_of(run: Simulation) -> WindField:
    """Return the wind of a run. Raises ValueError if nothing in it can feel one."""
    found: WindField | None = getattr(run.engines.get("rigid_bodies"), "wind", None)
    if found is None:
        raise ValueError("the world has no bodies that a wind could move")
    return found


def _part(lasting: Lasting, run: Simulation) -> float:
    """Return the part of its velocity that an effect adds at the present step.

    A gust is the discrete one of MIL-F-8785C, there and back: (1 - cos(2 pi t / T)) / 2. It is held for a step.
    """
    seconds = (run.steps - lasting.since) * run.world.time.step_ns * 1e-9
    if lasting.kind == "gust":
        return 0.5 * (1.0 - math.cos(2.0 * math.pi * min(seconds / lasting.arguments["length"], 1.0)))
    ramp = lasting.arguments["ramp"]
    return min(seconds / ramp, 1.0) if ramp else 1.0


@action("wind")
def wind(
    run: Simulation,
    /,
    velocity: Velocity,
    *,
    ramp: Annotated[float, Number(0.0, 1e6)] = 0.0,
    seconds: Seconds = 0.0,
) -> str:
    """Add a wind to that of the world of a running node, in place of the one that was added before.

    Args:
        run: The run.
        velocity: How the air moves.
        ramp: Time until it has this velocity, s.
        seconds: How long it lasts, s; 0 for as long as the run goes on.
    """
    wind_of(run)
    begin(run, "wind", "", seconds, velocity=velocity, ramp=ramp)
    return f"a wind of {math.hypot(*velocity):g} m/s is added{lasting(seconds)}"


@action("gust")
def gust(run: Simulation, /, velocity: Velocity, seconds: Annotated[float, Number(above=0.0, high=1e6)] = 2.0) -> str:
    """Let a gust blow in the world of a running node: it rises and falls like half of 1 - cos.

    Args:
        run: The run.
        velocity: How the air moves at its peak, in addition to the wind.
        seconds: From its beginning to its end, s.
    """
    wind_of(run)
    begin(run, "gust", str(run.steps), seconds, velocity=velocity, length=seconds)
    return f"a gust of {math.hypot(*velocity):g} m/s{lasting(seconds)}"
