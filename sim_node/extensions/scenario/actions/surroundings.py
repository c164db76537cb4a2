"""What is seen: the sun, and fog."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import numpy as np

from sim_node.extensions.scenario.acting import action
from sim_node.simulation import Simulation
from sim_node.simulation.requests import Floats
from sim_node.world.quantities import Number, Whole
from sim_node.world.scene import Light, Sky


@action("light")
def light(
    run: Simulation,
    /,
    brightness: Annotated[float, Number(0.0, 1.0)],
    *,
    direction: Annotated[list[float], Floats((3,), "X,Y,Z in the fixed frame")] | None = None,
    number: Annotated[int, Whole(1, 7)] = 1,
) -> str:
    """Change a light of the world of a running node, such as the sun, or add one.

    Args:
        run: The run.
        brightness: How bright its colour is.
        direction: Where it shines.
        number: Which of the lights, from 1.
    """
    lights = list(run.world.parts.get("lights", ()))
    if number > len(lights) + 1:
        raise ValueError(f"the world has {len(lights)} lights, and no number {number}")
    if number > len(lights):
        lights.append(Light())
    old: Light = lights[number - 1]
    colour = np.asarray(old.colour) / max(float(np.max(old.colour)), 1e-9) * brightness
    toward = old.direction if direction is None else np.asarray(direction)
    lights[number - 1] = replace(old, colour=colour, direction=toward)
    run.change(replace(run.world, lights=tuple(lights)))
    return f"light {number} has a brightness of {brightness:g}"


@action("fog")
def fog(run: Simulation, /, visibility: Annotated[float, Number(0.0, 1e6)]) -> str:
    """Let fog come up in the world of a running node, or lift it: in camera images and pictures.

    Args:
        run: The run.
        visibility: Distance at which it hides everything, m; 0 for no fog.
    """
    if 0.0 < visibility < 0.1:
        raise ValueError(f"visibility is {visibility:g} m; allowed: 0 (no fog), or 0.1 and more")
    sky: Sky = next(iter(run.world.parts.get("sky", ())), Sky())
    run.change(replace(run.world, sky=replace(sky, visibility=visibility or None)))
    return f"fog: visibility is {visibility:g} m" if visibility else "the fog is gone"
