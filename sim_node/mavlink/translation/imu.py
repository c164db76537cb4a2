"""HIGHRES_IMU, SCALED_IMU, RAW_IMU and SCALED_PRESSURE: measurements of sensors in SI units.

Units are those that autopilots actually send: ArduPilot's RAW_IMU is in mG, mrad/s and mgauss like SCALED_IMU
(GCS_Common.cpp, send_raw_imu). RAW_IMU of other autopilots has no unit and is ignored.
"""

from __future__ import annotations

from typing import Any

from sim_node.mavlink.contents import reader
from sim_node.mavlink.telemetry import ARDUPILOT, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.rows import Row, reads, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import Flu

# Upper limit of plausible magnetic fields (T).
_IMPOSSIBLE_FIELD = 0.01
_ACCELEROMETER, _GYROSCOPE, _MAGNETOMETER = 0x7, 0x38, 0x1C0
_PRESSURE, _DIFFERENTIAL, _TEMPERATURE = 0x200, 0x400, 0x1000
_NOTHING = Flu((0.0, 0.0, 0.0))

DATA_RAW = topic("imu/data_raw", "sensor_msgs/Imu", "base_link", wire.imu_raw, measured=True)
MAG = topic("imu/mag", "sensor_msgs/MagneticField", "base_link", wire.magnetic_field, measured=True)
STATIC_PRESSURE = topic("imu/static_pressure", "sensor_msgs/FluidPressure", "base_link", measured=True)
DIFF_PRESSURE = topic("imu/diff_pressure", "sensor_msgs/FluidPressure", "base_link", measured=True)
TEMPERATURE = topic("imu/temperature_baro", "sensor_msgs/Temperature", "base_link", measured=True)
IMU_TEMPERATURE = topic("imu/temperature_imu", "sensor_msgs/Temperature", "base_link", measured=True)
CALIBRATION = topic("mag_calibration/status", "std_msgs/UInt8", profile=Profile.RELIABLE)
_temperature = Row("SCALED_IMU", IMU_TEMPERATURE, "temperature")
_differential = Row("HIGHRES_IMU", DIFF_PRESSURE, "differential")
_scaled_differential = Row("SCALED_PRESSURE", DIFF_PRESSURE, "differential")
_too_large_field = reader("HIGHRES_IMU", "field_1e6")


@reads("HIGHRES_IMU", "rates force field pressure temperature")
def highres_imu(
    fields: Any,
    vehicle: Telemetry,
    rates: Flu | None,
    force: Flu | None,
    field: Flu | None,
    pressure: float | None,
    temperature: float | None,
) -> None:
    """Translate HIGHRES_IMU (SI, gauss and hPa), limited to the parts in fields_updated."""
    if fields.id != 0:
        vehicle.drop(fields, "not the first IMU")
        return
    stamp_ns = vehicle.clock.stamp_us(fields.time_usec, vehicle.arrival_ns)
    updated = fields.fields_updated
    _inertial(fields, vehicle, 0, stamp_ns, rates, force, updated)
    if updated & _MAGNETOMETER:
        if vehicle.autopilot == ARDUPILOT and field is not None and max(map(abs, field)) > _IMPOSSIBLE_FIELD:
            [field] = _too_large_field(fields)
        _magnetic(fields, vehicle, 0, stamp_ns, field)
    if updated & _PRESSURE:
        _pressure(fields, vehicle, 0, stamp_ns, pressure, temperature, has_temperature=updated & _TEMPERATURE != 0)
    # ArduPilot sends the static pressure relative to the ground here (GCS_Common.cpp, send_highres_imu).
    if updated & _DIFFERENTIAL and vehicle.autopilot != ARDUPILOT:
        _differential(fields, vehicle, stamp_ns, 0)


