"""A client of Foxglove's WebSocket protocol (foxglove.sdk.v1), by the `websockets` package alone."""

from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from waiting import PATIENCE
from websockets.sync.client import connect
from websockets.sync.connection import Connection
from websockets.typing import Subprotocol

_MESSAGE, _TIME, _ASSET = 1, 2, 4


class Received(NamedTuple):
    """Topic, time (ns), and the message as rosbags decodes it by the definition that was sent."""

    topic: str
    time_ns: int
    message: Any


class Client:
    """What the server has sent so far."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.info: dict[str, Any] = {}
        self.channels: dict[str, dict[str, Any]] = {}
        self.messages: list[Received] = []
        self.times: list[int] = []
        self.others: list[dict[str, Any]] = []
        self.assets: dict[int, bytes | None] = {}
        self._subscriptions: dict[int, str] = {}
        self._stores: dict[str, Any] = {}

    def until(self, found: Callable[[Client], object]) -> None:
        """Takes in messages until something is true; fails when PATIENCE is over."""
        end = time.monotonic() + PATIENCE
        while not found(self):
            self._take_in(self._connection.recv(max(end - time.monotonic(), 0.0)))

    def subscribe(self, *topics: str) -> None:
        """Subscribes to topics, once they are there."""
        self.until(lambda client: set(topics) <= client.channels.keys())
        asked = []
        for topic in topics:
            number = len(self._subscriptions) + 1
            self._subscriptions[number] = topic
            asked.append({"id": number, "channelId": self.channels[topic]["id"]})
        self.send({"op": "subscribe", "subscriptions": asked})

    def send(self, request: dict[str, Any]) -> None:
        """Sends a request in JSON."""
        self._connection.send(json.dumps(request))

    def of(self, topic: str) -> list[Received]:
        """The messages of a topic so far."""
        return [each for each in self.messages if each.topic == topic]

    def _take_in(self, data: str | bytes) -> None:
        if isinstance(data, str):
            said = json.loads(data)
            if said["op"] == "serverInfo":
                self.info = said
            elif said["op"] == "advertise":
                self.channels.update((each["topic"], each) for each in said["channels"])
            else:
                self.others.append(said)
        elif data[0] == _TIME:
            self.times.append(struct.unpack_from("<Q", data, 1)[0])
        elif data[0] == _ASSET:
            number, failed, length = struct.unpack_from("<IBI", data, 1)
            self.assets[number] = None if failed else data[10 + length :]
        elif data[0] == _MESSAGE:
            number, time_ns = struct.unpack_from("<IQ", data, 1)
            topic = self._subscriptions[number]
            self.messages.append(Received(topic, time_ns, self._decoded(topic, data[13:])))

    def _decoded(self, topic: str, data: bytes) -> Any:
        channel = self.channels[topic]
        kind = channel["schemaName"]
        if topic not in self._stores:
            store = self._stores[topic] = get_typestore(Stores.EMPTY)
            store.register(get_types_from_msg(channel["schema"], kind))
        return self._stores[topic].deserialize_cdr(data, kind)


@contextmanager
def connected(url: str) -> Iterator[Client]:
    """A client of a server."""
    with connect(
        url, subprotocols=[Subprotocol("foxglove.sdk.v1")], max_size=None, close_timeout=0.1, ping_interval=None
    ) as connection:
        yield Client(connection)
