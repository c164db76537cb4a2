"""HIGHRES_IMU, SCALED_IMU, RAW_IMU and SCALED_PRESSURE: measurements of the sensors in SI units.

Units are those that autopilots actually send: ArduPilot's RAW_IMU is mG, mrad/s and mgauss like SCALED_IMU
(GCS_Common.cpp, send_raw_imu). Elsewhere RAW_IMU has no unit and is ignored.
"""

from __future__ import annotations

import math
from typing import Any

from sim_node.mavlink.axes import finite
from sim_node.mavlink.telemetry import ARDUPILOT, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.registry import translates
from sim_node.mavlink.translation.rows import row
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Flu

STANDARD_GRAVITY = 9.80665
GAUSS = 1e-4  # T
# Some ArduPilot versions send the field 1e6 times too large (fixed by its pull request 32286). No field that
# a compass can measure is near this, in gauss.
_IMPOSSIBLE_GAUSS = 100.0
_ACCELEROMETER, _GYROSCOPE, _MAGNETOMETER = 0x7, 0x38, 0x1C0
_PRESSURE, _DIFFERENTIAL, _TEMPERATURE = 0x200, 0x400, 0x1000
_NOTHING = Flu((0.0, 0.0, 0.0))

DATA_RAW = topic(
    "imu/data_raw",
    "sensor_msgs/Imu",
    Profile.SENSOR,
    "base_link",
    "angular rate (rad/s), specific force (m/s²): +9.81 upwards at rest; no orientation",
    lambda frames, rate, force: wire.imu_raw(frames.base, rate, force),
    measured=True,
)
MAG = topic(
    "imu/mag",
    "sensor_msgs/MagneticField",
    Profile.SENSOR,
    "base_link",
    "magnetic field (T)",
    lambda frames, deviation: wire.magnetic_field(frames.base, deviation),
    measured=True,
)
STATIC_PRESSURE = topic(
    "imu/static_pressure",
    "sensor_msgs/FluidPressure",
    Profile.SENSOR,
    "base_link",
    "static pressure (Pa)",
    measured=True,
)
DIFF_PRESSURE = topic(
    "imu/diff_pressure",
    "sensor_msgs/FluidPressure",
    Profile.SENSOR,
    "base_link",
    "differential pressure of an airspeed tube (Pa)",
    measured=True,
)
TEMPERATURE = topic(
    "imu/temperature_baro",
    "sensor_msgs/Temperature",
    Profile.SENSOR,
    "base_link",
    "temperature of the barometer (°C)",
    measured=True,
)


IMU_TEMPERATURE = topic(
    "imu/temperature_imu", "sensor_msgs/Temperature", Profile.SENSOR, "base_link", "temperature (°C)", measured=True
)
temperature_of_imu = row(IMU_TEMPERATURE, "temperature", scale=0.01, unknown=0)
CALIBRATION = topic(
    "mag_calibration/status",
    "std_msgs/UInt8",
    Profile.RELIABLE,
    "none",
    "progress of the calibration (%), the mean of the compasses that are calibrated",
)


@translates("HIGHRES_IMU")
def highres_imu(fields: Any, vehicle: Telemetry) -> None:
    """Translate SI, gauss and hPa, but only the parts in fields_updated."""
    if fields.id != 0:
        vehicle.drop(fields, "not the first IMU")
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    updated = fields.fields_updated
    if updated & (_ACCELEROMETER | _GYROSCOPE):
        rates = Flu.of_frd(fields.xgyro, fields.ygyro, fields.zgyro) if updated & _GYROSCOPE else None
        force = Flu.of_frd(fields.xacc, fields.yacc, fields.zacc) if updated & _ACCELEROMETER else None
        _inertial(fields, vehicle, 0, stamp_ns, rates, force)
    if updated & _MAGNETOMETER:
        field = Flu.of_frd(fields.xmag, fields.ymag, fields.zmag)
        ardupilots = vehicle.autopilot == ARDUPILOT and max(map(abs, field)) > _IMPOSSIBLE_GAUSS
        _magnetic(fields, vehicle, 0, stamp_ns, field, GAUSS * 1e-6 if ardupilots else GAUSS)
    if updated & _PRESSURE:
        temperature = fields.temperature if updated & _TEMPERATURE else None
        _pressure(fields, vehicle, 0, stamp_ns, fields.abs_pressure, temperature)
    # ArduPilot sends the static pressure relative to the ground here (GCS_Common.cpp, send_highres_imu).
    if updated & _DIFFERENTIAL and vehicle.autopilot != ARDUPILOT:
        _differential(fields, vehicle, 0, stamp_ns, fields.diff_pressure)


