"""The transforms of a running graph, received by a separate node."""

from __future__ import annotations

import threading
from types import TracebackType

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from sim_node.nodes.environment import prepare
from sim_node.nodes.graph_clock import GraphClock
from sim_node.nodes.tf2 import Buffer, TransformListener
from sim_node.nodes.tf_statistics import FrameTraffic, TfStatistics
from sim_node.tree import TransformTree


class LiveGraph:
    """Receives /tf and /tf_static while it is entered. tree: the received transforms."""

    def __init__(self) -> None:
        self.tree = TransformTree(detect_jumps=True)

    def __enter__(self) -> LiveGraph:
        prepare()
        rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
        try:
            self._node = rclpy.create_node("sim_node_live", start_parameter_services=False)
            self._statistics = TfStatistics(lambda: clock.now_ns())
            clock = GraphClock(self._node, found=self._statistics.forget_delays)
            self._listener = TransformListener(
                Buffer(tree=self.tree), self._node, spin_thread=False, on_batch=self._statistics.on_batch
            )
            self._executor = SingleThreadedExecutor()
            self._executor.add_node(self._node)
            self._spinner = threading.Thread(target=self._executor.spin, name="listen", daemon=True)
            self._spinner.start()
        except BaseException:
            rclpy.try_shutdown()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._executor.shutdown(timeout_sec=1.0)
            self._spinner.join(1.0)
            self._listener.unregister()
            self._node.destroy_node()
        finally:
            rclpy.try_shutdown()

    def traffic(self) -> dict[str, FrameTraffic]:
        """Return the traffic of each frame."""
        return self._statistics.traffic()
