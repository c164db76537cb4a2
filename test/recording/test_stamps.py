"""Stamps moved inside bytes, against rosbags' message objects."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from rosbags.interfaces import Nodetype
from written import T0, TYPES, pose_stamped, serialised, tf_message, time

from sim_node.recording.stamps import NoDefinition, shift_of

TIME = "builtin_interfaces/msg/Time"
NUMBERS = {"float32": "f4", "float64": "f8", "bool": "?", "byte": "u1", "char": "u1", "octet": "u1"}


@cache
def definition(kind: str) -> str:
    text, _ = TYPES.generate_msgdef(kind, ros_version=2)
    return str(text)


def has_stamps(kind: str) -> bool:
    return kind == TIME or any(
        has_stamps(inner) for _, what in TYPES.fielddefs[kind][1] for inner in named(what) if inner in TYPES.fielddefs
    )


def named(what: Any) -> list[str]:
    node, inner = what
    if node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
        return named(inner[0])
    return [inner] if node == Nodetype.NAME else []


STAMPED = sorted(kind for kind in TYPES.fielddefs if has_stamps(kind))
UNSTAMPED = sorted(set(TYPES.fielddefs) - set(STAMPED))


@cache
def messages(kind: str) -> st.SearchStrategy[Any]:
    """Any message of a type."""
    if kind == TIME:
        return (st.sampled_from([0, 10**9, T0]) | st.integers(0, 2_000_000_000 * 10**9)).map(time)
    return st.builds(TYPES.types[kind], *(values(what) for _, what in TYPES.fielddefs[kind][1]))


def values(what: Any) -> st.SearchStrategy[Any]:
    node, inner = what
    if node == Nodetype.NAME:
        return messages(inner)
    if node == Nodetype.BASE:
        return scalars(inner[0])
    element, count = inner
    fewest, most = (count, count) if node == Nodetype.ARRAY else (0, min(count or 3, 3))
    if element[0] == Nodetype.NAME or element[1][0] == "string":
        return st.lists(values(element), min_size=fewest, max_size=most)
    kind = np.dtype(NUMBERS.get(element[1][0]) or element[1][0])
    return st.integers(fewest, most).map(lambda size: np.zeros(size, kind))


def scalars(kind: str) -> st.SearchStrategy[Any]:
    if kind == "string":
        return st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=9)
    if kind in ("float32", "float64"):
        return st.just(0.5)
    return st.just(False) if kind == "bool" else st.integers(0, 100)


def moved(message: Any, by_ns: int, zeros: bool) -> Any:
    """The slow way: every Time of an object, one after the other."""
    if isinstance(message, list):
        return [moved(item, by_ns, zeros) for item in message]
    kind = getattr(message, "__msgtype__", None)
    if kind == TIME:
        total = message.sec * 10**9 + message.nanosec
        return time(total + by_ns) if total or zeros else message
    if kind is None:
        return message
    return type(message)(*(moved(getattr(message, name), by_ns, zeros) for name, _ in TYPES.fielddefs[kind][1]))


@pytest.mark.parametrize("kind", only(STAMPED, *range(0, len(STAMPED), 12)))
@settings(max_examples=10)  # of each of 68 types
@given(data=st.data(), by_ns=st.integers(0, 10**17), little=st.booleans(), zeros=st.booleans())
def test_every_stamp_of_every_type_is_moved_and_nothing_else(
    kind: str, data: st.DataObject, by_ns: int, little: bool, zeros: bool
) -> None:
    shift = shift_of(kind, definition(kind))
    assert shift is not None
    for message in data.draw(st.lists(messages(kind), min_size=1, max_size=3)):
        before = bytes(TYPES.serialize_cdr(message, kind, little_endian=little))
        after = bytes(TYPES.serialize_cdr(moved(message, by_ns, zeros), kind, little_endian=little))
        assert shift(before, by_ns, zeros) == after
        assert shift(before, by_ns, zeros) == after, "by the layout that is known by now"


@pytest.mark.parametrize("kind", UNSTAMPED)
def test_a_type_without_stamps_has_none_to_move(kind: str) -> None:
    assert shift_of(kind, definition(kind)) is None


def test_types_of_ros_itself_need_no_definition() -> None:
    shift = shift_of("geometry_msgs/msg/PoseStamped", "")
    assert shift is not None
    assert shift(serialised(pose_stamped(T0, 1.0)), 10**9, False) == serialised(pose_stamped(T0 + 10**9, 1.0))


def test_types_that_nobody_knows_are_said_to_be_so() -> None:
    with pytest.raises(NoDefinition, match="no definition of acme_msgs/msg/Anvil"):
        shift_of("acme_msgs/msg/Anvil", "")
    with pytest.raises(NoDefinition, match="no definition of acme_msgs/msg/Iron"):
        shift_of("acme_msgs/msg/Anvil", "builtin_interfaces/Time dropped\nIron iron\n")
    with pytest.raises(NoDefinition, match="cannot be read"):
        shift_of("acme_msgs/msg/Anvil", "?!")


IDL = """\
================================================================================
IDL: acme_msgs/msg/Anvil
#include "builtin_interfaces/msg/Time.idl"
module acme_msgs { module msg { struct Anvil { uint8 kind; builtin_interfaces::msg::Time dropped; }; }; };
"""


def test_idl_is_a_definition_too() -> None:
    shift = shift_of("acme_msgs/msg/Anvil", IDL)
    assert shift is not None
    assert shift(bytes.fromhex("00010000 05000000 01000000 02000000"), 10**9, False) == bytes.fromhex(
        "00010000 05000000 02000000 02000000"
    )


def test_bytes_that_are_cut_off_are_refused() -> None:
    message = serialised(tf_message((T0, "map", "base", 1.0), (T0, "base", "camera", 2.0)))
    shift = shift_of("tf2_msgs/msg/TFMessage", "")
    assert shift is not None
    for size in range(len(message) - 60):
        with pytest.raises(ValueError, match=r"ends at byte|encapsulation|length"):
            shift(message[:size], 1, False)


def test_a_stamp_that_does_not_fit_is_refused() -> None:
    """builtin_interfaces/Time: int32 seconds."""
    for kind, message in (
        ("geometry_msgs/msg/PoseStamped", pose_stamped(T0, 1.0)),
        ("tf2_msgs/msg/TFMessage", tf_message((T0, "map", "base", 1.0))),
    ):
        shift = shift_of(kind, "")
        assert shift is not None
        with pytest.raises(ValueError, match="32 bits"):
            shift(serialised(message), 2**31 * 10**9, False)
