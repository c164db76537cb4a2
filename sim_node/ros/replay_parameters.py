"""The replay node's parameters, and the objects made from them: an open bag, a range of it, its topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sim_node.recording.bag import Bag, BagError
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.opening import open_bag
from sim_node.ros.parameters import ParameterFault, ParameterSpec, changing, fixed
from sim_node.ros.playback_target import ANY
from sim_node.text import did_you_mean

SPECS: dict[str, ParameterSpec] = {
    "bag": fixed("", "Bag to play: its folder, or one .mcap or .db3 file."),
    "chunk_limit": fixed(MAX_BYTES / 2**20, "Maximum size of a chunk of the bag, uncompressed (MB).", 1.0, 1e6),
    "rate": changing(1.0, "Seconds of the bag per second; 0.0 is as fast as possible.", 0.0, 1000.0),
    "start": fixed(0.0, "Where to start (s from the start of the bag).", 0.0, 1e9),
    "duration": fixed(0.0, "How much to play (s); 0.0 is everything.", 0.0, 1e9),
    "loop": changing(False, "Start again at the end."),
    "topics": fixed(["*"], "Topics to play, by name or pattern (/drone/*)."),
    "clock": fixed(False, "Publish /clock, instead of the recorded one if there is one."),
    "clock_rate": fixed(100.0, "Rate of /clock (Hz); each message costs each subscriber time.", 1.0, 1000.0),
    "continuous_time": fixed(True, "Keep stamps and /clock increasing over loops and seeks."),
    "start_paused": fixed(False, "Wait for ~/resume or ~/step."),
    "step_size": changing(0.0, "How far ~/step goes (s); 0.0 is to the next message.", 0.0, 1e6),
    "position": changing(0.0, "Set this to seek (s from the start of the bag).", 0.0, 1e9),
    "wait_for": fixed([""], "Start when each of these topics has a subscriber; * is any topic."),
    "settle": fixed(0.3, "Start when no new subscriber has been found for this long (s).", 0.0, 60.0),
}


def opened(values: Mapping[str, Any]) -> Bag:
    """Open the bag. Raises ParameterFault."""
    if not values["bag"]:
        raise ParameterFault("parameter bag: is empty; needs a bag's folder, or a .mcap or .db3 file")
    try:
        bag = open_bag(values["bag"], round(values["chunk_limit"] * 2**20))
    except BagError as error:
        raise ParameterFault(str(error)) from None
    if not bag.count:
        damage = "".join(f"\n  {line}" for line in bag.damage)
        bag.close()
        raise ParameterFault(f"{values['bag']}: there are no messages in it{damage}")
    return bag


def span_ns(bag: Bag, values: Mapping[str, Any]) -> tuple[int, int]:
    """Return the first and last time to play, on the bag's clock. Raises ParameterFault."""
    start_ns = bag.start_ns + round(values["start"] * 1e9)
    if start_ns > bag.end_ns:
        length = (bag.end_ns - bag.start_ns) / 1e9
        raise ParameterFault(f"parameter start: {values['start']:g} s is after the bag's end at {length:.9g} s")
    if not values["duration"]:
        return start_ns, bag.end_ns
    return start_ns, min(start_ns + round(values["duration"] * 1e9), bag.end_ns)


def chosen(bag: Bag, values: Mapping[str, Any]) -> list[int]:
    """Return the indices of the topics to play. Raises ParameterFault for a name or pattern without a match."""
    names = [topic.name for topic in bag.topics]
    for pattern in values["topics"]:
        if not any(fnmatchcase(name, pattern) for name in names):
            hint = did_you_mean(pattern, names) or f"; there are {', '.join(names)}"
            raise ParameterFault(f"parameter topics: the bag has no {pattern}{hint}")
    clock = values["clock"]
    return [
        row
        for row, name in enumerate(names)
        if any(fnmatchcase(name, pattern) for pattern in values["topics"]) and not (clock and name == "/clock")
    ]


def awaited(values: Mapping[str, Any]) -> list[str]:
    """Return the topics that need subscribers."""
    return [name for name in values["wait_for"] if name]


def check_awaited(values: Mapping[str, Any], played: Sequence[str]) -> None:
    """Raise ParameterFault for an awaited topic that is not played, and thus never has subscribers."""
    for name in awaited(values):
        if name != ANY and name not in played:
            hint = did_you_mean(name, played) or f"; played are {', '.join(played)}"
            raise ParameterFault(f"parameter wait_for: {name} is not played{hint}")
