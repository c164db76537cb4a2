"""HEARTBEAT, EXTENDED_SYS_STATE, STATUSTEXT, MISSION_CURRENT, MISSION_ITEM_REACHED and SYSTEM_TIME."""

from __future__ import annotations

from typing import Any

from sim_node.mavlink.codec import enum_name
from sim_node.mavlink.modes import ARMED, mode_name
from sim_node.mavlink.status_texts import StatusText
from sim_node.mavlink.telemetry import Heartbeat, Telemetry
from sim_node.mavlink.topics import Profile, topic
from sim_node.mavlink.translation.rows import ERROR, OK, WARN, diagnostic, translates
from sim_node.messages import telemetry_messages as wire
from sim_node.messages.cdr import stamp
from sim_node.text import printable

GUIDED, MANUAL = 8, 64  # MAV_MODE_FLAG
_CRITICAL, _EMERGENCY = 5, 6  # MAV_STATE

_DIAGNOSTIC = "diagnostic_msgs/DiagnosticStatus"
STATE = topic("state", _DIAGNOSTIC, profile=Profile.LATCHED)
ARMED_TOPIC = topic("armed", "std_msgs/Bool", profile=Profile.LATCHED)
MODE = topic("mode", "std_msgs/String", profile=Profile.LATCHED)
EXTENDED_STATE = topic("extended_state", _DIAGNOSTIC, profile=Profile.LATCHED)
STATUS_TEXT = topic("statustext/recv", _DIAGNOSTIC, profile=Profile.RELIABLE)
CURRENT = topic("mission/current", "std_msgs/UInt16", profile=Profile.RELIABLE)
REACHED = topic("mission/reached", "std_msgs/UInt16", profile=Profile.RELIABLE)
REFERENCE = topic("time_reference", "sensor_msgs/TimeReference", layout=lambda: wire.time_reference("fcu"))


@translates("HEARTBEAT")
def heartbeat(fields: Any, vehicle: Telemetry) -> None:
    """Publish the state, once a second, and armed and mode when they change."""
    before = vehicle.heartbeat
    vehicle.heartbeat = now = Heartbeat(
        fields.autopilot, fields.type, fields.base_mode, fields.custom_mode, fields.system_status
    )
    publish_state(vehicle, connected=True)
    if before is None or (before.base_mode ^ now.base_mode) & ARMED:
        if now.base_mode & ARMED:
            vehicle.reached_item = None  # another flight
        vehicle.encode(ARMED_TOPIC, {"data": bool(now.base_mode & ARMED)})
    if before is None or before.custom_mode != now.custom_mode:
        vehicle.encode(MODE, {"data": mode_name(now)})


def publish_state(vehicle: Telemetry, *, connected: bool) -> None:
    """Publish the state of the last heartbeat."""
    state = vehicle.heartbeat or Heartbeat()
    mode = mode_name(state)
    values = {
        "connected": _text(connected),
        "armed": _text(state.base_mode & ARMED),
        "guided": _text(state.base_mode & GUIDED),
        "manual_input": _text(state.base_mode & MANUAL),
        "mode": mode,
        "system_status": _short("MAV_STATE", state.system_status),
        "autopilot": _short("MAV_AUTOPILOT", state.autopilot),
        "type": _short("MAV_TYPE", state.type),
    }
    level = ERROR if not connected or state.system_status == _EMERGENCY else OK
    level = WARN if level == OK and state.system_status == _CRITICAL else level
    message = mode if connected else "no heartbeat"
    vehicle.encode(STATE, diagnostic(level, "state", message, f"system {vehicle.system}", values))


@translates("EXTENDED_SYS_STATE")
def extended_sys_state(fields: Any, vehicle: Telemetry) -> None:
    """Translate the landed state, and the state of a VTOL's transition."""
    landed = _short("MAV_LANDED_STATE", fields.landed_state)
    values = {"landed_state": landed, "vtol_state": _short("MAV_VTOL_STATE", fields.vtol_state)}
    vehicle.encode(EXTENDED_STATE, diagnostic(OK, "extended_state", landed, f"system {vehicle.system}", values))


def _short(enum: str, value: int) -> str:
    """Return `active` for MAV_STATE_ACTIVE."""
    return enum_name(enum, value).removeprefix(enum + "_").lower()


def _text(value: object) -> str:
    return "true" if value else "false"


SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")


@translates("STATUSTEXT")
def status_text(fields: Any, vehicle: Telemetry) -> None:
    """Publish one message per text, once its last chunk has arrived."""
    for text in vehicle.texts.add(fields, vehicle.arrival_ns):
        _publish_text(vehicle, text)


def publish_overdue_texts(vehicle: Telemetry, graph_ns: int) -> None:
    """Publish the received parts of texts whose last chunks were lost.

    Args:
        vehicle: The vehicle.
        graph_ns: Time of the graph's clock, ns.
    """
    for text in vehicle.texts.overdue(graph_ns):
        _publish_text(vehicle, text)


def _publish_text(vehicle: Telemetry, found: StatusText) -> None:
    severity = min(found.severity, len(SEVERITIES) - 1)
    level = ERROR if severity <= 3 else WARN if severity == 4 else OK
    message = diagnostic(level, SEVERITIES[severity], printable(found.text), f"system {vehicle.system}", {})
    vehicle.encode(STATUS_TEXT, message)


@translates("MISSION_CURRENT")
def mission_current(fields: Any, vehicle: Telemetry) -> None:
    """Publish the item, counted as the autopilot does: ArduPilot's item 0 is home."""
    if fields.seq != vehicle.mission_item:
        vehicle.mission_item = fields.seq
        if fields.seq == vehicle.reached_item:
            vehicle.reached_item = None  # it is the target again
    vehicle.pack(CURRENT, vehicle.arrival_ns, (fields.seq,))


@translates("MISSION_ITEM_REACHED")
def mission_item_reached(fields: Any, vehicle: Telemetry) -> None:
    """Publish the item once, counted in the same way. PX4 repeats the message ten times."""
    if fields.seq == vehicle.reached_item:
        vehicle.drop(fields, "repeated")
        return
    vehicle.reached_item = fields.seq
    vehicle.pack(REACHED, vehicle.arrival_ns, (fields.seq,))


@translates("MISSION_ACK")
def mission_ack(fields: Any, vehicle: Telemetry) -> None:
    """Publish nothing. After an upload, items are reached again."""
    if not fields.type and not fields.mission_type:
        vehicle.reached_item = None


@translates("SYSTEM_TIME")
def system_time(fields: Any, vehicle: Telemetry) -> None:
    """Publish the Unix time, which is zero until a GPS receiver has sent it."""
    stamp_ns = vehicle.clock.stamp_ms(fields.time_boot_ms, vehicle.arrival_ns)
    if not 0 < fields.time_unix_usec < 2**31 * 1_000_000:
        vehicle.drop(fields, "no Unix time")
        return
    vehicle.pack(REFERENCE, stamp_ns, stamp(fields.time_unix_usec * 1000))
