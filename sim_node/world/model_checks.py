"""Whether models can be simulated: what carries them, and which options of theirs the world overrides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sim_node.world.bodies import INTEGRATORS, Physics
from sim_node.world.model import World
from sim_node.world.model_settings import SETTINGS, adopted_settings, contradicting_settings
from sim_node.world.mujoco_source import default_options, integrator_number
from sim_node.world.problems import Place, Problem, quoted


def model_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of the parents of a world's models."""
    yield from contradicting_settings(world)
    standing = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    standing.update({body.name: body.parent for body in world.bodies if not body.type.parts})
    moved = {motion.frame for motion in world.motions}
    for model in world.models:
        above = model.parent
        for _ in range(len(standing) + 1):
            above = standing.get(above, above)
        if above in moved:
            message = f"{quoted(above)} follows keyframes; the parent of a model must be the fixed frame or a body"
            yield _at(model.parent_place, message)
        elif model.floats() and above != world.fixed_frame:
            yield _at(model.parent_place, f"the parent of a free model must be the fixed frame, not {quoted(above)}")


def overridden_options(world: World) -> Iterator[Problem]:
    """Yield options of MuJoCo that a model's file sets and the including world overrides."""
    for model in world.models:
        here = _options(world.physics, world)
        differing = [
            key
            for key, value in model.options.items()
            if key in here and key not in SETTINGS and not _same(value, here[key])
        ]
        if differing:
            found = ", ".join(
                f"{key} {_shown(key, model.options[key])} (here {_shown(key, here[key])})" for key in differing
            )
            yield _at(model.place, f"the world's physics overrides the model's: {found}")
    yield from adopted_settings(world)


def _options(physics: Physics, world: World) -> dict[str, Any]:
    """Return the world's options by MuJoCo's names."""
    return {
        **default_options(),
        **physics.options,
        "timestep": world.time.step_ns / max(physics.substeps(world.time.step_ns), 1) / 1e9,
        "integrator": integrator_number(physics.integrator),
        "gravity": physics.gravity,
    }


def _same(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=1e-9, atol=0.0))


def _shown(key: str, value: Any) -> str:
    if key == "integrator":
        return next(name for name in INTEGRATORS if integrator_number(name) == int(value))
    return str(value.tolist()) if isinstance(value, np.ndarray) else f"{value:g}"


def _at(place: Place, message: str) -> Problem:
    return Problem(place.where, place.key, message)
