"""Joints in world files: limits, stops and mimics, and the sections `actuators` and `joint_commands`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sim_node.geometry.arrays import FloatArray
from sim_node.world.body_checks import MAX_MASS
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.joint_commands import ACCEPTED, JointCommands
from sim_node.world.joint_motion import (
    ACTUATOR_TYPES,
    UNLIMITED,
    Actuator,
    Mimic,
    Stop,
    beyond,
    limit_fault,
)
from sim_node.world.joints import JointType
from sim_node.world.problems import shown_key
from sim_node.world.readers.keys import Keys, by_name, choice, either, flag, listing, number, text
from sim_node.world.readers.numbers import NON_FINITE
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context, section
from sim_node.world.readers.yaml_values import NULL, Table, Value, boolean
from sim_node.world.transmissions import Transmission

# Keys of a joint besides those of its state and of forces per degree of freedom.
MAX_STIFFNESS = 1e12
STOP_KEYS = Keys(
    {
        "stiffness": number("N/m or N m/rad.", high=MAX_STIFFNESS, above=0.0),
        "damping": number("N s/m or N m s/rad.", 0.0, MAX_STIFFNESS),
        "capped": flag("Whether a stop that is stiffer than the timestep allows is as stiff as it does allow."),
    },
    required=("stiffness",),
    about="How limits give way.",
)
MIMIC_KEYS = Keys(
    {
        "joint": text("The joint that this one follows."),
        "multiplier": number("Factor of its position.", -MAX_DISTANCE, MAX_DISTANCE),
        "offset": number("Added to its position, m or rad.", -MAX_MASS, MAX_MASS),
    },
    required=("joint",),
    about="The joint follows another one.",
)
# Limits may be infinite, which no range of JSON Schema says.
_BOUND = {"type": "number"}
_LIMITS = listing("", _BOUND, 2, 2)
_PART_LIMITS = listing("", either("", _LIMITS, {"type": "null"}))
LIMITS = either("[low, high], m or rad, or one for each part of the joint.", _LIMITS, _PART_LIMITS)
MOTION_KEYS = Keys(
    {
        "limits": LIMITS,
        "stop": STOP_KEYS,
        "mimic": MIMIC_KEYS,
    }
)
_TARGET = number("", -MAX_MASS, MAX_MASS)
ACTUATOR_KEYS = Keys(
    {
        "joint": text("The joint that it moves, by the name of its body."),
        "type": choice("What it controls.", ACTUATOR_TYPES),
        "stiffness": number("Gain on the position, N/m or N m/rad.", 0.0, MAX_STIFFNESS),
        "damping": number("Gain on the speed, N s/m or N m s/rad.", 0.0, MAX_STIFFNESS),
        "force": either(
            "Maximum force or torque in both directions, or [least, largest], N or N m.",
            number("", 0.0, MAX_MASS),
            _LIMITS,
        ),
        "speed": number("Maximum speed of the target, m/s or rad/s.", high=MAX_MASS, above=0.0),
        "target": {**_TARGET, "description": "The target without a command: position, speed or effort."},
        "amplitude": {**_TARGET, "description": "Amplitude of a sine around the target."},
        "period": number("Period of the sine, s.", 1e-6, MAX_MASS),
        "phase": {**_TARGET, "description": "Phase of the sine, rad."},
        "implicit": flag("Whether the motion at the end of the timestep determines the force: for any gain."),
        "name": text("The name of one of several actuators."),
        "engagement": number("How much of its limits of force it has from the start.", 0.0, 1.0),
        "ramp": listing("How long it takes to engage and to disengage, s.", number("", 0.0, MAX_MASS), 2, 2),
        "hold": STOP_KEYS,
    },
    required=("joint",),
    # As controllers name gains.
    aliases={"kp": "stiffness", "kv": "damping"},
)
TRANSMISSION_KEYS = Keys(
    {
        "name": text("What actuators call it."),
        "joints": by_name("Coefficients of the positions of joints.", number("", -MAX_MASS, MAX_MASS)),
        "held": flag("Whether the sum stays what it is at the start."),
    },
    required=("name", "joints"),
)
COMMAND_KEYS = Keys(
    {
        "name": text("Name of the group, in its topics."),
        "joints": listing("The joints that are commanded; all, if none are named.", text("")),
        "accept": listing("Which commands it takes.", choice("", ACCEPTED)),
        "timeout": number("How long a command holds, s.", 0.0, MAX_MASS),
        "path_tolerance": number("Maximum deviation on the way, m or rad.", 0.0, MAX_MASS),
        "goal_tolerance": number("Maximum deviation at the goal, m or rad.", 0.0, MAX_MASS),
        "goal_time": number("How late the goal may be reached, s.", 0.0, MAX_MASS),
    }
)
# What the force of each type is made of.
_GAINS = {"position": ("stiffness",), "velocity": ("damping",), "effort": ()}


def read_motion(table: Table, joint: JointType, q: FloatArray | None) -> dict[str, Any]:
    """Read limits, stop and mimic of a joint, as fields of a Body.

    Args:
        table: The joint's mapping.
        joint: Its type.
        q: The initial position, if the file gives one.

    Returns:
        The fields.
    """
    limits, stop, mimic = (table.get(key) for key in MOTION_KEYS)
    found: dict[str, Any] = {}
    if limits is not None:
        found["limits"] = rows = read_limits(limits, joint)
        start, at = (q, table.get("q")) if q is not None else (joint.neutral(), limits)
        if rows is not None and at is not None and (fault := beyond(joint, rows, start)):
            at.error(fault if q is not None else f"do not contain the initial position: {fault}; set q")
    if stop is not None:
        if limits is None:
            stop.error("a joint without limits has no stops; give it limits: [low, high]")
        found["stop"] = read_stop(stop)
    if mimic is not None:
        if joint.qd_size != 1:
            mimic.error(f"only a joint with one degree of freedom can follow another one; a {joint.name} joint cannot")
        found["mimic"] = _mimic(mimic)
    return found


def read_limits(value: Value, joint: JointType) -> FloatArray | None:
    """Read [low, high], or a list with that or nothing for each of several parts."""
    parts = joint.parts
    if not parts:
        value.error("a frozen joint does not move and has no limits")
        return None
    rows = [value] if len(parts) == 1 else list(value.items())
    if len(rows) != len(parts):
        kinds = ", ".join(part.kind for part in parts)
        if isinstance(value.node, Sequence):
            value.error(f"a {joint.name} joint has {len(parts)} parts ({kinds}), found limits of {len(rows)}")
        return None
    pairs = [_pair(row, optional=len(rows) > 1) for row in rows]
    limits = np.array([UNLIMITED if pair is None else pair for pair in pairs])
    if None in pairs:
        return None
    if fault := limit_fault(joint, limits):
        value.error(fault)
        return None
    return limits


def _pair(value: Value, *, optional: bool) -> tuple[float, float] | None:
    """Read [low, high]; nothing stands for no limits where that is possible. Return None with the fault recorded."""
    node = value.node
    if optional and isinstance(node, Scalar) and node.plain and node.text in NULL:
        return UNLIMITED
    if not isinstance(node, Sequence) or len(node.items) != 2:
        value.error(f"[low, high] is needed, found {value.found()}")
        return None
    low, high = (_bound(item) for item in value.items())
    return None if math.isnan(low) or math.isnan(high) else (low, high)


def _bound(value: Value) -> float:
    """Read a finite number or an infinity; NaN with the fault recorded."""
    node = value.node
    if isinstance(node, Scalar) and node.plain and node.text.lower() in NON_FINITE:
        number = float(node.text.lower().replace(".", ""))
        if not math.isnan(number):
            return number
    return value.number(-MAX_DISTANCE, MAX_DISTANCE, default=math.nan)


def read_stop(value: Value) -> Stop | None:
    """Read the springs at limits. Return None with the fault recorded."""
    table = value.table(STOP_KEYS)
    stiffness, damping = table.get("stiffness"), table.get("damping")
    if stiffness is None:
        return None
    return Stop(
        _above_zero(stiffness, MAX_STIFFNESS),
        None if damping is None else damping.number(0.0, MAX_STIFFNESS),
        capped=boolean(table, "capped", default=False),
    )


def _mimic(value: Value) -> Mimic | None:
    table = value.table(MIMIC_KEYS)
    joint = table.get("joint")
    if joint is None:
        return None
    multiplier = _number(table, "multiplier", 1.0, low=-MAX_DISTANCE, high=MAX_DISTANCE)
    return Mimic(joint.text(), multiplier, _number(table, "offset", 0.0), joint.place)


@section("actuators", listing("Actuators of joints.", ACTUATOR_KEYS))
def read_actuators(value: Value, context: Context) -> None:
    """Read a list of actuators."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(ACTUATOR_KEYS)
        kind = table.choice("type", ACTUATOR_TYPES, "position")
        joint, force, speed, name = (table.get(key) for key in ("joint", "force", "speed", "name"))
        engagement, ramp, hold = (table.get(key) for key in ("engagement", "ramp", "hold"))
        durations = None if ramp is None else ramp.vector(2)
        if len(entry.report.errors) == errors:
            for key in _GAINS[kind]:
                if key not in table:
                    entry.error(f"{key} is missing")
        actuator = Actuator(
            joint="" if joint is None else joint.text(),
            stiffness=_number(table, "stiffness", 0.0, low=0.0, high=MAX_STIFFNESS),
            damping=_number(table, "damping", 0.0, low=0.0, high=MAX_STIFFNESS),
            force=None if force is None else _force(force),
            target=_number(table, "target", 0.0),
            amplitude=_number(table, "amplitude", 0.0),
            period=_number(table, "period", 1.0, low=1e-6),
            phase=_number(table, "phase", 0.0),
            type=kind,
            speed=None if speed is None else _above_zero(speed, MAX_MASS),
            implicit=boolean(table, "implicit", default=False),
            name="" if name is None else name.text(),
            engagement=1.0 if engagement is None else engagement.number(0.0, 1.0),
            ramp=(0.0, 0.0) if durations is None else (durations[0], durations[1]),
            hold=None if hold is None else read_stop(hold),
            place=entry.place if joint is None else joint.place,
        )
        if len(entry.report.errors) == errors:
            for key, message in actuator.faults():
                (table.get(key) or entry).error(message)
        if len(entry.report.errors) == errors:
            context.add(actuator)


