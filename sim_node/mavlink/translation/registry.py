"""The registry of functions that translate MAVLink messages, by what `contents.py` says about their fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sim_node.mavlink.contents import receiver
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import TRANSLATION_MODULES
from sim_node.registry import Registry

OK, WARN, ERROR, STALE = range(4)
F = TypeVar("F", bound=Callable[..., None])


def diagnostic(level: int, name: str, message: str, hardware_id: str, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a DiagnosticStatus."""
    pairs = [{"key": key, "value": value} for key, value in values.items()]
    return {"level": level, "name": name, "message": message, "hardware_id": hardware_id, "values": pairs}


# Called with a message's fields and its vehicle's telemetry; sends the translated messages.
Translate = Callable[[Any, Telemetry], None]

TRANSLATIONS: Registry[str, Translate] = Registry(
    "translation of", shipped=TRANSLATION_MODULES, group="sim_node.translations"
)
# Registers a function for messages by their names.
translates = TRANSLATIONS.add


def reads(message: str, quantities: str, *further: Any) -> Callable[[F], F]:
    """Register a function for a message, which is called with its fields, the telemetry, and values.

    Args:
        message: The name of the message.
        quantities: Names of quantities of `contents.CONTENTS`: their values, None for what is unknown.
        further: Values that follow, such as the rank of this message as a source.

    Returns:
        A decorator.
    """

    def register(function: F) -> F:
        translate = receiver(message, quantities, function, *further)
        TRANSLATIONS.add(message, module=function.__module__)(translate)
        return function

    return register
