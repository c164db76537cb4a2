"""The replay node: its parameters, a bag on the graph, and its status on /diagnostics."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from rcl_interfaces.msg import SetParametersResult
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.time import Time
from std_msgs.msg import Float64

from sim_node.recording.bag import Bag, BagError
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import Player
from sim_node.recording.qos import offer
from sim_node.ros import publishers
from sim_node.ros.environment import prepare
from sim_node.ros.parameters import ParameterFault, ParameterSpec, applied, changing, declare, fixed, refuse_unknown
from sim_node.ros.playback_target import ANY, GraphPlaybackTarget
from sim_node.ros.spin import LoopNode
from sim_node.ros.statuses import OK, WARN, Status, publish_statuses
from sim_node.ros.triggers import serve
from sim_node.text import MAX_LINE, did_you_mean, shown

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
    """Return the topics that must have subscribers before playback starts."""
    return [name for name in values["wait_for"] if name]


def check_awaited(values: Mapping[str, Any], played: Sequence[str]) -> None:
    """Raise ParameterFault for an awaited topic that is not played, since it would never have subscribers."""
    for name in awaited(values):
        if name != ANY and name not in played:
            hint = did_you_mean(name, played) or f"; played are {', '.join(played)}"
            raise ParameterFault(f"parameter wait_for: {name} is not played{hint}")


class ReplayDiagnostics:
    """Publishes the status of a player: state, position, pace, and other publishers of its topics."""

    def __init__(self, node: Node, player: Player, target: GraphPlaybackTarget) -> None:
        self._node, self._player, self._target = node, player, target
        self._behind = 0.0
        publish_statuses(node, lambda: [self._status()], self._now)

    def _now(self) -> Time:
        """Return the time of the replayed topics, for subscribers that use our /clock."""
        clock_ns = self._target.clock_ns
        return self._node.get_clock().now() if clock_ns is None else Time(nanoseconds=clock_ns)

    def _status(self) -> Status:
        player = self._player
        pace = player.pace()
        level, message = OK, player.status()
        missing = [] if player.began else self._target.missing()
        if missing:
            level, message = WARN, f"waiting for subscribers of {', '.join(missing)}"
            self._node.get_logger().info(message, throttle_duration_sec=10.0)
        elif pace.behind > self._behind:
            level, message = WARN, f"fell behind by {pace.behind - self._behind:.1f} s"
        self._behind = pace.behind
        others = self._target.others()
        if others:
            level, message = WARN, f"another node publishes, too: {', '.join(others)}"
            self._node.get_logger().warning(
                f"{message}; stop one, play other --topics, or --remap them", throttle_duration_sec=30.0
            )
        values: dict[str, object] = {
            "position (s)": f"{player.position_ns / 1e9:.9g}",
            "messages": player.sent,
            "loops": player.loops,
            "lateness p99 (ms)": f"{pace.lateness_p99 * 1e3:.3f}",
            "wall time given up (s)": f"{pace.behind:.3f}",
        }
        return Status(level, "replay", message, values.items())


POSITION_PERIOD_S = 0.1


def prepare_replay() -> None:
    """Prepare the environment before rclpy.init.

    Fast DDS is configured to send heartbeats often, because a replay waits for acknowledgements.
    """
    prepare("fastdds_replay")


class ReplayNode(LoopNode):
    """Plays a bag.

    Args:
        parameters: Overrides of the parameters in sim_node.ros.replay_parameters.SPECS.
        shown: Called with the player ten times a second.

    Raises:
        ParameterFault: A parameter is invalid.
    """

    loop: Player

    def __init__(
        self, parameters: Mapping[str, Any] | None = None, *, shown: Callable[[Player], None] = lambda player: None
    ) -> None:
        overrides = [Parameter(name, value=value) for name, value in (parameters or {}).items()]
        super().__init__("replay", parameter_overrides=overrides)
        values = declare(self, SPECS)
        refuse_unknown(self, SPECS)
        self.bag = opened(values)
        try:
            self._set_up(self.bag, values)
        except BaseException:
            self.bag.close()
            raise
        self._shown = shown
        self._diagnostics = ReplayDiagnostics(self, self.loop, self.target)
        self._position = self.create_publisher(Float64, "~/position", publishers.DIAGNOSTICS)
        self.create_timer(POSITION_PERIOD_S, self._publish_position, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def scale_rate(self, factor: float) -> None:
        """Scale the playback rate. No effect if playing as fast as possible.

        Args:
            factor: The factor.
        """
        rate = min(max(self.get_parameter("rate").value * factor, 0.0), 1000.0)
        self.set_parameters([Parameter("rate", value=rate)])

    def destroy_node(self) -> None:
        """Destroy the node, and close the bag."""
        self.bag.close()
        super().destroy_node()

    def _set_up(self, bag: Bag, values: Mapping[str, Any]) -> None:
        start_ns, stop_ns = span_ns(bag, values)
        self.target = GraphPlaybackTarget(
            self, clock=values["clock"], wait_for=awaited(values), settle_s=values["settle"]
        )
        skipped_topics = defaultdict[str, list[str]](list)
        for row in chosen(bag, values):
            topic = bag.topics[row]
            why = self.target.add(row, topic, offer(topic))
            if why:
                skipped_topics[why].append(topic.name)
        skipped = [f"{why.rstrip(':')}: skipping {', '.join(names)}" for why, names in skipped_topics.items()]
        if not self.target.sends:
            raise ParameterFault("\n  ".join([f"{values['bag']}: there is nothing to play", *skipped]))
        played = [bag.topics[row].name for row in self.target.sends]
        check_awaited(values, [*played, *(["/clock"] if values["clock"] else [])])
        playback = Playback(bag, topics=played, start_ns=start_ns, stop_ns=stop_ns)
        for line in (*skipped, *(f"{name}: is not merged: {why}" for name, why in playback.unmerged.items())):
            self.get_logger().warning(shown(line, MAX_LINE))
        self.loop = player = Player(
            playback,
            self.target,
            rate=values["rate"],
            loop=values["loop"],
            paused=values["start_paused"],
            clock_rate=values["clock_rate"] if values["clock"] else 0.0,
            step_ns=round(values["step_size"] * 1e9),
            continuous=values["continuous_time"],
        )
        self.target.lossless = values["rate"] == 0.0
        self.target.over = lambda: player.stopping
        self.add_on_set_parameters_callback(self._change)
        actions: dict[str, Callable[[], object]] = {
            "pause": player.pause,
            "resume": player.resume,
            "toggle": player.toggle,
            "step": player.step,
            "seek": lambda: player.seek(round(self.get_parameter("position").value * 1e9)),
            "stop": player.end,
        }

        def then_status(act: Callable[[], object]) -> str:
            act()
            return player.status()

        serve(self, player, {name: partial(then_status, act) for name, act in actions.items()})

    def _change(self, parameters: list[Parameter]) -> SetParametersResult:
        """Apply changed parameters. rclpy has checked their types, ranges and read-only flags."""
        apply: dict[str, Callable[[Any], None]] = {
            "rate": self._set_rate,
            "loop": lambda value: self.loop.call(lambda: setattr(self.loop, "loop", value)),
            "step_size": lambda value: self.loop.call(lambda: setattr(self.loop, "step_ns", round(value * 1e9))),
            "position": lambda value: self.loop.seek(round(value * 1e9)),
        }
        return applied(parameters, apply)

    def _set_rate(self, rate: float) -> None:
        self.loop.set_rate(rate)
        self.target.lossless = rate == 0.0

    def _publish_position(self) -> None:
        self._position.publish(Float64(data=self.loop.position_ns / 1e9))
        self._shown(self.loop)
