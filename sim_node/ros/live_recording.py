"""Recording of a running graph: any topics, as serialized bytes, with the QoS of their publishers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rclpy.clock import Clock, ClockType
from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.parameter import Parameter
from rclpy.subscription import Subscription
from rclpy.topic_endpoint_info import TopicEndpointInfo

from sim_node.messages.topic import Qos, Send, Topic
from sim_node.recording.bag import RecordingStopped
from sim_node.recording.definitions import UnknownMessageType, definition_here
from sim_node.recording.recorder import Recorder
from sim_node.recording.settings import RecordingSettings
from sim_node.ros.graph_clock import GraphClock
from sim_node.ros.parameters import refuse_unknown
from sim_node.ros.publishers import message_class, profile, qos_of, subscription_qos
from sim_node.ros.recording import serve_snapshot
from sim_node.ros.spin import LoopNode
from sim_node.text import MAX_LINE, shown

# How often to look for new topics and publishers, and to commit received messages to the bag.
POLL_S, COMMIT_S = 0.25, 0.1
# Time until patterns that have matched no topic are reported, s.
REPORT_S = 5.0
# Minimum depth of a subscription, for messages that arrive while this process is busy.
MIN_DEPTH = 1000


class LiveRecordingNode(LoopNode):
    """Records the topics of the graph that the settings select, including those that appear later.

    Messages are stamped on arrival by the wall clock, or by /clock if `simulated`; messages before the first /clock are
    then dropped. missed: for each topic, the number of messages that the middleware lost; a warning is logged once.
    Raises BagError.
    """

    def __init__(self, folder: Path, settings: RecordingSettings, *, simulated: bool = False) -> None:
        super().__init__(
            "sim_node_record",
            start_parameter_services=False,
            enable_rosout=False,
            parameter_overrides=[Parameter("use_sim_time", value=False)],
        )
        refuse_unknown(self, {})
        self.recorder = Recorder(folder, settings, warn=self.get_logger().error, patient=False)
        self.loop: _Recording = _Recording(self.recorder)
        if settings.snapshot_ns:
            serve_snapshot(self, self.recorder)
        self._now_ns: Callable[[], int | None] = GraphClock(self).now_ns if simulated else time.time_ns
        self.missed: dict[str, int] = {}
        self._counted: dict[str, int] = {}
        self._subscribed: dict[str, tuple[Qos, Subscription]] = {}
        self._left_out: set[str] = set()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(POLL_S, self.update, clock=steady)
        self.create_timer(COMMIT_S, self._commit, clock=steady)
        self.create_timer(REPORT_S, self.recorder.report_unmatched, clock=steady)

    def update(self) -> None:
        """Subscribe to new topics, and adapt to new publishers."""
        for name, types in self.get_topic_names_and_types():
            self.recorder.see(name)
            if name in self._left_out or not self.recorder.settings.wants(name):
                continue
            if self.count_publishers(name) <= self._counted.get(name, 0):
                continue
            publishers = [each for each in self.get_publishers_info_by_topic(name) if not self._ours(each)]
            if len(publishers) <= self._counted.get(name, 0):
                continue
            if len(types) > 1:
                self._leave_out(name, f"it has several types: {', '.join(types)}")
                continue
            self._counted[name] = len(publishers)
            try:
                self._subscribe_to(name, types[0], publishers)
            except (UnknownMessageType, ImportError, AttributeError) as error:
                self._leave_out(name, f"{types[0]}: {error}")

    def _subscribe_to(self, name: str, type: str, publishers: Sequence[TopicEndpointInfo]) -> None:
        kind = message_class(type)
        offered = tuple(_with_depth(qos_of(each.qos_profile)) for each in publishers)
        definition = definition_here(type)
        type_hash = str(getattr(publishers[0], "topic_type_hash", ""))
        if type_hash.startswith("RIHS01_"):
            definition = definition._replace(type_hash=type_hash)
        wanted = subscription_qos(offered, MIN_DEPTH)
        send = self.recorder.advertise(Topic(name, type, wanted), definition, offered)
        before = self._subscribed.get(name)
        if before is not None and before[0] == wanted:
            return
        if before is None:
            self.get_logger().info(f"recording {shown(name)} ({shown(type)})")
        else:  # the subscription is not compatible with a new publisher
            self.destroy_subscription(before[1])
        events = SubscriptionEventCallbacks(message_lost=lambda lost: self._lost(name, lost.total_count_change))
        subscription = self.create_subscription(
            kind, name, self._receiver(send), profile(wanted), event_callbacks=events, raw=True
        )
        self._subscribed[name] = wanted, subscription

    def _receiver(self, send: Send) -> Callable[[bytes], None]:
        now_ns = self._now_ns

        def receive(data: bytes) -> None:
            at_ns = now_ns()
            if at_ns is not None:
                send(at_ns, data)

        return receive

    def _lost(self, name: str, number: int) -> None:
        if not number:  # already counted by the event before
            return
        if name not in self.missed:
            self.get_logger().warning(
                f"{shown(name)}: messages are being lost; their number is reported at the end. Large ones need shared "
                "memory (docs/simulation-node.md)"
            )
        self.missed[name] = self.missed.get(name, 0) + number

    def _commit(self) -> None:
        at_ns = self._now_ns()
        if at_ns is None:
            return
        try:
            self.recorder.commit(at_ns)
        except RecordingStopped as end:
            self.loop.end(end)

    def _leave_out(self, name: str, why: str) -> None:
        self._left_out.add(name)
        self.get_logger().warning(f"{shown(name)} is not recorded: {shown(why, MAX_LINE)}")

    def _ours(self, publisher: TopicEndpointInfo) -> bool:
        return (publisher.node_name, publisher.node_namespace) == (self.get_name(), self.get_namespace())


class _Recording:
    """A recording from start to stop. Its messages are added by the executor."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._ended: Callable[[], None] = lambda: None
        self._end: RecordingStopped | None = None

    def start(self, *, ended: Callable[[], None]) -> None:
        """Create the bag. `ended` is called if the recording ends before it is stopped."""
        self._ended = ended
        self._recorder.open()

    def end(self, why: RecordingStopped) -> None:
        """End the recording, because the bag accepts no further messages."""
        self._end = why
        self._ended()

    def stop(self) -> None:
        """Complete the bag. Raises the exception that ended it."""
        self._recorder.close()
        if self._end is not None:
            raise self._end


def _with_depth(offered: Qos) -> Qos:
    """Set the depth, which discovery does not report. It is 1 for latched topics, for late subscribers of a replay."""
    if offered.depth:
        return offered
    return replace(offered, depth=1 if offered.latched else 10, history="keep_last")
