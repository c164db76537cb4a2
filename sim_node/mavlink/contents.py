"""Contents of MAVLink messages: fields, axes and unit of each quantity, and the value that means unknown.

The table serves both directions. Values are in the conventions of ROS: ENU and FLU, SI units, degrees of latitude,
longitude, heading and course; None if unknown or not finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sim_node.mavlink.axes import quaternion_from_rpy, unit_quaternion
from sim_node.mavlink.codec import EncodeError, kind_named
from sim_node.spatial.frames import AttitudeEnu, AttitudeFlu, AttitudeFrd, Enu, Flu, YawNed
from sim_node.spatial.geometry import quaternions
from sim_node.text import did_you_mean


class Unit(NamedTuple):
    """A unit of numbers.

    Attributes:
        factor: Factor to SI.
        per: Factor from SI.
    """

    factor: float
    per: float


class AxisMapping(NamedTuple):
    """Conversion between numbers and a value.

    Attributes:
        read: Converts numbers in SI units to the value, or None if they have no meaning. None if the value is the
            number itself.
        write: Converts the value to numbers.
    """

    read: Callable[..., Any] | None
    write: Callable[[Any], Sequence[float]] = tuple


def _place(latitude: int, longitude: int, millimetres: float = 0.0) -> tuple[float, float, float] | None:
    degrees = latitude * 1e-7, longitude * 1e-7
    return (*degrees, millimetres * 1e-3) if is_on_earth(*degrees) else None


def is_on_earth(latitude: float, longitude: float) -> bool:
    """Return whether latitude and longitude (degrees) are valid."""
    return abs(latitude) <= 90.0 and abs(longitude) <= 180.0


def _enu(*wxyz: float) -> AttitudeEnu | None:
    unit = unit_quaternion(*wxyz)
    return None if unit is None else AttitudeEnu.of_ned(*unit)


def _flu(*wxyz: float) -> AttitudeFlu | None:
    unit = unit_quaternion(*wxyz)
    return None if unit is None else AttitudeFrd(unit).to_flu()


SI, CENTI, MILLI = Unit(1.0, 1.0), Unit(1e-2, 1e2), Unit(1e-3, 1e3)
HECTO, GAUSS, DEGREE = Unit(1e2, 1e-2), Unit(1e-4, 1e4), Unit(math.pi / 180.0, 180.0 / math.pi)
MILLI_G, MILLIGAUSS = Unit(9.80665 * 1e-3, 1e3 / 9.80665), Unit(GAUSS.factor * 1e-3, 1e7)

NUMBER = AxisMapping(None, lambda value: (value,))
NED = AxisMapping(Enu.of_ned, lambda vector: vector.to_ned())
FRD = AxisMapping(Flu.of_frd, lambda vector: vector.to_frd())
NED_QUATERNION = AxisMapping(_enu, lambda attitude: attitude.to_ned())
FRD_QUATERNION = AxisMapping(_flu, lambda attitude: attitude.to_frd())
NED_ANGLES = AxisMapping(
    lambda *rpy: _enu(*quaternion_from_rpy(*rpy)),
    lambda attitude: quaternions.to_rpy(attitude.to_ned().xyzw).tolist(),
)
NED_YAW = AxisMapping(lambda yaw: YawNed(yaw).to_enu(), lambda yaw: (yaw.to_ned().radians,))
# About the axis that points down in NED and in FRD.
DOWN = AxisMapping(lambda down: -down, lambda up: (-up,))
# Degrees 1e7 times, and millimetres above mean sea level.
PLACE = AxisMapping(_place, lambda place: (place[0] * 1e7, place[1] * 1e7, place[2] * 1e3))
# Hundredths of degrees, less than 36000.
HEADING = AxisMapping(None, lambda degrees: (round(degrees * 100.0) % 36_000 / 100.0,))
# Latitude and longitude alone.
ON_MAP = AxisMapping(_place, lambda place: (place[0] * 1e7, place[1] * 1e7))


class Quantity(NamedTuple):
    """A quantity of a message.

    Attributes:
        fields: Names of its fields, separated by spaces; a single one if that is an array.
        axes: Conversion to a value.
        unit: Unit of the fields.
        unknown: Number that means unknown, in the unit of the fields.
    """

    fields: str
    axes: AxisMapping = NUMBER
    unit: Unit = SI
    unknown: float | None = None


_RATES = Quantity("rollspeed pitchspeed yawspeed", FRD)
_POSITION, _PLACE = Quantity("x y z", NED), Quantity("lat lon alt", PLACE)
_VELOCITY, _VELOCITY_CM = Quantity("vx vy vz", NED), Quantity("vx vy vz", NED, CENTI)
_ELLIPSE = {name: Quantity(name, unit=CENTI, unknown=65535) for name in ("eph", "epv")}
_TRACK = {"speed": Quantity("vel", unit=CENTI, unknown=65535), "course": Quantity("cog", unit=CENTI, unknown=65535)}
# The local ones are in a frame whose heading is unknown.
_POSE = {"position": _POSITION, "attitude": Quantity("q", NED_QUATERNION)}
_POSE |= {"local_position": Quantity("x y z", FRD), "local_attitude": Quantity("q", FRD_QUATERNION)}
_TARGET = {"velocity": _VELOCITY, "acceleration": Quantity("afx afy afz", NED)}
_TARGET |= {"position": _POSITION, "yaw": Quantity("yaw", NED_YAW), "yaw_rate": Quantity("yaw_rate", DOWN)}
_BATTERY = {"current": Quantity("current_battery", unit=CENTI, unknown=-1)}
_BATTERY |= {"charge": Quantity("battery_remaining", unit=CENTI, unknown=-1)}
_SCALED_IMU = {
    "rates": Quantity("xgyro ygyro zgyro", FRD, MILLI),
    "force": Quantity("xacc yacc zacc", FRD, MILLI_G),
    "field": Quantity("xmag ymag zmag", FRD, MILLIGAUSS),
    "temperature": Quantity("temperature", unit=CENTI, unknown=0),
}
# The quantities of messages by their names.
CONTENTS: Mapping[str, Mapping[str, Quantity]] = {
    "ALTITUDE": {
        "altitude": Quantity("altitude_amsl"),
        "monotonic": Quantity("altitude_monotonic"),
        "up": Quantity("altitude_local"),
        "height": Quantity("altitude_relative"),
        "terrain": Quantity("altitude_terrain", unknown=math.nan),
        "clearance": Quantity("bottom_clearance", unknown=math.nan),
    },
    "ATTITUDE": {"attitude": Quantity("roll pitch yaw", NED_ANGLES), "rates": _RATES},
    "ATTITUDE_QUATERNION": {"attitude": Quantity("q1 q2 q3 q4", NED_QUATERNION), "rates": _RATES},
    "BATTERY_STATUS": {"temperature": Quantity("temperature", unit=CENTI, unknown=32767), **_BATTERY},
    "DISTANCE_SENSOR": {
        "minimum": Quantity("min_distance", unit=CENTI),
        "maximum": Quantity("max_distance", unit=CENTI),
        "distance": Quantity("current_distance", unit=CENTI),
        "variance": Quantity("covariance", unit=Unit(1e-4, 1e4), unknown=255),
        "field_of_view": Quantity("horizontal_fov"),
    },
    "GLOBAL_POSITION_INT": {
        "place": _PLACE,
        "height": Quantity("relative_alt", unit=MILLI),
        "velocity": _VELOCITY_CM,
        "heading": Quantity("hdg", HEADING, CENTI, unknown=65535),
    },
    "GPS_GLOBAL_ORIGIN": {"origin": Quantity("latitude longitude altitude", PLACE)},
    "GPS_RAW_INT": {
        **{"place": _PLACE, "ellipsoid": Quantity("alt_ellipsoid", unit=MILLI)} | _ELLIPSE | _TRACK,
        "h_acc": Quantity("h_acc", unit=MILLI, unknown=0),
        "v_acc": Quantity("v_acc", unit=MILLI, unknown=0),
        "satellites": Quantity("satellites_visible", unknown=255),
    },
    "HIGHRES_IMU": {
        "rates": Quantity("xgyro ygyro zgyro", FRD),
        "force": Quantity("xacc yacc zacc", FRD),
        "field": Quantity("xmag ymag zmag", FRD, GAUSS),
        # Some ArduPilot versions send the field 1e6 times too large (fixed by its pull request 32286).
        "field_1e6": Quantity("xmag ymag zmag", FRD, Unit(GAUSS.factor * 1e-6, 1e10)),
        "pressure": Quantity("abs_pressure", unit=HECTO),
        "differential": Quantity("diff_pressure", unit=HECTO),
        "temperature": Quantity("temperature"),
    },
    "HIL_GPS": {
        **{"place": _PLACE, "velocity": Quantity("vn ve vd", NED, CENTI), **_ELLIPSE, **_TRACK},
        "course": Quantity("cog", HEADING, CENTI, unknown=65535),
    },
    "HIL_STATE_QUATERNION": {
        **{"attitude": Quantity("attitude_quaternion", NED_QUATERNION), "rates": _RATES},
        # The force as PX4 reads it.
        **{"place": _PLACE, "velocity": _VELOCITY_CM, "force": Quantity("xacc yacc zacc", FRD, MILLI)},
    },
    "HOME_POSITION": {"home": Quantity("latitude longitude altitude", PLACE), "home_position": _POSITION},
    "LOCAL_POSITION_NED": {"position": _POSITION, "velocity": _VELOCITY},
    "LOCAL_POSITION_NED_COV": {
        **{"position": _POSITION, "velocity": _VELOCITY, "acceleration": Quantity("ax ay az", NED)}
    },
    "LANDING_TARGET": _POSE,
    "ODOMETRY": {**_POSE, "velocity": _VELOCITY, "body_velocity": Quantity("vx vy vz", FRD), "rates": _RATES},
    "POSITION_TARGET_GLOBAL_INT": {"place": Quantity("lat_int lon_int", ON_MAP)},
    "POSITION_TARGET_LOCAL_NED": _TARGET,
    "RAW_IMU": _SCALED_IMU,
    "SCALED_IMU": _SCALED_IMU,
    "SCALED_PRESSURE": {
        "pressure": Quantity("press_abs", unit=HECTO),
        "differential": Quantity("press_diff", unit=HECTO),
        "temperature": Quantity("temperature", unit=CENTI),
    },
    "SET_ATTITUDE_TARGET": {
        "attitude": Quantity("q", NED_QUATERNION),
        "rates": Quantity("body_roll_rate body_pitch_rate body_yaw_rate", FRD),
    },
    "SET_POSITION_TARGET_GLOBAL_INT": {"place": Quantity("lat_int lon_int", ON_MAP)},
    "SET_POSITION_TARGET_LOCAL_NED": {**_TARGET, "body_velocity": Quantity("vx vy vz", FRD)},
    "SYS_STATUS": {"voltage": Quantity("voltage_battery", unit=MILLI, unknown=65535), **_BATTERY},
    "VFR_HUD": {
        "airspeed": Quantity("airspeed"),
        "speed": Quantity("groundspeed"),
        "heading": Quantity("heading", AxisMapping(None, lambda degrees: (round(degrees) % 360,))),
        "throttle": Quantity("throttle", unit=CENTI),
        "altitude": Quantity("alt"),
        "climb": Quantity("climb"),
    },
    "VISION_POSITION_ESTIMATE": {"position": _POSITION, "attitude": Quantity("roll pitch yaw", NED_ANGLES)},
    "WIND_COV": {"velocity": Quantity("wind_x wind_y wind_z", NED)},
}


def reader(message: str, quantities: str | Quantity) -> Callable[[Any], tuple[Any, ...]]:
    """Compile a function that reads a message as fast as code written by hand.

    Args:
        message: Name of the message.
        quantities: Names of quantities of CONTENTS, separated by spaces; or a quantity that is not there.

    Returns:
        A function from the message's fields to the values, each None if it is unknown or not finite.

    Raises:
        EncodeError: There is no such message or field.
        KeyError: There is no such quantity.
    """
    values, names = _expressions(message, quantities)
    read: Callable[[Any], tuple[Any, ...]] = eval(f"lambda fields: ({', '.join(values)},)", names)
    return read


def receiver(message: str, quantities: str, function: Callable[..., None], *further: Any) -> Callable[[Any, Any], None]:
    """Compile the call of a function with the values of a message.

    Args:
        message: Name of the message.
        quantities: As for `reader`.
        function: Called with the fields, the telemetry, the values, and `further`.
        further: Further arguments.

    Returns:
        A function of the message's fields and the telemetry.
    """
    values, names = _expressions(message, quantities)
    names |= {"function": function, "further": further}
    call = ", ".join(("fields", "vehicle", *values, *(f"further[{index}]" for index in range(len(further)))))
    receive: Callable[[Any, Any], None] = eval(f"lambda fields, vehicle: function({call})", names)
    return receive


def _expressions(message: str, quantities: str | Quantity) -> tuple[list[str], dict[str, Any]]:
    """Return a Python expression for each value, and the objects that their names refer to."""
    held = [CONTENTS[message][name] for name in quantities.split()] if isinstance(quantities, str) else [quantities]
    arrays = kind_named(message).arrays
    values, names = list[str](), dict[str, Any](isfinite=math.isfinite, nan=math.nan, inf=math.inf)
    for index, (fields, axes, unit, unknown) in enumerate(held):
        each = fields.split()
        if missing := next((field for field in each if field not in arrays), None):
            raise EncodeError(f"{message} has no number {missing!r}{did_you_mean(missing, arrays)}")
        scale = "" if unit.factor == 1.0 else f" * {unit.factor!r}"
        numbers = [f"*(one{scale} for one in fields.{at})" if arrays[at] else f"fields.{at}{scale}" for at in each]
        total = " + ".join(f"sum(fields.{field})" if arrays[field] else f"fields.{field}" for field in each)
        unequal = [f"fields.{field} != {unknown!r}" for field in each if unknown is not None]
        names[f"read{index}"] = axes.read
        value = f"read{index}({', '.join(numbers)})" if axes.read else numbers[0]
        values.append(f"{value} if {' and '.join([f'isfinite({total})', *unequal])} else None")
    return values, names


def written(message: str, **values: Any) -> dict[str, Any]:
    """Return the fields of a message for some values. Integers are rounded.

    Args:
        message: Name of the message.
        values: Values by the names of quantities in CONTENTS; None for unknown.

    Returns:
        The fields by name.
    """
    made: dict[str, Any] = {}
    for name, value in values.items():
        fields, is_array, write, per, unknown = _places(message, name)
        numbers = [unknown] * len(fields) if value is None else [number * per for number in write(value)]
        if is_array:
            made[fields[0][0]] = tuple(numbers)
        else:
            for (field, is_integer), number in zip(fields, numbers, strict=True):
                made[field] = round(number) if is_integer else number
    return made


@cache
def _places(message: str, name: str) -> tuple[list[tuple[str, bool]], bool, Callable[[Any], Any], float, Any]:
    """Return a quantity's fields, whether each is an integer, whether they are an array, and how to write them."""
    kind, (fields, axes, unit, unknown) = kind_named(message), CONTENTS[message][name]
    names = fields.split()
    return [(field, field in kind.integers) for field in names], kind.arrays[names[0]], axes.write, unit.per, unknown
