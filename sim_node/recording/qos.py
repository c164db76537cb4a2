"""Quality of service in bags: offered_qos_profiles from Humble to Kilted, and what a replay offers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from sim_node.recording.bag import BagTopic
from sim_node.wire.topic import CLOCK, INFINITE_NS, LATCHED, TF, TF_STATIC, Qos

# rmw/types.h; what is not listed is a policy left to the system, for which rosbag2 plays the default.
_HISTORY = {1: "keep_last", 2: "keep_all"}
_RELIABILITY = {1: "reliable", 2: "best_effort"}
_DURABILITY = {1: "transient_local", 2: "volatile"}
_LIVELINESS = {1: "automatic", 2: "manual_by_node", 3: "manual_by_topic"}


def profiles(given: str | list[Any] | None) -> tuple[Qos, ...]:
    """The profiles in a channel's metadata, a topics table or a metadata.yaml; none where they cannot be read."""
    try:
        entries = yaml.safe_load(given) if isinstance(given, str) else given
    except (yaml.YAMLError, RecursionError, ValueError):
        return ()
    return tuple(_profile(entry) for entry in entries or () if isinstance(entry, dict))


def _profile(entry: Mapping[str, Any]) -> Qos:
    default = Qos()
    depth = entry.get("depth")
    return Qos(
        depth=depth if isinstance(depth, int) and depth > 0 else default.depth,
        reliability=_word(entry.get("reliability"), _RELIABILITY, default.reliability),
        durability=_word(entry.get("durability"), _DURABILITY, default.durability),
        history=_word(entry.get("history"), _HISTORY, default.history),
        deadline_ns=_duration(entry.get("deadline")),
        lifespan_ns=_duration(entry.get("lifespan")),
        liveliness=_word(entry.get("liveliness"), _LIVELINESS, default.liveliness),
        liveliness_lease_ns=_duration(entry.get("liveliness_lease_duration")),
        avoid_ros_namespace_conventions=entry.get("avoid_ros_namespace_conventions") is True,
    )


def _word(given: Any, words: Mapping[int, str], default: str) -> str:
    if isinstance(given, str) and given.lower() in words.values():
        return given.lower()
    return words.get(given, default) if isinstance(given, int) else default


def _duration(given: Any) -> int:
    """Nanoseconds. Zero is rmw's unspecified; middlewares have more than one number for never."""
    if not isinstance(given, dict):
        return INFINITE_NS
    seconds, nanoseconds = given.get("sec", 0), given.get("nsec", 0)
    if not isinstance(seconds, int) or not isinstance(nanoseconds, int):
        return INFINITE_NS
    total = seconds * 1_000_000_000 + nanoseconds
    return total if 0 < total < 2_147_483_647 * 1_000_000_000 else INFINITE_NS


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
