"""TFMessages read from bytes, against an encoder written from the specification and against the real one."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.messages.tf_message_reader import MAX_LAYOUTS, TfMessageReader, TransformBatch

FINITE = st.floats(allow_nan=False, width=64)
NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
TRANSFORMS = st.lists(
    st.tuples(
        st.integers(-(2**31), 2**31 - 1),
        st.integers(0, 999_999_999),
        NAMES,
        NAMES,
        st.tuples(*[FINITE] * 7),
    ),
    max_size=8,
)


def encode(
    transforms: Sequence[tuple[int, int, str, str, Sequence[Any]]], order: str = "<", padding: bytes = b"\0"
) -> bytes:
    """Plain CDR as OMG CORBA 3.4, section 9.3.1, has it: primitives aligned to their size, strings with length."""
    body = bytearray()

    def put(layout: str, *values: float) -> None:
        for value in values:
            body.extend(padding * (-len(body) % struct.calcsize(layout)))
            body.extend(struct.pack(order + layout, value))

    def put_string(text: str) -> None:
        data = text.encode() + b"\0"
        put("I", len(data))
        body.extend(data)

    put("I", len(transforms))
    for seconds, nanoseconds, parent, child, pose in transforms:
        put("i", seconds)
        put("I", nanoseconds)
        put_string(parent)
        put_string(child)
        put("d", *pose)
    return (b"\0\1\0\0" if order == "<" else b"\0\0\0\0") + bytes(body)


def assert_holds(batch: TransformBatch, transforms: Sequence[tuple[int, int, str, str, Sequence[Any]]]) -> None:
    assert batch.names.parents == tuple(parent for _, _, parent, _, _ in transforms)
    assert batch.names.children == tuple(child for _, _, _, child, _ in transforms)
    assert batch.stamps_ns.tolist() == [s * 1_000_000_000 + n for s, n, _, _, _ in transforms]
    assert batch.poses.tolist() == [list(pose) for _, _, _, _, pose in transforms]
    assert batch.poses.shape == (len(transforms), 7)
    assert batch.poses.dtype == np.float64
    assert batch.stamps_ns.dtype == np.int64


def some(n: int, seed: int = 0, prefix: str = "f", stamp: int = 5) -> list[tuple[int, int, str, str, tuple[Any, ...]]]:
    poses = np.random.default_rng(seed).normal(size=(n, 7))
    return [(stamp, i, "map", f"{prefix}{i:04d}", tuple(pose)) for i, pose in enumerate(poses.tolist())]


@given(first=TRANSFORMS, order=st.sampled_from("<>"), padding=st.sampled_from([b"\0", b"\xcd"]), data=st.data())
def test_what_was_encoded_is_read(
    first: Sequence[tuple[int, int, str, str, Sequence[Any]]], order: str, padding: bytes, data: st.DataObject
) -> None:
    """The second message has the first one's names: it is read through the layout that was kept."""
    reader = TfMessageReader()
    batch = reader.read(encode(first, order))
    assert_holds(batch, first)
    second = [
        (data.draw(st.integers(0, 9)), 7, parent, child, data.draw(st.tuples(*[FINITE] * 7)))
        for _, _, parent, child, _ in first
    ]
    again = reader.read(encode(second, order, padding))
    assert_holds(again, second)
    assert again.names is batch.names


def test_a_name_that_changes_in_place_is_noticed() -> None:
    reader = TfMessageReader()
    transforms: list[tuple[Any, ...]] = [*some(10)]
    reader.read(encode(transforms))
    for row, field, name in ((3, 3, "g0003"), (9, 2, "mop"), (0, 3, "x0000")):
        changed = list(transforms)
        changed[row] = (*changed[row][:field], name, *changed[row][field + 1 :])
        assert_holds(reader.read(encode(changed)), changed)
        assert_holds(reader.read(encode(transforms)), transforms)


