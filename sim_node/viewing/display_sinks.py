"""What a simulation sends for viewers beside transforms and readings."""

from __future__ import annotations

from collections.abc import Mapping

from sim_node.simulation import Sink
from sim_node.viewing.description_sink import DescriptionSink
from sim_node.viewing.marker_sink import MarkerSink
from sim_node.viewing.path_sink import PathSink
from sim_node.wire.clock import Stamp, simulation_stamp
from sim_node.wire.topic import Outlet

EVERYTHING = {"markers": True, "robot_descriptions": True, "paths": True}


def display_sinks(
    outlet: Outlet, wanted: Mapping[str, bool] = EVERYTHING, *, prefix: str = "", stamp: Stamp = simulation_stamp
) -> tuple[Sink, ...]:
    """The sinks that `wanted` has by name, as the node's parameters do."""
    sinks: dict[str, Sink] = {
        "markers": MarkerSink(outlet, prefix=prefix),
        "robot_descriptions": DescriptionSink(outlet, prefix=prefix),
        "paths": PathSink(outlet, prefix=prefix, stamp=stamp),
    }
    return tuple(sink for name, sink in sinks.items() if wanted[name])