@translates("SCALED_IMU")
def scaled_imu(fields: Any, vehicle: Telemetry) -> None:
    """Translate the first IMU in mG, mrad/s and mgauss."""
    _scaled(fields, vehicle, 1, vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns))


@translates("RAW_IMU")
def raw_imu(fields: Any, vehicle: Telemetry) -> None:
    """Translate ArduPilot's RAW_IMU, which has units."""
    if vehicle.autopilot != ARDUPILOT:
        vehicle.drop(fields, "has no units")
    elif fields.id != 0:
        vehicle.drop(fields, "not the first IMU")
    else:
        _scaled(fields, vehicle, 2, vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns))


@translates("SCALED_PRESSURE")
def scaled_pressure(fields: Any, vehicle: Telemetry) -> None:
    """Translate hPa, and hundredths of a degree. Without an airspeed tube, its pressure and temperature are zero."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    _pressure(fields, vehicle, 1, stamp_ns, fields.press_abs, fields.temperature * 0.01)
    # A tube that exists has shown something else before.
    if fields.press_diff or fields.temperature_press_diff or vehicle.has_published(DIFF_PRESSURE):
        _differential(fields, vehicle, 1, stamp_ns, fields.press_diff)


@translates("MAG_CAL_PROGRESS")
def mag_cal_progress(fields: Any, vehicle: Telemetry) -> None:
    """Publish the progress of all compasses that are calibrated; each one has its own messages."""
    compasses = [number for number in range(8) if fields.cal_mask >> number & 1]
    if fields.compass_id not in compasses:
        vehicle.drop(fields, "compass is not calibrated")
        return
    progress = vehicle.calibrated
    progress[fields.compass_id] = min(fields.completion_pct, 100)
    mean = sum(progress.get(number, 0) for number in compasses) // len(compasses)
    vehicle.pack(CALIBRATION, vehicle.arrival_ns, (mean,))


def _scaled(fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int) -> None:
    rates = Flu.of_frd(fields.xgyro * 1e-3, fields.ygyro * 1e-3, fields.zgyro * 1e-3)
    g = STANDARD_GRAVITY * 1e-3
    _inertial(fields, vehicle, rank, stamp_ns, rates, Flu.of_frd(fields.xacc * g, fields.yacc * g, fields.zacc * g))
    temperature_of_imu(fields, vehicle, stamp_ns, rank)
    field = Flu.of_frd(fields.xmag, fields.ymag, fields.zmag)
    if any(field):  # all zero: no compass
        _magnetic(fields, vehicle, rank, stamp_ns, field, GAUSS * 1e-3)


def _inertial(fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int, rates: Flu | None, force: Flu | None) -> None:
    """Publish rates and force as far as they are known."""
    if rates is not None and not finite(*rates):
        vehicle.drop(fields, "angular rate is not finite")
        rates = None
    if force is not None and not finite(*force):
        vehicle.drop(fields, "specific force is not finite")
        force = None
    if (rates is None and force is None) or not vehicle.accepts(fields, "imu", rank, stamp_ns):
        return
    if force is not None:
        vehicle.force = force, stamp_ns
    _, rate_deviation, force_deviation, _ = vehicle.deviations
    deviations = None if rates is None else rate_deviation, None if force is None else force_deviation
    vehicle.pack_variant(DATA_RAW, stamp_ns, (*(rates or _NOTHING), *(force or _NOTHING)), *deviations)


def _magnetic(fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int, field: Flu, scale: float) -> None:
    if not finite(*field):
        vehicle.drop(fields, "magnetic field is not finite")
    elif vehicle.accepts(fields, "mag", rank, stamp_ns):
        x, y, z = field
        vehicle.pack_variant(MAG, stamp_ns, (x * scale, y * scale, z * scale), vehicle.deviations.field)


def _pressure(
    fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int, hectopascal: float, celsius: float | None
) -> None:
    # Without a barometer, autopilots send zeros.
    if not math.isfinite(hectopascal) or hectopascal <= 0.0:
        vehicle.drop(fields, "no static pressure")
    elif vehicle.accepts(fields, "pressure", rank, stamp_ns):
        vehicle.pack(STATIC_PRESSURE, stamp_ns, (hectopascal * 100.0,))
        if celsius is None:
            return
        if math.isfinite(celsius):
            vehicle.pack(TEMPERATURE, stamp_ns, (celsius,))
        else:
            vehicle.drop(fields, "temperature is not finite")


def _differential(fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int, hectopascal: float) -> None:
    if not math.isfinite(hectopascal):
        vehicle.drop(fields, "differential pressure is not finite")
    elif vehicle.accepts(fields, "differential pressure", rank, stamp_ns):
        vehicle.pack(DIFF_PRESSURE, stamp_ns, (hectopascal * 100.0,))
