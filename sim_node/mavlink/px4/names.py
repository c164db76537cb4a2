"""A vehicle under PX4's names: the state that its topics need beyond a single message, and where they are sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from sim_node.mavlink.axes import finite, quaternion_from_rpy, unit_quaternion
from sim_node.mavlink.commands import ACCEPTED, DO_SET_MODE, IN_PROGRESS
from sim_node.mavlink.dialects import Numbers, Readers, Unknown, VehicleNames
from sim_node.mavlink.telemetry import Send, Telemetry
from sim_node.mavlink.topics import Profile, VehicleTopic
from sim_node.messages.definitions import constant_of

# Standard gravity in PX4: CONSTANTS_ONE_G (m/s²).
_GRAVITY = 9.80665
_UNKNOWN_U16 = 65535
# VehicleCommand's own command to set a mode, which MAVLink does not have.
SET_NAV_STATE = 100_001


def px4_topic(name: str, type: str) -> VehicleTopic:
    """Return the topic of a message of px4_msgs, by its name below fmu/out, without the version."""
    return VehicleTopic(f"fmu/out/{name}", f"px4_msgs/{type}", profile=Profile.PX4)


@cache
def topics_of(topic: VehicleTopic) -> tuple[VehicleTopic, ...]:
    """Return the topics of a message that PX4 publishes: with the version of the definition, and without it.

    PX4 appends _v1 to the topic of a message whose MESSAGE_VERSION is 1, and nothing for version 0. Programs from
    before versions subscribe to the plain name, so it is published as well.

    Args:
        topic: Plain name of the topic.

    Returns:
        One topic or two.

    Raises:
        UnknownMessage: px4_msgs is not installed.
    """
    names = versioned(topic.name, topic.type.removeprefix("px4_msgs/"))
    return tuple(replace(topic, name=name) for name in names)


def versioned(topic: str, type: str) -> tuple[str, ...]:
    """Return the plain name of a topic, preceded by the name with the version of its message if that is not 0."""
    version = constant_of(f"px4_msgs/msg/{type}", "MESSAGE_VERSION")
    return (f"{topic}_v{version}", topic) if version else (topic,)


class Px4Names(VehicleNames):
    """State for PX4's topics, in addition to that of the vehicle. Belongs to the bridge's thread.

    Positions are in local NED, bodies in FRD, quaternions [w, x, y, z], times in microseconds of the graph's clock, as
    in PX4 once it is synchronised with its agent.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        send: Called with a topic and its message as CDR.
        readers: Functions that publish a message, by its name.

    Attributes:
        offboard: Fields of the last fmu/in/offboard_control_mode, or of what the mode of a program controls.
        program_mode: Navigation state of a program's mode that is, or will be, flown as OFFBOARD; 0 for none.
        selecting: Whether the next answer to DO_SET_MODE is one to VEHICLE_CMD_SET_NAV_STATE.
    """

    def __init__(self, vehicle: Telemetry, send: Send, readers: Readers) -> None:
        super().__init__(vehicle, send, readers, vehicle.frames)
        self.offboard: Mapping[str, bool] = {}
        self.program_mode, self.selecting = 0, False
        # Times when the vehicle was armed, took off, and began the mode (µs); the number of homes.
        self.armed_us, self.takeoff_us, self.mode_us, self.nav_state = 0, 0, 0, -1
        self.homes = 0
        self._last_imu_us = 0

    @property
    def now_us(self) -> int:
        """Time of reception of the message that is being translated (µs, graph's clock)."""
        return self.vehicle.arrival_ns // 1000

    def send(self, topic: VehicleTopic, data: bytes) -> None:
        """Send a message on its topics."""
        for each in topics_of(topic):
            self._send(each, data)

    def encode(self, topic: VehicleTopic, fields: Mapping[str, Any]) -> None:
        """Send a message with its timestamp, given its other fields by name."""
        super().encode(topic, {"timestamp": self.now_us, **fields})

    # Methods for rows

    def times(self) -> Numbers:
        """Return, twice, when the published message was sampled (µs)."""
        return (self.row_stamp_ns // 1000,) * 2

    def unit(self, w: float, x: float, y: float, z: float) -> Numbers:
        """Return an attitude, normalised."""
        q = unit_quaternion(w, x, y, z)
        if q is None:
            raise Unknown("no attitude")
        return q

    def angles(self, roll: float, pitch: float, yaw: float) -> Numbers:
        """Return an attitude [w, x, y, z]."""
        if not math.isfinite(roll + pitch + yaw):
            raise Unknown("no attitude")
        return quaternion_from_rpy(roll, pitch, yaw)

    def orientation(self) -> Numbers:
        """Return the vehicle's attitude [w, x, y, z]; NaN if unknown."""
        q = self.vehicle.attitude
        return (math.nan,) * 4 if q is None else tuple(q.to_ned())

    def rates(self) -> Numbers:
        """Return the vehicle's angular rates in FRD (rad/s); NaN if unknown."""
        if self.vehicle.rates is None:
            return (math.nan,) * 3
        x, y, z = self.vehicle.rates
        return x, -y, -z

    def heading(self) -> Numbers:
        """Return the vehicle's yaw from north, clockwise (rad), and whether it is known."""
        q = self.vehicle.attitude
        return (math.nan, False) if q is None else (float(q.yaw.to_ned().radians), True)

    def acceleration(self) -> Numbers:
        """Return the derivative of the velocity in NED (m/s²), from the last specific force; NaN if unknown."""
        q, force = self.vehicle.attitude, self.vehicle.force
        if q is None or force is None:
            return (math.nan,) * 3
        north, east, down = q.to_world(force[0]).to_ned()
        return north, east, down + _GRAVITY

    def place(self, x: float, y: float, z: float) -> Numbers:
        """Return a position or a velocity that is finite."""
        if not finite(x, y, z):
            raise Unknown("position is not finite")
        return x, y, z

    def origin(self) -> Numbers:
        """Return, twice, whether the origin of local NED is known, and its place: degrees, m above mean sea level."""
        origin = self.vehicle.origin
        return (False, False, math.nan, math.nan, math.nan) if origin is None else (True, True, *origin)

    def accuracy(self) -> Numbers:
        """Return the standard deviations of the horizontal and the vertical position (m); NaN if unknown."""
        status = self.last.get("ESTIMATOR_STATUS")
        return (math.nan, math.nan) if status is None else (status.pos_horiz_accuracy, status.pos_vert_accuracy)

    def on_earth(self, lat: int, lon: int, millimetres: int) -> Numbers:
        """Return degrees, and metres above mean sea level and above the ellipsoid."""
        latitude, longitude, altitude = self.above_sea(lat, lon, millimetres)
        return latitude, longitude, altitude, self.vehicle.ellipsoid_altitude(altitude, latitude, longitude)

    def ground_track(self, vel: int, cog: int) -> Numbers:
        """Return speed, north and east (m/s) and the course (rad, -pi to pi), from cm/s and hundredths of degrees."""
        if _UNKNOWN_U16 in (vel, cog):
            return (math.nan,) * 4
        speed, course = vel * 1e-2, math.radians(cog * 1e-2)
        north, east = speed * math.cos(course), speed * math.sin(course)
        return speed, north, east, math.remainder(course, math.tau)

    def interval(self, time_us: int) -> Numbers:
        """Return the time (µs) from the previous IMU sample to this one, for gyroscope and accelerometer."""
        elapsed = max(0, min(time_us - self._last_imu_us, 1_000_000)) if self._last_imu_us else 0
        self._last_imu_us = time_us
        return elapsed, elapsed

    def on_ground(self, landed_state: int) -> Numbers:
        """Return ground contact, maybe landed, and landed, from MAV_LANDED_STATE."""
        return (landed_state == 1,) * 3

    def answered(self, command: int, result: int) -> Numbers:
        """Return the command of an answer; VehicleCommand's own one if that was behind a change of mode."""
        if command != DO_SET_MODE:
            return (command,)
        if result not in (ACCEPTED, IN_PROGRESS) and self.nav_state != self.program_mode:
            self.program_mode = 0
        if not self.selecting:
            return (command,)
        self.selecting = False
        return (SET_NAV_STATE,)

    def new_home(self) -> Numbers:
        """Return the number of this home."""
        self.homes += 1
        return (self.homes,)

    def yaw_of(self, w: float, x: float, y: float, z: float) -> Numbers:
        """Return the yaw of an attitude (rad); 0 for none."""
        return (math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),)

    def wind_from(self, direction: float, speed: float) -> Numbers:
        """Return the velocity of the wind (m/s, north and east) from the direction it comes from (degrees)."""
        course = math.radians(direction) + math.pi
        return speed * math.cos(course), speed * math.sin(course)
