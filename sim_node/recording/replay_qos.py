"""With which quality of service a recorded topic is offered again."""

from __future__ import annotations

from sim_node.recording.bag import BagTopic
from sim_node.wire.qos import CLOCK, INFINITE_NS, LATCHED, TF, TF_STATIC, Qos

# By a topic's last name, where a bag does not say.
UNTOLD = {"tf": TF, "tf_static": TF_STATIC, "clock": CLOCK, "robot_description": LATCHED}
# Kept for readers that fall behind. History is a publisher's own affair: it takes no part in matching.
DEPTH = 1000
# Of latched topics of which a bag does not say how many messages a late subscriber got; rosbag2 leaves it out.
LATCHED_DEPTH = 10


def offer(topic: BagTopic) -> Qos:
    """The strongest of what the topic's publishers offered in each respect: whoever heard one of them still does.

    What subscribers match by (reliability, durability, deadline, liveliness): the strictest promise. Depth of latched
    topics: the sum of their publishers', as each of them kept its own.
    """
    recorded = topic.qos or (UNTOLD.get(topic.name.rpartition("/")[2], Qos()),)
    latched = any(qos.latched for qos in recorded)
    return Qos(
        depth=_latched_depth(recorded) if latched else max(DEPTH, *(qos.depth for qos in recorded)),
        reliability="best_effort" if all(qos.reliability == "best_effort" for qos in recorded) else "reliable",
        durability="transient_local" if latched else "volatile",
        history="keep_last",
        deadline_ns=min(_given(qos.deadline_ns) for qos in recorded),
        lifespan_ns=max(_given(qos.lifespan_ns) for qos in recorded),
        liveliness=next((q.liveliness for q in recorded if q.liveliness == "manual_by_topic"), "automatic"),
        liveliness_lease_ns=min(_given(qos.liveliness_lease_ns) for qos in recorded),
        avoid_ros_namespace_conventions=all(qos.avoid_ros_namespace_conventions for qos in recorded),
    )


def _latched_depth(recorded: tuple[Qos, ...]) -> int:
    return sum(DEPTH if qos.history == "keep_all" else qos.depth or LATCHED_DEPTH for qos in recorded if qos.latched)


def _given(duration_ns: int) -> int:
    """rmw means none by zero."""
    return duration_ns if duration_ns > 0 else INFINITE_NS
