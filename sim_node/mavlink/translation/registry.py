"""The registry of functions that translate MAVLink messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sim_node.mavlink.telemetry import Telemetry
from sim_node.registry import Registry

OK, WARN, ERROR, STALE = range(4)


def diagnostic(level: int, name: str, message: str, hardware_id: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a DiagnosticStatus."""
    pairs = [{"key": key, "value": value} for key, value in values.items()]
    return {"level": level, "name": name, "message": message, "hardware_id": hardware_id, "values": pairs}


# Called with a message's fields and its vehicle's telemetry; sends the translated messages.
Translate = Callable[[Any, Telemetry], None]

TRANSLATIONS: Registry[str, Translate] = Registry(
    "translation of",
    shipped=tuple(
        f"sim_node.mavlink.translation.{name}"
        for name in (
            *("attitude", "global_position", "health", "imu", "local_position", "odometry", "onboard", "payload"),
            *("state", "targets"),
        )
    ),
    group="sim_node.translations",
)
# Registers a function for messages by their names.
translates = TRANSLATIONS.add
