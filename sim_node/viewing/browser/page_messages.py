"""What a page may send: where its camera is, and values that the elements of the panel can have.

viser takes whatever a page sends: any attribute of an element could be set, values that it does not offer, and files
without a limit. Everything but what a person can do with the page is left out here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

# Characters of a text; bytes of a message, of which the longest is one with such a text.
MAX_TEXT = 10_000
MAX_BYTES = 1 << 20
# Numbers beyond this are no places that a camera can be at, nor any of a slider.
_MAX_NUMBER = 1e12
_VECTORS = {"wxyz": 4, "position": 3, "look_at": 3, "up_direction": 3}
_NUMBERS = ("fov", "near", "far", "image_height", "image_width")


def refusal(data: bytes | str, elements: Mapping[str, Any]) -> str:
    """Say why a message of a page is left out, empty where it is not.

    Args:
        data: The message, in MessagePack.
        elements: The handles of the panel's elements by their ids.
    """
    if isinstance(data, str):
        return "it is text"
    try:
        message = msgspec.msgpack.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "it is no MessagePack"
    kind = message.get("type") if isinstance(message, dict) else None
    if kind == "ViewerCameraMessage":
        return _camera(message)
    if kind == "GuiUpdateMessage":
        return _update(message, elements)
    return f"its type is {str(kind)[:60]!r}"


def _camera(message: dict[Any, Any]) -> str:
    if message.keys() != {"type", *_VECTORS, *_NUMBERS}:
        return "it is no complete camera"
    vectors = [(message[name], length) for name, length in _VECTORS.items()]
    if not all(
        isinstance(value, list) and len(value) == length and all(map(_is_number, value)) for value, length in vectors
    ):
        return "its camera is nowhere"
    if not all(_is_number(message[name]) and message[name] > 0 for name in _NUMBERS):
        return "its camera sees nothing"
    return "" if any(message["wxyz"]) else "its camera has no orientation"


def _update(message: dict[Any, Any], elements: Mapping[str, Any]) -> str:
    updates, uuid = message.get("updates"), message.get("uuid")
    if message.keys() != {"type", "uuid", "updates"} or not isinstance(uuid, str) or not isinstance(updates, dict):
        return "it is no update"
    if updates.keys() != {"value"}:
        return "it sets more than a value"
    element = elements.get(uuid)
    return "" if element is not None and _fits(updates["value"], element) else "no element takes its value"


def _fits(value: Any, element: Any) -> bool:
    """Whether a person can bring an element to a value."""
    options = getattr(element, "options", None)
    if options is not None:
        return isinstance(value, str) and value in options
    lowest, highest, now = getattr(element, "min", None), getattr(element, "max", None), element.value
    if isinstance(now, bool):
        return isinstance(value, bool)
    if lowest is not None and highest is not None:
        return _is_number(value) and lowest <= value <= highest
    return isinstance(now, str) and isinstance(value, str) and len(value) <= MAX_TEXT


def _is_number(value: Any) -> bool:
    is_plain = isinstance(value, int | float) and not isinstance(value, bool)
    return is_plain and abs(value) <= _MAX_NUMBER and math.isfinite(value)
