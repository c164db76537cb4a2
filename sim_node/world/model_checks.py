"""Whether models can be simulated: what carries them, and which options of theirs the world overrides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.model import World
from sim_node.world.model_settings import SETTINGS, adopted_settings, contradicting_settings, is_same
from sim_node.world.models import Model, Start, links_of
from sim_node.world.mujoco_source import default_options, integrator_number
from sim_node.world.part import FrameEntry, Kind, Refer, Rename, part
from sim_node.world.physics import INTEGRATORS, Physics
from sim_node.world.problems import Place, Problem, quoted
from sim_node.world.writers.values import one_or_more


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
            if key in here and key not in SETTINGS and not is_same(value, here[key])
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


def _shown(key: str, value: Any) -> str:
    if key == "integrator":
        return next(name for name in INTEGRATORS if integrator_number(name) == int(value))
    return str(value.tolist()) if isinstance(value, np.ndarray) else f"{value:g}"


def _at(place: Place, message: str) -> Problem:
    return Problem(place.where, place.key, message)


@part("models", Model)
class ModelParts(Kind[Model]):
    """Models that are kept whole, from MJCF or URDF."""

    section = "include"

    def entries(self, world: World) -> Iterator[FrameEntry]:
        """Return the links. Problems of the first ones' parent are located where the model is attached."""
        for model in self.parts(world):
            for link in links_of(model):
                yield FrameEntry(link.name, link.parent, link, link.link.place, model.parent_place, link)

    def data(self, part: Model, refer: Refer) -> dict[str, Any]:
        """Return the include of its file, and the initial state of its joints."""
        found = ((name, state) for name, state in part.keyframes.items() if _begins_at(part.start, state))
        keyframe, begin = next(found, ("", Start()))
        q = _changed(part.start.q, begin.q)
        qd = _changed(part.start.qd, begin.qd)
        data = {"file": refer(part.files[0]) if part.files else "", "prefix": part.prefix, "parent": part.parent}
        return {
            **data,
            "free": part.floats(),
            **({"keyframe": keyframe} if keyframe else {}),
            **({"q": q} if q else {}),
            **({"qd": qd} if qd else {}),
            **part.read_with,
        }

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every problem of their parents."""
        return model_problems(world)

    def renamed(self, part: Model, rename: Rename) -> Model:
        """Return it below the prefix, with the location of the include."""
        prefix = rename.under(part.prefix).strip("/")
        return replace(part, prefix=prefix, place=rename.place, **rename.below(part))


def _begins_at(start: Start, keyframe: Start) -> bool:
    """Return whether a start is a keyframe, apart from the state of joints."""
    same = replace(start, q={}, qd={}, followers={}) == replace(keyframe, q={}, qd={})
    return same and keyframe.q.keys() <= start.q.keys() and keyframe.qd.keys() <= start.qd.keys()


def _changed(state: Mapping[str, FloatArray], begin: Mapping[str, FloatArray]) -> dict[str, Any]:
    """Return what a start sets differently from a keyframe, by joint."""
    changed = {joint: value for joint, value in state.items() if not np.array_equal(value, begin.get(joint, ()))}
    return {joint: one_or_more(value) for joint, value in changed.items()}
