"""Reports of SYS_STATUS, GPS_RAW_INT, MEMINFO and HWSTATUS for /diagnostics, made when they are published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.contents import reader
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.translation.rows import ERROR, OK, STALE, WARN, translates

# Age at which a report is stale.
STALE_NS = 10_000_000_000
# Thresholds as in MAVROS: free memory (bytes), and board voltage (mV).
_LOW_MEMORY, _LOW_VOLTAGE = 200, 4500
_accuracy = reader("GPS_RAW_INT", "satellites eph epv")
_SENSOR = "MAV_SYS_STATUS_SENSOR"

# Level, message, and values by name.
Report = tuple[int, str, Mapping[str, object]]


def _sensors(fields: Any) -> Report:
    enabled, healthy = fields.onboard_control_sensors_enabled, fields.onboard_control_sensors_health
    bad = [1 << bit for bit in range(32) if (enabled & ~healthy) >> bit & 1]
    names = [enum_name(_SENSOR, bit).removeprefix("MAV_SYS_STATUS_").removeprefix("SENSOR_").lower() for bit in bad]
    values = {
        "sensors present": f"0x{fields.onboard_control_sensors_present:08X}",
        "sensors enabled": f"0x{enabled:08X}",
        "sensors healthy": f"0x{healthy:08X}",
        "load (%)": f"{fields.load / 10:.1f}",
        "drop rate (%)": f"{fields.drop_rate_comm / 100:.2f}",
        "communication errors": fields.errors_comm,
        **{f"errors {number}": getattr(fields, f"errors_count{number}") for number in (1, 2, 3, 4)},
    }
    return (ERROR, f"not healthy: {', '.join(names)}", values) if names else (OK, "healthy", values)


def _receiver(fields: Any) -> Report:
    fix = enum_name("GPS_FIX_TYPE", fields.fix_type).removeprefix("GPS_FIX_TYPE_").lower()
    satellites, *dilutions = _accuracy(fields)
    values = {"satellites": "unknown" if satellites is None else satellites}
    for name, number in zip(("horizontal dilution", "vertical dilution"), dilutions, strict=True):
        values[name] = "unknown" if number is None else f"{number:.2f}"
    return (OK if fields.fix_type > 2 else WARN), fix, values


def _memory(fields: Any) -> Report:
    free = fields.freemem32 or fields.freemem
    is_low = free < _LOW_MEMORY
    return WARN if is_low else OK, "low memory" if is_low else "normal", {"free memory (bytes)": free}


def _board(fields: Any) -> Report:
    values = {"voltage (V)": f"{fields.Vcc / 1000:.3f}", "I2C errors": fields.I2Cerr}
    is_low = fields.Vcc < _LOW_VOLTAGE
    return WARN if is_low else OK, "low voltage" if is_low else "normal", values


# By message: the subject of its report, and the function that makes the report from its fields.
REPORTS: dict[str, tuple[str, Callable[[Any], Report]]] = {
    "SYS_STATUS": ("sensors", _sensors),
    "GPS_RAW_INT": ("GPS", _receiver),
    "MEMINFO": ("memory", _memory),
    "HWSTATUS": ("board", _board),
}


@translates("MEMINFO", "HWSTATUS")
def keep(fields: Any, vehicle: Telemetry) -> None:
    """Keep a message for its report."""
    vehicle.reported[type(fields).__name__] = vehicle.arrival_ns, fields


def reports(vehicle: Telemetry, now_ns: int) -> Iterator[tuple[str, Report]]:
    """Return the reports of the latest messages. Any thread may ask.

    Args:
        vehicle: The vehicle.
        now_ns: Time of the graph's clock (ns).

    Yields:
        Subject and report.
    """
    for message, (arrival_ns, fields) in vehicle.reported.copy().items():
        name, report = REPORTS[message]
        level, text, values = report(fields)
        if now_ns - arrival_ns > STALE_NS:
            level, text = STALE, f"not received for {(now_ns - arrival_ns) / 1e9:.0f} s"
        yield name, (level, text, values)
