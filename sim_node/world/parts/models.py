"""Models from MJCF and URDF, actuators of joints and their commands, as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.joint_checks import actuator_problems
from sim_node.world.joint_motion import Actuator
from sim_node.world.model import World
from sim_node.world.model_checks import model_problems
from sim_node.world.models import Model, Start, links_of
from sim_node.world.part import Entry, Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.readers.yaml_section import listed
from sim_node.world.writers.values import one_or_more


@part("models", Model)
class Models(Kind[Model]):
    """Models that are kept whole, from MJCF or URDF."""

    section = "include"

    def entries(self, world: World) -> Iterator[Entry]:
        """Return the links. Problems of the first ones' parent are located where the model is attached."""
        for model in self.parts(world):
            for link in links_of(model):
                yield Entry(link.name, link.parent, link, link.link.place, model.parent_place, link)

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


@part("actuators", Actuator)
class Actuators(Kind[Actuator]):
    """Actuators of joints."""

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of joints and numbers."""
        return actuator_problems(world)

    def renamed(self, part: Actuator, rename: Rename) -> Actuator:
        """Return it on the same joint."""
        return replace(part, joint=rename.under(part.joint), name=rename.under(part.name) if part.name else "")


listed("actuators", "Actuators of joints.", Actuator)