@reads("SCALED_IMU", "rates force field", 1)
@reads("RAW_IMU", "rates force field", 2)
def scaled_imu(fields: Any, vehicle: Telemetry, rates: Flu, force: Flu, field: Flu, rank: int) -> None:
    """Translate the first IMU (mG, mrad/s and mgauss). RAW_IMU has units only from ArduPilot."""
    if rank == 2 and vehicle.autopilot != ARDUPILOT:
        vehicle.drop(fields, "has no units")
        return
    if rank == 2 and fields.id != 0:
        vehicle.drop(fields, "not the first IMU")
        return
    stamp_ns = vehicle.stamp_of(fields)
    _inertial(fields, vehicle, rank, stamp_ns, rates, force)
    _temperature(fields, vehicle, stamp_ns, rank)
    if any(field):  # all zero: no compass
        _magnetic(fields, vehicle, rank, stamp_ns, field)


@reads("SCALED_PRESSURE", "pressure temperature")
def scaled_pressure(fields: Any, vehicle: Telemetry, pressure: float | None, temperature: float | None) -> None:
    """Translate hPa, and hundredths of a degree. Without an airspeed sensor, its pressure and temperature are zero."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    _pressure(fields, vehicle, 1, stamp_ns, pressure, temperature)
    # An airspeed sensor that exists has shown another value before.
    if fields.press_diff or fields.temperature_press_diff or vehicle.has_published(DIFF_PRESSURE):
        _scaled_differential(fields, vehicle, stamp_ns, 1)


@translates("MAG_CAL_PROGRESS")
def mag_cal_progress(fields: Any, vehicle: Telemetry) -> None:
    """Publish the progress of all compass calibrations. Each compass has its own messages."""
    compasses = [number for number in range(8) if fields.cal_mask >> number & 1]
    if fields.compass_id not in compasses:
        vehicle.drop(fields, "compass is not calibrated")
        return
    progress = vehicle.calibrated
    progress[fields.compass_id] = min(fields.completion_pct, 100)
    mean = sum(progress.get(number, 0) for number in compasses) // len(compasses)
    vehicle.pack(CALIBRATION, vehicle.arrival_ns, (mean,))


def _inertial(
    fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int, rates: Flu | None, force: Flu | None, updated: int = -1
) -> None:
    """Publish rates and force if they are updated and known."""
    if not updated & _GYROSCOPE:
        rates = None
    elif rates is None:
        vehicle.drop(fields, "angular rate is not finite")
    if not updated & _ACCELEROMETER:
        force = None
    elif force is None:
        vehicle.drop(fields, "specific force is not finite")
    if (rates is None and force is None) or not vehicle.accepts(fields, "imu", rank, stamp_ns):
        return
    if force is not None:
        vehicle.force = force, stamp_ns
    _, rate_deviation, force_deviation, _ = vehicle.deviations
    deviations = None if rates is None else rate_deviation, None if force is None else force_deviation
    vehicle.pack_variant(DATA_RAW, stamp_ns, (*(rates or _NOTHING), *(force or _NOTHING)), *deviations)


def _magnetic(fields: Any, vehicle: Telemetry, rank: int, stamp_ns: int, field: Flu | None) -> None:
    if field is None:
        vehicle.drop(fields, "magnetic field is not finite")
    elif vehicle.accepts(fields, "mag", rank, stamp_ns):
        vehicle.pack_variant(MAG, stamp_ns, field.xyz, vehicle.deviations.field)


def _pressure(
    fields: Any,
    vehicle: Telemetry,
    rank: int,
    stamp_ns: int,
    pascal: float | None,
    celsius: float | None,
    *,
    has_temperature: bool = True,
) -> None:
    # Without a barometer, autopilots send zeros.
    if pascal is None or pascal <= 0.0:
        vehicle.drop(fields, "no static pressure")
    elif vehicle.accepts(fields, "pressure", rank, stamp_ns):
        vehicle.pack(STATIC_PRESSURE, stamp_ns, (pascal,))
        if celsius is not None and has_temperature:
            vehicle.pack(TEMPERATURE, stamp_ns, (celsius,))
        elif has_temperature:
            vehicle.drop(fields, "temperature is not finite")
