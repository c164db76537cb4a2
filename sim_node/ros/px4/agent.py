"""The link fmu:NAMESPACE: a PX4 that publishes on the graph through an agent, as a link of a bridge."""

from __future__ import annotations

import itertools
import re
import socket
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import rclpy
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.timer import Timer

from sim_node.mavlink.codec import EncodeError, frame_bytes
from sim_node.mavlink.links import Address, Endpoint, EndpointFault
from sim_node.mavlink.links.endpoint import endpoint
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.px4.agent import INPUT_TYPES, OUTPUTS, FmuOutputs, inputs_of
from sim_node.mavlink.px4.names import versioned
from sim_node.mavlink.topics import Profile
from sim_node.mavlink.transaction import Outgoing
from sim_node.packages import missing_message
from sim_node.ros.publishers import message_class, profile

SCHEME = "fmu"
# How often to look for a PX4 of another version, until one is heard, s.
_LOOK_S = 5.0
# Maximum number of frames waiting for the bridge's loop. The oldest are dropped first, like in a socket.
_MAX_WAITING = 10_000
_NAMESPACE = re.compile(r"(/?[A-Za-z_]\w*)*", re.ASCII)


@endpoint(SCHEME)
class AgentEndpoint(Endpoint):
    """Converts PX4's messages below fmu/out to MAVLink frames, and sent frames to messages below fmu/in.

    Args:
        url: The URL.
        rest: The namespace in front of fmu, such as px4_1; empty for none.

    Raises:
        EndpointFault: The namespace is invalid, or px4_msgs is not installed.
    """

    datagrams = True

    def __init__(self, url: str, rest: str) -> None:
        self.url, self._prefix = url, f"{rest.strip('/')}/" if rest.strip("/") else ""
        if not _NAMESPACE.fullmatch(rest):
            raise EndpointFault(f"url {url!r}: {rest!r} is no namespace; needs {SCHEME}: or {SCHEME}:px4_1")
        try:
            message_class("px4_msgs/VehicleStatus")
        except ImportError:
            raise EndpointFault(f"url {url!r}: {missing_message('px4_msgs')}") from None
        self._waiting: deque[bytes] = deque(maxlen=_MAX_WAITING)
        self._outputs, self._sent = FmuOutputs(), Parser(datagrams=True)
        self._sequence = itertools.count()
        self._publishers: dict[str, Publisher] = {}
        self._context: Context | None = None

    def open(self) -> None:
        """Subscribe, in a separate thread."""
        self._wakes, self._woken = socket.socketpair()
        self._wakes.setblocking(False)
        self._woken.setblocking(False)
        self._context = Context()
        rclpy.init(args=[], context=self._context)
        name = f"bridge_to_{self._prefix.replace('/', '_')}{SCHEME}"
        node = rclpy.create_node(name, context=self._context, enable_rosout=False)
        for name, output in OUTPUTS.items():
            kind = output.topic.type.removeprefix("px4_msgs/")
            for topic in versioned(self._prefix + output.topic.name, kind):
                made, quality = message_class(output.topic.type), profile(Profile.SENSOR.value)
                node.create_subscription(made, f"/{topic}", self._receiver(name), quality)
        for name, kind in INPUT_TYPES.items():
            # The versioned name, which PX4 uses, is the first.
            topic, made = versioned(f"/{self._prefix}fmu/in/{name}", kind)[0], message_class(f"px4_msgs/{kind}")
            self._publishers[name] = node.create_publisher(made, topic, profile(Profile.SENSOR.value))
        waiting: Timer = node.create_timer(_LOOK_S, lambda: self._look(node, waiting))
        executor = SingleThreadedExecutor(context=self._context)
        executor.add_node(node)
        threading.Thread(target=_spin, args=(executor,), name=self.url, daemon=True).start()

    def close(self) -> None:
        """End the thread and its node."""
        if self._context is not None:
            rclpy.try_shutdown(context=self._context)
            self._wakes.close()
            self._woken.close()
            self._context = None
            self._publishers.clear()
            self._waiting.clear()

    def fileno(self) -> int:
        """Return a descriptor that is readable while frames are waiting; -1 while closed."""
        return -1 if self._context is None else self._woken.fileno()

    def read(self) -> list[tuple[bytes, Address]]:
        """Return the waiting frames."""
        with suppress(BlockingIOError):
            while self._woken.recv(4096):
                pass
        found: list[tuple[bytes, Address]] = []
        while self._waiting:
            found.append((self._waiting.popleft(), None))
        return found

    def write(self, data: bytes, to: Address) -> None:
        """Publish a frame as PX4 messages. Frames without a topic are ignored."""
        for message in self._sent.feed(data):
            inputs, answers = inputs_of(message)
            for topic, fields in inputs:
                if (publisher := self._publishers.get(topic)) is not None:
                    publisher.publish(publisher.msg_type(**fields))
            for answer in answers:
                self._queue(answer)

    def _look(self, node: Node, timer: Timer) -> None:
        """Warn once if a PX4 uses another version of the status message than px4_msgs, since it cannot be received."""
        if self._outputs.system:
            timer.cancel()
            return
        plain = f"/{self._prefix}fmu/out/vehicle_status"
        ours = versioned(plain, "VehicleStatus")
        for name, _ in node.get_topic_names_and_types():
            if re.fullmatch(rf"{re.escape(plain)}(_v\d+)?", name) and name not in ours:
                mend = "build the px4_msgs of that PX4, or run PX4's message translation node"
                node.get_logger().warning(f"{self.url}: {name} is published, and px4_msgs has {ours[0]}: {mend}")
                timer.cancel()
                return

    def _receiver(self, name: str) -> Callable[[Any], None]:
        def receive(message: Any) -> None:
            for outgoing in self._outputs.frames(name, message):
                self._queue(outgoing)

        return receive

    def _queue(self, outgoing: Outgoing) -> None:
        name, fields = outgoing
        system = self._outputs.system
        with suppress(EncodeError):  # a value that does not fit into MAVLink
            self._waiting.append(frame_bytes(name, fields, system, 1, next(self._sequence) & 0xFF))
        with suppress(OSError):  # the buffer is full, so the loop wakes anyway; or it is closed
            self._wakes.send(b"\0")


def _spin(executor: SingleThreadedExecutor) -> None:
    with suppress(ExternalShutdownException):
        executor.spin()
