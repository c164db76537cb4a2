"""What a page may send: no more than a person can do with it."""

from __future__ import annotations

import math
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec
import numpy as np
import pytest
from page import Page, opened
from waiting import until

from sim_node.viewing.browser.page_messages import MAX_TEXT, refusal
from sim_node.viewing.browser.stream import Instant
from sim_node.viewing.browser.viewer import Viewer
from sim_node.world import FrameTable

CAMERA: dict[str, Any] = {
    "type": "ViewerCameraMessage", "wxyz": (1.0, 0.0, 0.0, 0.0), "position": (0.0, 0.0, 0.0), "fov": 1.0, "near": 0.01,
    "far": 100.0, "image_height": 600, "image_width": 800, "look_at": (1.0, 0.0, 0.0), "up_direction": (0.0, 0.0, 1.0),
}  # fmt: skip
POSES = np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]] * 2)


@pytest.fixture
def viewer() -> Iterator[Viewer]:
    made = Viewer(0)
    frames = FrameTable(("map", "car"), np.array([-1, 0], np.int32), np.array([True, False]))
    made.set_scene(frames, POSES.copy())
    yield made
    made.close()


def elements(viewer: Viewer) -> dict[str, Any]:
    return dict(viewer.server.gui._gui_input_handle_from_uuid)


def labelled(viewer: Viewer, label: str) -> tuple[str, Any]:
    return next((uuid, each) for uuid, each in elements(viewer).items() if each.label == label)


def why(viewer: Viewer, message: object) -> str:
    return refusal(msgspec.msgpack.encode(message), elements(viewer))


