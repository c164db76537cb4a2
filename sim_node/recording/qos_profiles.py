"""offered_qos_profiles as rosbag2 wrote them from Humble (numbers in a YAML text) to Kilted (words)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

from sim_node.wire.qos import INFINITE_NS, Qos

# Of the profiles of a topic, some hundred publishers.
MAX_TEXT = 65_536
# rmw/types.h; what is not listed is a policy left to the system, for which rosbag2 plays the default.
_HISTORY = {1: "keep_last", 2: "keep_all"}
_RELIABILITY = {1: "reliable", 2: "best_effort"}
_DURABILITY = {1: "transient_local", 2: "volatile"}
_LIVELINESS = {1: "automatic", 2: "manual_by_node", 3: "manual_by_topic"}


def profiles(given: str | list[Any] | None) -> tuple[Qos, ...]:
    """The profiles in a channel's metadata, a topics table or a metadata.yaml; none where they cannot be read."""
    entries = _parsed(given) if isinstance(given, str) else given
    return tuple(_profile(entry) for entry in entries if isinstance(entry, dict)) if isinstance(entries, list) else ()


def is_readable(text: object) -> bool:
    """Whether a text holds profiles, or nothing: others are not handed to parsers that may take long."""
    if text == "":
        return True
    entries = _parsed(text) if isinstance(text, str) else None
    return isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)


@lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """What a text holds: the topics of a bag, and the files of a split one, have few different ones."""
    if len(text) > MAX_TEXT:
        return None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


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
