"""Rows: topics whose values are numbers of one message, by the names of its fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Protocol

from sim_node.mavlink.telemetry import Telemetry
from sim_node.mavlink.topics import Topic


class Row(Protocol):
    """Publishes a topic from a message's fields. It is a translation by itself, or a part of one."""

    def __call__(self, fields: Any, vehicle: Telemetry, stamp_ns: int | None = None, rank: int | None = None) -> None:
        """Publish the values.

        fields: the message's. stamp_ns: its stamp; by default of the time that it contains. rank: as in
        Telemetry.best_source; by default, a component's messages are used while the autopilot's are missing.
        """


def row(
    topic: Topic,
    names: str,
    *,
    scale: float = 1.0,
    unknown: float | None = None,
    convert: Callable[..., Sequence[float] | None] | None = None,
) -> Row:
    """Return the row of a topic. Nothing is published, and it is counted, if a number is unknown or not finite.

    Args:
        topic: The topic; its layout expects the values.
        names: Names of the message's fields.
        scale: Factor from their unit to the topic's.
        unknown: The number that means unknown.
        convert: From the scaled numbers to the values, such as to other axes; None if they mean unknown.

    Returns:
        The row.
    """
    each = names.split()
    take = attrgetter(*each) if len(each) > 1 else lambda fields, one=attrgetter(names): (one(fields),)
    reason = f"{', '.join(each)} not known"

    def publish(fields: Any, vehicle: Telemetry, stamp_ns: int | None = None, rank: int | None = None) -> None:
        numbers: Sequence[float] = take(fields)
        values: Sequence[float] | None = None
        if unknown not in numbers and math.isfinite(sum(numbers)):
            values = numbers if scale == 1.0 else [scale * number for number in numbers]
            values = convert(*values) if convert else values
        if values is None:
            vehicle.drop(fields, reason)
            return
        if stamp_ns is None:
            stamp_ns = vehicle.stamp_of(fields)
        if vehicle.accepts(fields, topic.name, vehicle.component if rank is None else rank, stamp_ns):
            vehicle.pack(topic, stamp_ns, values)

    return publish