@pytest.mark.parametrize(
    ("label", "fitting", "others"),
    [
        ("Target", ["map", "car"], ["nobody", "", 1, None, ["map"], True]),
        ("Axes", ["none", "main", "all"], ["some", 1, True, None, []]),
        ("Size of axes", [0.1, 1, 5.0], [0.0, 5.1, math.nan, math.inf, 2**63, "1", True, None]),
        ("Add plot", [True], ["yes", 1, None]),
    ],
)
def test_elements_take_what_a_person_can_set(viewer: Viewer, label: str, fitting: list[Any], others: list[Any]) -> None:
    uuid, _ = labelled(viewer, label)
    for value in fitting:
        assert not why(viewer, {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}})
    for value in others:
        assert why(viewer, {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": value}}), value


@pytest.mark.parametrize(
    "updates", [{"options": ["x"]}, {"value": "map", "removed": True}, {"update_cb": []}, {}, [], None, "value"]
)
def test_nothing_but_the_value_of_an_element_is_set(viewer: Viewer, updates: Any) -> None:
    uuid, _ = labelled(viewer, "Target")
    assert why(viewer, {"type": "GuiUpdateMessage", "uuid": uuid, "updates": updates})


def test_texts_have_a_limit(viewer: Viewer) -> None:
    uuid = next(
        uuid for uuid, each in elements(viewer).items() if type(each.value) is str and not hasattr(each, "options")
    )
    for length, fits in ((MAX_TEXT, True), (MAX_TEXT + 1, False)):
        message = {"type": "GuiUpdateMessage", "uuid": uuid, "updates": {"value": "a" * length}}
        assert (why(viewer, message) == "") is fits


@pytest.mark.parametrize(
    ("name", "value"),
    [("position", (math.nan, 0.0, 0.0)), ("position", (0.0, 0.0)), ("wxyz", (0.0,) * 4), ("fov", 0.0), ("fov", "1"),
     ("image_height", -5), ("far", math.inf), ("look_at", None), ("up_direction", ("a", 0, 0)), ("more", 1)],
)  # fmt: skip
def test_cameras_are_somewhere(viewer: Viewer, name: str, value: object) -> None:
    assert not why(viewer, CAMERA)
    assert why(viewer, {**CAMERA, name: value})


def test_handles_are_dragged_if_they_are_there(viewer: Viewer) -> None:
    moved = {"type": "TransformControlsUpdateMessage", "name": "/a", "owner": "", "position": [1, 2, 3]}
    moved["wxyz"] = [1, 0, 0, 0]
    begun = {"type": "TransformControlsDragStartMessage", "name": "/a", "owner": ""}

    def said(message: object) -> str:
        return refusal(msgspec.msgpack.encode(message), {}, ("/a",))

    assert said(moved) == said(begun) == said({**begun, "type": "TransformControlsDragEndMessage"}) == ""
    assert why(viewer, moved) == why(viewer, begun) == "there are no such handles"
    for wrong in ({"name": "/b"}, {"name": ["/a"]}, {"owner": 1}, {"position": [1, 2]}, {"position": [1, 2, math.nan]},
                  {"wxyz": [0, 0, 0, 0]}, {"wxyz": None}, {"more": 1}):  # fmt: skip
        assert said({**moved, **wrong}), wrong


def test_what_is_there_is_clicked() -> None:
    click = {
        "type": "SceneNodeClickMessage", "name": "/a", "instance_index": 0, "modifier": None, "owner": "",
        "ray_origin": [1, 2, 3], "ray_direction": [0, 0, 1], "screen_pos": [0.5, 0.5],
    }  # fmt: skip

    def said(message: object) -> str:
        return refusal(msgspec.msgpack.encode(message), {}, (), ("/a",))

    for right in ({}, {"instance_index": None}, {"modifier": "shift"}):
        assert not said({**click, **right}), right
    for wrong in ({"name": "/b"}, {"name": ["/a"]}, {"owner": 1}, {"instance_index": -1}, {"instance_index": True},
                  {"instance_index": "0"}, {"modifier": "a"}, {"modifier": ["shift"]}, {"ray_origin": [1, 2]},
                  {"screen_pos": [math.nan, 0]}, {"more": 1}):  # fmt: skip
        assert said({**click, **wrong}), wrong


@pytest.mark.parametrize("kind", ["FileTransferStartUpload", "ShareUrlRequest", "RunJavascriptMessage", "", None, 5])
def test_other_messages_are_left_out(viewer: Viewer, kind: object) -> None:
    assert why(viewer, {"type": kind}).startswith("its type is")


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xc1", b"\x93" * 5000, "text"])
def test_what_is_no_message_is_left_out(data: bytes | str) -> None:
    assert refusal(data, {})


def test_a_page_cannot_end_what_is_shown(viewer: Viewer, capfd: pytest.CaptureFixture[str]) -> None:
    """A frame that there is not, an attribute that is the viewer's, bytes that are nothing: the rest works on."""
    target, handle = labelled(viewer, "Target")
    size, slider = labelled(viewer, "Size of axes")
    with opened(viewer.url) as page:
        page.send({"type": "GuiUpdateMessage", "uuid": target, "updates": {"value": "nobody"}})
        page.send({"type": "GuiUpdateMessage", "uuid": target, "updates": {"update_cb": 5, "sync_cb": 5}})
        send_bytes(page, b"\xff\xff")
        page.send({"type": "GuiUpdateMessage", "uuid": size, "updates": {"value": 2.0}})
        until(lambda: slider.value == 2.0, "what a person did")
    assert handle.value == "map"
    viewer.show(Instant(10**9, POSES.copy(), {}))
    viewer.idle()
    assert "Traceback" not in capfd.readouterr().err


def send_bytes(page: Page, data: bytes) -> None:
    page._connection.send(data)


def test_who_hangs_up_at_once_is_no_traceback(viewer: Viewer, capfd: pytest.CaptureFixture[str]) -> None:
    port = int(urlsplit(viewer.url).port or 0)
    for beginning in (b"", b"GET", b"\0\xff\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(beginning)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(4096):
                pass
    assert capfd.readouterr().err == ""
