"""Failures of sensors, motors, propellers and servos in the words of MAVLink, and disturbances by numbers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from sim_node.extensions.scenario.acting import (
    JointEffect,
    Seconds,
    action,
    begin,
    end,
    isolate,
    lasting,
    sensor_of,
    vehicle_of,
)
from sim_node.extensions.scenario.alterations import FAILURE_TYPES, SENSOR
from sim_node.extensions.scenario.effects import Effect, Lasting, effect
from sim_node.extensions.scenario.events import events_of, names_of
from sim_node.extensions.scenario.timetable import timetable_of
from sim_node.randomness import stream
from sim_node.simulation import Simulation
from sim_node.simulation.requests import Floats, NameOf, VehicleName
from sim_node.text import did_you_mean
from sim_node.world.quantities import Number, Whole, Word

# The types of sensors that are a unit, and the channels that belong to it; None for all.
SENSORS: Mapping[str, tuple[tuple[str, ...], list[int] | None]] = {
    "gyro": (("imu",), [0, 1, 2]),
    "accel": (("imu",), [3, 4, 5]),
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


Share = Annotated[float, Number(0.0, 1.0)]
Channels = Annotated[list[float], Floats((1, 2, 3, 6), "a number for all channels, or one for each")]


class _Types(Collection[str]):
    """The words of `fail`: ok, and the types of failures, those of plug-ins among them."""

    def __contains__(self, word: object) -> bool:
        return word == "ok" or word in FAILURE_TYPES

    def __iter__(self) -> Iterator[str]:
        yield "ok"
        yield from FAILURE_TYPES

    def __len__(self) -> int:
        return 1 + len(FAILURE_TYPES)


Type = Annotated[str, Word(_Types())]


@effect(SENSOR)
class _Altered(Effect):
    """An alteration of a sensor, which the timetable hands to the sensors of the run."""


def alter(run: Simulation, sensor: str, type: str, seconds: float = 0.0, **numbers: Any) -> None:
    """Let a sensor fail in a way, beside the others in which it fails.

    Args:
        run: The run.
        sensor: The sensor.
        type: An entry of FAILURE_TYPES.
        seconds: How long; 0 for as long as the run goes on.
        numbers: What is known of it, and `channels` for a part of the sensor.

    Raises:
        KeyError: There is no such sensor.
    """
    handle = run.sensors[sensor]
    part = "".join(map(str, numbers.get("channels") or ()))
    if handle.type == "gps" and (origin := run.world.origin) is not None:
        numbers["origin"] = (origin.latitude, origin.longitude, origin.altitude)
    size = len(numbers.get("channels") or handle.channels)
    allowed = (0, 1, 3, 6) if handle.type == "gps" else (0, 1, size)
    if len(given := numbers.get(type, ())) not in allowed:
        raise ValueError(f"{type}: {len(given)} numbers for {size} channels of {sensor!r}")
    begin(run, SENSOR, f"{sensor} {type}{part}", seconds, sensor=sensor, type=type, rate=handle.sensor.rate, **numbers)
    isolate(run, sensor)


def _sensor(run: Simulation, unit: str, of: str, instance: int) -> tuple[str, dict[str, list[int]]]:
    """Return the sensor that a unit is, and the channels that belong to it; none for all. Raises ValueError."""
    if unit in run.sensors:
        return unit, {}
    if unit not in SENSORS:
        raise ValueError(f"no sensor or unit {unit!r}{did_you_mean(unit, (*SENSORS, *MOTORS, *run.sensors))}")
    types, part = SENSORS[unit]
    return sensor_of(run, vehicle_of(run, of), types, instance), {} if part is None else {"channels": part}


def mend(run: Simulation, sensor: str) -> None:
    """Let a sensor be sound again."""
    for type in FAILURE_TYPES:
        for part in ("", "012", "345"):
            end(run, SENSOR, f"{sensor} {type}{part}")


@action("fail")
def fail(
    run: Simulation,
    /,
    unit: str,
    type: Type = "off",
    *,
    of: str = "",
    instance: Annotated[int, Whole(0, 100)] = 0,
    share: Share = 0.5,
    gain: Annotated[float, Number(-1e6, 1e6)] = 2.0,
    delay: Annotated[float, Number(0.0, 3600.0)] = 0.5,
    period: Annotated[float, Number(0.0, 3600.0)] = 1.0,
    seconds: Seconds = 0.0,
) -> str:
    """Let a sensor, a motor, a propeller or an actuator of a running node fail, or be sound again.

    Units and types are those of MAVLink's FAILURE_UNIT and FAILURE_TYPE. It is done to the data and the physics of the
    simulation, alike for all autopilots.

    Args:
        run: The run.
        unit: The name of a sensor, or a kind of unit of the vehicle: gyro, accel, mag, baro, gps, optical_flow,
            distance_sensor, airspeed, camera, motor, propeller, servo.
        type: How it fails (default: off); ok ends its failures.
        of: The vehicle (default: the only one), or the joint of a servo.
        instance: Which of the units of a kind, from 1; 0 for all motors, or the first sensor.
        share: Of intermittent, the part of the measurements that is lost.
        gain: Of wrong, what it is multiplied by.
        delay: Of delayed, how much later measurements come, s.
        period: Of slow, the time between two measurements, s.
        seconds: How long it lasts, s; 0 for as long as the run goes on.
    """
    numbers = {"share": share, "gain": gain, "delay": delay, "period": period}
    if unit in MOTORS:
        return fail_unit(run, FailingUnit(unit, of, instance), type, seconds, numbers)
    sensor, channels = _sensor(run, unit, of, instance)
    if type == "ok":
        mend(run, sensor)
        return f"{sensor} is sound"
    alter(run, sensor, type, seconds, **numbers, **channels)
    what = f"{unit} of {sensor}" if channels else sensor
    return f"{what} is {type}{lasting(seconds)}"


@action("disturb")
def disturb(
    run: Simulation,
    /,
    unit: str,
    *,
    of: VehicleName = "",
    instance: Annotated[int, Whole(0, 100)] = 0,
    bias: Channels | None = None,
    drift: Channels | None = None,
    noise: Channels | None = None,
    seconds: Seconds = 0.0,
) -> str:
    """Add errors to the measurements of a sensor of a running node.

    Numbers are in the units and along the axes of the sensor; of a GPS receiver in m east, north and up, and m/s.

    Args:
        run: The run.
        unit: The name of a sensor, or a kind of unit of the vehicle, as for `fail`.
        of: The vehicle (default: the only one).
        instance: Which of the units of a kind, from 1; 0 for the first.
        bias: Added to each measurement.
        drift: Added for each second since now.
        noise: Standard deviations of white noise.
        seconds: How long it lasts, s; 0 for as long as the run goes on.
    """
    sensor, channels = _sensor(run, unit, of, instance)
    given = {"bias": bias, "drift": drift, "noise": noise}
    found = {name: value for name, value in given.items() if value is not None}
    if not found:
        raise ValueError("bias, drift or noise is needed")
    for name, value in found.items():
        alter(run, sensor, name, seconds, **{name: value}, **channels)
    shown = ", ".join(f"{name} {' '.join(f'{each:g}' for each in value)}" for name, value in found.items())
    return f"{sensor} has {shown}{lasting(seconds)}"


@action("jam")
def jam(
    run: Simulation,
    /,
    of: VehicleName,
    *,
    noise: Annotated[float, Number(0.0, 1e5)] = 10.0,
    share: Share = 0.7,
    seconds: Seconds = 0.0,
) -> str:
    """Jam the satellite receivers of a vehicle of a running node: fixes are lost, and the others are noisy.

    Args:
        run: The run.
        of: The vehicle.
        noise: Standard deviation of the position along each axis, m, and of the velocity in tenths of it, m/s.
        share: The part of the fixes that is lost.
        seconds: How long it lasts, s; 0 for as long as the run goes on.
    """
    sensor = sensor_of(run, vehicle_of(run, of), ("gps",), 0)
    alter(run, sensor, "noise", seconds, noise=[*[noise] * 3, *[0.1 * noise] * 3])
    alter(run, sensor, "intermittent", seconds, share=share)
    return f"{sensor} is jammed{lasting(seconds)}"


EventName = Annotated[str, NameOf(kind="event", names=lambda world: names_of(events_of(world)))]


@action("trigger")
def trigger(run: Simulation, /, event: EventName) -> str:
    """Let an event of the scenario of a running node happen at the next step.

    Args:
        run: The run.
        event: The name of the event.
    """
    table = timetable_of(run)
    if event not in table.events:
        raise ValueError(f"no event {event!r}{did_you_mean(event, table.events)}")
    table.progress.due[event] = max(run.steps, table.progress.passed + 1)
    return f"{event} happens"
