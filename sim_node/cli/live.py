"""Follow the transforms of a running graph: the tree, or one lookup, with rates and delays."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError
from sim_node.cli.terminal import pose_as_dict, pose_lines
from sim_node.interrupt import Interrupt
from sim_node.packages import how_to_install

if TYPE_CHECKING:
    from sim_node.ros.live_graph import FrameTraffic, LiveGraph
    from sim_node.spatial.tree import FrameInfo

NOTHING_YET = "no transforms yet on /tf and /tf_static"


def live_tree(*, period: float, as_json: bool = False) -> int:
    """Show all frames of the graph every `period` seconds until a signal. The exit code is then 0.

    On a terminal, the output is redrawn in place; elsewhere, it is appended. as_json: one line each time.
    """
    return _follow(_tree_json if as_json else _tree_text, period, in_place=not as_json)


def live_lookup(target: str, source: str, *, period: float, as_json: bool = False) -> int:
    """Show the latest pose of `source` in `target` every `period` seconds until a signal, like live_tree."""
    text_of = _lookup_json if as_json else _lookup_text
    return _follow(lambda graph: text_of(graph, target, source), period, in_place=not as_json)


def _follow(show: Callable[[LiveGraph], str], period: float, *, in_place: bool) -> int:
    in_place = in_place and sys.stdout.isatty()
    # Entered before rclpy is loaded, which takes a second, so that Ctrl-C is a normal end meanwhile, too.
    with Interrupt() as interrupt, _listening() as graph:
        done = threading.Event()

        def draw() -> None:
            drawn = 0
            try:
                while True:
                    text = show(graph)
                    sys.stdout.write(_redrawn(text, drawn) if in_place else text + "\n")
                    sys.stdout.flush()
                    drawn = text.count("\n") + 1
                    if done.wait(period):
                        return
            except BrokenPipeError:
                # `sim_node tree --live | head`
                interrupt.wake()

        drawing = threading.Thread(target=draw, name="draw", daemon=True)
        drawing.start()
        interrupt.wait()
        done.set()
        drawing.join(1.0)
    return 0


def _listening() -> LiveGraph:
    try:
        from sim_node.ros.live_graph import LiveGraph
    except ImportError as error:
        raise UsageError(f"--live needs ROS 2: {how_to_install(error)}; see `sim_node doctor`") from None
    return LiveGraph()


def _redrawn(text: str, lines_before: int) -> str:
    """Move the cursor to the first line drawn before, and clear from there (ECMA-48: CUU, ED)."""
    return (f"\x1b[{lines_before}A\r" if lines_before else "") + "\x1b[J" + text + "\n"


def _tree_text(graph: LiveGraph) -> str:
    from sim_node.spatial.tree import describe

    frames = graph.tree.describe()
    if not frames:
        return NOTHING_YET
    traffic = graph.traffic()

    def remark(frame: FrameInfo) -> str:
        if frame.kind in ("root", "static"):
            return describe.remark(frame)
        return f"{frame.kind}  {_traffic(traffic.get(frame.name))}"

    return describe.as_text(frames, remark, describe.lines_in(sys.stdout.encoding))


def _tree_json(graph: LiveGraph) -> str:
    traffic = graph.traffic()
    frames = graph.tree.as_dict()
    for name, frame in frames.items():
        received = traffic.get(name)
        frame["traffic"] = received and {**received._asdict(), "clock": received.clock}
    return json.dumps(frames)


def _lookup_text(graph: LiveGraph, target: str, source: str) -> str:
    from sim_node.spatial.tree import TransformError
    from sim_node.spatial.tree.errors import seconds

    if not graph.tree.frames:
        return NOTHING_YET
    try:
        stamp, pose = graph.tree.lookup_stamped(target, source)
        on_the_way = graph.tree.chain(target, source, stamp)
    except TransformError as error:
        return f"{source} in {target}: {error}"
    traffic = graph.traffic()
    width = max(len(name) for name in on_the_way)
    lines = [
        f"{source} in {target} at {'all times' if stamp is None else seconds(stamp)}",
        *pose_lines(target, source, None, pose, graph.tree.roots)[1:],
    ]
    moving = [name for name in on_the_way if name in traffic]
    return "\n".join(lines + [f"  {name.ljust(width)}  {_traffic(traffic[name])}" for name in moving])


def _lookup_json(graph: LiveGraph, target: str, source: str) -> str:
    from sim_node.spatial.tree import TransformError

    try:
        stamp, pose = graph.tree.lookup_stamped(target, source)
    except TransformError as error:
        return json.dumps({"error": type(error).__name__, "message": str(error)})
    return json.dumps(pose_as_dict(target, source, pose, graph.tree.roots, stamp_ns=stamp))


def _traffic(traffic: FrameTraffic | None) -> str:
    if traffic is None:
        return "not received"
    rate = "      " if traffic.rate_hz is None else f"{traffic.rate_hz:6.1f}"
    delay = "delay not yet known"
    if traffic.clock == "wall clock":
        delay = "stamped by the wall clock, not by the graph's /clock: its publisher needs use_sim_time"
    elif traffic.clock:
        delay = "stamped by simulation time, but the graph has no /clock"
    elif traffic.mean_delay is not None and traffic.max_delay is not None:
        delay = f"delay {traffic.mean_delay * 1e3:.1f} ms mean, {traffic.max_delay * 1e3:.1f} ms most"
    silent = f", silent for {traffic.silent_for:.0f} s" if traffic.silent_for > 2.0 else ""
    return f"{rate} Hz  {delay}{silent}"
