"""The scene graph of a run, as a part of runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sim_node.session.run_parts import RUN_PARTS, RunPart, RunTarget

if TYPE_CHECKING:
    from sim_node.simulation import Sink


class SceneGraphs(RunPart):
    """Scene graphs on topics, if a rate is given."""

    def sinks(self, target: RunTarget) -> Iterable[Sink]:
        """Return the sink of scene graphs."""
        if target.scene_graph_rate <= 0.0:
            return ()
        # Imported here because most runs do not need it.
        from sim_node.extensions.aerosim.scene_sinks import SceneGraphSink

        return (SceneGraphSink(target.outlet, target.scene_graph_rate, prefix=target.prefix, stamp=target.stamp),)


RUN_PARTS.add("scene graphs")(SceneGraphs())
