"""What expressions come to, against Python's arithmetic, numpy, scipy and transforms3d."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import transforms3d
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.extensions.openplx import syntax
from sim_node.extensions.openplx.functions import FUNCTIONS, METHODS, new_spelling
from sim_node.extensions.openplx.parse import parse
from sim_node.extensions.openplx.values import AffineTransform, Matrix3x3, Matrix4x4, Quat, Vec3, components
from sim_node.world.readers.report import Report

numbers = st.floats(-10, 10).map(lambda x: round(x, 3))
vectors = st.builds(Vec3, numbers, numbers, numbers)
directions = vectors.filter(lambda v: v.length() > 0.01)
rotations = (
    st.builds(Quat, *[st.floats(-1, 1)] * 4).filter(lambda q: q.norm() > 0.01).map(Quat.normal)
)  # fmt: skip


def wxyz(q: Quat) -> np.ndarray:
    return np.array([q.w, q.x, q.y, q.z])


def only_value(document: syntax.Document | None) -> Any:
    """The value of the one assignment of the one model."""
    assert document is not None
    model = document.statements[0]
    assert isinstance(model, syntax.Assignment)
    line = model.block[0]
    assert isinstance(line, syntax.Assignment)
    return line.value


def call(name: str, *arguments: float | Sequence[float] | Quat | Vec3) -> Any:
    return FUNCTIONS[f"Math.{name}"].call(*arguments)


@pytest.mark.parametrize(
    "text",
    [
        *("1 + 2 * 3", "(1 + 2) * 3", "2 - 3 - 4", "12 / 3 / 2", "2 - -3", "-2 * 3 + 1", "-(2 + 3) * 2", "1.5e1 / 4"),
        *("2 * 3 - 4 / 5", "--2", "1 - 2 * 3 / 4 + 5", "+3", "0.1 + 0.2", "7 / 2", "((((1))))", "3 * -2"),
    ],
)
def test_operators_bind_as_in_arithmetic(value: Callable[..., Any], text: str) -> None:
    assert value(text) == eval(text)


@given(
    st.recursive(
        st.floats(0, 100).map(repr), lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner)
    )
)
def test_any_expression_is_what_python_makes_of_it(text: str) -> None:
    """Sums, differences and products within each other."""
    from sim_node.extensions.openplx.evaluate import evaluate

    report = Report("")
    tree = parse(f"M:\n    a: {text}\n", report)
    assert report.errors == []
    assert evaluate(only_value(tree), None) == eval(text)  # type: ignore[arg-type]


expressions = st.recursive(
    st.one_of(
        st.integers(0, 10**9).map(str),
        st.floats(0, 1e9).map(repr),
        st.sampled_from(["a", "is_", "reference", "this", "true", '"text # no comment"', '@"../a b"', "[]", "{}"]),
    ),
    lambda inner: st.one_of(
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{{}}}".format, inner),
        st.builds("f({}).g[{}]".format, inner, inner),
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("-{}".format, inner),
    ),
    max_leaves=12,
)


def written(node: Any) -> str:
    """An expression as text, with all brackets."""
    if isinstance(node, syntax.NumberExpression):
        return repr(node.value)
    if isinstance(node, syntax.TextExpression):
        return f'@"{node.value}"' if node.file else f'"{node.value}"'
    if isinstance(node, (syntax.Keyword, syntax.NameExpression)):
        return node.word if isinstance(node, syntax.Keyword) else node.name
    if isinstance(node, syntax.Items):
        inside = ", ".join(map(written, node.items))
        return f"{{{inside}}}" if node.braces else f"[{inside}]"
    if isinstance(node, syntax.Negation):
        return f"-({written(node.of)})"
    if isinstance(node, syntax.Operation):
        rest = "".join(f" {sign} ({written(right)})" for sign, _, right in node.rest)
        return f"({written(node.first)}){rest}"
    steps = []
    for step in node.steps:
        if isinstance(step, syntax.Attribute):
            steps.append(f".{step.name}")
        elif isinstance(step, syntax.Call):
            steps.append(f"({', '.join(map(written, step.arguments))})")
        else:
            steps.append(f"[{written(step.index)}]")
    return written(node.first) + "".join(steps)


@given(expressions)
def test_expressions_come_back_from_their_text(text: str) -> None:
    def tree(text: str) -> Any:
        report = Report("")
        document = parse(f"M:\n    a: {text}\n", report)
        assert report.errors == []
        return only_value(document)

    first = tree(text)
    again = tree(written(first))
    assert written(again) == written(first)
    assert type(again) is type(first)


@given(vectors, vectors, numbers)
def test_vectors_are_numpy_s(a: Vec3, b: Vec3, factor: float) -> None:
    x, y = np.array(components(a)), np.array(components(b))
    np.testing.assert_allclose(components(a + b), x + y)
    np.testing.assert_allclose(components(a - b), x - y)
    np.testing.assert_allclose(components(factor * a), factor * x)
    np.testing.assert_allclose(components(a * factor), factor * x)
    np.testing.assert_allclose(components(-a), -x)
    np.testing.assert_allclose(components(a.cross(b)), np.cross(x, y))
    np.testing.assert_allclose(a * b, x @ y, atol=1e-12)
    np.testing.assert_allclose(a.length(), np.linalg.norm(x))


@given(rotations, rotations, vectors)
def test_quaternions_are_transforms3d_s(a: Quat, b: Quat, v: Vec3) -> None:
    np.testing.assert_allclose(wxyz(a * b), transforms3d.quaternions.qmult(wxyz(a), wxyz(b)), atol=1e-14)
    expected = transforms3d.quaternions.qmult(wxyz(a), transforms3d.quaternions.qinverse(wxyz(b)))
    np.testing.assert_allclose(wxyz(a / b), expected, atol=1e-12)
    np.testing.assert_allclose(wxyz(a.conj()), transforms3d.quaternions.qconjugate(wxyz(a)))
    expected = transforms3d.quaternions.rotate_vector(components(v), wxyz(a))
    np.testing.assert_allclose(components(a.rotate(v)), expected, atol=1e-12)


@given(directions, st.floats(-6, 6))
def test_angle_axis_is_scipy_s(axis: Vec3, angle: float) -> None:
    found = Rotation.from_quat(components(call("Quat.angle_axis", angle, axis)))
    expected = Rotation.from_rotvec(angle * np.array(components(axis)) / axis.length())
    assert (found.inv() * expected).magnitude() < 1e-14


@given(directions, directions)
def test_from_to_takes_one_direction_to_the_other_by_the_shortest_arc(a: Vec3, b: Vec3) -> None:
    turn = call("Quat.from_to", a, b)
    np.testing.assert_allclose(components(turn.rotate(a.normal())), components(b.normal()), atol=1e-12)
    angle = 2 * math.atan2(math.hypot(turn.x, turn.y, turn.z), abs(turn.w))
    x, y = np.array(components(a.normal())), np.array(components(b.normal()))
    assert angle == pytest.approx(2 * math.atan2(np.linalg.norm(x - y), np.linalg.norm(x + y)), abs=1e-7)


@pytest.mark.parametrize("away", [0.0, 1e-15, 1e-9, 1e-4])
def test_from_to_turns_about_between_opposite_directions(away: float) -> None:
    turn = call("Quat.from_to", Vec3(1.0), Vec3(-1.0, away))
    np.testing.assert_allclose(components(turn.rotate(Vec3(1.0))), components(Vec3(-1.0, away).normal()), atol=1e-12)
    assert turn.norm() == pytest.approx(1.0, abs=1e-15)


ORDERS = ["".join(axes) for axes in itertools.product("xyz", repeat=3) if axes[0] != axes[1] != axes[2]]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("suffix", ["s", "r"])
def test_euler_angles_are_scipy_s(order: str, suffix: str) -> None:
    """scipy writes static axes in small letters and rotating ones in capitals."""
    angles, sequence = (0.3, -0.7, 1.1), order if suffix == "s" else order.upper()
    found = call(f"Quat.from_euler_angles_{order}{suffix}", *angles)
    expected = Rotation.from_euler(sequence, angles)
    assert (Rotation.from_quat(components(found)).inv() * expected).magnitude() < 1e-14
    back = METHODS[Quat][f"to_euler_angles_{order}{suffix}"].call(found)
    assert (Rotation.from_euler(sequence, components(back)).inv() * expected).magnitude() < 1e-12


def matrix(t: AffineTransform) -> np.ndarray:
    turn = transforms3d.quaternions.quat2mat(wxyz(t.rotation))
    return np.asarray(transforms3d.affines.compose(components(t.position), turn, np.ones(3)))


@given(st.builds(AffineTransform, vectors, rotations), st.builds(AffineTransform, vectors, rotations), vectors)
def test_transforms_are_their_matrices(a: AffineTransform, b: AffineTransform, v: Vec3) -> None:
    np.testing.assert_allclose(matrix(a * b), matrix(a) @ matrix(b), atol=1e-12)
    np.testing.assert_allclose(matrix(a.inverse()), np.linalg.inv(matrix(a)), atol=1e-12)
    np.testing.assert_allclose(
        matrix(call("AffineTransform.inverse_of", *components(a))), np.linalg.inv(matrix(a)), atol=1e-12
    )
    point = METHODS[AffineTransform]["transform_vec3_point"].call(a, v)
    np.testing.assert_allclose([*components(point), 1], matrix(a) @ [*components(v), 1], atol=1e-12)
    vector = METHODS[AffineTransform]["transform_vec3_vector"].call(a, v)
    np.testing.assert_allclose([*components(vector), 0], matrix(a) @ [*components(v), 0], atol=1e-12)


@given(directions, directions)
def test_from_axes_puts_z_and_x_where_it_is_reported(z: Vec3, x: Vec3) -> None:
    across = np.cross(components(z.normal()), components(x.normal()))
    if np.linalg.norm(across) < 1e-3:
        return
    turn = matrix(call("AffineTransform.from_axes", z, x, Vec3(1.0, 2.0, 3.0)))
    np.testing.assert_allclose(turn[:3, 2], components(z.normal()), atol=1e-12)
    np.testing.assert_allclose(turn[:3, 1], across / np.linalg.norm(across), atol=1e-10)
    np.testing.assert_allclose(turn[:3, 3], [1, 2, 3])


@given(directions)
def test_orthogonal_unit_vectors_are_both(v: Vec3) -> None:
    found = METHODS[Vec3]["get_orthogonal_unit_vector"].call(v)
    assert found.length() == pytest.approx(1, abs=1e-14)
    assert found.dot(v.normal()) == pytest.approx(0, abs=1e-14)


def test_matrices_are_numpy_s() -> None:
    rows = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 10.0]]
    a = call("Matrix3x3.from_rows", *rows)
    np.testing.assert_array_equal(a.array(), rows)
    np.testing.assert_array_equal(call("Matrix3x3.from_columns", *rows).array(), np.array(rows).T)
    np.testing.assert_array_equal((a * a).array(), np.array(rows) @ rows)
    np.testing.assert_array_equal((a + a - a).array(), rows)
    np.testing.assert_array_equal(components(a * Vec3(1, 2, 3)), np.array(rows) @ [1, 2, 3])
    np.testing.assert_array_equal(call("Matrix3x3.diag", 1, 2, 3).array(), np.diag([1, 2, 3]))
    turn = transforms3d.quaternions.axangle2quat([1, 2, 3], 0.5)
    m = call("Matrix4x4.from_vec3_quat", Vec3(1, 2, 3), Quat(turn[1], turn[2], turn[3], turn[0]))
    expected = transforms3d.affines.compose([1, 2, 3], transforms3d.quaternions.quat2mat(turn), np.ones(3))
    np.testing.assert_allclose(m.array(), expected, atol=1e-15)
    np.testing.assert_allclose(wxyz(METHODS[Matrix4x4]["get_affine_rotation"].call(m)), turn, atol=1e-15)
    assert METHODS[Matrix4x4]["get_affine_translation"].call(m) == Vec3(1, 2, 3)
    tensor = FUNCTIONS["Physics3D.Bodies.Inertia.symmetric_tensor"].call(Vec3(1, 2, 3), 4, 5, 6)
    np.testing.assert_array_equal(tensor.array(), [[1, 4, 5], [4, 2, 6], [5, 6, 3]])
    assert isinstance(tensor, Matrix3x3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Math.PI", math.pi),
        ("Math.Functions.deg_to_rad(180.0)", math.pi),
        ("Math.Functions.rad_to_deg(Math.PI / 2)", 90.0),
        ("Math.Functions.sin(Math.PI / 6)", 0.5),
        ("Math.Functions.arccos(0)", math.pi / 2),
        ("Math.Functions.arctan2(1, -1)", 3 * math.pi / 4),
        ("Math.Functions.pow(2, 10)", 1024),
        ("Math.Functions.sqrt(2)", math.sqrt(2)),
        ("Math.Functions.median([3, 1, 2])", 2),
        ("Math.Functions.harmonic_mean([1, 4, 4])", 2),
        ("Math.Functions.mean([1, 2, 6])", 3),
        ("Math.Functions.max([1, 5, 3]) - Math.Functions.min([1, 5, 3])", 4),
        ("Math.INF", math.inf),
        ("Math.NEG_INF", -math.inf),
        ("Math.Functions.round(2.5) + Math.Functions.floor(-0.5) + Math.Functions.ceil(0.2)", 3),
        ("Math.Vec3.from_xyz(3, 4, 0).length()", 5),
        ("Math.Vec3.X_AXIS().cross(Math.Vec3.Y_AXIS()).z", 1),
        ("Math.Vec3.angle_between_vectors({1, 0, 0}, {0, -2, 0}, {0, 0, 5})", -math.pi / 2),
        ("Math.Line.from_points({0, 0, 0}, {1, 2, 2}).length()", 3),
        ("Math.Vec2.from_xy(1, 2) * Math.Vec2.from_xy(3, 4)", 11),
        ("Math.Quat.angle_axis(Math.PI / 2, Math.Vec3.Z_AXIS()).rotate(Math.Vec3.X_AXIS()).y", 1),
        ("[1, [2, 3]][1][0]", 2),
    ],
)
def test_functions_of_the_bundle(value: Callable[..., Any], text: str, expected: float) -> None:
    assert value(text) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("old", "new"), [("angleAxis", "angle_axis"), ("fromTo", "from_to"), ("from_xyz", "from_xyz"), ("X_AXIS", "X_AXIS")]
)
def test_old_spellings_are_read(old: str, new: str) -> None:
    assert new_spelling(old) == new


@pytest.mark.usefixtures("bundles")
def test_no_function_of_the_math_bundle_is_missing(objects: Callable[..., dict[str, Any]]) -> None:
    """Every method that the installed Math bundle declares."""
    found = objects("M is Robotics.Robots.Robot\n")["M"].instances.models
    library = found.library
    declared = 0
    for name in ("Vec2", "Vec3", "Quat", "Matrix3x3", "Matrix4x4", "AffineTransform", "Line", "Functions"):
        definition = library.bundle("Math").definition(name)
        for line in definition.statement.block:
            if isinstance(line, syntax.Method):
                declared += 1
                methods = next((METHODS[kind] for kind in METHODS if kind.__name__ == name), {})
                takes = FUNCTIONS.get(f"Math.{name}.{line.name}") if line.static else methods.get(line.name)
                assert takes is not None, f"Math.{name}.{line.name}"
                assert len(takes.takes) == len(line.parameters) + (not line.static), line.name
    assert declared > 100
