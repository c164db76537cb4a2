"""The table of what messages hold: its units are those of MAVLink's definitions, and it reads what it writes."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import all as mavlink

from sim_node.mavlink.codec import EncodeError, kind_named
from sim_node.mavlink.contents import CONTENTS, GAUSS, PLACE, Quantity, reader, written
from sim_node.spatial.frames import AttitudeEnu, Enu

# SI units per unit of the definitions, as https://mavlink.io/en/guide/xml_schema.html names them.
FACTORS = {
    **{"m": 1.0, "m/s": 1.0, "m/s/s": 1.0, "rad": 1.0, "rad/s": 1.0, "degC": 1.0, "deg": 1.0, "": 1.0},
    **{"mm": 1e-3, "cm": 1e-2, "cm/s": 1e-2, "cm^2": 1e-4, "mV": 1e-3, "cA": 1e-2, "%": 1e-2},
    **{"cdeg": 1e-2, "cdegC": 1e-2, "mrad/s": 1e-3, "mG": 9.80665e-3, "hPa": 1e2, "gauss": 1e-4, "mgauss": 1e-7},
}
# Where autopilots send something else than the definition has: ArduPilot's RAW_IMU, dilutions of precision in
# hundredths (GPS_RAW_INT's texts), and PX4's HIL_STATE_QUATERNION in thousandths of m/s².
OTHERWISE = {
    **{("RAW_IMU", field): "mG" for field in ("xacc", "yacc", "zacc")},
    **{("RAW_IMU", field): "mrad/s" for field in ("xgyro", "ygyro", "zgyro")},
    **{("RAW_IMU", field): "mgauss" for field in ("xmag", "ymag", "zmag")},
    **{(name, field): "cm" for name in ("GPS_RAW_INT", "HIL_GPS") for field in ("eph", "epv")},
    **{("HIL_STATE_QUATERNION", field): "mm" for field in ("xacc", "yacc", "zacc")},
}
EVERY = [(message, name) for message, held in CONTENTS.items() for name in held]


@pytest.mark.parametrize(("message", "name"), EVERY)
def test_units_are_those_of_the_definitions(message: str, name: str) -> None:
    table = next(each for each in mavlink.mavlink_map.values() if each.msgname == message)
    quantity = CONTENTS[message][name]
    for field in quantity.fields.split():
        unit = OTHERWISE.get((message, field), table.fieldunits_by_name.get(field, ""))
        if unit == "degE7" or (quantity.axes is PLACE and unit == "mm"):
            continue  # those of the axes, see below
        wrong = 1e-6 if name == "field_1e6" else 1.0
        assert quantity.unit.factor == pytest.approx(FACTORS[unit] * wrong, rel=1e-12), unit
        assert quantity.unit.factor * quantity.unit.per == pytest.approx(1.0)


@pytest.mark.parametrize(("message", "name"), EVERY)
def test_what_is_written_is_read(message: str, name: str) -> None:
    quantity = CONTENTS[message][name]
    names = quantity.fields.split()
    arrays = kind_named(message).arrays
    numbers = [0.5, 0.5, -0.5, 0.5] if arrays[names[0]] or len(names) == 4 else [0.25, -0.5, 0.75][: len(names)]
    if names[0] in kind_named(message).integers:
        numbers = [7.0, 11.0, 200.0][: len(names)]
    fields: dict[str, Any] = {names[0]: tuple(numbers)} if arrays[names[0]] else dict(zip(names, numbers, strict=True))
    zeros = {field: (0.0,) * 4 if arrays.get(field) else 0 for field in kind_named(message).fields._fields}
    [value] = reader(message, name)(kind_named(message).fields(**{**zeros, **fields}))
    assert value is not None
    for field, back in written(message, **{name: value}).items():
        found, sent = (back, fields[field]) if isinstance(back, tuple) else ((back,), (fields[field],))
        sign = -1.0 if isinstance(back, tuple) and back[0] * sent[0] < 0.0 else 1.0  # q and -q are one rotation
        assert [sign * number for number in found] == pytest.approx(list(sent))


@given(st.tuples(*[st.floats(-1e4, 1e4, width=32)] * 3))
def test_ned_is_enu(ned: tuple[float, float, float]) -> None:
    north, east, down = ned
    [position] = reader("LOCAL_POSITION_NED", "position")(kind_named("LOCAL_POSITION_NED").fields(0, *ned, 0, 0, 0))
    assert position == Enu((east, north, -down))


def test_a_place() -> None:
    fields = kind_named("GPS_GLOBAL_ORIGIN").fields(473977420, 85455940, 488_123, 0)
    assert reader("GPS_GLOBAL_ORIGIN", "origin")(fields) == (pytest.approx((47.397742, 8.545594, 488.123)),)
    assert reader("GPS_GLOBAL_ORIGIN", "origin")(fields._replace(latitude=900_000_010)) == (None,)


def test_level_and_towards_east() -> None:
    """A yaw of 90 degrees in NED is none in ENU: the identity, of either sign."""
    fields = kind_named("ATTITUDE").fields(0, 0.0, 0.0, math.pi / 2.0, 0.0, 0.0, 0.0)
    [attitude] = reader("ATTITUDE", "attitude")(fields)
    assert isinstance(attitude, AttitudeEnu)
    assert [abs(part) for part in attitude] == pytest.approx([0.0, 0.0, 0.0, 1.0], abs=1e-15)


@pytest.mark.parametrize("unknown", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_unknown(unknown: float) -> None:
    level: Any = kind_named("ATTITUDE_QUATERNION").fields(0, 1.0, 0.0, 0.0, 0.0, 0.0, unknown, 0.0, ())
    attitude, rates = reader("ATTITUDE_QUATERNION", "attitude rates")(level)
    assert attitude is not None
    assert rates is None


def test_a_number_that_means_unknown() -> None:
    read = reader("HYGROMETER_SENSOR", Quantity("humidity", unit=GAUSS, unknown=65535))
    kind = kind_named("HYGROMETER_SENSOR").fields
    assert read(kind(0, 0, 65535)) == (None,)
    assert read(kind(0, 0, 65534)) == (pytest.approx(6.5534),)
    assert written("GPS_RAW_INT", course=None) == {"cog": 65535}


def test_a_field_that_does_not_exist() -> None:
    with pytest.raises(EncodeError, match=r"HYGROMETER_SENSOR has no number 'temprature'.*temperature"):
        reader("HYGROMETER_SENSOR", Quantity("temprature"))
    with pytest.raises(EncodeError, match="STATUSTEXT has no number 'text'"):
        reader("STATUSTEXT", Quantity("text"))
