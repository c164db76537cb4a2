"""The transforms of a running graph, received by a separate node."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType

from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.participant import participant, spinning
from sim_node.ros.tf2 import Buffer, TransformListener
from sim_node.ros.tf_statistics import FrameTraffic, TfStatistics
from sim_node.spatial.tree import TransformTree


class LiveGraph:
    """Receives /tf and /tf_static while it is entered, in a thread of its own.

    Args:
        name: Name of its node.
        rosout: Whether the node's log goes to /rosout.

    Attributes:
        tree: The received transforms.
        node: The node; there once it is entered.
        clock: The graph's time; there once it is entered.
    """

    def __init__(self, name: str = "sim_node_live", *, rosout: bool = True) -> None:
        self.tree = TransformTree(detect_jumps=True)
        self._name, self._rosout = name, rosout

    def __enter__(self) -> LiveGraph:
        with ExitStack() as stack:
            self.node, executor = stack.enter_context(participant(self._name, rosout=self._rosout))
            self._statistics = TfStatistics(lambda: self.clock.now_ns())
            self.clock = GraphClock(self.node, found=self._statistics.forget_delays)
            listener = TransformListener(
                Buffer(tree=self.tree), self.node, spin_thread=False, on_batch=self._statistics.on_batch
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