def test_layouts_of_equal_size_are_kept_side_by_side() -> None:
    reader = TfMessageReader()
    for _ in range(2):
        for prefix in "abcd":
            assert_holds(reader.read(encode(some(10, 1, prefix))), some(10, 1, prefix))
    assert len(reader._layouts) == 4


def test_layouts_are_bounded() -> None:
    reader = TfMessageReader()
    for n in range(4, 4 + 2 * MAX_LAYOUTS):
        reader.read(encode(some(n)))
    assert len(reader._layouts) == MAX_LAYOUTS


def test_arrays_belong_to_the_caller() -> None:
    reader = TfMessageReader()
    reader.read(encode(some(5)))
    kept = reader.read(encode(some(5, 1)))
    poses = kept.poses.copy()
    reader.read(encode(some(5, 2)))
    np.testing.assert_array_equal(kept.poses, poses)


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("warm", [False, True])
def test_any_cut_is_refused_and_named(n: int, warm: bool) -> None:
    message = encode(some(n))
    reader = TfMessageReader()
    if warm:
        reader.read(message)
    for size in range(len(message)):
        with pytest.raises(ValueError, match=r"TFMessage (of|ends at byte)"):
            reader.read(message[:size])


@given(st.integers(1, 5), st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6), st.booleans())
def test_damaged_bytes_raise_value_error_or_read_as_something(
    n: int, damage: list[tuple[int, int]], warm: bool
) -> None:
    message = bytearray(encode(some(n)))
    reader = TfMessageReader()
    if warm:
        reader.read(bytes(message))
    for at, value in damage:
        message[at % len(message)] = value
    try:
        batch = reader.read(bytes(message))
    except ValueError:
        return
    assert batch.poses.shape == (len(batch.stamps_ns), 7)
    assert len(batch.names.parents) == len(batch.names.children) == len(batch.stamps_ns)


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "of 0 bytes"),
        (b"\0\7\0\0\0\0\0\0", "encapsulation is 0x0007, expected plain CDR"),
        (b"\0\1\0\0\xff\xff\xff\xff", "cannot hold 4294967295 transforms"),
        (encode(some(1)) + bytes(4), "4 extra bytes"),
        (encode([(0, 0, "a", "b", (0.0,) * 7)]).replace(b"a\0", b"aa"), "does not end with a zero"),
        (encode([(0, 0, "a", "b", (0.0,) * 7)]).replace(b"a\0", b"\xff\0"), "is not UTF-8"),
    ],
)
def test_what_is_wrong_is_said(message: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        TfMessageReader().read(message)


def test_an_empty_message() -> None:
    batch = TfMessageReader().read(encode([]))
    assert (batch.names.parents, batch.stamps_ns.shape, batch.poses.shape) == ((), (0,), (0, 7))


def test_the_real_serialiser_is_understood() -> None:
    """fastcdr through rclpy, its padding uninitialised, warm and cold."""
    serialization = pytest.importorskip("rclpy.serialization", reason="needs rclpy")
    messages = pytest.importorskip("tf2_msgs.msg", reason="needs tf2_msgs")
    from geometry_msgs.msg import TransformStamped

    reader = TfMessageReader()
    for n in (0, 1, 3, 50, 50, 50):
        transforms = [(s, ns, p, c[: 1 + s % 5], pose) for s, ns, p, c, pose in some(n, n, "näme")]
        message = messages.TFMessage()
        for seconds, nanoseconds, parent, child, pose in transforms:
            transform = TransformStamped()
            transform.header.stamp.sec, transform.header.stamp.nanosec = seconds, nanoseconds
            transform.header.frame_id, transform.child_frame_id = parent, child
            position, rotation = transform.transform.translation, transform.transform.rotation
            position.x, position.y, position.z = pose[:3]
            rotation.x, rotation.y, rotation.z, rotation.w = pose[3:]
            message.transforms.append(transform)
        assert_holds(reader.read(serialization.serialize_message(message)), transforms)
