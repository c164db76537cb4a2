"""RunPart that publishes the states of commanded joints."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sim_node.session.run_parts import RUN_PARTS, OwnedTopic, RunPart, RunTarget

if TYPE_CHECKING:
    from sim_node.simulation import Sink
    from sim_node.world import World


class JointStateTopics(RunPart):
    """Publishes the states of commanded joints that no sensor measures."""

    noun = "joints"

    def sinks(self, target: RunTarget) -> Iterable[Sink]:
        """Return the sink."""
        from sim_node.messages.joint_state_sink import JointStateSink

        return (JointStateSink(target.outlet, prefix=target.prefix, stamp=target.stamp),)

    def topics(self, world: World, prefix: str = "") -> Iterable[OwnedTopic]:
        """Return the topic of each group."""
        from sim_node.messages.joint_state_sink import joint_state_topic, stated_groups

        for group, _ in stated_groups(world):
            yield OwnedTopic(
                joint_state_topic(group, prefix), f"the states of joints {group.name}".rstrip(), group.place
            )


RUN_PARTS.add("joint states")(JointStateTopics())
