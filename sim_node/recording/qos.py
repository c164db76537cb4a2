"""Quality of service in bags: offered_qos_profiles from Humble to Kilted, and the QoS that a replay offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from sim_node.messages.topic import CLOCK, INFINITE_NS, LATCHED, TF, TF_STATIC, Qos
from sim_node.recording.bag import BagTopic
from sim_node.recording.yaml_text import loaded

# Maximum length of a topic's profiles, and their maximum number: some hundred publishers.
MAX_TEXT, MAX_PROFILES = 65_536, 1000
# Name of metadata records in our MCAP files with publishers of topics that differ from those in a channel.
OFFERED = "sim_node/offered_qos_profiles"
# See rmw/types.h. Other values leave the policy to the system; rosbag2 then plays with the default.
_HISTORY = {1: "keep_last", 2: "keep_all"}
_RELIABILITY = {1: "reliable", 2: "best_effort"}
_DURABILITY = {1: "transient_local", 2: "volatile"}
_LIVELINESS = {1: "automatic", 2: "manual_by_node", 3: "manual_by_topic"}


def profiles(given: str | list[Any] | None) -> tuple[Qos, ...]:
    """Return the profiles in a channel's metadata, a topics table or a metadata.yaml; empty if invalid."""
    return (_in_text(given) if isinstance(given, str) else _in_entries(given)) or ()


def is_readable(text: object) -> bool:
    """Return whether a text contains profiles, or nothing. Other text is not passed to slower parsers."""
    return text == "" or (isinstance(text, str) and _in_text(text) is not None)


@lru_cache(maxsize=64)
def _in_text(text: str) -> tuple[Qos, ...] | None:
    """Parse profiles. Cached, since the topics of a bag have few distinct texts, and a hostile one takes seconds."""
    if len(text) > MAX_TEXT:
        return None
    try:
        return _in_entries(loaded(text))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _in_entries(entries: Any) -> tuple[Qos, ...] | None:
    """Return the profiles in a list of mappings; None for anything else."""
    if not isinstance(entries, list) or len(entries) > MAX_PROFILES:
        return None
    return tuple(map(_profile, entries)) if all(isinstance(entry, dict) for entry in entries) else None


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
    """Convert to nanoseconds. Zero means unspecified in rmw; middlewares use several values for infinite."""
    if not isinstance(given, dict):
        return INFINITE_NS
    seconds, nanoseconds = given.get("sec", 0), given.get("nsec", 0)
    if not isinstance(seconds, int) or not isinstance(nanoseconds, int):
        return INFINITE_NS
    total = seconds * 1_000_000_000 + nanoseconds
    return total if 0 < total < 2_147_483_647 * 1_000_000_000 else INFINITE_NS


# Profiles by the last part of a topic's name, for bags without them.
DEFAULTS = {"tf": TF, "tf_static": TF_STATIC, "clock": CLOCK, "robot_description": LATCHED}
# Depth for slow readers. History does not affect matching.
DEPTH = 1000
# Depth of latched topics if the bag does not contain it; rosbag2 leaves it out.
LATCHED_DEPTH = 10


def all_profiles(one: tuple[Qos, ...], other: tuple[Qos, ...]) -> tuple[Qos, ...]:
    """Merge profiles. Equal ones occur as often as in the list with more of them: each is a separate publisher."""
    if not other or one == other:
        return one
    more = Counter(other) - Counter(one)
    return (*one, *more.elements())


def offer(topic: BagTopic) -> Qos:
    """Return the strictest combination of what a topic's publishers offered, which still matches all subscribers.

    Reliability, durability, deadline and liveliness are the strictest. The depth of latched topics is the sum over
    publishers, since each of them kept its own messages.
    """
    recorded = topic.qos or (DEFAULTS.get(topic.name.rpartition("/")[2], Qos()),)
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
    """Return a duration. Zero means none in rmw."""
    return duration_ns if duration_ns > 0 else INFINITE_NS