def _force(value: Value) -> float | tuple[float, float]:
    """Read a limit in both directions, or [least, largest]."""
    if not isinstance(value.node, Sequence):
        return value.number(0.0, MAX_MASS)
    return _pair(value, optional=False) or UNLIMITED


@section("transmissions", listing("Sums of joint positions: gears, differentials, clutches.", TRANSMISSION_KEYS))
def read_transmissions(value: Value, context: Context) -> None:
    """Read a list of transmissions."""
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(TRANSMISSION_KEYS)
        name, joints = (table.get(key) for key in ("name", "joints"))
        held = boolean(table, "held", default=True)
        terms: list[tuple[str, float]] = []
        if joints is not None and not isinstance(joints.node, Mapping):
            joints.error(f"a mapping of joints to coefficients is needed, found {joints.found()}")
        elif joints is not None:
            for joint, (_, node) in joints.node.entries.items():  # type: ignore[union-attr]
                term = Value(node, joints.report, shown_key(joint), joints)
                terms.append((joint, term.number(-MAX_MASS, MAX_MASS)))
        if len(entry.report.errors) == errors and name is not None:
            context.add(Transmission(name.text(), tuple(terms), held, name.place))


@section("joint_commands", listing("Topics on which joints are commanded.", COMMAND_KEYS))
def read_joint_commands(value: Value, context: Context) -> None:
    """Read a list of groups of joints that are commanded on topics."""
    default = JointCommands()
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(COMMAND_KEYS)
        name, joints, accept = (table.get(key) for key in ("name", "joints", "accept"))
        numbers = {key: _number(table, key, getattr(default, key), low=0.0) for key in list(COMMAND_KEYS)[3:]}
        words = default.accept if accept is None else tuple(each.choice(ACCEPTED, "") for each in accept.items())
        group = JointCommands(
            name="" if name is None else name.text(),
            joints=() if joints is None else tuple(each.text() for each in joints.items()),
            accept=words,
            place=entry.place,
            **numbers,
        )
        if len(entry.report.errors) == errors:
            context.add(group)


def _number(table: Table, key: str, default: float, low: float = -MAX_MASS, high: float = MAX_MASS) -> float:
    value = table.get(key)
    return default if value is None else value.number(low, high)


def _above_zero(value: Value, high: float) -> float:
    """Read a number above zero."""
    errors = len(value.report.errors)
    number = value.number(0.0, high)
    if number == 0.0 and len(value.report.errors) == errors:
        value.error(f"0 is out of range; allowed: above 0, up to {high:g}")
    return number
