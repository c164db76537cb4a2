"""Laws of all tags: what an operator gives for every pair of them, which is an error unless this file says otherwise.

Lines that mix tags are marked for mypy, which reports a mark without an error.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from enum import Enum
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nightly import only
from scipy.spatial.transform import Rotation
from typing_extensions import assert_type

from sim_node.spatial import frames
from sim_node.spatial.frames import (
    Altitude,
    AttitudeEnu,
    AttitudeFlu,
    AttitudeFrd,
    AttitudeNed,
    Covariance,
    Displacement,
    Enu,
    Flu,
    Frame,
    FrameMismatch,
    Frd,
    Heading,
    Ned,
    Orientation,
    Position,
    Transform,
    Velocity,
    VerticalDatum,
    YawEnu,
    YawNed,
)

NUMBERS = st.floats(-1e3, 1e3).map(lambda number: round(number, 3))
THREE = st.lists(NUMBERS, min_size=3, max_size=3)
SCALES = st.floats(0.1, 10.0)
VECTORS: tuple[Any, ...] = (Ned, Enu, Frd, Flu)
# Each attitude, and the vectors of its world and body.
ATTITUDES: dict[Any, tuple[Any, Any]] = {
    AttitudeNed: (Ned, Frd),
    AttitudeEnu: (Enu, Flu),
    AttitudeFrd: (Frd, Frd),
    AttitudeFlu: (Flu, Flu),
}
ORIGINS = ((47.4, 8.5, 488.0), (46.9, 7.4, 540.0))
PAIRS = ((Frame.NED, Frame.FRD), (Frame.ENU, Frame.FLU))
Tag = tuple[type, Callable[[list[float]], Any]]


def tag(kind: Any, *of: Any, more: tuple[float, ...] = ()) -> Tag:
    """A class, and how it is made of three numbers: with these after them, and this tag."""
    return kind, lambda three: kind([*three, *more], *of)


def angle(kind: Any) -> Tag:
    return kind, lambda three: kind(three[0])


def covariance(frame: Frame) -> Tag:
    return Covariance, lambda three: Covariance(np.diag(three), frame)


# Every tag by what it is called.
TAGS: dict[str, Tag] = {
    **{kind.__name__: tag(kind) for kind in VECTORS},
    **{kind.__name__: tag(kind, more=(1.0,)) for kind in ATTITUDES},
    **{kind.__name__: angle(kind) for kind in (YawEnu, YawNed, Heading)},
    **{f"{kind.__name__} {frame}": tag(kind, frame) for kind in (Position, Velocity, Displacement) for frame in Frame},
    **{f"Position ENU about {origin}": tag(Position, Frame.ENU, origin) for origin in ORIGINS},
    **{f"Orientation {pair}": tag(Orientation, pair, more=(1.0,)) for pair in PAIRS},
    **{f"Transform {pair}": tag(Transform, pair, more=(0.0, 0.0, 0.0, 1.0)) for pair in PAIRS},
    **{f"Altitude {datum.value}": tag(Altitude, datum) for datum in VerticalDatum},
    **{f"Covariance {frame}": covariance(frame) for frame in Frame},
}
FREE = (*VECTORS, Velocity, Displacement)
# The laws are over the table; its numbers matter little.
FEW = settings(max_examples=5, deadline=None)
# Each is compared with all.
SOME = range(0, len(TAGS), 4)
BINARY = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow),
    *(operator.matmul, operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, divmod),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
UNARY = (operator.neg, operator.pos, operator.invert, abs, float, int, complex, round, math.floor, operator.index)
PLAIN = (2.0, 3, np.float64(2.0), np.ones(3), np.ones((2, 3)), [1.0, 2.0, 3.0], (1.0, 2.0, 3.0), None, 1j)


def numbers(value: Any) -> np.ndarray[Any, Any]:
    for name in ("values", "radians", "degrees"):
        if hasattr(value, name):
            return np.asarray(getattr(value, name))
    return np.asarray(value)


def result_of(operation: Any, one: str, other: str) -> type | None:
    """What an operation on two tags gives; None if it is an error."""
    kind, second = TAGS[one][0], TAGS[other][0]
    if one == other and operation in (operator.add, operator.sub) and kind in FREE:
        return kind
    if operation is operator.sub and one == other and kind in (YawEnu, YawNed, Altitude):
        return object  # a number: an angle about the tag's axis, or a height
    if operation is operator.sub and one == other and kind is Position and one != "Position LLA":
        return Displacement
    there = one.removeprefix("Position ").partition(" ")[0]
    if operation is operator.add and kind is Position and second is Displacement and there != "LLA":
        return Position if other == f"Displacement {there}" else None
    return None


def test_the_table_has_every_tag() -> None:
    exported = {getattr(frames, name) for name in vars(frames)["__all__"]}
    tags = {each for each in exported if isinstance(each, type) and not issubclass(each, (Exception, Enum))}
    assert {kind for kind, _ in TAGS.values()} == tags - {frames.Convention}


def refused(operation: Callable[..., object], *operands: object) -> str:
    """The message of the TypeError that an operation raises."""
    try:
        found = operation(*operands)
    except TypeError as error:
        return str(error)
    pytest.fail(f"{operation} of {operands} gives {found}")


def names(tag: str) -> set[str]:
    """Texts of which a message that names a tag has one."""
    kind, detail = tag.partition(" ")[::2]
    return {kind, detail or kind.lower(), detail.partition(" ")[0] or kind[-3:].upper()}


@pytest.mark.parametrize("one", only(TAGS, *SOME))
@FEW
@given(THREE, THREE)
def test_operators_on_two_tags_are_defined_or_errors_that_name_both(one: str, a: list[float], b: list[float]) -> None:
    first = TAGS[one][1](a)
    for other, operation in product(TAGS, BINARY):
        second = TAGS[other][1](b)
        expected = result_of(operation, one, other)
        if expected is None:
            message = refused(operation, first, second)
            for each in (one, other):
                assert any(name in message for name in names(each)), (one, other, operation, message)
        else:
            found = operation(first, second)
            assert isinstance(found, expected)
            if TAGS[one][0] not in (YawEnu, YawNed):
                np.testing.assert_array_equal(numbers(found), operation(numbers(first), numbers(second)))


@pytest.mark.parametrize("one", only(TAGS, *SOME))
@FEW
@given(THREE, THREE)
def test_tags_are_equal_if_their_numbers_and_frames_are(one: str, a: list[float], b: list[float]) -> None:
    make = TAGS[one][1]
    assert make(a) == make(list(a))
    assert (make(a) == make(b)) == np.array_equal(numbers(make(a)), numbers(make(b)))
    for other in TAGS.keys() - {one}:
        assert make(a) != TAGS[other][1](a)
    for plain in (numbers(make(a)), tuple(a), a, a[0]):
        equal = make(a) == plain
        assert not (equal if isinstance(equal, bool) else np.asarray(equal).any())


@pytest.mark.parametrize("tag", only(TAGS, *SOME))
@FEW
@given(THREE, SCALES)
def test_numbers_scale_vectors_and_nothing_else(tag: str, a: list[float], scale: float) -> None:
    kind, make = TAGS[tag]
    value = make(a)
    if kind in FREE:
        for found in (value * scale, scale * value, value * np.float64(scale), np.float64(scale) * value):
            assert type(found) is kind
            np.testing.assert_array_equal(numbers(found), np.array(a) * scale)
        np.testing.assert_array_equal(numbers(value / scale), np.array(a) / scale)
        np.testing.assert_array_equal(numbers(-value), -np.array(a))
        assert numbers(value * 2).shape == (3,)
    for plain, operation in product(PLAIN, BINARY):
        scales = kind in FREE and isinstance(plain, (int, float))
        if not (scales and operation in (operator.mul, operator.truediv)):
            refused(operation, value, plain)
        if not (scales and operation is operator.mul):
            refused(operation, plain, value)
    for unary in UNARY:
        if not (kind in FREE and unary is operator.neg):
            refused(unary, value)


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_is_not_made_of_another(tag: str) -> None:
    value = TAGS[tag][1]([1.0, 2.0, 3.0])
    for kind in (*VECTORS, *ATTITUDES):
        with pytest.raises((TypeError, ValueError)):
            kind(value)


@pytest.mark.parametrize("kind", ATTITUDES)
@FEW
@given(st.lists(st.floats(0.1, 1.0), min_size=4, max_size=4), THREE)
def test_attitudes_turn_vectors_of_their_own_frames_only(kind: Any, q: list[float], a: list[float]) -> None:
    q = (np.array(q) / np.linalg.norm(q)).tolist()
    attitude = kind(q)
    turn = Rotation.from_quat([*q[1:], q[0]] if kind in (AttitudeNed, AttitudeFrd) else q)
    world, body = ATTITUDES[kind]
    np.testing.assert_allclose(attitude.to_world(body(a)), turn.apply(a), atol=1e-9)
    np.testing.assert_allclose(attitude.to_body(world(a)), turn.inv().apply(a), atol=1e-9)
    assert type(attitude.to_world(body(a))) is world
    assert type(attitude.to_body(world(a))) is body
    for other, make in TAGS.values():
        for turned, taken in ((attitude.to_world, body), (attitude.to_body, world)):
            if other is not taken:
                with pytest.raises(FrameMismatch, match=f"turns a vector in {taken.frame}; found "):
                    turned(make(a))
    with pytest.raises(FrameMismatch, match="found a list without one"):
        attitude.to_body(a)


def test_components_have_the_names_of_their_axes() -> None:
    ned = Ned((1.0, 2.0, 3.0))
    assert (ned.north, ned.east, ned.down, ned.to_enu().up) == (1.0, 2.0, 3.0, -3.0)
    assert (Flu((1.0, 2.0, 3.0)).left, Frd((1.0, 2.0, 3.0)).right) == (2.0, 2.0)
    assert Ned((2.0, 3.0, 6.0)).length == 7.0
    with pytest.raises(AttributeError, match="vector in NED cannot be changed"):
        ned.north = 3.0  # type: ignore[assignment]
    with pytest.raises(ValueError, match="vector in NED: 3 numbers are needed, found 2"):
        Ned((1.0, 2.0))


def test_type_checkers_know_what_comes_out_and_what_cannot_go_in() -> None:
    """The errors are those of mypy. At run time, they are what the laws above say."""
    ned, enu, flu, frd = Ned((1, 2, 3)), Enu((1, 2, 3)), Flu((1, 2, 3)), Frd((1, 2, 3))
    attitude = AttitudeEnu((0.0, 0.0, 0.0, 1.0))
    assert_type(ned + ned, Ned)
    assert_type(2 * enu - enu / 2, Enu)
    assert_type(-flu, Flu)
    assert_type(attitude.to_body(enu), Flu)
    assert_type(attitude.to_world(flu), Enu)
    assert_type(AttitudeNed((1.0, 0.0, 0.0, 0.0)).to_body(ned), Frd)
    assert_type(AttitudeFrd((1.0, 0.0, 0.0, 0.0)).to_body(frd), Frd)
    assert_type(ned.to_enu().up, float)
    assert_type(ned.xyz, tuple[float, float, float])
    place, velocity = Position([1, 2, 3], Frame.ENU), Velocity([1, 2, 3], Frame.ENU)
    assert_type(place - place, Displacement)
    assert_type(place + (place - place) * 2.0, Position)
    assert_type(velocity + velocity, Velocity)
    wrong: list[Callable[[], object]] = [
        lambda: ned + enu,  # type: ignore[operator]
        lambda: frd - flu,  # type: ignore[operator]
        lambda: ned * enu,  # type: ignore[operator]
        lambda: ned @ ned,  # type: ignore[operator]
        lambda: ned < ned,  # type: ignore[operator]
        lambda: ned + 1.0,  # type: ignore[operator]
        lambda: attitude.to_body(ned),  # type: ignore[arg-type]
        lambda: attitude.to_body(flu),  # type: ignore[arg-type]
        lambda: attitude.to_world(enu),  # type: ignore[arg-type]
        lambda: Enu(ned),  # type: ignore[arg-type]
        lambda: ned.up,  # type: ignore[attr-defined]
        lambda: place + place,  # type: ignore[operator]
        lambda: velocity - (place - place),  # type: ignore[operator]
        lambda: YawNed(0.0) + YawNed(0.0),  # type: ignore[operator]
    ]
    for each in wrong:
        with pytest.raises((TypeError, AttributeError)):
            each()
    same = ned == enu  # type: ignore[operator]
    assert not same
