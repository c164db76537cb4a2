"""The replay node's parameters, and what they make: an open bag, a range of it, its topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from sim_node.nodes.parameters import ParameterFault, Spec
from sim_node.nodes.playback_target import ANY
from sim_node.recording.bag import Bag, BagError
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.opening import open_bag
from sim_node.text import did_you_mean

SPECS: dict[str, Spec] = {
    "bag": Spec("", "Bag to play: its folder, or one .mcap or .db3 file.", fixed=True),
    "chunk_limit": Spec(
        MAX_BYTES / 2**20, "Largest chunk of the bag that is read, uncompressed (MB).", fixed=True, low=1.0, high=1e6
    ),
    "rate": Spec(1.0, "Seconds of the bag per second; 0.0 is as fast as possible.", low=0.0, high=1000.0),
    "start": Spec(0.0, "Where to begin (s from the start of the bag).", fixed=True, low=0.0, high=1e9),
    "duration": Spec(0.0, "How much to play (s); 0.0 is all the rest.", fixed=True, low=0.0, high=1e9),
    "loop": Spec(False, "Begin again at the end."),
    "topics": Spec(["*"], "Topics to play, by name or pattern (/drone/*).", fixed=True),
    "clock": Spec(False, "Publish /clock, instead of the recorded one if there is one.", fixed=True),
    "clock_rate": Spec(100.0, "How often: each message costs each subscriber (Hz).", fixed=True, low=1.0, high=1000.0),
    "continuous_time": Spec(True, "Stamps and /clock go on over loops and seeks instead of going back.", fixed=True),
    "start_paused": Spec(False, "Wait for ~/resume or ~/step.", fixed=True),
    "step_size": Spec(0.0, "How far ~/step goes (s); 0.0 is to the next message.", low=0.0, high=1e6),
    "position": Spec(0.0, "Setting it goes there (s from the start of the bag).", low=0.0, high=1e9),
    "wait_for": Spec([""], "Begin when each of these topics has a subscriber; * is for any topic.", fixed=True),
    "settle": Spec(0.3, "Begin when no new subscriber was found for so long (s).", fixed=True, low=0.0, high=60.0),
}


def opened(values: Mapping[str, Any]) -> Bag:
    """The bag. Raises ParameterFault."""
    if not values["bag"]:
        raise ParameterFault("parameter bag: is empty; needs a bag's folder, or a .mcap or .db3 file")
    try:
        bag = open_bag(values["bag"], round(values["chunk_limit"] * 2**20))
    except BagError as error:
        raise ParameterFault(str(error)) from None
    if not bag.count:
        told = "".join(f"\n  {line}" for line in bag.damage)
        bag.close()
        raise ParameterFault(f"{values['bag']}: there are no messages in it{told}")
    return bag


def span_ns(bag: Bag, values: Mapping[str, Any]) -> tuple[int, int]:
    """First and last time to play, on the bag's clock. Raises ParameterFault."""
    start_ns = bag.start_ns + round(values["start"] * 1e9)
    if start_ns > bag.end_ns:
        length = (bag.end_ns - bag.start_ns) / 1e9
        raise ParameterFault(f"parameter start: {values['start']:g} s is behind the bag's end at {length:.9g} s")
    if not values["duration"]:
        return start_ns, bag.end_ns
    return start_ns, min(start_ns + round(values["duration"] * 1e9), bag.end_ns)


def chosen(bag: Bag, values: Mapping[str, Any]) -> list[int]:
    """The places of the topics to play. Raises ParameterFault for a name or pattern that fits none."""
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
    """The topics that need subscribers."""
    return [name for name in values["wait_for"] if name]


def check_awaited(values: Mapping[str, Any], played: Sequence[str]) -> None:
    """Raises ParameterFault for a topic that nobody will ever be found to subscribe to, as it is not played."""
    for name in awaited(values):
        if name != ANY and name not in played:
            hint = did_you_mean(name, played) or f"; played are {', '.join(played)}"
            raise ParameterFault(f"parameter wait_for: {name} is not played{hint}")
