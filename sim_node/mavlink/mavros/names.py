"""A vehicle under MAVROS' names: the state that its topics need beyond a single message, and where they are sent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.mavlink.axes import quaternion_from_rpy, unit_quaternion
from sim_node.mavlink.dialects import NOTHING, UNCHANGED, EnuNames, Numbers, Readers, Unknown
from sim_node.mavlink.telemetry import Send, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.spatial.frames import AttitudeEnu, Flu, Frame, Ned, YawNed, convert_position

# MAVROS' defaults of its parameters imu.*_stdev (rad, rad/s, m/s²).
ORIENTATION_STDEV, RATE_STDEV, FORCE_STDEV = 1.0, math.radians(0.02), 0.0003
# Its global_position.rot_covariance and gps_uere.
_ROTATION_VARIANCE, _RANGE_ERROR = 99999.0, 1.0
_NO_FIX, _FIX, _NO_STATUS = -1, 0, -2  # sensor_msgs/NavSatStatus
_UNKNOWN, _APPROXIMATED, _DIAGONAL_KNOWN = 0, 1, 2  # sensor_msgs/NavSatFix
_ROOT = math.sqrt(0.5)


class MavrosNames(EnuNames):
    """State for MAVROS' topics, in addition to that of the vehicle. Belongs to the bridge's thread.

    Unknown values are as in MAVROS: an orientation of 0 0 0 1, rates of 0.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        frames: Names of frames in MAVROS' messages.
        send: Called with a topic and its message as CDR.
        readers: Functions that publish a message, by its name.
    """

    def __init__(self, vehicle: Telemetry, frames: FrameNames, send: Send, readers: Readers) -> None:
        super().__init__(vehicle, send, readers, frames)
        self.status, self.service = _NO_STATUS, 0
        self.covariance: Numbers = (0.0,) * 9
        self.covariance_type = _UNKNOWN
        self.has_battery_status = False
        self.channels: list[int] = []
        self.outputs: list[int] = []
        self.waypoints: list[Mapping[str, Any]] | None = None
        self.current = 0
        self._first_place: Numbers | None = None

    def disconnected(self) -> None:
        """Forget the state of the connection that has ended."""
        super().disconnected()
        self.has_battery_status = False
        self.channels, self.outputs = [], []

    # Methods for rows

    def world_rates(self) -> Numbers:
        """Return the angular rates along the map's axes (rad/s)."""
        return tuple((self.vehicle.attitude or UNCHANGED).to_world(Flu(self.rates())))

    def quaternion(self, w: float, x: float, y: float, z: float) -> Numbers:
        """Convert an attitude in NED and FRD to ENU and FLU [x, y, z, w]."""
        unit = unit_quaternion(w, x, y, z)
        if unit is None:
            raise Unknown("no attitude")
        return AttitudeEnu.of_ned(*unit).xyzw

    def angles(self, roll: float, pitch: float, yaw: float) -> Numbers:
        """Convert an attitude in NED and FRD to ENU and FLU [x, y, z, w]."""
        if not math.isfinite(roll + pitch + yaw):
            raise Unknown("no attitude")
        return self.quaternion(*quaternion_from_rpy(roll, pitch, yaw))

    def turned(self, w: float, x: float, y: float, z: float) -> Numbers:
        """Convert an orientation [x, y, z, w] from NED to ENU, but not its own axes: NED_ENU_Q * q."""
        return _ROOT * (w + z), _ROOT * (w - z), _ROOT * (y - x), _ROOT * -(x + y)

    def yaw(self, yaw: float) -> Numbers:
        """Convert a yaw from north, clockwise, to one from east, counterclockwise (rad)."""
        if not math.isfinite(yaw):
            return (math.nan,)
        return (float(YawNed(yaw).to_enu().radians),)

    def force(self) -> Numbers:
        """Return the last specific force in base_link (m/s²)."""
        return tuple(NOTHING if self.vehicle.force is None else self.vehicle.force[0])

    def force_covariance(self) -> Numbers:
        """Return the covariance of the last specific force."""
        first, *others = diagonal(self.vehicle.deviations.force or FORCE_STDEV)
        return first if self.vehicle.force is not None else -1.0, *others

    def position_variances(self, x: float, y: float, z: float) -> Numbers:
        """Return a covariance (36,) with these first three entries on the diagonal."""
        entries = [0.0] * 36
        entries[0], entries[7], entries[14] = x, y, z
        return tuple(entries)

    def body_variances(self, x: float, y: float, z: float) -> Numbers:
        """Return a covariance (36,) whose first block is that of these variances in the map, rotated into base_link."""
        entries = [0.0] * 36
        rows = [self.body(*(float(axis == each) for each in range(3))) for axis in range(3)]
        for i in range(3):
            for j in range(3):
                entries[6 * i + j] = sum(rows[k][i] * rows[k][j] * v for k, v in enumerate((x, y, z)))
        return tuple(entries)

    def wind_variances(self, horizontal: float, vertical: float) -> Numbers:
        """Return a covariance (36,) as in MAVROS: the sum of both horizontal variances first, and the vertical one."""
        return self.position_variances(horizontal, 0.0, vertical)

    def sea_level_place(self, lat: int, lon: int, millimetres: int) -> Numbers:
        """Return latitude, longitude (degrees) and altitude above the ellipsoid (m).

        Args:
            lat: Latitude, 1e-7 degrees.
            lon: Longitude, 1e-7 degrees.
            millimetres: Altitude above mean sea level, mm.
        """
        latitude, longitude, altitude = self.above_sea(lat, lon, millimetres)
        return latitude, longitude, self.vehicle.ellipsoid_altitude(altitude, latitude, longitude)

    def fix(self, fix_type: int, h_acc: int, v_acc: int, eph: int, epv: int) -> Numbers:
        """Keep status and covariance of the GPS fix, and return status and service."""
        self.status, self.service = (_FIX if fix_type > 2 else _NO_FIX), 1
        if h_acc > 0 and v_acc > 0:
            across, along, self.covariance_type = h_acc * 1e-3, v_acc * 1e-3, _DIAGONAL_KNOWN
        elif 65535 not in (eph, epv):
            across, along = eph * 1e-2 * _RANGE_ERROR, epv * 1e-2 * _RANGE_ERROR
            self.covariance_type = _APPROXIMATED
        else:
            self.covariance, self.covariance_type = (-1.0, *[0.0] * 8), _UNKNOWN
            return self.status, self.service
        self.covariance = (across**2, 0.0, 0.0, 0.0, across**2, 0.0, 0.0, 0.0, along**2)
        return self.status, self.service

    def last_fix(self) -> Numbers:
        """Return status and service of the last GPS fix."""
        return self.status, self.service

    def fix_covariance(self) -> Numbers:
        """Return the covariance (9,) of the last GPS fix, and its type."""
        return *self.covariance, self.covariance_type

    def from_home(self, lat: int, lon: int, millimetres: int, height: int) -> Numbers:
        """Return the position east and north of home, or of the first position if home is unknown, and the height, m.

        Args:
            lat: Latitude, 1e-7 degrees.
            lon: Longitude, 1e-7 degrees.
            millimetres: Altitude above mean sea level, mm.
            height: Height above home, mm.
        """
        place, home = self.above_sea(lat, lon, millimetres), self.vehicle.home
        if home is not None:
            origin: Sequence[float] = home.latitude, home.longitude, home.altitude_msl
        else:
            if self._first_place is None and self.status >= _FIX:
                self._first_place = place
            origin = self._first_place or place
        east, north, _ = Ned(convert_position(place, Frame.LLA, Frame.NED, origin).tolist()).to_enu()
        return east, north, height * 1e-3

    def fix_covariances(self) -> Numbers:
        """Return a covariance (36,) of the last fix, with unknown orientations."""
        entries = [0.0] * 36
        for row in range(3):
            entries[6 * row : 6 * row + 3] = self.covariance[3 * row : 3 * row + 3]
            entries[7 * (row + 3)] = _ROTATION_VARIANCE
        return tuple(entries)

    def signed(self, number: int) -> Numbers:
        """Return the bits of a uint32 as an int32, for fields that are signed in MAVROS' message."""
        return (number - 2**32 if number >= 2**31 else number,)

    def bits(self, flags: int) -> Numbers:
        """Return the twelve lowest bits as booleans."""
        return tuple(bool(flags >> bit & 1) for bit in range(12))

    def wind(self, direction: float, speed: float, down: float) -> Numbers:
        """Return the velocity of the wind (m/s, ENU) from the direction it comes from (degrees from north)."""
        if not math.isfinite(direction):
            raise Unknown("wind is not finite")
        course = math.radians(direction) + math.pi
        return speed * math.sin(course), speed * math.cos(course), -down

    def ground_speed(self, vel: int, cog: int) -> Numbers:
        """Return a velocity (m/s, ENU) from cm/s along a course in hundredths of degrees from north."""
        if 65535 in (vel, cog):
            raise Unknown("no velocity")
        speed, course = vel * 1e-2, math.radians(cog * 1e-2)
        return speed * math.sin(course), speed * math.cos(course), 0.0


def diagonal(deviation: float) -> Numbers:
    """Return the covariance (9,) of a standard deviation as in MAVROS' imu plugin: -1 first if it is unknown."""
    if not deviation:
        return -1.0, *[0.0] * 8
    variance = deviation * deviation
    return variance, 0.0, 0.0, 0.0, variance, 0.0, 0.0, 0.0, variance
