"""The timetable of a world with events, as an engine of its runs."""

from __future__ import annotations

from sim_node.extensions.scenario.events import events_of
from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.engine import Engine, engine
from sim_node.world.layout import Layout
from sim_node.world.model import World


@engine("scenario")
def open_timetable(world: World, layout: Layout, columns: Columns) -> Engine | None:
    """Return the timetable of a world, if it has events."""
    if not events_of(world):
        return None
    from sim_node.extensions.scenario.timetable import Timetable  # here, because most worlds have no events

    return Timetable(world, columns)
