"""Conversion of 1-DOF interactions to actuators: motors, springs, friction, gears, clutches and brakes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeGuard

from sim_node.extensions.openplx.models import Fault
from sim_node.extensions.openplx.objects import Object
from sim_node.extensions.openplx.parts import line_of, value_of
from sim_node.extensions.openplx.values import Undefined, with_article
from sim_node.registry import Registry
from sim_node.world.joint_motion import RELAXATION, RIGID, Stop

# The default stiffness of a spring, N/m or N m/rad, as in LinearElastic.
STIFFNESS = 1e8


class Ignored(Exception):
    """An object of a known type has no effect; the message says why."""


@dataclass(frozen=True)
class Law:
    """The effect of an interaction along one coordinate.

    Attributes:
        actuator: Fields of its Actuator, except joint, name and limits; None for no actuator.
        coordinate: "linear" or "rotational" in space, "shafts" for a linear combination of shaft angles.
        coefficients: Coefficients of the shaft angles; None for 1 and -1.
        held: Whether the linear combination of angles is held constant.
        last_alone: Whether the actuator acts between the last shaft and the world, as in brakes.
        lock: Fields of an Actuator between the last two shafts, as in differentials.
    """

    actuator: dict[str, Any] | None
    coordinate: str
    coefficients: tuple[float, ...] | None = None
    held: bool = False
    last_alone: bool = False
    lock: dict[str, Any] | None = None


LAWS: Registry[str, Callable[[Object], Law]] = Registry(
    "interaction", shipped=("sim_node.extensions.openplx.interactions",)
)
# Decorator that registers the law of a type of interaction. Derived types without an entry of their own inherit it.
law = LAWS.add


def law_of(of: Object) -> Law | None:
    """Return the law of an interaction, or None for a type without an entry. Raises Fault and Ignored."""
    make = next((LAWS[model.name] for model in reversed(of.model.lineage) if model.name in LAWS), None)
    return None if make is None else make(of)


def forces_of(of: Object) -> tuple[float, float] | None:
    """Return the effort limits of an interaction, or None if it has none."""
    low, high = (_real(of, name) for name in ("min_effort", "max_effort"))
    if low > high:
        raise Fault(line_of(of, "max_effort", "min_effort"), f"max_effort {high:g} is below min_effort {low:g}")
    return None if (low, high) == (-math.inf, math.inf) else (low, high)


def range_of(of: Object) -> tuple[tuple[float, float], Stop | None]:
    """Return the ends of a range and its stop; the stop is None if it is as stiff as the timestep allows."""
    ends = _real(of, "start"), _real(of, "end")
    if not ends[0] < ends[1]:
        raise Fault(line_of(of, "end", "start"), f"end {ends[1]:g} must be above start {ends[0]:g}")
    flexibility = of.value("flexibility")
    if not is_interaction(flexibility, "Flexibility.LinearElastic"):
        return ends, None
    stiffness = stiffness_of(of, "flexibility")
    return ends, Stop(stiffness, damping_of(of, "dissipation", stiffness), capped=True)


def friction_of(of: Object, name: str) -> tuple[float, float] | float:
    """Return the dry friction of a mate, N or N m, or the range of its force if it depends on the direction.

    Friction opposes motion: `positive_limit`, the limit for motion in the positive direction, bounds a negative force.

    Raises Ignored for friction that depends on the forces in the mate.
    """
    dissipation = "Physics.Interactions.Dissipation."

    def is_default() -> bool:
        found = of.value(name)
        return not isinstance(found, Object) or found.kind == f"{dissipation}DefaultFriction"

    if not of.has(name) or of.learn("frictionless", name, is_default):
        return 0.0
    friction = of.value(name)
    if friction.is_a(f"{dissipation}ConstantLimitFriction"):
        return above(friction, "limit")
    if friction.is_a(f"{dissipation}AsymmetricLimitFriction"):
        return -above(friction, "positive_limit"), abs(value_of(friction, "negative_limit"))
    if friction.is_a(f"{dissipation}DryConstantNormalForceFriction"):
        return above(friction, "coefficient") * above(friction, "normal_force")
    raise Ignored(f"{with_article(friction.kind)} of {with_article(of.kind)} is not simulated")


def is_interaction(value: object, kind: str) -> TypeGuard[Object]:
    """Return whether a value is an object of a given type of the bundle Physics.Interactions."""
    return isinstance(value, Object) and value.is_a(f"Physics.Interactions.{kind}")


def stiffness_of(of: Object, name: str) -> float:
    """Return the stiffness of a flexibility attribute, N/m or N m/rad."""
    flexibility = of.value(name)
    if is_interaction(flexibility, "Flexibility.LinearElastic"):
        return above(flexibility, "stiffness")
    return RIGID if is_interaction(flexibility, "Flexibility.Rigid") else STIFFNESS


def damping_of(of: Object, name: str, stiffness: float) -> float:
    """Return the damping of a dissipation attribute with a given stiffness, N s/m or N m s/rad."""
    constant, time = relaxation_of(of, name) or (None, RELAXATION)
    return time * stiffness if constant is None else constant


def relaxation_of(of: Object, name: str) -> tuple[float | None, float] | None:
    """Return the damping constant (N s/m, N m s/rad) or relaxation time (s) of a dissipation; None without either."""
    dissipation = of.value(name)
    if is_interaction(dissipation, "Dissipation.MechanicalDamping"):
        return above(dissipation, "damping_constant"), 0.0
    if is_interaction(dissipation, "Dissipation.ConstraintRelaxationTimeDamping"):
        return None, above(dissipation, "relaxation_time")
    return None


# Laws, between two connectors in space

_SPACE = "Physics3D.Interactions"


def _velocity(of: Object, gain: float) -> dict[str, Any]:
    hold = None
    if of.get("zero_speed_as_spring") is True:
        stiffness = stiffness_of(of, "zero_speed_spring_flexibility")
        hold = Stop(stiffness, damping_of(of, "zero_speed_spring_dissipation", stiffness))
    if gain <= 0.0:
        raise Ignored(f"{with_article(of.kind)} with a gain of {gain:g} has no effect")
    return {"type": "velocity", "damping": gain, "target": value_of(of, "target_speed"), "implicit": True, "hold": hold}


def _gain(of: Object) -> float:
    """Return the gain of a motor. Without a gain, the motor is as stiff as the timestep allows."""
    return float(value_of(of, "gain")) if of.given("gain") else RIGID


def _spring(of: Object, rest: str) -> dict[str, Any]:
    stiffness = stiffness_of(of, "flexibility")
    damping = damping_of(of, "dissipation", stiffness)
    return {"stiffness": stiffness, "damping": damping, "target": value_of(of, rest), "implicit": True}


# and between shafts


@law("DriveTrain.Gear")
def _gear(of: Object) -> Law:
    return _geared(of, _ratio(of, "ratio"))


@law("DriveTrain.ViscousGear")
def _viscous_gear(of: Object) -> Law:
    viscosity = _real(of.value("dissipation"), "viscosity")
    if math.isinf(viscosity):  # a rigid coupling
        return _gear(of)
    spring = {"type": "velocity", "damping": above(of.value("dissipation"), "viscosity"), "implicit": True}
    return Law(spring, "shafts", (1.0, -_ratio(of, "ratio")))


@law("DriveTrain.GearBox")
def _gear_box(of: Object) -> Law:
    selected, ratios = _initial_gear(of), ratios_of(of)
    if selected == 0 and 0 not in ratios:
        raise Ignored(f"{with_article(of.kind)} in neutral transmits nothing, and no signal changes its gear")
    if selected not in ratios:
        raise Fault(line_of(of, "initial_gear"), f"there is no gear {selected}")
    return _geared(of, ratios[selected])


def shifted_gears(of: Object) -> dict[int, Law]:
    """Return the law of each gear of a gear box; only the initial gear is engaged. A ratio of 0 transmits nothing."""
    drive: dict[str, Any] = {"type": "velocity", "damping": RIGID, "implicit": True}
    engaged = _initial_gear(of)
    return {
        gear: Law({**drive, "engagement": float(gear == engaged)}, "shafts", (1.0, -ratio))
        for gear, ratio in ratios_of(of).items()
        if ratio != 0.0
    }


def _initial_gear(of: Object) -> int:
    selected = of.value("initial_gear")
    return int(selected) if isinstance(selected, (int, float)) else 0


def ratios_of(of: Object) -> dict[int, float]:
    """Return the ratios of a gear box by gear: forward from 1 (0 without a neutral gear), reverse from -1 down.

    Forward ratios are made positive, and reverse ratios negative.
    """
    forward, reverse = (of.value(name) for name in ("forward_gears", "reverse_gears"))
    first = 0 if of.value("has_neutral_gear") is False else 1
    found = {first + k: abs(float(ratio)) for k, ratio in enumerate(forward if isinstance(forward, list) else ())}
    found.update({-1 - k: -abs(float(r)) for k, r in enumerate(reverse if isinstance(reverse, list) else ())})
    return found


def _ratio(of: Object, name: str) -> float:
    ratio = float(value_of(of, name))
    if ratio == 0.0:
        raise Fault(line_of(of, name), f"a {name} of 0 is no gear")
    return ratio


def _geared(of: Object, ratio: float) -> Law:
    if ratio == 0.0:
        raise Ignored(f"the gear of {with_article(of.kind)} has a ratio of 0, which transmits nothing")
    flexibility = of.get("flexibility")
    if is_interaction(flexibility, "Flexibility.LinearElastic"):
        stiffness = stiffness_of(of, "flexibility")
        spring = {"stiffness": stiffness, "damping": damping_of(of, "dissipation", stiffness), "implicit": True}
        return Law(spring, "shafts", (1.0, -ratio))
    return Law(None, "shafts", (1.0, -ratio), held=True)


@law("DriveTrain.Differential")
def _differential(of: Object) -> Law:
    half = _ratio(of, "gear_ratio") / 2.0
    locked = of.value("locked_up") is True
    lock: dict[str, Any] = {"type": "velocity", "damping": RIGID, "implicit": True, "engagement": float(locked)}
    slips = not locked and of.has("breakaway_torque")
    if slips and not isinstance(of.value("breakaway_torque"), Undefined):
        most = above(of, "breakaway_torque")
        lock |= {"force": (-most, most), "engagement": 1.0}
    return Law(None, "shafts", (1.0, -half, -half), held=True, lock=lock)


def _slipping(of: Object) -> dict[str, Any]:
    """Return the actuator fields of a clutch or a brake, whose engagement is a fraction of its capacity."""
    ramp = (0.0, 0.0)
    if of.has("initially_engaged"):  # an automatic clutch, either fully engaged or not at all
        fraction = 1.0 if of.value("initially_engaged") is True else 0.0
        ramp = above(of, "engagement_duration"), above(of, "disengagement_duration")
    else:
        fraction = of.value("initial_engagement_fraction")
    engagement = 1.0 if isinstance(fraction, Undefined) else value_of_fraction(of, fraction)
    return {"type": "velocity", "damping": RIGID, "implicit": True, "engagement": engagement, "ramp": ramp}


for _name, _law in {
    f"{_SPACE}.RotationalVelocityMotor": lambda of: Law(_velocity(of, _gain(of)), "rotational"),
    f"{_SPACE}.LinearVelocityMotor": lambda of: Law(_velocity(of, _gain(of)), "linear"),
    f"{_SPACE}.TorqueMotor": lambda of: Law({"type": "effort", "target": value_of(of, "default_torque")}, "rotational"),
    f"{_SPACE}.ForceMotor": lambda of: Law({"type": "effort", "target": value_of(of, "default_force")}, "linear"),
    f"{_SPACE}.TorsionSpring": lambda of: Law(_spring(of, "angle"), "rotational"),
    f"{_SPACE}.LinearSpring": lambda of: Law(_spring(of, "position"), "linear"),
    "Physics1D.Interactions.RotationalVelocityMotor": lambda of: Law(_velocity(of, RIGID), "shafts"),
    "DriveTrain.TorqueMotor": lambda of: Law({"type": "effort"}, "shafts"),
    "DriveTrain.ManualClutch": lambda of: Law(_slipping(of), "shafts"),
    "DriveTrain.ManualBrake": lambda of: Law(_slipping(of), "shafts", held=True, last_alone=True),
}.items():
    law(_name)(_law)


def capacity_of(of: Object) -> tuple[float, float] | None:
    """Return the limits of an interaction: the capacity of a clutch or brake, otherwise its effort limits."""
    if not of.has("torque_capacity"):
        return forces_of(of) if of.has("min_effort") else None
    capacity = of.value("torque_capacity")
    if isinstance(capacity, Undefined):
        return None
    most = above(of, "torque_capacity")
    return -most, most


def value_of_fraction(of: Object, fraction: Any) -> float:
    """Check and return an initial engagement, 0 to 1. Raises Fault."""
    if not isinstance(fraction, (int, float)) or not 0.0 <= fraction <= 1.0:
        raise Fault(line_of(of, "initial_engagement_fraction"), f"{fraction} is out of range; allowed: 0 to 1")
    return float(fraction)


def _real(of: Any, name: str) -> float:
    """Return an attribute that is a number and may be infinite. Raises Fault."""
    value = of.value(name)
    if isinstance(value, (int, float)) and not isinstance(value, bool) and not math.isnan(value):
        return float(value)
    return float(value_of(of, name))


def above(of: Object, name: str) -> float:
    """Return an attribute that is a number of zero or more. Raises Fault."""
    number = float(value_of(of, name))
    if number < 0.0:
        raise Fault(line_of(of, name), f"{name} {number:g} must be zero or more")
    return number
