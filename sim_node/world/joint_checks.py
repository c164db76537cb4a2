"""Whether joints can be limited, coupled and driven as a world describes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bodies import Body
from sim_node.world.declared import faults
from sim_node.world.joint_motion import Actuator
from sim_node.world.model import World
from sim_node.world.part import Kind, Rename, part
from sim_node.world.problems import NO_PLACE, Place, Problem, quoted, shown_key
from sim_node.world.readers.yaml_section import listed

# Of the positions that two coupled joints start at; rad or m.
AGREEMENT = 1e-6


def actuated_joints(world: World) -> dict[str, str]:
    """Return the joints with one degree of freedom by their names in the world, and what MuJoCo calls each."""
    joints = {
        model.full_name(joint.name): model.full_name(joint.name)
        for model in world.models
        for joint in model.joints()
        if joint.is_scalar
    }
    joints.update({body.name: f"{body.name}#0" for body in world.bodies if body.type.qd_size == 1})
    return joints


def driven_joints(world: World) -> dict[str, str]:
    """Return what actuators can move: `actuated_joints`, and BODY#K for the slides and hinges of other bodies."""
    joints = actuated_joints(world)
    for body in world.bodies:
        if body.type.qd_size > 1:
            parts = enumerate(body.type.parts)
            joints.update({f"{body.name}#{k}": f"{body.name}#{k}" for k, part in parts if part.kind != "ball"})
    return joints


def _start(body: Body) -> FloatArray:
    return np.asarray(body.type.neutral() if body.q is None else body.q)


def mimic_problems(world: World) -> Iterator[Problem]:
    """Yield joints that follow no joint, themselves in a circle, or a joint that does not start where they do."""
    joints = actuated_joints(world)
    bodies = {body.name: body for body in world.bodies}
    starts = {
        model.full_name(name): q for model in world.models for name, q in model.starts().items() if len(q) == 1
    } | {name: _start(bodies[name]) for name in joints if name in bodies}
    for body in world.bodies:
        mimic = body.mimic
        if mimic is None or body.type.qd_size != 1:
            continue

        def problem(message: str, body: Body = body) -> Problem:
            at = NO_PLACE if body.mimic is None else body.mimic.place
            if at == NO_PLACE:
                at = Place(body.place.where, f"{body.place.key or shown_key(body.name)}: mimic.joint")
            return Problem(at.where, at.key, message)

        if mimic.joint not in joints:
            hint = did_you_mean(mimic.joint, joints)
            yield problem(f"{quoted(mimic.joint)} is no joint with one degree of freedom{hint}")
        elif circle := _circle(body, bodies):
            yield problem(f"the joints follow each other in a circle: {' -> '.join(map(quoted, circle))}")
        else:
            needed = mimic.multiplier * float(starts[mimic.joint][0]) + mimic.offset
            begins = float(_start(body)[0])
            if abs(needed - begins) > AGREEMENT * max(1.0, abs(needed)):
                yield problem(f"{quoted(body.name)} starts at {begins:.9g}, and its mimic at {needed:.9g}; set its q")


def _circle(body: Body, bodies: dict[str, Body]) -> list[str]:
    """Return the names of the joints of a circle through a body; empty if there is none."""
    names = [body.name]
    for _ in range(len(bodies)):
        follower = bodies.get(names[-1])
        if follower is None or follower.mimic is None:
            return []
        names.append(follower.mimic.joint)
        if names[-1] == body.name:
            return names
    return []


def actuator_problems(world: World) -> Iterator[Problem]:
    """Yield every fault of a world's actuators."""
    transmissions = {each.name for each in world.transmissions}
    known = {*driven_joints(world), *transmissions}
    seen: set[tuple[str, str]] = set()
    for actuator in world.actuators:
        key = (actuator.name or actuator.joint, actuator.type)
        if actuator.joint not in known:
            hint = did_you_mean(actuator.joint, known)
            yield _of(actuator, "", f"{quoted(actuator.joint)} is no joint for an actuator{hint}")
        elif key in seen:
            message = f"a second actuator of {quoted(actuator.joint)} of type {actuator.type}; one of each is possible"
            yield _of(actuator, "", f"{message} without a name")
        seen.add(key)
        if actuator.speed is not None and not actuator.implicit and actuator.joint in transmissions:
            yield _of(actuator, "speed", "only implicit velocity actuators of transmissions have a limit of speed")
        yield from (_of(actuator, key, message) for key, message in faults(actuator))


def _of(actuator: Actuator, key: str, message: str) -> Problem:
    place = actuator.place
    entry = place.key.removesuffix(".joint") or f"actuators[{shown_key(actuator.joint)}]"
    return Problem(place.where, f"{entry}.{key}" if key else place.key or entry, message)


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
