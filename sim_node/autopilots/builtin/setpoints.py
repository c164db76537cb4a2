"""Streamed setpoints: SET_POSITION_TARGET_LOCAL_NED and _GLOBAL_INT, SET_ATTITUDE_TARGET, and MANUAL_CONTROL."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from sim_node.autopilots.builtin.dialect import NOTICE, WARNING, Mode, OrderRefused
from sim_node.autopilots.builtin.geo_reference import LOCAL_NED, MAX_DISTANCE, position_of_ints
from sim_node.autopilots.builtin.tasks import Accelerate, Go, Task, Tilt, Track
from sim_node.mavlink.setpoints import (
    NO_ACCELERATION,
    NO_ATTITUDE,
    NO_POSITION,
    NO_RATES,
    NO_VELOCITY,
    NO_YAW,
    NO_YAW_RATE,
)
from sim_node.spatial.frames import AttitudeEnu, AttitudeNed, Enu, Flu, Frd, Ned, YawNed
from sim_node.spatial.geometry.arrays import FloatArray

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

_Vector = tuple[float, float, float]
_FORCE, _NO_THRUST = 512, 64
# MAV_FRAME: axes along north and east, or along the heading; the origin of offsets is the vehicle.
_LOCAL, _LOCAL_OFFSET, _BODY, _BODY_OFFSET = 1, 7, 8, 9


class Setpoints:
    """Receives setpoints, flies them in guided mode, and notices when they stop.

    A stream counts as lost if it is silent by both the simulation's clock and the wall clock, so that neither a fast
    nor a slow simulation makes a steady stream look lost.
    """

    def __init__(self) -> None:
        self._streams = False
        self._latest: Task | None = None
        self._time_us = self._now_ns = self._orders = 0
        self._refused = ""

    def receive(self, flight: Flight, name: str, fields: Any, now_ns: int) -> None:
        """Fly a setpoint in guided mode. In other modes, remember it as the start of a stream.

        Args:
            flight: The flight.
            name: Name of the message.
            fields: Its fields.
            now_ns: Monotonic time, ns.
        """
        try:
            task = _READ[name](flight, fields)
        except OrderRefused as refusal:
            if str(refusal) != self._refused:
                flight.report(WARNING, f"setpoint ignored: {refusal}")
            self._refused = str(refusal)
            return
        self._latest, self._time_us, self._now_ns, self._refused = task, flight.time_us, now_ns, ""
        if flight.mode is Mode.GUIDED:
            self._orders = flight.orders
            self._streams = not (flight.dialect.position_stays and isinstance(task, Go))
            if not _goes_on(flight.task, task):
                flight.guide(task)

    def is_streaming(self, flight: Flight, now_ns: int) -> bool:
        """Return whether a setpoint was received recently, by either clock."""
        limit = flight.settings.setpoint_timeout
        recent = flight.time_us - self._time_us <= limit * 1e6 or now_ns - self._now_ns <= limit * 1e9
        return self._latest is not None and recent

    def begin(self, flight: Flight) -> None:
        """Fly the latest setpoint, at the start of guided mode in a dialect that requires a stream of setpoints."""
        if self._latest is not None:
            self._streams = True
            flight.guide(self._latest)

    def watch(self, flight: Flight, now_ns: int) -> None:
        """Hold if the stream was lost, unless a later command has replaced it.

        In a dialect that requires a stream of setpoints, guided mode needs it regardless of other commands.
        """
        if not self._streams:
            return
        replaced = not flight.dialect.streams_first and flight.orders != self._orders
        if flight.mode is not Mode.GUIDED or replaced:
            self._streams = False
        elif not self.is_streaming(flight, now_ns):
            self._streams = False
            if flight.airborne:
                flight.report(NOTICE, flight.dialect.texts.setpoints_lost)
            flight.guide(flight.craft.hold())
            if flight.mode is not flight.dialect.stream_end:
                flight.set_mode(flight.dialect.stream_end)


def _goes_on(now: Task, then: Task) -> bool:
    """Return whether a setpoint repeats the present task."""
    return (
        isinstance(now, Go)
        and isinstance(then, Go)
        and bool(np.array_equal(now.goal, then.goal))
        and (now.yaw == then.yaw or (math.isnan(now.yaw) and math.isnan(then.yaw)))
    )


def _local(flight: Flight, fields: Any) -> Task:
    frame = fields.coordinate_frame
    if frame not in (_LOCAL, _LOCAL_OFFSET, _BODY, _BODY_OFFSET):
        raise OrderRefused(f"MAV_FRAME {frame} is not supported")

    along_body = frame in (_BODY, _BODY_OFFSET)

    def world(x: float, y: float, z: float) -> Enu:
        if not along_body:
            return _enu(x, y, z)
        level = AttitudeEnu.of_yaw(AttitudeEnu(flight.states[0, 3:7].tolist()).yaw)
        return level.to_world(Frd((x, y, z)).to_flu())

    place = np.array(world(fields.x, fields.y, fields.z))
    if frame != _LOCAL:
        place += flight.position
    return _target(flight, fields, place, world, along_body=along_body)


def _global(flight: Flight, fields: Any) -> Task:
    here = flight.position
    if fields.type_mask & NO_POSITION:
        return _target(flight, fields, here, _enu)
    position = position_of_ints(fields.coordinate_frame, fields.lat_int, fields.lon_int, fields.alt)
    if position.frame == LOCAL_NED or any(map(math.isnan, position[1:])):
        raise OrderRefused(
            f"{position.x:g}, {position.y:g}, {position.z:g} in MAV_FRAME {position.frame} is not a position"
        )
    return _target(flight, fields, flight.places.locate(position, here), _enu)


def _enu(north: float, east: float, down: float) -> Enu:
    return Ned((north, east, down)).to_enu()


def _target(
    flight: Flight,
    fields: Any,
    place: FloatArray,
    world: Callable[[float, float, float], Enu],
    *,
    along_body: bool = False,
) -> Task:
    """Return the task of a setpoint: for its position and velocity, for one of them, or for its acceleration.

    Raises:
        OrderRefused: The setpoint is not finite, or its type_mask is not supported.
    """
    mask = fields.type_mask
    # As in ArduCopter, the force bit counts only if accelerations are not ignored.
    if mask & _FORCE and mask & NO_ACCELERATION != NO_ACCELERATION:
        raise OrderRefused("forces are not supported")
    yaw = math.nan if mask & NO_YAW else YawNed(fields.yaw).to_enu().radians
    rate = 0.0 if mask & NO_YAW_RATE else Frd((0.0, 0.0, fields.yaw_rate)).to_flu()[2]
    if not (mask & NO_YAW or math.isfinite(fields.yaw)) or not math.isfinite(rate):
        raise OrderRefused("yaw is not finite")
    linear = world(fields.vx, fields.vy, fields.vz).xyz
    velocity = None if mask & NO_VELOCITY else _velocity(linear, flight.parameters.max_speed)
    acceleration = None if mask & NO_ACCELERATION else world(fields.afx, fields.afy, fields.afz).xyz
    if acceleration is not None and not math.isfinite(sum(acceleration)):
        raise OrderRefused("acceleration is not finite")
    if not mask & NO_POSITION:
        return _toward(flight, place, velocity, acceleration or (0.0, 0.0, 0.0), yaw)
    if velocity is not None:
        heading = AttitudeEnu(flight.states[0, 3:7].tolist()).yaw.radians
        return flight.craft.drift(velocity, rate, yaw, along_body=along_body, heading=heading)
    if acceleration is not None:
        if not flight.craft.flies:
            raise OrderRefused("a rover takes a position or a velocity, no acceleration")
        return Accelerate(acceleration, yaw)
    raise OrderRefused(f"type_mask {mask} leaves neither position nor velocity nor acceleration whole")


def _toward(flight: Flight, place: FloatArray, velocity: _Vector | None, acceleration: _Vector, yaw: float) -> Task:
    """Return the task of a setpoint with a position (3,), ENU, m.

    Raises:
        OrderRefused: The position is not finite, too far away or outside of the geofence, or not for a rover.
    """
    if not np.abs(place).max() <= MAX_DISTANCE:
        raise OrderRefused(f"the position is not finite, or further away than {MAX_DISTANCE:g} m")
    if not flight.dialect.drops_targets and (outside := flight.refuses_target(place)):
        raise OrderRefused(f"outside of the geofence: {outside}")
    if velocity is None or not (any(velocity) or any(acceleration)):
        return flight.craft.go(place, yaw)
    if not flight.craft.flies:
        raise OrderRefused("a rover takes a position or a velocity, not both")
    return Track(place, velocity, acceleration, yaw)


def _velocity(velocity: _Vector, most: float) -> _Vector:
    """Return a velocity, m/s, limited to the vehicle's maximum speed.

    Raises:
        OrderRefused: It is not finite.
    """
    size = math.hypot(*velocity)
    if not math.isfinite(size):
        raise OrderRefused("velocity is not finite")
    share = min(1.0, most / size) if size > 0.0 else 1.0
    vx, vy, vz = (part * share for part in velocity)
    return vx, vy, vz


def _attitude(flight: Flight, fields: Any) -> Task:
    mask = fields.type_mask
    if not flight.craft.flies:
        raise OrderRefused("a rover has no attitude to choose; it takes positions and velocities")
    if mask & _NO_THRUST or not 0.0 <= fields.thrust <= 1.0:
        raise OrderRefused("thrust of 0 to 1 is needed")
    rates = Flu((0.0, 0.0, 0.0))
    if mask & NO_RATES != NO_RATES:
        rates = Frd((fields.body_roll_rate, fields.body_pitch_rate, fields.body_yaw_rate)).to_flu()
    if not math.isfinite(sum(rates)):
        raise OrderRefused("rates are not finite")
    if mask & NO_ATTITUDE:
        task = flight.task
        attitude = task.attitude if isinstance(task, Tilt) else np.array(flight.states[0, 3:7])
        return Tilt(attitude, rates.xyz, fields.thrust)
    norm = math.hypot(*fields.q)
    if not abs(norm - 1.0) < 0.01:
        raise OrderRefused("q is not a rotation")
    turned = AttitudeNed([part / norm for part in fields.q]).to_enu()
    return Tilt(np.array(turned), (0.0, 0.0, 0.0), fields.thrust)


_READ = {
    "SET_POSITION_TARGET_LOCAL_NED": _local,
    "SET_POSITION_TARGET_GLOBAL_INT": _global,
    "SET_ATTITUDE_TARGET": _attitude,
}
NAMES = frozenset(_READ)


# Time without MANUAL_CONTROL after which a vehicle stops, s: COM_RC_LOSS_T of PX4.
TIMEOUT = 0.5
_FULL = 1000.0
_UNUSED = 0x7FFF


class Sticks:
    """Manual control by MANUAL_CONTROL. It counts as lost if it is silent by both clocks, as for setpoints."""

    def __init__(self) -> None:
        self._held = False
        self._time_us = self._now_ns = 0

    def receive(self, flight: Flight, fields: Any, now_ns: int) -> None:
        """Drive as the sticks say, in manual mode: z is the throttle, y steers. Rovers do not use the other axes."""
        if flight.mode is not Mode.MANUAL or not flight.armed or _UNUSED in (fields.y, fields.z):
            return
        middle = flight.dialect.throttle_middle
        throttle = min(max((fields.z - middle) / (_FULL - middle), -1.0), 1.0)
        turn = min(max(-fields.y / _FULL, -1.0), 1.0)
        self._held, self._time_us, self._now_ns = True, flight.time_us, now_ns
        flight.drive_by_hand(throttle, turn)

    def watch(self, flight: Flight, now_ns: int) -> None:
        """Stop if manual control was lost."""
        if not self._held:
            return
        silent = flight.time_us - self._time_us > TIMEOUT * 1e6 and now_ns - self._now_ns > TIMEOUT * 1e9
        if flight.mode is Mode.MANUAL and not silent:
            return
        self._held = False
        if flight.mode is Mode.MANUAL and flight.armed:
            flight.report(NOTICE, "manual control lost: stopping")
            flight.drive_by_hand(0.0, 0.0)
