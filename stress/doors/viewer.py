"""The viewer's socket: requests, WebSocket frames, and messages of a page in MessagePack.

Nobody who can open the page may end the run, make it print tracebacks, or have it take memory.
"""

from __future__ import annotations

import base64
import io
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import numpy as np
import viser

from sim_node.simulation import Loop, Simulation
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.transport import LoopTransport
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import load
from stress.mutations import EXTREMES, broken_bytes

# Of an input's first byte: a request on a connection of its own, bytes for the page's connection, a message on it.
REQUEST, BYTES, MESSAGE = b"R", b"B", b"M"
_PATIENCE_S = 60.0
# Bytes of the longest control frame from the server (RFC 6455, section 5.5): a header of 2, and 125.
_LONGEST = 127
_CAMERA = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (0.0, 0.0, 0.0), "fov": 1.0, "near": 0.01,
    "far": 100.0, "image_height": 600, "image_width": 800, "look_at": (1.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 2**63, 1e308, float("nan"), float("inf"), "", "map", "nobody", "a" * 20_000, [], {},
    [1, 2, 3],
    [[[[]]]], {"a": 1}, b"\xff", "Play", "Reset", "max", "0.1", [None] * 4, "\x1b[2J", 3.5,
)  # fmt: skip
_KINDS = (
    "GuiUpdateMessage", "ViewerCameraMessage", "GuiButtonHoldMessage", "GuiFormSubmitMessage", "GuiFormDirtyMessage",
    "FileTransferStartUpload", "FileTransferPart", "ShareUrlRequest", "ShareUrlDisconnect", "CommandTriggerMessage",
    "ScenePointerMessage", "SceneNodeClickMessage", "TransformControlsUpdateMessage", "GetRenderResponseMessage",
    "RunJavascriptMessage", "NobodysMessage", "GuiRemoveMessage", "SetPositionMessage", "ResetSceneMessage",
)  # fmt: skip
_KEYS = (
    "value", "update_cb", "sync_cb", "removed", "props", "options", "min", "uuid", "gui_api", "updates", "name", "type",
    "size_bytes", "content", "part_index", "source_component_uuid", "transfer_uuid", "frequency", "position", "wxyz",
)  # fmt: skip


