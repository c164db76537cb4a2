"""The tool query_tf_tree: the hierarchy of frames, and the transform between any two."""

from __future__ import annotations

from typing import Annotated

from sim_node.extensions.assistants.graph import Graph
from sim_node.extensions.assistants.registry import ToolCall, ToolRefused, TypedDict, tool
from sim_node.names import convention
from sim_node.spatial.tree import TransformError
from sim_node.text import shown
from sim_node.world.fields import nanoseconds

# Timeout for a first transform, s; and the maximum number of frames in a hierarchy.
FIRST_S = 3.0
MAX_FRAMES = 500


class FrameAnswer(TypedDict, total=False):
    """A frame. kind: static or dynamic; updated_s_ago: for dynamic ones, how long ago its transform came in (s)."""

    frame: str
    parent: str
    kind: str
    convention: str
    updated_s_ago: float


class TfTree(TypedDict, total=False):
    """The tree (frames, left_out), or a transform (all else): m, [x, y, z, w] and s, along the target's axes."""

    frames: list[FrameAnswer]
    left_out: int
    translation: list[float]
    rotation_xyzw: list[float]
    target_convention: str
    source_convention: str
    chain: list[str]
    updated_s_ago: dict[str, float]
    static: bool
    time: float
    age: float


@tool("query_tf_tree")
def query_tf_tree(
    call: ToolCall,
    *,
    target: Annotated[str, "frame to express the pose in; empty, with an empty source, for the hierarchy"] = "",
    source: Annotated[str, "frame to find"] = "",
    time: Annotated[float | None, "simulation or ROS time in s; none for the latest common time"] = None,
) -> TfTree:
    """Return the tree of frames, or the transform between two of them.

    Without frames: each frame with its parent, whether it is static or dynamic, how long ago it was last updated, and
    its axes. With target and source: the pose of source in target (m, quaternion [x, y, z, w], along the target's
    axes), the axes of both, the chain of frames between them, and how old the transform of each moving one is.

    Axes follow from names, as in REP 103 and REP 105: ENU (east, north, up) for map, odom, world and the root; FLU
    (forward, left, up) for others; NED, FRD and optical (z ahead, x to the right) for names that end in _ned, _frd and
    _optical; ECEF for earth.
    """
    graph = call.graph
    call.patience.until(lambda: graph.tree.frames, FIRST_S)
    if not graph.tree.frames:
        raise ToolRefused("no transforms have come in on /tf and /tf_static")
    if not target and not source:
        return _hierarchy(graph)
    if not target or not source:
        raise ToolRefused("both target and source are needed, or neither")
    return _transform(call, graph, target, source, None if time is None else nanoseconds(time))


def _hierarchy(graph: Graph) -> TfTree:
    silent = graph.silent_for()
    frames: list[FrameAnswer] = []
    for frame in graph.tree.describe()[:MAX_FRAMES]:
        row = FrameAnswer(
            frame=shown(frame.name), parent=shown(frame.parent or ""), kind=frame.kind, convention=frame.convention
        )
        if frame.name in silent:
            row["updated_s_ago"] = round(silent[frame.name], 3)
        frames.append(row)
    left_out = max(len(graph.tree.frames) - len(frames), 0)
    return {"frames": frames, "left_out": left_out}


def _transform(call: ToolCall, graph: Graph, target: str, source: str, time_ns: int | None) -> TfTree:
    tree = graph.tree
    # Just after a start, frames may not have been received yet; and the requested time may be slightly in the future.
    call.patience.until(lambda: tree.can_lookup(target, source, time_ns), FIRST_S)
    try:
        if time_ns is None:
            stamp_ns, pose = tree.lookup_stamped(target, source)
        else:
            stamp_ns, pose = time_ns, tree.lookup(target, source, time_ns)
        chain = tree.chain(target, source, stamp_ns)
    except TransformError as error:
        raise ToolRefused(f"{shown(source)} in {shown(target)}: {error}") from None
    silent, now_ns = graph.silent_for(), graph.now_ns()
    roots = tree.roots
    of_target, of_source = (convention(name, is_root=name in roots) for name in (target, source))
    found: TfTree = {
        "translation": [float(value) for value in pose[:3]],
        "rotation_xyzw": [float(value) for value in pose[3:]],
        "target_convention": of_target,
        "source_convention": of_source,
        "chain": [shown(name) for name in chain],
        "updated_s_ago": {shown(name): round(silent[name], 3) for name in chain if name in silent},
    }
    if stamp_ns is None:
        found["static"] = True
        return found
    found["time"] = stamp_ns / 1e9
    if now_ns is not None:
        found["age"] = (now_ns - stamp_ns) / 1e9
    return found
