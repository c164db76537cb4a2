"""How names lead to attributes, models, namespaces, imports and bundles."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from sim_node.extensions.openplx.library import Library
from sim_node.extensions.openplx.renamed import TYPES
from sim_node.extensions.openplx.values import Vec3
from sim_node.world import WorldError, WorldWarning, load
from sim_node.world.readers.files import Roots
from sim_node.world.readers.report import Report


def test_a_path_is_the_blocks_around_it(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects(
        """\
        Inner:
            at is Math.Vec3
        One:
            inner is Inner
            inner.at.x: 1
            inner.at:
                y: 2
        Two:
            inner is Inner:
                at:
                    x: 1
                    y: 2
        """
    )
    assert found["One"].at(["inner", "at"]) == found["Two"].at(["inner", "at"]) == Vec3(1, 2, 0)


def test_the_more_special_model_and_the_outer_owner_have_the_last_word(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects(
        """\
        A:
            x is Int: 1
            y is Int: x + 10
        B is A:
            x: 2
        Owner:
            b is B
        Owners is Owner:
            b.x: 3
        """
    )
    assert [found["A"].value("y"), found["B"].value("y")] == [11, 12]
    assert [found["Owner"].at(["b", "y"]), found["Owners"].at(["b", "y"])] == [12, 13]


def test_a_name_is_the_model_s_before_the_block_s(objects: Callable[..., dict[str, Any]]) -> None:
    """`position: x: x` of a connector with an x of its own, as Physics3D writes it."""
    found = objects(
        """\
        Pin:
            x is Real: 4
            position is Math.Vec3:
                x: x
                y: x / 2
            inside is Part:
                size: length
                length: 7
        Part:
            length is Real: 1
            size is Real
        """
    )
    assert found["Pin"].value("position") == Vec3(4, 2, 0)
    assert found["Pin"].at(["inside", "size"]) == 7


def test_this_is_the_object_of_the_model_that_the_line_is_in(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects("A:\n    b is B:\n        owner: this\nB:\n    owner is A\n")
    assert found["A"].at(["b", "owner"]) is found["A"]


def test_an_attribute_becomes_something_more_special_and_keeps_what_was_said(
    objects: Callable[..., dict[str, Any]],
) -> None:
    found = objects(
        """\
        Motor:
            power is Real
        Electric is Motor:
            volts is Real: 12
        Car:
            motor is Motor:
                power: 50
        Tram is Car:
            motor becomes Electric:
                volts: 600
        """
    )
    motor = found["Tram"].value("motor")
    assert (motor.model.name, motor.value("power"), motor.value("volts")) == ("Electric", 50, 600)


def test_traits_bring_attributes_and_lines(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects(
        """\
        trait Fast:
            speed is Real: 2 * base
        Cart:
            base is Real: 3
        Racer is Cart:
            with Fast
        Owner:
            cart is Cart with Fast:
                base: 5
        """
    )
    assert "Fast" not in found
    assert [found["Racer"].value("speed"), found["Owner"].at(["cart", "speed"])] == [6, 10]


def test_constants_and_const_models(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects(
        """\
        LIMIT is Real: 2 * Math.PI
        const Modes:
            slow is Int: 1
            fast is Int: 2
        A:
            limit is Real: LIMIT / Math.PI
            mode is Int: Modes.fast
        """
    )
    assert [found["A"].value("limit"), found["A"].value("mode")] == [2, 2]


def test_several_types_arrays_and_references(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects(
        """\
        A:
            either is Real or Math.Vec2: 3
            other is Real or Math.Vec2: {1, 2}
            parts is B[]: [first, second]
            first is B
            second is B
            optional third is B
            chosen is B reference: parts[1]
            name is String: "a \\"b\\""
            blob is Blob: {}
            .note: "for someone else"
        B
        """
    )
    a = found["A"]
    assert a.value("either") == 3
    assert a.value("chosen") is a.value("second") is a.value("parts")[1]
    assert type(a.value("third")).__name__ == "Undefined"
    assert a.value("name") == 'a "b"'


def test_keywords_are_names_where_they_can_be(objects: Callable[..., dict[str, Any]]) -> None:
    found = objects("A:\n    reference is Real: 1\n    is is Real: reference + 2\n")
    assert found["A"].value("is") == 3


def test_annotations_do_not_count_for_indentation(objects: Callable[..., dict[str, Any]]) -> None:
    """As in Physics3D.Interactions.World: .doc at 2, the block at 4."""
    found = objects('A:\n  .doc: """\ntext\n"""\n    x is Real: 1\n    y is Real: 2\nB is A\n')
    assert [found["B"].value("x"), found["B"].value("y")] == [1, 2]


def test_brackets_comments_and_windows_line_ends(objects: Callable[..., dict[str, Any]]) -> None:
    text = "A: # a model\r\n\r\n  x is Real[]: [ # first\r\n 1,\r\n    2, # second\r\n]\r\n# done\r\n  y is Real: 3"
    a = objects(text)["A"]
    assert [a.value("x"), a.value("y")] == [[1, 2], 3]


def test_imports_of_files(objects: Callable[..., dict[str, Any]], write: Callable[..., Path]) -> None:
    write("Wheel:\n    radius is Real: 0.3\n", "parts/wheel.openplx")
    write('import @"wheel.openplx"\nAxle:\n    left is Wheel\n', "parts/axle.openplx")
    found = objects(
        """\
        import @"parts/axle.openplx"
        import @"parts/wheel.openplx" as Other
        Car:
            axle is Axle
            wheel is Other.Wheel
            radius is Real: axle.left.radius
        """
    )
    assert found["Car"].value("radius") == 0.3


BUNDLE = 'config is BundleConfig:\n    name: "Tools"\n'


@pytest.mark.parametrize("imported", ["", 'import @"bundles/Tools"\n', 'import @"bundles/Tools" as Tools\n'])
def test_bundles_and_their_namespaces(
    objects: Callable[..., dict[str, Any]],
    write: Callable[..., Path],
    imported: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    if not imported:
        monkeypatch.setenv("OPENPLX_BUNDLE_PATH", str(tmp_path / "bundles"))
    write(BUNDLE, "bundles/Tools/config.openplx")
    write("Bit:\n    size is Real: 4\n", "bundles/Tools/Drills/Bit.openplx")
    write("SIZE is Real: 5\nDrill:\n    bit is Bit:\n        size: SIZE\n", "bundles/Tools/Drills/Drill.openplx")
    write("Box:\n    drill is Drills.Drill\n    other is Tools.Drills.Bit\n", "bundles/Tools/Box.openplx")
    found = objects(f"{imported}Mine is Tools.Box:\n    size is Real: drill.bit.size + Tools.Drills.SIZE\n")
    assert found["Mine"].value("size") == 10
    assert found["Mine"].model.ancestors == {"Mine", "Tools.Box"}


def test_a_bundle_beside_the_file_needs_no_search_path(
    objects: Callable[..., dict[str, Any]], write: Callable[..., Path]
) -> None:
    write(BUNDLE, "Tools/config.openplx")
    write("Box:\n    size is Real: 2\n", "Tools/Box.openplx")
    assert objects("Mine is Tools.Box\n")["Mine"].value("size") == 2


@pytest.mark.parametrize(
    ("link", "reported"),
    [
        ("Tools", pytest.warns(WorldWarning, match=r"Tools\.Box is unknown")),
        ("Tools/Drills", pytest.warns(WorldWarning, match=r"Drills\.Bit is unknown")),
        ("Tools/Box.openplx", pytest.raises(WorldError, match=r"no type Tools\.Box")),
    ],
)
def test_links_out_of_a_bundle_or_a_world_are_not_followed(
    write: Callable[..., Path], tmp_path: Path, link: str, reported: AbstractContextManager[Any]
) -> None:
    """A file of a stranger reads nothing beside its folder, whatever links come with it."""
    outside = tmp_path / "outside"
    write(BUNDLE, "world/Tools/config.openplx")
    write("Box is Drills.Bit\n", "world/Tools/Box.openplx")
    write("Bit:\n    size is Real: 2\n", "world/Tools/Drills/Bit.openplx")
    path = write("Mine is Physics3D.System:\n    box is Tools.Box\n    x is Real: box.size\n", "world/w.openplx")
    load(path)
    outside.mkdir()
    target = tmp_path / "world" / link
    moved = target.rename(outside / target.name)
    target.symlink_to(moved)
    with reported:
        load(path)


def test_a_file_in_a_bundle_is_in_its_namespace(
    objects: Callable[..., dict[str, Any]], write: Callable[..., Path]
) -> None:
    write(BUNDLE, "Tools/config.openplx")
    write("Bit:\n    size is Real: 4\n", "Tools/Drills/Bit.openplx")
    found = objects("Box:\n    bit is Drills.Bit\n", "Tools/Boxes/Box.openplx")
    assert found["Box"].model.name == "Tools.Boxes.Box"
    assert found["Box"].at(["bit", "size"]) == 4


def test_objects_show_themselves_in_one_short_line(objects: Callable[..., dict[str, Any]]) -> None:
    """However much they lead to: their models, namespaces and owners, which a failing test would print."""
    system = objects("Rig is Physics3D.System:\n    rod is Physics3D.Bodies.RigidBody\n")["Rig"]
    assert repr(system.value("rod")) == "<Physics3D.Bodies.RigidBody rod>"
    assert repr(system.model) == "<Model Rig>"
    assert repr(system.instances.models.library.bundle("Physics3D")) == "<Namespace Physics3D>"


def test_spelling_before_0_18_means_the_same(objects: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    """Physics3D.Charges and `charges`, as the public models of 2024 have them."""
    old = (
        "Pin is Physics3D.Interactions.Hinge:\n    charges: [a, b]\n    optional a is Physics3D.Charges.MateConnector\n"
        "    optional b is Physics3D.Charges.MateConnector\n"
        "Rig is Physics3D.System:\n    base is Physics3D.Charges.MateConnector\n"
        "    rod is Physics3D.Bodies.RigidBody:\n        shape is Physics3D.Charges.Box:\n            size: {1, 1, 1}\n"
        "            material is Physics.Charges.Material:\n                density: 500\n"
        "        top is Physics3D.Charges.MateConnector\n"
        "    hinge is Physics3D.Interactions.Hinge:\n        charges: [base, rod.top]\n"
        "    motor is Physics3D.Interactions.RotationalVelocityMotor:\n        charges: hinge.charges\n"
    )
    new = old.replace("Physics3D.Charges.Box", "Physics3D.Geometries.Box").replace("charges", "connectors")
    new = new.replace("Physics.Charges", "Physics.Geometries").replace("Physics3D.Charges", "Physics3D.Interactions")
    worlds = []
    for name, text in (("old", old), ("new", new)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "rig.openplx"
        path.write_text(text, encoding="utf-8")
        worlds.append(load(path))
    assert worlds[0].systems[0].mates == worlds[1].systems[0].mates
    assert worlds[0].systems[0].bodies == worlds[1].systems[0].bodies
    assert worlds[0].actuators == worlds[1].actuators
    assert (len(worlds[0].systems[0].mates), len(worlds[0].actuators)) == (1, 1)


def test_each_new_spelling_is_a_type_of_the_bundles(bundles: Path) -> None:
    report = Report("")
    library = Library(Roots(()), report)
    for new in TYPES.values():
        bundle, *inner, last = new.split(".")
        namespace = library.bundle(bundle)
        for name in inner:
            assert namespace is not None
            namespace = namespace.inner(name)
        assert namespace is not None, new
        assert namespace.definition(last, anywhere=True) is not None, new
