"""Formulas against scipy's rotations, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.viewing.schematic import EqlFault, FormulaSignal, UnknownName, bound, bound_pose, formula
from sim_node.viewing.schematic.formulas import POSE_LABELS

POSITION = np.array([3.0, -2.0, 7.0])
TURN = Rotation.from_euler("ZYX", [50.0, -20.0, 35.0], degrees=True)


class Known:
    """Signals by name."""

    origin: tuple[float, float, float] | None = None

    def __init__(self, **more: FormulaSignal) -> None:
        pose = np.concatenate([TURN.as_quat(), POSITION])
        self.of = {f"{name}.world_pos": FormulaSignal(POSE_LABELS, lambda: pose) for name in ENTITIES} | more

    def find(self, name: str) -> FormulaSignal | None:
        return self.of.get(name)

    def names(self) -> Iterable[str]:
        return self.of


ENTITIES = ("aircraft", "satellite", "earth", "car", "drone", "jet", "drone/base_link")
SCOPE = Known(**{"imu.gyro": FormulaSignal(("x", "y", "z"), lambda: np.array([1.0, -2.0, 4.0]))})


def turned(axis: str, degrees: float) -> Rotation:
    return Rotation.from_euler(axis, degrees, degrees=True)


def moved(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z])


# The formulas of the seed, in words of scipy: rotations of the body are on the right, of the world on the left.
EXAMPLES = {
    "aircraft.world_pos.rotate_z(-90)": (POSITION, TURN * turned("z", -90)),
    "satellite.world_pos.rotate_world_y(-15)": (POSITION, turned("y", -15) * TURN),
    "earth.world_pos": (POSITION, TURN),
    "car.world_pos.translate_x(-2.0).translate_z(1.0)": (POSITION + TURN.apply([-2, 0, 1]), TURN),
    "drone.world_pos.translate_world(-5, -5, 3)": (POSITION + moved(-5, -5, 3), TURN),
    "jet.world_pos.rotate_z(-90).translate_y(-2.0).translate_world_z(5.0)": (
        POSITION + (TURN * turned("z", -90)).apply([0, -2, 0]) + moved(0, 0, 5),
        TURN * turned("z", -90),
    ),
    "satellite.world_pos.rotate_x(45).rotate_z(90)": (POSITION, TURN * turned("x", 45) * turned("z", 90)),
    "aircraft.world_pos.translate(1, 0, 0.5).translate_world(0, 0, 10)": (
        POSITION + TURN.apply([1, 0, 0.5]) + moved(0, 0, 10),
        TURN,
    ),
    # Intrinsic angles: capital letters of scipy.
    "jet.world_pos.rotate(10, 20, 30)": (POSITION, TURN * Rotation.from_euler("XYZ", [10, 20, 30], degrees=True)),
    "jet.world_pos.rotate_world(10, 20, 30)": (POSITION, Rotation.from_euler("xyz", [10, 20, 30], degrees=True) * TURN),
    # Strictly left to right: a translation before a rotation is along the axes before it.
    "jet.world_pos.translate_x(2).rotate_z(90)": (POSITION + TURN.apply([2, 0, 0]), TURN * turned("z", 90)),
    "jet.world_pos.rotate_y(5).rotate_world_x(-7).translate_world_y(3)": (
        POSITION + moved(0, 3, 0),
        turned("x", -7) * TURN * turned("y", 5),
    ),
    "drone.world_pos + (0,0,0,0, 2,2,2)": (POSITION + 2.0, TURN),
    "drone.world_pos + (1, 2, 3)": (POSITION + moved(1, 2, 3), TURN),
    "drone/base_link.world_pos": (POSITION, TURN),
    "'drone/base_link'.world_pos": (POSITION, TURN),
    "(0,0,0,0, 8,2,4)": (moved(8, 2, 4), Rotation.identity()),
    "(0,0,0,1, 8,2,4)": (moved(8, 2, 4), Rotation.identity()),
    "(8,2,4)": (moved(8, 2, 4), Rotation.identity()),
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_pose_is_scipys(text: str) -> None:
    position, turn = EXAMPLES[text]
    pose = bound_pose(formula(text), SCOPE)()
    assert pose[:3] == pytest.approx(position, abs=1e-12)
    assert Rotation.from_quat(pose[3:]).as_matrix() == pytest.approx(turn.as_matrix(), abs=1e-12)


def step(name: str, position: np.ndarray, turn: Rotation, value: float) -> tuple[np.ndarray, Rotation]:
    """One formula in words of scipy."""
    kind, axis = name.split("_", 1)
    along = np.eye(3)["xyz".index(axis[-1])] * value
    if kind == "rotate":
        by = turned(axis[-1], value)
        return position, by * turn if axis.startswith("world") else turn * by
    return position + (along if axis.startswith("world") else turn.apply(along)), turn


STEPS = [f"{kind}_{frame}{axis}" for kind in ("rotate", "translate") for frame in ("", "world_") for axis in "xyz"]


@given(st.lists(st.tuples(st.sampled_from(STEPS), st.integers(-180, 180)), max_size=8))
def test_chains_apply_from_left_to_right(chain: list[tuple[str, int]]) -> None:
    text = "jet.world_pos" + "".join(f".{name}({value})" for name, value in chain)
    position, turn = POSITION, TURN
    for name, value in chain:
        position, turn = step(name, position, turn, value)
    pose = bound_pose(formula(text), SCOPE)()
    assert pose[:3] == pytest.approx(position, abs=1e-9)
    assert (Rotation.from_quat(pose[3:]).inv() * turn).magnitude() < 1e-7


@pytest.mark.parametrize(
    ("text", "labels", "values"),
    [
        ("imu.gyro", ("x", "y", "z"), [1, -2, 4]),
        ("imu.gyro.y", ("y",), [-2]),
        ("imu.gyro[2]", ("z",), [4]),
        ("imu.gyro * 2 - 1", ("x", "y", "z"), [1, -5, 7]),
        ("1 + imu.gyro.z * 2", ("z",), [10]),  # left to right, as Elodin has it
        ("1 + (imu.gyro.z * 2)", ("z",), [9]),
        ("imu.gyro.norm()", ("norm",), [np.sqrt(21.0)]),
        ("imu.gyro.abs()", ("x", "y", "z"), [1, 2, 4]),
        ("imu.gyro.degrees()", ("x", "y", "z"), np.degrees([1, -2, 4])),
        ("drone.world_pos.linear()", ("x", "y", "z"), POSITION),
        ("drone.world_pos.angular()", ("q0", "q1", "q2", "q3"), TURN.as_quat()),
        ("drone.world_pos.q3", ("q3",), TURN.as_quat()[3:]),
        ("imu.gyro / 2", ("x", "y", "z"), [0.5, -1, 2]),
        # As in the tests of Elodin's own reader: a name, or a text.
        ("imu.gyro.y.cast(f64) + 1.0", ("y",), [-1]),
        ('imu.gyro.z.cast("f32") / 2.0', ("z",), [2]),
        ("(imu.gyro * 0.4).cast(I32)", ("x", "y", "z"), [0, 0, 1]),  # toward zero
    ],
)
def test_numbers(text: str, labels: tuple[str, ...], values: list[float]) -> None:
    found = bound(formula(text), SCOPE)
    assert found.read() == pytest.approx(np.asarray(values, dtype=float))
    assert found.labels == labels


# Rust's `as`, which Elodin's editor casts with: https://doc.rust-lang.org/reference/expressions/operator-expr.html
CAST = {
    "u8": [0, 1, 0, 255, 0, 255, 0],
    "i8": [0, 1, -1, 127, -128, 127, 0],
    "int16": [0, 1, -1, 300, -300, 32767, 0],
    "bool": [1, 1, 1, 1, 1, 1, 1],
}


@pytest.mark.parametrize("name", CAST)
def test_casts_drop_fractions_and_end_at_the_ends_of_their_type(name: str) -> None:
    given = np.array([0.9, 1.9, -1.9, 300.7, -300.7, np.inf, np.nan])
    scope = Known(**{"a.b": FormulaSignal(tuple("abcdefg"), lambda: given)})
    assert bound(formula(f"a.b.cast({name})"), scope).read().tolist() == CAST[name]


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["u16", "u32", "i16", "i32", "f32"]))
def test_a_cast_of_what_a_type_holds_is_numpys(value: float, name: str) -> None:
    type_ = np.dtype({"u": "uint", "i": "int", "f": "float"}[name[0]] + name[1:])
    if name[0] != "f" and not np.iinfo(type_).min <= value <= np.iinfo(type_).max:
        value = float(int(value) % 1000)
    scope = Known(**{"a.b": FormulaSignal(("a",), lambda: np.array([value]))})
    with np.errstate(over="ignore"):
        expected = float(np.array([value]).astype(type_)[0])
    assert bound(formula(f"a.b.cast({name})"), scope).read().tolist() == [expected]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("imu.gyro.cast(quaternion)", "cast does not know 'quaternion'.*known: u8, uint8, i8"),
        ("imu.gyro.cast(f46)", "cast does not know 'f46'; did you mean f64"),
        ("imu.gyro.cast()", "cast takes one of u8"),
        ("imu.gyro.cast(1)", "cast takes one of u8"),
        ('imu.gyro + "f64"', '"f64" is a word'),
        ("dron.world_pos", "there is no 'dron.world_pos'; did you mean drone.world_pos"),
        ("drone", "did you mean drone.world_pos"),
        ("x9", "a component is named ENTITY.COMPONENT, as in x9.world_pos"),
        ("imu.gyro.w", "imu.gyro has no 'w'"),
        ("imu.gyro[3]", r"\[3\] of 3 numbers"),
        ("jet.world_pos.rotat_x(1)", "no formula 'rotat_x'; did you mean rotate_x"),
        ("jet.world_pos.rotate_x(1, 2)", "rotate_x takes 1 number, found 2"),
        ("imu.gyro[0].linear()", "applies to 6 or 7 numbers, found 1 number"),
        ("jet.world_pos + (1,0,0,0,1,2,3)", "poses cannot be added"),
        ("imu.gyro + (1, 2)", "3 numbers . 2 numbers"),
        ("imu.gyro[0]", "a pose .7. or a position .3."),
    ],
)
def test_what_cannot_be_computed_is_explained(text: str, words: str) -> None:
    with pytest.raises(UnknownName, match=words):
        bound_pose(formula(text), SCOPE)


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a.b.rotate(1,", 14, "found the end"),
        ("a b", 3, "found 'b'"),
        ("a.b[x]", 5, "a number"),
        ("a.b ? 1", 5, "found '\\?'"),
        ("a[-1]", 3, "indices begin at 0"),
        ("", 1, "found the end"),
        ("(" * 200, 1, "nested 200 deep"),
    ],
)
def test_faults_have_their_columns(text: str, column: int, words: str) -> None:
    with pytest.raises(EqlFault, match=words) as fault:
        formula(text)
    assert fault.value.column == column


def test_commas_outside_of_parentheses_separate_curves() -> None:
    parts = formula("a.b, a.c[1] * 2, (a.d + 1).norm(), a.e.rotate(1, 2, 3)").curves()
    assert [each.text for each in parts] == ["a.b", "a.c[1] * 2", "(a.d + 1).norm()", "a.e.rotate(1, 2, 3)"]
