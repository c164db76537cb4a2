"""Serve the messages of a run or a bag to Foxglove with foxglove-sdk's WebSocket server on localhost, without ROS."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import foxglove
from foxglove.websocket import (
    Capability,
    PlaybackCommand,
    PlaybackControlRequest,
    PlaybackState,
    PlaybackStatus,
    ServerListener,
)

from sim_node.messages.topic import Send, Topic, absolute
from sim_node.recording.definitions import definition_of
from sim_node.viewing.messages.mesh_files import mesh_path
from sim_node.viewing.messages.robot_descriptions import is_description
from sim_node.viewing.ports import HOST, PagePortInUse, free_port
from sim_node.world.readers.xml_elements import unescape

# Foxglove's default port.
DEFAULT_PORT = 8765
_CLOCK = "rosgraph_msgs/msg/Clock"
# Files referenced by a URDF.
_FILENAME = re.compile(rb"""\bfilename\s*=\s*["']([^"'<]+)["']""")


class FoxgloveServer:
    """An outlet that sends messages to Foxglove unchanged: CDR, with ros2msg definitions.

    Clients that connect later receive the last message of latched topics. When time jumps back, a new session begins.

    Args:
        port: The port; None for Foxglove's default or the next free one, 0 for any free port.
        name: Title of the server.
        resolve: Makes topic names absolute.
        playback: Playback that clients may control, for a bag.

    Attributes:
        url: Address that clients connect to.

    Raises:
        PagePortInUse: The port cannot be opened.
    """

    def __init__(
        self, port: int | None, name: str, resolve: Callable[[str], str] = absolute, playback: Playhead | None = None
    ) -> None:
        self._resolve = resolve
        self._lock = threading.RLock()
        self._channels: dict[str, foxglove.Channel] = {}
        self._publishers: Counter[str] = Counter()
        self._latched: dict[int, tuple[foxglove.Channel, int, bytes]] = {}
        self._meshes: set[str] = set()
        self._last_ns = -(2**63)
        # A separate context: the global one would mix the topics of several servers.
        self._context = foxglove.Context()
        found = free_port(port, DEFAULT_PORT)
        try:
            self._server = foxglove.start_server(
                name=name,
                host=HOST,
                port=found,
                capabilities=[Capability.Time],
                server_listener=_Listener(self, playback),
                supported_encodings=["cdr"],
                asset_handler=self._asset,
                context=self._context,
                playback_time_range=None if playback is None else playback.span,
            )
        except RuntimeError as fault:
            raise PagePortInUse(f"port {found}: {fault}; give another port, or 0 for any") from None
        self.url = f"ws://{HOST}:{self._server.port}"

    def advertise(self, topic: Topic) -> Send:
        """Return a function that sends on a topic. Raises UnknownMessageType for an unknown message definition."""
        return self.channel(self._resolve(topic.name), topic.type, definition_of(topic.type).text, topic.qos.latched)

    def withdraw(self, topic: Topic) -> None:
        """Remove a topic after its last publisher."""
        name = self._resolve(topic.name)
        with self._lock:
            self._publishers[name] -= 1
            if self._publishers[name] <= 0:
                channel = self._channels.pop(name)
                self._latched.pop(channel.id(), None)
                channel.close()

    def refuses(self, topic: Topic) -> str | None:
        """Return None: any topic may be advertised at any time."""
        return None

    def channel(self, name: str, type_: str, definition: str, latched: bool) -> Send:
        """Return a function that sends on a topic with a definition (ros2msg). All publishers share one channel."""
        with self._lock:
            self._publishers[name] += 1
            if name not in self._channels:
                schema = foxglove.Schema(name=type_, encoding="ros2msg", data=definition.encode())
                self._channels[name] = foxglove.Channel(
                    name, schema=schema, message_encoding="cdr", context=self._context
                )
            channel = self._channels[name]
        is_clock, number = type_ == _CLOCK, channel.id()
        describes = is_description(name, type_)

        def send(time_ns: int, data: bytes) -> None:
            # Senders may reuse their buffers, and the protocol has no times before 1970.
            message, time_ns = bytes(data), max(time_ns, 0)
            if latched:
                with self._lock:
                    self._latched[number] = channel, time_ns, message
            if describes:
                self._meshes.update(unescape(each.decode(errors="replace")) for each in _FILENAME.findall(message))
            if is_clock:
                self.time(time_ns)
            channel.log(message, log_time=time_ns)

        return send

    def time(self, time_ns: int) -> None:
        """Send the time to all clients."""
        if time_ns < self._last_ns:
            self._server.clear_session()
        self._last_ns = time_ns
        self._server.broadcast_time(max(time_ns, 0))  # the protocol has no times before 1970

    def repeat(self, channel: int) -> None:
        """Send the last message of a latched topic again, for a new subscriber."""
        with self._lock:
            kept = self._latched.get(channel)
        if kept is not None:
            kept[0].log(kept[2], log_time=kept[1])

    def _asset(self, uri: str) -> bytes | None:
        """Return a mesh file if a published robot description refers to it. Clients may not read other files."""
        if uri not in self._meshes:
            return None
        try:
            return mesh_path(uri).read_bytes()
        except (ValueError, OSError):
            return None

    def close(self) -> None:
        """Stop the server. Closing it again has no effect."""
        self._server.stop()


class Playhead:
    """Playback of a bag that clients can control.

    Attributes:
        span: First and last time, ns.
    """

    span: tuple[int, int]

    def control(self, playing: bool, speed: float, seek_ns: int | None) -> int:
        """Play or pause at a speed, optionally after seeking to a time. Return the time, ns."""
        raise NotImplementedError


class _Listener(ServerListener):  # type: ignore[misc]
    def __init__(self, server: FoxgloveServer, playback: Playhead | None) -> None:
        self._server, self._playback = server, playback

    def on_subscribe(self, client: Any, channel: Any) -> None:
        # In another thread, because the server calls this before the subscription is active, and waits for it.
        threading.Timer(0.0, self._server.repeat, (channel.id,)).start()

    def on_playback_control_request(self, playback_control_request: PlaybackControlRequest) -> PlaybackState | None:
        request = playback_control_request
        if self._playback is None:
            return None
        playing = request.playback_command == PlaybackCommand.Play
        now = self._playback.control(playing, request.playback_speed, request.seek_time)
        return PlaybackState(
            status=PlaybackStatus.Playing if playing else PlaybackStatus.Paused,
            current_time=now,
            playback_speed=request.playback_speed,
            did_seek=request.seek_time is not None,
            request_id=request.request_id,
        )
