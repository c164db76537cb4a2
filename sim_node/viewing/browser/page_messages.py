"""Validate messages of a page: camera poses, values for panel elements, moved handles and clicks.

viser accepts anything that a page sends: it would set any attribute of an element, values that the element does not
offer, and files of any size. Here, everything that a user of the page cannot cause is ignored.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Collection, Mapping
from typing import Any

import msgspec
from viser._messages import KeyModifier

# Maximum length of a text, characters, and of a message, bytes; the longest messages contain such a text.
MAX_TEXT = 10_000
MAX_BYTES = 1 << 20
# Numbers beyond this are invalid for cameras and sliders.
_MAX_NUMBER = 1e12
_VECTORS = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3}
_NUMBERS = ("fov", "near", "far", "image_height", "image_width")
# Vectors of a click, and the modifier keys.
_CLICK = {"ray_origin": 3, "ray_direction": 3, "screen_pos": 2}
_MODIFIERS = typing.get_args(KeyModifier)
# Messages about handles in the scene, and the vectors in each.
_HANDLES = {
    "TransformControlsUpdateMessage": {"wxyz": 4, "position": 3},
    "TransformControlsDragStartMessage": {},
    "TransformControlsDragEndMessage": {},
}


def refusal(
    data: bytes | str, elements: Mapping[str, Any], handles: Collection[str] = (), nodes: Collection[str] = ()
) -> str:
    """Return why a message of a page is ignored, or an empty string.

    Args:
        data: The message, in MessagePack.
        elements: Handles of the panel's elements, by id.
        handles: Names of the drag handles in the scene.
        nodes: Names of the clickable nodes in the scene.

    Returns:
        The reason.
    """
    if isinstance(data, str):
        return "it is text"
    try:
        message = msgspec.msgpack.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "it is not MessagePack"
    kind = message.get("type") if isinstance(message, dict) else None
    if kind == "ViewerCameraMessage":
        return _camera(message)
    if kind == "GuiUpdateMessage":
        return _update(message, elements)
    if kind in _HANDLES:
        return _dragged(message, handles)
    if kind == "SceneNodeClickMessage":
        return _clicked(message, nodes)
    return f"its type is {str(kind)[:60]!r}"


def _camera(message: dict[Any, Any]) -> str:
    if message.keys() != {"type", *_VECTORS, *_NUMBERS}:
        return "its camera is incomplete"
    if not _are_vectors(message, _VECTORS):
        return "its camera has no valid position"
    if not all(_is_number(message[name]) and message[name] > 0 for name in _NUMBERS):
        return "its camera has no valid lens"
    return "" if any(message["wxyz"]) else "its camera has no orientation"


def _dragged(message: dict[Any, Any], handles: Collection[str]) -> str:
    vectors = _HANDLES[message["type"]]
    if message.keys() - {"owner"} != {"type", "name", *vectors}:
        return "it is not about handles"
    if not isinstance(message["name"], str) or message["name"] not in handles or message.get("owner", "") != "":
        return "there are no such handles"
    return "" if _are_vectors(message, vectors) and any(message.get("wxyz", (1,))) else "its handles have no valid pose"


def _clicked(message: dict[Any, Any], nodes: Collection[str]) -> str:
    if message.keys() - {"owner"} != {"type", "name", "instance_index", "modifier", *_CLICK} or message.get(
        "owner", ""
    ):
        return "it is not a click"
    if not isinstance(message["name"], str) or message["name"] not in nodes:
        return "there is no such node"
    instance = message["instance_index"]
    if instance is not None and (type(instance) is not int or instance < 0):
        return "there is no such shape"
    if message["modifier"] is not None and message["modifier"] not in _MODIFIERS:
        return "there is no such key"
    return "" if _are_vectors(message, _CLICK) else "its click is nowhere"


def _update(message: dict[Any, Any], elements: Mapping[str, Any]) -> str:
    updates, uuid = message.get("updates"), message.get("uuid")
    if message.keys() != {"type", "uuid", "updates"} or not isinstance(uuid, str) or not isinstance(updates, dict):
        return "it is not an update"
    if updates.keys() != {"value"}:
        return "it sets more than a value"
    element = elements.get(uuid)
    return "" if element is not None and _fits(updates["value"], element) else "no element takes its value"


def _fits(value: Any, element: Any) -> bool:
    """Return whether a user could set an element to a value."""
    options = getattr(element, "options", None)
    if options is not None:
        return isinstance(value, str) and value in options
    lowest, highest, now = getattr(element, "min", None), getattr(element, "max", None), element.value
    if isinstance(now, bool):
        return isinstance(value, bool)
    if lowest is not None and highest is not None:
        return _is_number(value) and lowest <= value <= highest
    return isinstance(now, str) and isinstance(value, str) and len(value) <= MAX_TEXT


def _are_vectors(message: Mapping[Any, Any], lengths: Mapping[str, int]) -> bool:
    vectors = [(message[name], length) for name, length in lengths.items()]
    return all(
        isinstance(value, list) and len(value) == length and all(map(_is_number, value)) for value, length in vectors
    )


def _is_number(value: Any) -> bool:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain and abs(value) <= _MAX_NUMBER and math.isfinite(value)
