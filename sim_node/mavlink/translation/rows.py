"""Registry of translations of MAVLink messages: functions (`reads`, `translates`), and rows (`table`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.contents import CONTENTS, Quantity, reader, receiver
from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import TRANSLATION_MODULES, VehicleTopic
from sim_node.registry import Registry, calling_module

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
# Decorator that registers a function for messages by their names.
translates = TRANSLATIONS.add


def reads(message: str, quantities: str, *further: Any) -> Callable[[F], F]:
    """Register a function for a message, called with its fields, the telemetry, and values.

    Args:
        message: Name of the message.
        quantities: Names of quantities of `contents.CONTENTS`, whose values are passed; None for unknown.
        further: Further arguments, such as the rank of this message as a source.

    Returns:
        A decorator.
    """

    def register(function: F) -> F:
        translate = receiver(message, quantities, function, *further)
        TRANSLATIONS.add(message, module=function.__module__)(translate)
        return function

    return register


class Row:
    """A topic with a quantity of a message. If the quantity is unknown, the message is counted and not published.

    Args:
        message: Name of the message.
        topic: The topic, whose layout expects the numbers of the quantity.
        quantity: The quantity, or its name in `contents.CONTENTS`.
        rotation: Orientation [x, y, z, w] of the topic's frame in the vehicle's, if it is fixed to that.
    """

    def __init__(
        self, message: str, topic: VehicleTopic, quantity: str | Quantity, rotation: Quaternion | None = None
    ) -> None:
        self.message, self._topic, self._rotation = message, topic, rotation
        held = CONTENTS[message][quantity] if isinstance(quantity, str) else quantity
        self._read, self._is_number = reader(message, held), held.axes.read is None
        self._unknown = f"{', '.join(held.fields.split())} not known"

    def __call__(self, fields: Any, vehicle: Telemetry, stamp_ns: int | None = None, rank: int | None = None) -> None:
        """Publish the values.

        Args:
            fields: Fields of the message.
            vehicle: The vehicle.
            stamp_ns: Stamp of the message, ns; by default that of the time it contains.
            rank: Rank as in Telemetry.best_source. By default, a component's messages are used while the autopilot's
                are missing.
        """
        if self._rotation is not None:
            vehicle.fix_frame(vehicle.frames.named(self._topic.frames), self._rotation)
        values = self._read(fields)
        if values[0] is None:
            vehicle.drop(fields, self._unknown)
            return
        if stamp_ns is None:
            stamp_ns = vehicle.stamp_of(fields)
        if vehicle.accepts(fields, self._topic.name, vehicle.component if rank is None else rank, stamp_ns):
            vehicle.pack(self._topic, stamp_ns, values if self._is_number else tuple(values[0]))


def table(*rows: Row) -> None:
    """Register rows as the translations of their messages."""
    module = calling_module()
    for message in dict.fromkeys(row.message for row in rows):
        translates(message, module=module)(_all([row for row in rows if row.message == message]))


def _all(rows: Sequence[Row]) -> Any:
    def publish(fields: Any, vehicle: Telemetry) -> None:
        for row in rows:
            row(fields, vehicle)

    return publish
