"""Setpoints that stream in: SET_POSITION_TARGET_LOCAL_NED, SET_POSITION_TARGET_GLOBAL_INT, SET_ATTITUDE_TARGET."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.autopilot.axes import (
    attitude_enu_flu,
    frd_flu,
    ned_enu,
    yaw_between_ned_and_enu,
    yaw_of,
)
from sim_node.autopilot.builtin.flight import NOTICE, WARNING
from sim_node.autopilot.builtin.geo_reference import MAX_DISTANCE
from sim_node.autopilot.builtin.modes import Mode
from sim_node.autopilot.builtin.tasks import Accelerate, Drift, Go, Hold, Task, Tilt
from sim_node.autopilot.setpoints import (
    NO_ACCELERATION,
    NO_ATTITUDE,
    NO_POSITION,
    NO_RATES,
    NO_VELOCITY,
    NO_YAW,
    NO_YAW_RATE,
)
from sim_node.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.autopilot import BuiltinAutopilot

# A stream that is silent for so long has stopped: on the simulator's clock (us) and on the wall's (ns), so that
# neither a fast simulation nor a slow one takes a steady stream for a broken one.
LOST_US, LOST_NS = 500_000, 500_000_000
_FORCE, _NO_THRUST = 512, 64
# MAV_FRAME: along north and east, or along the heading; offsets are from where the vehicle is.
_LOCAL, _LOCAL_OFFSET, _BODY, _BODY_OFFSET = 1, 7, 8, 9


class Setpoints:
    """Takes setpoints in GUIDED, and has the vehicle hold when they stop."""

    def __init__(self) -> None:
        self._streams = False
        self._time_us = self._now_ns = 0
        self._refused = ""

    def take(self, autopilot: BuiltinAutopilot, name: str, fields: Any, now_ns: int) -> None:
        """One that came in; in other modes, and where it makes no sense, it is left aside."""
        flight = autopilot.flight
        if flight.mode is not Mode.GUIDED:
            return
        task = _READ[name](autopilot, fields)
        if isinstance(task, str):
            if task != self._refused:
                autopilot.say(WARNING, f"setpoint left aside: {task}")
            self._refused = task
            return
        self._streams, self._time_us, self._now_ns, self._refused = True, flight.time_us, now_ns, ""
        if not _goes_on(flight.task, task):
            flight.guide(task)

    def watch(self, autopilot: BuiltinAutopilot, now_ns: int) -> None:
        """Holds where the stream has stopped."""
        flight = autopilot.flight
        if not self._streams:
            return
        if flight.mode is not Mode.GUIDED:
            self._streams = False
        elif flight.time_us - self._time_us > LOST_US and now_ns - self._now_ns > LOST_NS:
            self._streams = False
            flight.guide(Hold())
            if flight.airborne:
                autopilot.say(NOTICE, "setpoints stopped: holding")


def _goes_on(now: Task, then: Task) -> bool:
    """Whether a setpoint says again what is being done."""
    return (
        isinstance(now, Go)
        and isinstance(then, Go)
        and bool(np.array_equal(now.goal, then.goal))
        and (now.yaw == then.yaw or (math.isnan(now.yaw) and math.isnan(then.yaw)))
    )


def _local(autopilot: BuiltinAutopilot, fields: Any) -> Task | str:
    flight, frame = autopilot.flight, fields.coordinate_frame
    if frame not in (_LOCAL, _LOCAL_OFFSET, _BODY, _BODY_OFFSET):
        return f"MAV_FRAME {frame}"

    def world(x: float, y: float, z: float) -> tuple[float, float, float]:
        if frame in (_LOCAL, _LOCAL_OFFSET):
            return ned_enu(x, y, z)
        ahead, left, up = frd_flu(x, y, z)
        yaw = yaw_of(*flight.states[0, 3:7].tolist())
        cosine, sine = math.cos(yaw), math.sin(yaw)
        return cosine * ahead - sine * left, sine * ahead + cosine * left, up

    place = np.array(world(fields.x, fields.y, fields.z))
    if frame != _LOCAL:
        place += flight.position
    return _target(autopilot, fields, place, world)


def _global(autopilot: BuiltinAutopilot, fields: Any) -> Task | str:
    latitude, longitude = fields.lat_int * 1e-7, fields.lon_int * 1e-7
    wanted = fields.type_mask & NO_POSITION == 0
    if wanted and (abs(latitude) > 90.0 or abs(longitude) > 180.0 or not math.isfinite(fields.alt)):
        return f"{latitude:g}, {longitude:g}, {fields.alt:g} is no place"
    frame = fields.coordinate_frame
    place = autopilot.flight.places.local(frame, latitude, longitude, fields.alt) if wanted else np.zeros(3)
    return f"MAV_FRAME {frame}" if place is None else _target(autopilot, fields, place, ned_enu)


def _target(autopilot: BuiltinAutopilot, fields: Any, place: FloatArray, world: Any) -> Task | str:
    """The task of a target: by its position, else its velocity, else its acceleration."""
    mask, parameters, flight = fields.type_mask, autopilot.parameters, autopilot.flight
    if mask & _FORCE:
        return "forces"
    yaw = math.nan if mask & NO_YAW else yaw_between_ned_and_enu(fields.yaw) if math.isfinite(fields.yaw) else None
    rate = 0.0 if mask & NO_YAW_RATE else -fields.yaw_rate
    if yaw is None or not math.isfinite(rate):
        return "yaw is not finite"
    if not mask & NO_POSITION:
        if not np.abs(place).max() <= MAX_DISTANCE:
            return "position is not finite, or further away than anybody flies"
        return Go(place, yaw, speed=flight.speed)
    if not mask & NO_VELOCITY:
        velocity = world(fields.vx, fields.vy, fields.vz)
        size = math.hypot(*velocity)
        if not math.isfinite(size):
            return "velocity is not finite"
        share = min(1.0, parameters.max_speed / size) if size > 0.0 else 1.0
        vx, vy, vz = (part * share for part in velocity)
        return Drift((vx, vy, vz), rate, yaw)
    if not mask & NO_ACCELERATION:
        acceleration = world(fields.afx, fields.afy, fields.afz)
        return Accelerate(acceleration, yaw) if math.isfinite(sum(acceleration)) else "acceleration is not finite"
    return f"type_mask {mask} leaves nothing whole"


def _attitude(autopilot: BuiltinAutopilot, fields: Any) -> Task | str:
    mask, flight = fields.type_mask, autopilot.flight
    if mask & _NO_THRUST or not 0.0 <= fields.thrust <= 1.0:
        return "thrust of 0 to 1 is needed"
    rates = (0.0, 0.0, 0.0)
    if mask & NO_RATES != NO_RATES:
        rates = frd_flu(fields.body_roll_rate, fields.body_pitch_rate, fields.body_yaw_rate)
    if not math.isfinite(sum(rates)):
        return "rates are not finite"
    if mask & NO_ATTITUDE:
        task = flight.task
        attitude = task.attitude if isinstance(task, Tilt) else np.array(flight.states[0, 3:7])
        return Tilt(attitude, rates, fields.thrust)
    norm = math.hypot(*fields.q)
    if not abs(norm - 1.0) < 0.01:
        return "q is no rotation"
    w, x, y, z = (part / norm for part in fields.q)
    return Tilt(np.array(attitude_enu_flu(w, x, y, z)), (0.0, 0.0, 0.0), fields.thrust)


_READ = {
    "SET_POSITION_TARGET_LOCAL_NED": _local,
    "SET_POSITION_TARGET_GLOBAL_INT": _global,
    "SET_ATTITUDE_TARGET": _attitude,
}
NAMES = frozenset(_READ)
