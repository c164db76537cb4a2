"""A page without a browser: connects as viser's does, and keeps what it is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import msgspec
import numpy as np
import viser
import zstandard
from waiting import PATIENCE
from websockets.sync.client import connect
from websockets.sync.connection import Connection
from websockets.typing import Subprotocol


class Page:
    """What the server has sent so far: messages in order, their arrays in place."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.messages: list[dict[str, Any]] = []

    def until(self, found: Callable[[Page], object]) -> None:
        """Takes in messages until something is true of them; fails when PATIENCE is over."""
        end = time.monotonic() + PATIENCE
        while not found(self):
            self.messages += decoded(self._connection.recv(max(end - time.monotonic(), 0.0)))

    def take_in(self, seconds: float) -> None:
        """Takes in all that comes for a while."""
        end = time.monotonic() + seconds
        with suppress(TimeoutError):
            while True:
                self.messages += decoded(self._connection.recv(max(end - time.monotonic(), 0.0)))

    def come_to_rest(self) -> None:
        """Takes in messages until none have come for a while."""
        before = -1
        while before != len(self.messages):
            before = len(self.messages)
            self.take_in(0.5)

    def has(self, kind: str, **fields: Any) -> bool:
        """Whether a message of a type, with these fields, has come."""
        return any(self.all(kind, **fields))

    def all(self, kind: str, **fields: Any) -> Iterator[dict[str, Any]]:
        """The messages of a type that have these fields, in order."""
        for message in self.messages:
            if message["type"] == kind and all(message.get(key) == value for key, value in fields.items()):
                yield message

    def prop(self, node: str, name: str) -> Any:
        """A property of a node of the scene as it stands: as it was added, or as it was updated last."""
        found = None
        for message in self.messages:
            if message.get("name") == node:
                found = message.get("props", message.get("updates", {})).get(name, found)
        return found

    def placed(self, node: str) -> np.ndarray:
        """Where the first shape of a batch is [x y z qx qy qz qw]: the pose of the node times its own in it."""
        position, turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
        for message in self.messages:
            if message["type"] == "SetPositionMessage" and message["name"] == node:
                position = np.array(message["position"])
            elif message["type"] == "SetOrientationMessage" and message["name"] == node:
                turn = np.array(message["wxyz"])
        (w, *v), (a, *u) = turn, np.asarray(self.prop(node, "batched_wxyzs"), dtype=float)[:4]
        local = np.asarray(self.prop(node, "batched_positions"), dtype=float)[:3]
        # Rotation by a quaternion, and the product of two (Hamilton).
        there = position + local + 2.0 * np.cross(v, np.cross(v, local) + w * local)
        return np.array([*there, *(w * np.array(u) + a * np.array(v) + np.cross(v, u)), w * a - np.dot(v, u)])

    def send(self, message: dict[str, Any]) -> None:
        """What a page sends when somebody uses it."""
        self._connection.send(msgspec.msgpack.encode(message))

    def element(self, label: str, kind: str = "") -> dict[str, Any]:
        """The element of the panel with a label, once it is there; kind: a part of its type."""

        def fitting() -> dict[str, Any] | None:
            fits = (m for m in self.messages if m.get("props", {}).get("label") == label and kind in m["type"])
            return next(fits, None)

        self.until(lambda page: fitting() is not None)
        found = fitting()
        assert found is not None
        return found


Point = tuple[float, float, float]


def camera(eye: Point, at: Point) -> dict[str, Any]:
    """What a page sends of its camera."""
    return {
        "type": "ViewerCameraMessage",
        "wxyz": (1.0, 0.0, 0.0, 0.0),
        "position": eye,
        "fov": 1.0,
        "near": 0.01,
        "far": 1000.0,
        "image_height": 480,
        "image_width": 640,
        "look_at": at,
        "up_direction": (0.0, 0.0, 1.0),
    }


@contextmanager
def opened(url: str, eye: Point = (0.0, 0.0, 0.0), at: Point = (0.0, 0.0, 1.0)) -> Iterator[Page]:
    """A page that has got all that was there when it came."""
    protocol = f"viser-v{viser.__version__}"
    # Without pings: their answers come after all that the test has not yet read.
    with connect(
        url.replace("http", "ws"),
        subprotocols=[Subprotocol(protocol)],
        max_size=None,
        compression=None,
        ping_interval=None,
    ) as connection:
        page = Page(connection)
        # By this the server knows somebody's page.
        page.send(camera(eye, at))
        page.until(lambda page: page.has("ReplayDoneMessage"))
        yield page


@contextmanager
def script(url: str) -> Iterator[Connection]:
    """The connection of the script of a page."""
    with connect(url.replace("http", "ws") + "/layout") as connection:
        yield connection


def told(connection: Connection, key: str, patience: float = PATIENCE) -> Any:
    """The next thing of a kind that a page's script is told."""
    end = time.monotonic() + patience
    while True:
        message = json.loads(connection.recv(max(end - time.monotonic(), 0.0)))
        if key in message:
            return message[key]


def press(connection: Connection, word: str, to: float = 0.0) -> None:
    """What a page's script sends when somebody uses its foot."""
    connection.send(json.dumps({"do": word, "to": to}))


def decoded(data: bytes | str) -> list[dict[str, Any]]:
    """viser's wire format: sizes, a compressed message pack, and the arrays that it refers to, each at 8 bytes."""
    assert isinstance(data, bytes)
    size, packed = np.frombuffer(data, "<u8", 2).tolist()
    inner = zstandard.ZstdDecompressor().decompress(data[16 : 16 + packed], max_output_size=size)
    content = msgspec.msgpack.decode(inner)
    arrays, at = [], 16 + packed
    for length in content["binaryBufferLengths"]:
        at += -at % 8
        arrays.append(data[at : at + length])
        at += length
    return [_filled(message, arrays) for message in content["messages"]]


def _filled(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, dict):
        if "__binary_index" in value:
            return np.frombuffer(arrays[value["__binary_index"]], value["dtype"])
        return {key: _filled(each, arrays) for key, each in value.items()}
    return [_filled(each, arrays) for each in value] if isinstance(value, list) else value
