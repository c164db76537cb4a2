"""The units of vehicles that fail, in the words of MAVLink's FAILURE_UNIT, and what that does to motors."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sim_node.extensions.scenario.acting import JointEffect, begin, end, lasting, vehicle_of
from sim_node.extensions.scenario.effects import Lasting, effect
from sim_node.extensions.scenario.timetable import timetable_of
from sim_node.randomness import stream
from sim_node.simulation import Simulation
from sim_node.text import did_you_mean

# The types of sensors that are a unit, and the channels that belong to it; None for all.
SENSORS: Mapping[str, tuple[tuple[str, ...], tuple[int, ...] | None]] = {
    "gyro": (("imu",), (0, 1, 2)),
    "accel": (("imu",), (3, 4, 5)),
    "mag": (("magnetometer",), None),
    "baro": (("barometer",), None),
    "gps": (("gps",), None),
    "optical_flow": (("optical_flow",), None),
    "distance_sensor": (("rangefinder",), None),
    "airspeed": (("airspeed",), None),
    "camera": (("camera",), None),
}
MOTORS = ("motor", "propeller", "servo")


class FailingUnit(NamedTuple):
    """A unit of a vehicle: its kind, the vehicle or joint, and its number, from 1; 0 for all of the kind."""

    kind: str
    of: str
    instance: int


def fail_unit(run: Simulation, unit: FailingUnit, type: str, seconds: float, numbers: Mapping[str, Any]) -> str:
    """Let motors, propellers or a servo fail.

    A motor that is off or intermittent stands, a stuck one keeps its command, and garbage commands are random; `wrong`
    multiplies the command by the factor, or what is left of a propeller. Raises ValueError for what cannot fail so.

    Returns:
        What was done.
    """
    if unit.kind == "servo":
        return _fail_servo(run, unit, type, seconds, numbers)
    vehicle = vehicle_of(run, unit.of)
    handle = run.vehicles[vehicle]
    if handle.drives:
        raise ValueError(f"{vehicle!r} drives on wheels; its motors are servos: name the joint of one")
    count = len(handle.speeds)
    if unit.instance > count:
        raise ValueError(f"{vehicle!r} has {count} motors, and no number {unit.instance}")
    rotors = range(count) if not unit.instance else [unit.instance - 1]
    for rotor in rotors:
        of = f"{vehicle} {rotor}"
        if type == "ok":
            end(run, unit.kind, of)
            continue
        stuck = float(handle.command[rotor]) if type == "stuck" else math.nan
        begin(run, unit.kind, of, seconds, vehicle=vehicle, rotor=rotor, type=type, stuck=stuck, **numbers)
    which = f"{unit.kind} {unit.instance}" if unit.instance else f"all {unit.kind}s"
    return f"{which} of {vehicle}: {'sound' if type == 'ok' else type}{lasting(seconds)}"


@effect("motor", "propeller")
class _Rotor(JointEffect):
    """A motor that fails, or a propeller that has lost blades. Both may: each keeps what the other has set."""

    kinds = ("motor", "propeller")

    def act(self, run: Simulation, of: Lasting, every: Sequence[Lasting]) -> None:
        """Set what is left of the rotor at the next step."""
        settings: dict[str, float] = {}
        for each in (each for each in every if each.of == of.of):
            settings |= _motor(each, run) if each.kind == "motor" else {"blades": _blades(each)}
        run.vehicles[of.arguments["vehicle"]].fail(of.arguments["rotor"], **settings)


def _motor(failure: Lasting, run: Simulation) -> dict[str, float]:
    """Return what is left of a motor's command."""
    type, numbers = failure.arguments["type"], failure.arguments
    if type == "off":
        return {"gain": 0.0}
    if type == "stuck":
        return {"stuck": numbers["stuck"]}
    if type == "wrong":
        return {"gain": numbers["gain"]}
    if type == "garbage":
        return {"stuck": _drawn(failure, run)}
    if type == "intermittent":
        return {"gain": 0.0 if _drawn(failure, run) < numbers["share"] else 1.0}
    raise ValueError(f"a motor cannot be {type}; allowed: off, stuck, garbage, wrong, intermittent")


def _blades(failure: Lasting) -> float:
    """Return the part that is left of a propeller."""
    type, numbers = failure.arguments["type"], failure.arguments
    if type == "off":
        return 0.0
    if type == "wrong":
        return float(numbers["gain"])
    raise ValueError(f"a propeller cannot be {type}; allowed: off (it is gone), wrong (a factor of its thrust)")


def _drawn(failure: Lasting, run: Simulation) -> float:
    return float(stream(timetable_of(run).seed, failure.of, f"{failure.kind} {run.steps}").random())


def _fail_servo(run: Simulation, unit: FailingUnit, type: str, seconds: float, numbers: Mapping[str, Any]) -> str:
    """Let the actuator of a joint fail."""
    names = [actuator.joint for actuator in run.world.actuators]
    if unit.of not in names:
        known = ", ".join(names) or "none"
        raise ValueError(f"no actuated joint {unit.of!r}{did_you_mean(unit.of, names)} (known: {known})")
    if type == "ok":
        end(run, "servo", unit.of)
        return f"servo of {unit.of}: sound"
    if type not in ("off", "stuck", "wrong"):
        raise ValueError(f"a servo cannot be {type}; allowed: off, stuck, wrong (a factor of its force)")
    begin(run, "servo", unit.of, seconds, type=type, gain=numbers["gain"])
    return f"servo of {unit.of}: {type}{lasting(seconds)}"
