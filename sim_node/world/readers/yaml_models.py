"""Joints in world files: where those of an included model start, whether its base floats, and `actuators`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_node.geometry import quaternions
from sim_node.geometry.arrays import FloatArray
from sim_node.world.bodies import Actuator
from sim_node.world.body_checks import MAX_MASS
from sim_node.world.joints import Q_SIZES, LinkJoint
from sim_node.world.model import MAX_DISTANCE, World
from sim_node.world.models import Model, Start
from sim_node.world.problems import WorldError
from sim_node.world.readers.floating import set_floating
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_poses import MENDED, ROUNDING
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import FALSE, TRUE, Table, Value

MODEL_KEYS = ("q", "keyframe", "free")
ACTUATOR_KEYS = ("joint", "stiffness", "damping", "force", "target", "amplitude", "period", "phase")


def read_start(world: World, table: Table) -> World:
    """The included world with its model as the entry's keys have it."""
    values = [value for key in MODEL_KEYS if (value := table.get(key)) is not None]
    if not values:
        return world
    if len(world.models) != 1:
        values[0].error("is for an MJCF or URDF model, which this file is not")
        return world
    model = world.models[0]
    free, keyframe, q = table.get("free"), table.get("keyframe"), table.get("q")
    if free is not None:
        wanted = free.choice((*TRUE, *FALSE), "false") in TRUE
        try:
            model = set_floating(model, wanted)
        except WorldError as error:
            for problem in error.problems:
                free.error(problem.message)
    if keyframe is not None:
        model = replace(model, start=_keyframe(keyframe, model))
    if q is not None:
        model = replace(model, start=replace(model.start, q={**model.start.q, **_positions(q, model)}))
    return replace(world, models=(model,))


def _keyframe(value: Value, model: Model) -> Start:
    if not model.keyframes:
        value.error("the model has no keyframes")
        return model.start
    return model.keyframes[value.choice(model.keyframes, next(iter(model.keyframes)))]


def _positions(value: Value, model: Model) -> dict[str, FloatArray]:
    """q by joint: a number for a slide or hinge, lists for the others."""
    joints = {joint.name: joint for joint in model.joints()}
    table = value.table(tuple(joints))
    found = {}
    for name, joint in joints.items():
        given = table.get(name)
        q = None if given is None else _position(given, joint)
        if q is not None:
            found[name] = q
    return found


def _position(value: Value, joint: LinkJoint) -> FloatArray | None:
    size = Q_SIZES[joint.kind]
    if size == 1:
        number = value.number(-MAX_DISTANCE, MAX_DISTANCE) if isinstance(value.node, Scalar) else None
        if number is None:
            value.error(f"a number is needed for a {joint.kind} joint, found {value.found()}")
            return None
        if joint.limits is not None and not joint.limits[0] <= number <= joint.limits[1]:
            low, high = joint.limits
            value.warning(f"{number:g} is beyond the joint's limits, {low:g} to {high:g}")
        return np.array([number])
    numbers = value.vector(size, MAX_DISTANCE)
    if numbers is None:
        return None
    q = np.array(numbers)
    norm = float(np.linalg.norm(q[-4:]))
    if abs(norm - 1.0) > MENDED:
        value.error(f"the quaternion's norm is {norm:.7g}, a rotation needs 1")
        return None
    if abs(norm - 1.0) > ROUNDING:
        q[-4:] = quaternions.normalise(q[-4:])
    return q


@section("actuators")
@section("drives")  # what the key was called before
def read_actuators(value: Value, context: Context) -> None:
    """Read a list of actuators, a joint each."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(ACTUATOR_KEYS, required=("joint", "stiffness"))
        joint, force = table.get("joint"), table.get("force")
        name = "" if joint is None else joint.text()
        actuator = Actuator(
            joint=name,
            stiffness=_number(table, "stiffness", 0.0, low=0.0),
            damping=_number(table, "damping", 0.0, low=0.0),
            force=None if force is None else force.number(0.0, MAX_MASS),
            target=_number(table, "target", 0.0),
            amplitude=_number(table, "amplitude", 0.0),
            period=_number(table, "period", 1.0, low=1e-6),
            phase=_number(table, "phase", 0.0),
            place=entry.place if joint is None else joint.place,
        )
        if len(entry.report.errors) == errors:
            context.add(actuator)


def _number(table: Table, key: str, default: float, low: float = -MAX_MASS) -> float:
    value = table.get(key)
    return default if value is None else value.number(low, MAX_MASS)
