"""Each class of fault in an OpenPLX file once: where it stands and what is said of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from nightly import only

from sim_node.extensions.openplx import objects
from sim_node.world import WorldError, WorldWarning, load


def reported(write: Callable[..., Path], text: str) -> list[str]:
    """The faults of a file, without the file's name."""
    path = write(text, "w.openplx")
    with pytest.raises(WorldError) as raised:
        load(path)
    return [line.removeprefix("w.openplx:") for line in raised.value.lines()]


SYNTAX = [
    ("A is\n", "1:5: found the end of the line; allowed here: a name"),
    ("A:\n    x: 1 +\n", "2:11: found the end of the line; allowed here: a value"),
    ("A:\n    x: [1, \n", "2:8: a bracket is not closed"),
    ("A:\n    x: 1)\n", "2:9: found ')'; allowed here: the end of the line"),
    ("A:\n  x: 1\n   y: 2\n", "3:4: unexpected indentation: the line above does not open a block"),
    ("A:\n    x:\n        y: 1\n      z: 2\n", "4:7: indentation does not match any line above"),
    ("A:\nB\n", "2:1: found 'B'; allowed here: an indented block"),
    ("A:", "1:3: found the end of the file; allowed here: an indented block"),
    ('A:\n    x: "abc\n', "2:8: a string without an end; allowed here: a value, the end of the line"),
    ("A:\n    x: $\n", "2:8: found '$'; allowed here: a value, the end of the line"),
    ("const const A\n", "1:7: a second const"),
    ("A:\n    x: 9223372036854775808\n",
     "2:8: 9223372036854775808 is out of range; an Int is at most 9223372036854775807"),
    ("A:\n    x: " + "(" * 51, "2:58: brackets nested deeper than 50 levels"),
    ("A:\n" + "".join(" " * i + "a:\n" for i in range(1, 60)), "51:51: indented deeper than 50 levels"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SYNTAX, ids=[text[:30] for text, _ in SYNTAX])
def test_syntax(write: Callable[..., Path], text: str, expected: str) -> None:
    assert reported(write, text) == [expected]


S = "A is Physics3D.System"
MODELS = [
    ("A\n", " it has no Physics3D.System, so there is nothing to simulate"),
    ("A is Rodd\nRod is Physics3D.System\n", "1:6: A: no type Rodd; did you mean Rod?"),
    ("A is A\nB is Physics3D.System\n", "1:6: A: A inherits from itself"),
    (f"{S}\n{S}\n", "2:1: A: defined twice; first at w.openplx:1:1"),
    (f"{S}:\n    x is Real: 1\n    x is Int: 2\n", "3:5: A.x: declared twice; first at w.openplx:2:5"),
    (f"{S}:\n    x is Real: 1\n    x: 2\n", "3:5: A.x: assigned twice; first at w.openplx:2:5"),
    (f"{S}:\n    foo\n", "2:5: A.foo: a name needs a value or a type: NAME: VALUE, or NAME is TYPE"),
    ("A is Real\n", "1:6: A: Real is a type of values, which models cannot inherit from"),
    (f"{S}:\n    a is A\n", "2:5: A.a: an A within an A is infinitely nested"),
    ("with Foo\n", "1:6: with: a trait belongs in a model; indent it below one"),
    ("a.b is A\n", "1:1: a.b: the name of a model has no dots; indent its contents below it"),
    ("x: 3\n", "1:1: x: a value outside of a model; indent it below one, or say its type: NAME is TYPE: VALUE"),
    (f"{S}:\n    b is B\nB is Physics3D.System\nC is A:\n    b becomes Real\n",
     "5:5: C.b: becomes something that it is not: it was declared otherwise at w.openplx:2:5"),
    (f"{S}:\n    b is Real\nC is A:\n    b becomes Real[]\n", "4:5: C.b: was not declared as an array"),
    (f"trait T:\n    x: 3\n{S}:\n    with T\n", "2:5: T.x: an A has no x"),
    (f"{S}:\n    import @\"x\"\n", "2:12: import: imports belong at the top of a file, before its models"),
]  # fmt: skip
VALUES = [
    ("x is Real: \"a\"", "2:16: A.x: a Real is needed, found a String"),
    ("x is Int: 1.5", "2:15: A.x: an Int is needed, found a Real"),
    ("x is Real[]: 3", "2:18: A.x: an array is needed, found an Int"),
    ("x is Real: {1, 2}", "2:16: A.x: a Real is needed, found {} of 2"),
    ("x is Math.Vec3: {1, 2}", "2:21: A.x: a Math.Vec3 is needed, found {} of 2"),
    ("x is Real: A", "2:16: A.x: A is a model; a value or an object is needed here"),
    ("x is Real: y\n    y is Real: x", "2:5: A.x: refers to itself"),
    ("length is Real: 1\n    x is Real: lenght", "3:16: A.x: unknown name lenght; did you mean length?"),
    ("local_transfrom.position.x: 1",
     "2:5: A.local_transfrom.position.x: an A has no local_transfrom; did you mean local_transform?"),
    ("local_transform.position.w: 1", "2:30: A.local_transform.position.w: a Math.Vec3 has no w"),
    ("x is Real\n    x.y: 1", "3:7: A.x.y: x has no members"),
    ("x is Math.Vec3: Math.Vec3.fromxyz(1, 2, 3)",
     "2:31: A.x: Math.Vec3 has no function fromxyz; did you mean from_xyz?"),
    ("x is Math.Vec3: Math.Vec3.from_xyz(1, 2)", "2:39: A.x: from_xyz takes 3 arguments, found 2"),
    ("x is Math.Vec3: Math.Vec3.from_xyz(1, 2, true)", "2:46: A.x: a Real is needed, found a Bool"),
    ("x is Math.Vec3: Math.Vec3.X_AXIS", "2:21: A.x: a Math.Vec3 is needed, found the method X_AXIS without ()"),
    ("x is Math.Vec3: Mat.Vec3.X_AXIS()", "2:21: A.x: unknown name Mat; did you mean Math?"),
    ("x is Real: Math.Vec3.X_AXIS().lenght()", "2:35: A.x: a Math.Vec3 has no lenght; did you mean length?"),
    ("x is Real: (1 + 2)(3)", "2:23: A.x: an Int cannot be called"),
    ("x is Real: 1 / 0", "2:18: A.x: division by zero"),
    ("x is Real: 1 + true", "2:18: A.x: + is not for an Int and a Bool"),
    ("x is Real: Math.Vec3.X_AXIS() / Math.Vec3.X_AXIS()", "2:35: A.x: / is not for a Math.Vec3 and a Math.Vec3"),
    ("x is Int: 9223372036854775807 + 1",
     "2:35: A.x: an Int is at most 9223372036854775807; write one of them as a Real, with a point"),
    ("x is Real: [1, 2][2]", "2:23: A.x: no item 2; there are 2, counted from 0"),
    ("x is Real: [1, 2][0.5]", "2:23: A.x: an Int is needed, found a Real"),
    ("x is Real: Math.Functions.sqrt(-1)", "2:35: A.x: sqrt: has no value for -1"),
    ("x is Math.Vec3: Math.Vec3.from_xyz(0, 0, 0).normal()",
     "2:55: A.x: normal: a vector without a direction has no normal"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MODELS, ids=[text[-30:] for text, _ in MODELS])
def test_models(write: Callable[..., Path], text: str, expected: str) -> None:
    assert expected in reported(write, text)


@pytest.mark.parametrize(("line", "expected"), VALUES, ids=[line for line, _ in VALUES])
def test_values(write: Callable[..., Path], line: str, expected: str) -> None:
    assert expected in reported(write, f"{S}:\n    {line}\n")


RIG = """\
Rig is Physics3D.System:
    part is Physics3D.Bodies.RigidBody:
        pin is Physics3D.Interactions.MateConnector
    base is Physics3D.Interactions.MateConnector
"""
LOCK = "m is Physics3D.Interactions.Lock:\n        connectors: "
PHYSICS = [
    (f"{LOCK}[part.pin]", "6:9: Rig.m.connectors: a mate has 2 connectors, found 1"),
    (f"{LOCK}[part.pinn, base]",
     "6:27: Rig.m.connectors: a Physics3D.Bodies.RigidBody has no pinn; did you mean pin?"),
    (f"{LOCK}[part, base]", "6:21: Rig.m.connectors: a Physics3D.Interactions.MateConnector is needed, "
     "found a Physics3D.Bodies.RigidBody"),
    ("part.pin.normal: {0, 0, 2}", "5:14: Rig.part.pin.normal: normal [0.0, 0.0, 2.0] is parallel to main_axis "
     "[0.0, 0.0, 1.0]; give a direction across it, or none"),
    ("part.pin.main_axis: {0, 0, 0}", "5:14: Rig.part.pin.main_axis: main_axis [0.0, 0.0, 0.0] has no direction"),
    ("part.pin.position.x: Math.INF", "5:23: Rig.part.pin.position.x: position is not finite: [inf, 0.0, 0.0]"),
    ("part.inertia.mass: -1", "5:18: Rig.part.inertia.mass: a mass of -1 kg; it must be above zero"),
    ("part.kinematics.local_transform.rotation: Math.Quat.from_euler_angles(0, Math.INF, 0)",
     "5:74: Rig.part.kinematics.local_transform.rotation: from_euler_angles: angles must be finite, found 0, inf, 0"),
    ("part.kinematics.local_transform.rotation: Math.Quat.angle_axis(Math.INF, Math.Vec3.X_AXIS())",
     "5:67: Rig.part.kinematics.local_transform.rotation: angle_axis: angles must be finite, found inf"),
    ("part.kinematics.local_transform.rotation: {0, 0, 0, 0}",
     "5:37: Rig.part.kinematics.local_transform.rotation: a quaternion of norm 0 is not a rotation"),
    ("part.kinematics.local_cm_transform.rotation: {0, 0, 0, 0}",
     "5:40: Rig.part.kinematics.local_cm_transform.rotation: a quaternion of norm 0 is not a rotation"),
    ("s is Physics3D.Geometries.Sphere", "5:5: s: radius has no value"),
    ("s is Physics3D.Geometries.Sphere:\n        radius: -1", "6:9: Rig.s.radius: sizes [-1.0] must be above zero"),
    ("q is Real\n    part.pin.position.x: q", "6:23: Rig.part.pin.position.x: q has no value"),
    ("in is Physics3D.System:\n        h is Physics3D.Interactions.RedirectedMateConnector:\n"
     "            redirected_parent: part",
     "7:13: Rig.in.h.redirected_parent: part is not a body in in, which owns the connector"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), PHYSICS, ids=[line for line, _ in PHYSICS])
def test_physics(write: Callable[..., Path], line: str, expected: str) -> None:
    assert reported(write, f"{RIG}    {line}\n") == [expected]


LEFT_OUT = [
    (LOCK.partition(":")[0], "5:5: m: a Physics3D.Interactions.Lock has missing connectors; it is ignored"),
    ("part.inner is Physics3D.System", "5:10: part.inner: a Physics3D.System cannot be owned by a body; it is ignored"),
    ("i is Physics.Interactions.Interaction",
     "5:5: i: a Physics.Interactions.Interaction is not simulated; it is ignored"),
    ("m is Physics3D.Interactions.Mate:\n        connectors: [part.pin, base]",
     "5:5: m: a Physics3D.Interactions.Mate does not define a constraint; known: Physics3D.Interactions.Lock, "),
    ("x is Physics3D.Nothing.Here", "5:10: Rig.x: Physics3D.Nothing.Here is unknown and ignored"),
    ("x is Real: Elsewhere.Model.function(1)", "5:16: Rig.x: Elsewhere.Model.function is unknown and ignored"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), LEFT_OUT, ids=[line for line, _ in LEFT_OUT])
def test_what_is_left_out_is_reported(write: Callable[..., Path], line: str, expected: str) -> None:
    path = write(f"{RIG}    {line}\n", "w.openplx")
    with pytest.warns(WorldWarning) as caught:
        load(path)
    assert [str(one.message).startswith(f"w.openplx:{expected}") for one in caught] == [True], caught[0].message


def test_a_misspelt_type_is_a_fault_with_the_nearest_name(write: Callable[..., Path]) -> None:
    assert reported(write, "A is Physics3D.Systm\n") == [
        "1:6: A: no type Physics3D.Systm; did you mean Physics3D.System?"
    ]


def test_a_type_that_is_not_known_may_be_why_there_is_no_system(write: Callable[..., Path]) -> None:
    hint = "is unknown and ignored (is the folder of its bundle in OPENPLX_BUNDLE_PATH?)"
    assert reported(write, "A is Physics3D.Qwertzuiop\n") == [
        " it has no Physics3D.System, so there is nothing to simulate",
        f"1:6: A: Physics3D.Qwertzuiop {hint}",
    ]


@pytest.mark.usefixtures("bundles")
def test_with_the_bundle_itself_an_unknown_type_is_a_fault(write: Callable[..., Path]) -> None:
    text = f"{S}:\n    body is Physics3D.Bodies.RigidBdy\n    v is Math.Vec3: Math.Foo.bar\n"
    assert reported(write, text) == [
        "2:13: A.body: no type Physics3D.Bodies.RigidBdy; did you mean Physics3D.Bodies.RigidBody?",
        "3:21: A.v: unknown name Math.Foo.bar",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('import @"../x.openplx"',
         "'../x.openplx' is outside the world's folder {}; move it there, or allow its folder (--allow DIR)"),
        ('import @"x.openplx"', "no file 'x.openplx' beside w.openplx"),
        ('import $"x"', "no 'x' on the search path of bundles (OPENPLX_BUNDLE_PATH)"),
    ],
)  # fmt: skip
def test_imports(write: Callable[..., Path], tmp_path: Path, line: str, expected: str) -> None:
    assert reported(write, f"{line}\n{S}\n") == [f"1:8: import: {expected.format(tmp_path)}"]


def test_faults_of_an_imported_file_are_reported_where_they_stand(write: Callable[..., Path]) -> None:
    write("B:\n    x is Real: 1 +\n", "parts/b.openplx")
    path = write(f'import @"parts/b.openplx"\n{S}\n', "w.openplx")
    with pytest.raises(WorldError) as raised:
        load(path)
    assert "parts/b.openplx:2:19: found the end of the line; allowed here: a value" in raised.value.lines()


def test_files_that_import_each_other(write: Callable[..., Path]) -> None:
    write('import @"w.openplx"\nB\n', "b.openplx")
    assert reported(write, f'import @"b.openplx"\n{S}\n') == ["b.openplx:1:8: import: 'w.openplx' imports this file"]


def test_every_fault_of_a_file_is_reported_at_once(write: Callable[..., Path]) -> None:
    text = f"{S}:\n    x is Real: y\n    z is Real: true\nB is Foo\n"
    assert reported(write, text) == [
        "2:16: A.x: unknown name y",
        "3:16: A.z: a Real is needed, found a Bool",
        "4:6: B: no type Foo",
    ]


# What would take long or much memory


# Takes seconds: make test has values that lead on, below or above.
@pytest.mark.nightly
def test_a_value_that_leads_on_and_on(write: Callable[..., Path]) -> None:
    lines = "".join(f"    x{i} is Real: x{i + 1}\n" for i in range(5000))
    found = reported(write, f"{S}:\n{lines}    x5000 is Real: 1\n")
    assert "values refer to each other more than 100 levels deep" in found[0]


def test_values_that_were_worked_out_before_lead_on_as_long_as_they_like(write: Callable[..., Path]) -> None:
    lines = "".join(f"    x{i + 1} is Real: x{i} + 1\n" for i in range(5000))
    load(write(f"{S}:\n    x0 is Real: 0\n{lines}", "w.openplx"))


# Takes seconds: make test has values that lead on, below or above.
@pytest.mark.nightly
def test_a_model_that_multiplies(write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten of the next in each, eight deep: a hundred million objects. A tenth of the limit is reached as well."""
    monkeypatch.setattr(objects, "MAX_OBJECTS", objects.MAX_OBJECTS // 10)
    text = "".join(
        f"S{i} is Physics3D.System:\n" + "".join(f"    a{j} is S{i - 1}\n" for j in range(10)) for i in range(8, 0, -1)
    )
    (found,) = reported(write, f"{text}S0 is Physics3D.System\nWhole is Physics3D.System:\n    s is S8\n")
    assert "more than 20000 objects" in found


def test_models_that_inherit_on_and_on(write: Callable[..., Path]) -> None:
    text = "".join(f"S{i} is S{i + 1}\n" for i in range(2000))
    found = reported(write, f"{text}S2000 is Physics3D.System\n")
    assert "inherits from models that inherit, more than 60 deep" in found[0]


def test_systems_in_systems_on_and_on(write: Callable[..., Path]) -> None:
    text = "".join(f"S{i} is Physics3D.System:\n    s is S{i + 1}\n" for i in range(200))
    found = reported(write, f"{text}S200 is Physics3D.System\nWhole is Physics3D.System:\n    s is S0\n")
    assert "objects are nested more than 60 levels deep; does one contain itself?" in found[0]


def test_a_file_that_is_too_long(write: Callable[..., Path]) -> None:
    assert reported(write, "# " + "x" * (9 * 1024 * 1024)) == [" has 9 million characters; allowed: up to 8"]


@pytest.mark.parametrize(
    "text", only(["1" + " + 1" * 20_000, "-" * 20_000 + "1", "a" + ".b" * 20_000, "[" + "1, " * 20_000 + "]"], 1)
)
def test_long_expressions_need_no_stack(write: Callable[..., Path], text: str) -> None:
    part = "    part is Physics3D.Bodies.RigidBody:\n        inertia.mass: x * x + a * a\n"
    path = write(f"{S}:\n    a is Real: 1\n    x is Real: {text}\n{part}", "w.openplx")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if text.startswith(("1", "-")):
            load(path)
        else:
            with pytest.raises(WorldError, match="a Real"):
                load(path)
