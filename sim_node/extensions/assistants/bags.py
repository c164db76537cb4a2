"""Tools that read recordings: contents, transforms and messages at a time, plots."""

from __future__ import annotations

import shlex
from typing import Annotated, Any, cast

from sim_node.extensions.assistants.commands import as_json, finished, fitted, printed, shortened
from sim_node.extensions.assistants.registry import ToolCall, ToolRefused, TypedDict, tool
from sim_node.extensions.assistants.topics import DATA
from sim_node.extensions.assistants.worlds import PictureAnswer, pictured
from sim_node.recording.opening import is_bag

READ_S = 120.0
MAX_SIGNALS = 12

Bag = Annotated[str, "path of a bag within the folder"]


class TopicAnswer(TypedDict, total=False):
    """A topic of a bag, with the number of its messages, and the hash and the QoS profiles of its publishers."""

    name: str
    type: str
    count: int
    encoding: str
    type_hash: str
    qos: list[dict[str, Any]]


class BagInfo(TypedDict, total=False):
    """The contents of a bag; times in ns. damage: what is wrong with it; note: what is left out of a long answer."""

    start_ns: int
    end_ns: int
    count: int
    topics: list[TopicAnswer]
    damage: Any
    note: str


class PoseAnswer(TypedDict, total=False):
    """A pose (m, [x, y, z, w]) at a time (s, ns), or poses as CSV with a header; axes are the target's."""

    translation: list[float]
    rotation: list[float]
    stamp: float | None
    stamp_ns: int | None
    target_convention: str
    source_convention: str
    note: str
    csv: str


@tool("bag_info")
def bag_info(call: ToolCall, *, bag: Bag) -> BagInfo:
    """Return the topics of a bag with types, counts and rates, its times, and damage if there is any."""
    _, text = finished(call, "info", _bag(call, bag), "--json", timeout_s=READ_S)
    kept, note = fitted(as_json(text))
    return cast(BagInfo, {**kept, "note": note} if note else kept)


@tool("bag_query")
def bag_query(
    call: ToolCall,
    *,
    bag: Bag,
    target: Annotated[str, "frame to express the pose in"],
    source: Annotated[str, "frame to find"],
    at: Annotated[float | None, "s; none for all of it, every so often"] = None,
    every: Annotated[float, "without a time: s between poses"] = 1.0,
) -> PoseAnswer:
    """Return the pose of a frame in another at a time of a bag, or a table of poses over its whole time."""
    names = (_bag(call, bag), target, source)
    if any(name.startswith("-") for name in names):
        raise ToolRefused("a name of a frame cannot begin with a dash here")
    if at is not None:
        found = as_json(printed(call, "lookup", "--json", f"--at={at!r}", *names, timeout_s=READ_S))
        return cast(PoseAnswer, found)
    text = printed(call, "lookup", "--json", f"--every={every!r}", *names, timeout_s=READ_S)
    return _table(text)


def _table(text: str) -> PoseAnswer:
    """Convert poses, given as lines of JSON between lines of warnings, to a table with the axes of both frames."""
    rows, remarks, tags = ["time_s,x,y,z,qx,qy,qz,qw"], [], PoseAnswer()
    for line in text.splitlines():
        try:
            found = as_json(line)
        except ToolRefused:
            remarks.append(line)
            continue
        tags = PoseAnswer(target_convention=found["target_convention"], source_convention=found["source_convention"])
        seconds, rest = divmod(found["stamp_ns"], 10**9)
        rows.append(",".join([f"{seconds}.{rest:09d}", *map(repr, [*found["translation"], *found["rotation"]])]))
    return {**tags, "note": DATA, "csv": shortened("\n".join([*rows, *remarks]))}


@tool("plot", changes=True)
def plot(
    call: ToolCall,
    *,
    bag: Bag,
    signals: Annotated[list[str], "each a topic, a dot and a field, as in /drone/imu/data_raw.angular_velocity.z"],
    picture: Annotated[str, "name of a new .png, .svg or .pdf file to keep it in; empty for none"] = "",
) -> PictureAnswer:
    """Plot numbers of a bag over time, show the plot, and return the range of each."""
    if not 1 <= len(signals) <= MAX_SIGNALS or any(each.startswith("-") for each in signals):
        raise ToolRefused(f"1 to {MAX_SIGNALS} signals are needed, found {shlex.join(signals)!r}")
    return pictured(call, picture, (".png", ".svg", ".pdf"), ["plot", _bag(call, bag), *signals], READ_S)


def _bag(call: ToolCall, given: str) -> str:
    path = call.access.path(given)
    if not is_bag(path):
        raise ToolRefused(f"{given!r} is not a bag")
    return str(path)
