"""Worlds in Python as a part of runs: their components on topics and in recordings, and the settings of scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from sim_node.session.run_parts import RUN_PARTS, Attendant, OwnedTopic, RunPart, RunTarget
from sim_node.world.problems import Place, Where

if TYPE_CHECKING:
    from sim_node.recording.worlds import Attached
    from sim_node.simulation import Simulation, Sink
    from sim_node.world import World


class Components(RunPart):
    """The components of a world in Python. Modules are imported only when a world needs them."""

    noun = "components"

    def sinks(self, target: RunTarget) -> Iterable[Sink]:
        """Return the sink of components."""
        from sim_node.extensions.elodin.component_sink import ComponentSink

        return (ComponentSink(target.outlet, prefix=target.prefix, stamp=target.stamp),)

    def topics(self, world: World, prefix: str = "") -> Iterable[OwnedTopic]:
        """Return the topics of components. Raises EcsError if two would have the same name, or a name is too long."""
        from sim_node.extensions.elodin.component_sink import component_topics

        for each in component_topics(world, prefix):
            owner = f"component {each.component} of {', '.join(each.entities[:3])}"
            yield OwnedTopic(each.topic, owner, Place(Where(world.source)))

    def attachments(
        self, world: World, publish_rate: float, prefix: str, resolve: Callable[[str], str]
    ) -> Iterable[Attached]:
        """Return the description of the components, from which a reader of the recording restores them."""
        if world.python is None:
            return ()
        from sim_node.extensions.elodin.session.attachment import of_session

        return of_session(world, publish_rate, prefix, resolve)

    def attend(self, simulation: Simulation, *, shown: bool) -> Attendant | None:
        """Return what the script asks for."""
        if simulation.world.python is None:
            return None
        from sim_node.extensions.elodin.session.scripted import Scripted

        return Scripted(simulation.world.python, simulation, shown)


RUN_PARTS.add("components")(Components())
