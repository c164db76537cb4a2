"""A vehicle under ArduPilot's DDS names: the state that its topics need beyond a single message."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sim_node.mavlink.commands import DO_SET_MODE, CommandLong, set_mode
from sim_node.mavlink.dialects import EnuNames, Numbers, Readers, Unknown
from sim_node.mavlink.modes import CUSTOM, mode, mode_name
from sim_node.mavlink.telemetry import ARDUPILOT, Heartbeat, Send, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.mavlink.transaction import Transaction, TransactionRefused
from sim_node.spatial.frames import Enu, Ned

# sensor_msgs/NavSatStatus by GPS_FIX_TYPE: 2D and 3D fixes, with corrections, RTK.
_NO_FIX = -1
_FIXES = {2: 0, 3: 0, 4: 1, 5: 2, 6: 2}
_UNKNOWN, _DIAGONAL_KNOWN = 0, 2  # sensor_msgs/NavSatFix
# The standard atmosphere up to 11 km: lapse rate over temperature at sea level (1/m), and the density's exponent.
_LAPSE, _DENSITY_EXPONENT = 0.0065 / 288.15, 4.2559
_TROPOPAUSE = 11_000.0
# PX4's modes by the names of ArduPilot's that are nearest to them.
PX4_MODES: Mapping[str, str] = {
    **{"STABILIZE": "STABILIZED", "ACRO": "ACRO", "ALT_HOLD": "ALTCTL", "POSHOLD": "POSCTL", "GUIDED": "OFFBOARD"},
    **{"AUTO": "AUTO.MISSION", "LOITER": "AUTO.LOITER", "RTL": "AUTO.RTL", "LAND": "AUTO.LAND"},
}


class ApNames(EnuNames):
    """State for ArduPilot's DDS topics, in addition to that of the vehicle.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        frames: Names of frames in these messages.
        send: Called with a topic and its message as CDR.
        readers: Functions that publish a message, by its name.

    Attributes:
        published: Last contents of topics that are published when they change, by name.
    """

    def __init__(self, vehicle: Telemetry, frames: FrameNames, send: Send, readers: Readers) -> None:
        super().__init__(vehicle, send, readers, frames)
        self.published: dict[str, Any] = {}
        self._place: Numbers = (0.0, 0.0, 0.0)

    def disconnected(self) -> None:
        """Forget the state of the connection that has ended."""
        super().disconnected()
        self.published.clear()

    def has_changed(self, topic: str, contents: Any) -> bool:
        """Return whether the contents of a topic have changed, and keep them."""
        last = self.published.get(topic)
        self.published[topic] = contents
        return bool(last != contents)

    # Methods for rows

    def from_home(self, x: float, y: float, z: float) -> Numbers:
        """Return metres east, north and up of home, from local NED."""
        home = self.vehicle.home
        if home is None or home.ned is None:
            raise Unknown("home is not known")
        return tuple((Ned((x, y, z)) - home.ned).to_enu())

    def frd_orientation(self) -> Numbers:
        """Return the attitude of FRD in NED as [w, x, y, z], which AP_DDS writes into x, y, z, w."""
        q = self.vehicle.attitude
        return (0.0, 0.0, 0.0, 1.0) if q is None else tuple(q.to_ned())

    def fix_status(self, fix_type: int) -> Numbers:
        """Return the status of NavSatStatus."""
        return (_FIXES.get(fix_type, _NO_FIX),)

    def fix_place(self, fix_type: int, lat: int, lon: int, millimetres: int) -> Numbers:
        """Return latitude, longitude (degrees) and altitude above mean sea level (m) of the present or last fix."""
        if fix_type in _FIXES:
            self._place = self.above_sea(lat, lon, millimetres)
        return self._place

    def fix_covariance(self, fix_type: int, h_acc: int, v_acc: int) -> Numbers:
        """Return a covariance (9,) and its type."""
        if fix_type not in _FIXES or not (h_acc and v_acc):
            return *[0.0] * 9, _UNKNOWN
        across, along = (h_acc * 1e-3) ** 2, (v_acc * 1e-3) ** 2
        return across, 0.0, 0.0, 0.0, across, 0.0, 0.0, 0.0, along, _DIAGONAL_KNOWN

    def true_airspeed(self, indicated: float, altitude: float) -> Numbers:
        """Return the velocity through the air in FLU (m/s), from the estimated wind, or else straight ahead."""
        moving, wind = self.last.get("LOCAL_POSITION_NED"), self.last.get("WIND")
        if not math.isfinite(indicated):
            raise Unknown("no airspeed")
        if moving is None or wind is None or self.vehicle.attitude is None:
            return indicated * self.density_factor(altitude)[0], 0.0, 0.0
        course = math.radians(wind.direction)  # direction of origin
        east = moving.vy + wind.speed * math.sin(course)
        north = moving.vx + wind.speed * math.cos(course)
        return tuple(self.vehicle.attitude.to_body(Enu((east, north, -moving.vz))))

    def density_factor(self, altitude: float) -> Numbers:
        """Return the ratio of true to equivalent airspeed in the standard atmosphere, m above mean sea level."""
        if not math.isfinite(altitude):
            return (1.0,)
        return ((1.0 - _LAPSE * min(altitude, _TROPOPAUSE)) ** (-0.5 * _DENSITY_EXPONENT),)


def mode_number(beat: Heartbeat) -> int:
    """Return the number of ArduPilot's mode for a heartbeat; for other autopilots, that of the nearest mode."""
    if beat.autopilot == ARDUPILOT:
        return beat.custom_mode & 0xFF
    name = mode_name(beat)
    nearest = next((ours for ours, theirs in PX4_MODES.items() if theirs == name), "STABILIZE")
    found = mode(nearest, ARDUPILOT, beat.type)
    return found.main if found else 0


def set_mode_number(number: int, vehicle: Telemetry) -> Transaction:
    """Set a mode by ArduPilot's number; on other autopilots, the nearest mode.

    Args:
        number: COPTER_MODE, ROVER_MODE and so on.
        vehicle: The vehicle's telemetry.

    Returns:
        The transaction that sets it.
    """
    beat = vehicle.heartbeat or Heartbeat()
    name = mode_name(Heartbeat(ARDUPILOT, beat.type, beat.base_mode, number))
    if beat.autopilot == ARDUPILOT:  # it may have modes that the dialect does not name
        return CommandLong(f"mode {name}", DO_SET_MODE, CUSTOM, number)
    nearest = PX4_MODES.get(name)
    if nearest is None:
        known = ", ".join(PX4_MODES)
        return TransactionRefused("mode", f"this autopilot has no mode like ArduPilot's {name} (known: {known})")
    return set_mode(nearest, vehicle)
