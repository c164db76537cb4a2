"""Which function translates which MAVLink message: one small file per group of messages, one entry per message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.registry import Registry

# Takes a message's fields and what is known of its vehicle; sends what comes of it.
Translate = Callable[[Any, Telemetry], None]

TRANSLATIONS: Registry[str, Translate] = Registry(
    "translation of",
    shipped=tuple(
        f"sim_node.autopilot.translation.{name}"
        for name in (
            *("air", "attitude", "battery", "global_position", "home", "imu", "local_position", "mission_progress"),
            *("odometry", "range_finder", "rc", "state", "status_text", "time_reference"),
        )
    ),
    group="sim_node.translations",
)
# Registers a function for the messages of some names.
translates = TRANSLATIONS.add
