"""Which function translates which MAVLink message: one small file per group of messages, one entry per message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sim_node.autopilot.telemetry import Telemetry
from sim_node.registry import registering

# Takes a message's fields and what is known of its vehicle; sends what comes of it.
Translate = Callable[[Any, Telemetry], None]

TRANSLATIONS: dict[str, Translate] = {}


def translates(*names: str) -> Callable[[Translate], Translate]:
    """Registers a function for the messages called `names`. Raises ValueError where one is taken."""
    return registering(TRANSLATIONS, "translation of", *names)