class Page:
    """A connection like a browser's, beside the page's own connection to a viewer of a world that stands."""

    burst = 50

    def __init__(self, folder: Path) -> None:
        self._viewer = Viewer(0)
        self._port = int(self._viewer.url.rpartition(":")[2])
        simulation = Simulation(load("orbit"))
        self._viewer.transport = LoopTransport(Loop(simulation, []))
        self._snapshot = simulation.snapshot()
        poses = np.array(self._snapshot.poses)
        self._viewer.set_scene(simulation.frames, poses, labels={})
        self._instant = Instant(0, poses, {})
        # Ids of elements are drawn anew by each server: inputs have these in their place, in the order of the panel.
        uuids = list(self._viewer.server.gui._gui_input_handle_from_uuid)
        self._elements = [f"element-{number:028d}" for number in range(len(uuids))]
        self._uuids = {name.encode(): uuid.encode() for name, uuid in zip(self._elements, uuids, strict=True)}
        assert all(len(name) == len(uuid) for name, uuid in self._uuids.items())
        self._page: socket.socket | None = None
        self._pings = 0
        self._errors = io.StringIO()
        self._stderr, sys.stderr = sys.stderr, self._errors

    def seeds(self) -> Sequence[bytes]:
        """What browsers send: a request, a frame, a camera and what a person changes."""
        messages = [{"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": True}} for uuid in self._elements]
        return [
            REQUEST + self._request("/", "Accept: text/html"),
            REQUEST + self._handshake(),
            BYTES + frame(b"\xc0"),
            *(MESSAGE + msgspec.msgpack.encode(message) for message in ({**_CAMERA}, *messages)),
        ]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """Requests and frames as bytes; messages mostly as fields."""
        kind, data = seed[:1], seed[1:]
        if kind == REQUEST:
            # One in ten only: each takes a connection of its own.
            return kind + broken_bytes(data, rng, 6) if rng.random() < 0.3 else MESSAGE + self._message(rng)
        if kind == BYTES:
            return kind + _broken_frame(rng)
        return kind + (broken_bytes(data, rng, 6) if rng.random() < 0.1 else self._message(rng))

    def feed(self, data: bytes) -> str:
        """It is sent; of a request the answer is read."""
        kind, body = data[:1], data[1:]
        if kind == REQUEST:
            return self._asked(body, ends=True)
        with suppress(OSError):
            if kind == MESSAGE:
                for name, uuid in self._uuids.items():
                    body = body.replace(name, uuid)
                self._connection().sendall(frame(body))
                return "message"
            self._connection().sendall(body)
        # Of what comes behind a broken frame nothing would be read.
        self._drop()
        return "frame"

    def settle(self) -> None:
        """The page is served, the scene still shows instants, and nobody printed a traceback."""
        self._await_pong()
        answer = self._asked(self._request("/", "Accept: text/html"))
        assert answer == "answer 200", answer
        self._viewer.show(self._instant)
        self._viewer.idle()
        text = self._errors.getvalue()
        self._errors.seek(0)
        self._errors.truncate()
        assert "Traceback" not in text, text[-3000:]

    def close(self) -> None:
        """Ends the page."""
        self._drop()
        self._viewer.close()
        sys.stderr = self._stderr

    def _message(self, rng: Random) -> bytes:
        """A message of any kind with any fields; half of them of a known element."""
        kind = "GuiUpdateMessage" if rng.random() < 0.6 else rng.choice(_KINDS)
        message: dict[str, Any] = {"type": kind}
        if kind == "ViewerCameraMessage":
            message = {**_CAMERA}
            for _ in range(rng.randint(0, 2)):
                message[rng.choice(list(message))] = rng.choice(_VALUES)
        elif kind == "GuiUpdateMessage":
            key = "value" if rng.random() < 0.7 else rng.choice(_KEYS)
            uuid = rng.choice((*self._elements, rng.choice(_VALUES)))
            message |= {"uuid": uuid, "updates": {key: rng.choice(_VALUES)}}
        for _ in range(rng.choice((0, 0, 0, 1, 3))):
            message[rng.choice(_KEYS)] = rng.choice((*_VALUES, rng.choice(self._elements)))
        return bytes(msgspec.msgpack.encode(message))

    def _request(self, path: str, *headers: str) -> bytes:
        lines = (f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{self._port}", *headers, "", "")
        return "\r\n".join(lines).encode()

    def _handshake(self) -> bytes:
        key = base64.b64encode(bytes(16)).decode()
        return self._request(
            "/", "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13",
            f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
        )  # fmt: skip

    def _asked(self, request: bytes, *, ends: bool = False) -> str:
        """The status that a request gets; ends: nothing more comes, so that a server need not wait for it."""
        with socket.create_connection(("127.0.0.1", self._port), _PATIENCE_S) as connection:
            with suppress(OSError):
                connection.sendall(request)
                if ends:
                    connection.shutdown(socket.SHUT_WR)
            answer = b""
            with suppress(ConnectionError):
                while len(answer) < 12 and (more := connection.recv(4096)):
                    answer += more
        return f"answer {answer[9:12].decode(errors='replace')}" if answer.startswith(b"HTTP/") else "no answer"

    def _await_pong(self) -> None:
        """All that the page has sent is read when a ping behind it is answered, or the server ends the connection."""
        if self._page is None:
            return
        self._pings += 1
        ping, got = b"ping%08d" % self._pings, b""
        with suppress(ConnectionError):
            self._page.sendall(frame(ping, 9))
            while ping not in got:
                more = self._page.recv(1 << 20)
                if not more:
                    break
                got = got[-_LONGEST:] + more
                if _ends_with_close(got):  # it would wait 10 s for the page's answer
                    break
            else:
                return
        self._drop()

    def _connection(self) -> socket.socket:
        if self._page is None:
            self._page = socket.create_connection(("127.0.0.1", self._port), _PATIENCE_S)
            self._page.sendall(self._handshake() + frame(msgspec.msgpack.encode(_CAMERA)))
        return self._page

    def _drop(self) -> None:
        if self._page is not None:
            self._page.close()
            self._page = None


def frame(payload: bytes, opcode: int = 2, first: int = 0x80) -> bytes:
    """Return a masked frame of a client (RFC 6455, section 5.2)."""
    size = len(payload)
    length = (
        bytes([0x80 | size])
        if size < 126
        else b"\xfe" + struct.pack(">H", size)
        if size < 65_536
        else b"\xff" + struct.pack(">Q", size)
    )
    return bytes([first | opcode]) + length + bytes(4) + payload  # a mask of zeros changes nothing


def _ends_with_close(data: bytes) -> bool:
    """Return whether the last frame from the server says that it closes, with a status code."""
    for size in range(2, min(_LONGEST, len(data)) - 1):
        end = data[-size - 2 :]
        if end[:2] == bytes([0x88, size]) and 1000 <= int.from_bytes(end[2:4], "big") < 1016:
            return True
    return False


def _broken_frame(rng: Random) -> bytes:
    payload = rng.randbytes(rng.choice((0, 1, 20, 125, 126, 200)))
    what = rng.randrange(5)
    if what == 0:
        return frame(payload, rng.randrange(16), rng.choice((0, 0x80, 0x90, 0xC0, 0xF0)))
    if what == 1:  # a length that lies, and no more than that
        return b"\x82\xff" + struct.pack(">Q", rng.choice((2**20, 2**31, 2**62, 2**64 - 1))) + bytes(4) + payload
    if what == 2:
        return frame((rng.choice(EXTREMES) * 200)[:200], rng.choice((1, 2, 8, 9, 10)))
    if what == 3:  # fragments without an end
        return frame(payload, 2, 0) + frame(payload, 0, 0) * rng.choice((1, 20))
    return broken_bytes(frame(payload), rng, 4)
