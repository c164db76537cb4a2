"""Sessions: the composition of a run, and what needs autopilots, recordings and the viewer together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_node.lazy import public

if TYPE_CHECKING:
    from sim_node.session.errors import MissingExtra
    from sim_node.session.publishing import Publishing
    from sim_node.session.sensor_messages import SensorMessages
    from sim_node.session.session import Session
    from sim_node.session.shown import Shown, show

__all__ = ["MissingExtra", "Publishing", "SensorMessages", "Session", "Shown", "show"]

# Worlds in Python use parts of this package that start much faster than a session.
__getattr__, __dir__ = public(
    __name__,
    {
        "MissingExtra": "errors",
        "Publishing": "publishing",
        "SensorMessages": "sensor_messages",
        "Session": "session",
        "Shown": "shown",
        "show": "shown",
    },
)
