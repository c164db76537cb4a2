"""Tools that read recordings: contents, transforms and messages at a time, plots."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from sim_node.recording.opening import is_bag
from sim_node.tools.commands import as_json, finished, shortened
from sim_node.tools.registry import Call, ToolRefused, tool
from sim_node.tools.topics import DATA

READ_S = 120.0
MAX_SIGNALS = 12

Bag = Annotated[str, "path of a bag within the folder"]


@tool("bag_info")
def bag_info(call: Call, *, bag: Bag) -> dict[str, Any]:
    """Return the topics of a bag with types, counts and rates, its times, and damage if there is any."""
    _, text = finished(call, "info", _bag(call, bag), "--json", timeout_s=READ_S)
    found = as_json(text)
    return found if isinstance(found, dict) else {"bag": found}


@tool("bag_query")
def bag_query(
    call: Call,
    *,
    bag: Bag,
    target: Annotated[str, "frame to express the pose in"],
    source: Annotated[str, "frame to find"],
    at: Annotated[float | None, "s; none for all of it, every so often"] = None,
    every: Annotated[float, "without a time: s between poses"] = 1.0,
) -> dict[str, Any]:
    """Return the pose of a frame in another at a time of a bag, or a table of poses over its whole time."""
    names = (_bag(call, bag), target, source)
    if any(name.startswith("-") for name in names):
        raise ToolRefused("a name of a frame cannot begin with a dash here")
    if at is not None:
        code, text = finished(call, "lookup", "--json", f"--at={at!r}", *names, timeout_s=READ_S)
        if code != 0:
            raise ToolRefused(shortened(text))
        found = as_json(text)
        return found if isinstance(found, dict) else {"pose": found}
    code, text = finished(call, "lookup", f"--every={every!r}", *names, timeout_s=READ_S)
    if code != 0:
        raise ToolRefused(shortened(text))
    return {"note": DATA, "csv": shortened(text)}


@tool("plot", changes=True)
def plot(
    call: Call,
    *,
    bag: Bag,
    signals: Annotated[list[str], "each a topic, a dot and a field, as in /drone/imu/data_raw.angular_velocity.z"],
    picture: Annotated[str, "name of a new .png, .svg or .pdf file"],
) -> dict[str, Any]:
    """Plot numbers of a bag over time, and return the range of each."""
    if not 1 <= len(signals) <= MAX_SIGNALS or any(each.startswith("-") for each in signals):
        raise ToolRefused(f"1 to {MAX_SIGNALS} signals are needed, found {shlex.join(signals)!r}")
    path = call.access.new_path(picture, (".png", ".svg", ".pdf"))
    code, text = finished(call, "plot", _bag(call, bag), *signals, "-o", str(path), timeout_s=READ_S)
    if code != 0:
        raise ToolRefused(shortened(text))
    return {"picture": str(path.relative_to(call.access.folder.resolve())), "report": shortened(text)}


def _bag(call: Call, given: str) -> str:
    path = call.access.path(given)
    if not is_bag(path):
        raise ToolRefused(f"{given!r} is not a bag")
    return str(path)
