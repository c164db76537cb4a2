"""Serve a bag to Foxglove: it plays in a loop, and clients control the playback."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from sim_node.recording.bag import BagError
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.definitions import UnknownMessageType, definition_of
from sim_node.recording.opening import open_bag
from sim_node.recording.playback import Playback
from sim_node.recording.player import PlaybackTarget, Player
from sim_node.session.foxglove_server import FoxgloveServer, Playhead
from sim_node.text import MAX_LINE, shown

# Rate of time updates to clients, in Hz of wall time.
_RATE = 60.0


class BagServer(Playhead, PlaybackTarget):
    """Plays a bag for Foxglove. It is the PlaybackTarget of a Player.

    Args:
        path: The bag.
        port: As in FoxgloveServer.
        report: Called with messages for the user.
        max_bytes: Limit of a chunk in memory, as in open_bag.

    Attributes:
        url: Address that clients connect to.

    Raises:
        BagError: The bag cannot be read, or none of its topics can be served.
        PagePortInUse: The port cannot be opened.
    """

    def __init__(
        self, path: str | Path, port: int | None, report: Callable[[str], None], max_bytes: int = MAX_BYTES
    ) -> None:
        self._report = report
        self._bag = open_bag(path, max_bytes)
        self.span = self._bag.start_ns, self._bag.end_ns
        self._now_ns = self._bag.start_ns
        served: dict[int, str] = {}
        for row, topic in enumerate(self._bag.topics):
            if topic.encoding != "cdr" or topic.is_idl:
                report(shown(f"{topic.name}: is not served: its definition is not ros2msg", MAX_LINE))
                continue
            try:
                served[row] = topic.definition or definition_of(topic.type).text
            except UnknownMessageType as fault:
                report(shown(f"{topic.name}: is not served: {fault}", MAX_LINE))
        if not served:
            raise BagError("none of the bag's topics can be served")
        self._server = FoxgloveServer(port, Path(path).resolve().name, playback=self)
        self.url = self._server.url
        self._sends: dict[int, Callable[[bytes], None]] = {}
        for row, definition in served.items():
            topic = self._bag.topics[row]
            latched = any(qos.latched for qos in topic.qos) or topic.name.endswith("tf_static")
            send = self._server.channel(topic.name, topic.type, definition, latched)
            self._sends[row] = lambda data, send=send: send(self._now_ns, data)  # type: ignore[misc]
        playback = Playback(self._bag, topics=[self._bag.topics[row].name for row in served])
        self._player = Player(playback, self, loop=True, clock_rate=_RATE, continuous=False)

    def start(self, *, paused: bool = False) -> None:
        """Start playing, or stay paused at the start."""
        if paused:
            self._player.pause()
        self._player.start()

    def close(self) -> None:
        """Stop the player and the server."""
        self._player.stop()
        self._server.close()
        self._bag.close()

    def control(self, playing: bool, speed: float, seek_ns: int | None) -> int:
        """Play or pause at a speed, optionally after seeking to a time of the bag. Return the bag's time, ns."""
        if speed > 0.0:
            self._player.set_rate(speed)
        if seek_ns is not None:
            self._player.seek(min(max(seek_ns, self.span[0]), self.span[1]) - self.span[0])
            self._now_ns = seek_ns
        if playing:
            self._player.resume()
        else:
            self._player.pause()
        return self._now_ns

    # PlaybackTarget interface

    @property
    def sends(self) -> Mapping[int, Callable[[bytes], None]]:
        """A sender for each topic."""
        return self._sends

    def clock(self, time_ns: int) -> None:
        """Send the time."""
        self._now_ns = time_ns
        self._server.time(time_ns)

    def warn(self, text: str) -> None:
        """Report a message to the user."""
        self._report(text)
