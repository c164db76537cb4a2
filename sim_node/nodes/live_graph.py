"""The transforms of a running graph, received by a separate node."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from sim_node.nodes.graph_clock import GraphClock
from sim_node.nodes.participant import participant, spinning
from sim_node.nodes.tf2 import Buffer, TransformListener
from sim_node.nodes.tf_statistics import FrameTraffic, TfStatistics
from sim_node.tree import TransformTree


class LiveGraph:
    """Receives /tf and /tf_static while it is entered. tree: the received transforms."""

    def __init__(self) -> None:
        self.tree = TransformTree(detect_jumps=True)

    def __enter__(self) -> LiveGraph:
        with ExitStack() as stack:
            node, executor = stack.enter_context(participant("sim_node_live"))
            self._statistics = TfStatistics(lambda: clock.now_ns())
            clock = GraphClock(node, found=self._statistics.forget_delays)
            listener = TransformListener(
                Buffer(tree=self.tree), node, spin_thread=False, on_batch=self._statistics.on_batch
            )
            stack.callback(listener.unregister)
            stack.enter_context(spinning(executor))
            self._leave = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave.close()

    def traffic(self) -> dict[str, FrameTraffic]:
        """Return the traffic of each frame."""
        return self._statistics.traffic()
