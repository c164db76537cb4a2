"""STATUSTEXT: what the autopilot says, long texts put together."""

from __future__ import annotations

from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.autopilot.topics import Profile, topic
from sim_node.autopilot.translation.diagnostic import ERROR, OK, WARN, diagnostic
from sim_node.autopilot.translation.registry import translates
from sim_node.text import printable

SEVERITIES = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
CHUNK = 50
MAX_CHUNKS = 6
MAX_OPEN = 8

STATUS_TEXT = topic(
    "statustext/recv",
    "diagnostic_msgs/DiagnosticStatus",
    Profile.RELIABLE,
    "none",
    "a text of the autopilot: level OK, WARN or ERROR, name its severity, message the text",
)


@translates("STATUSTEXT")
def status_text(fields: Any, vehicle: Telemetry) -> None:
    """One message per text; a text of several chunks has an id, and ends with the first chunk that is not full."""
    text = fields.text
    if fields.id:
        chunks = vehicle.texts.setdefault(fields.id, [])
        if fields.chunk_seq != len(chunks):
            # One is missing: what is there is told rather than kept waiting.
            chunks.append("...")
        chunks.append(text)
        if len(text.encode()) >= CHUNK and len(chunks) < MAX_CHUNKS:
            while len(vehicle.texts) > MAX_OPEN:
                vehicle.texts.pop(next(iter(vehicle.texts)))
            return
        text = "".join(vehicle.texts.pop(fields.id))
    severity = min(fields.severity, len(SEVERITIES) - 1)
    level = ERROR if severity <= 3 else WARN if severity == 4 else OK
    message = diagnostic(level, SEVERITIES[severity], printable(text), f"system {vehicle.system}", {})
    vehicle.encode(STATUS_TEXT, message)
