"""Submeshes of SDF, the nodes of COLLADA files and the objects of OBJ files by their names, against tetrahedra."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from sim_node.world import WorldError, WorldWarning, load

TETRAHEDRON = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
# The same one in each file: where it is, by its name there.
PLACES = {"near": np.zeros(3), "far": np.array([10.0, 5.0, 0.0])}
COLLADA = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="pa" count="12">0 0 0 1 0 0 0 2 0 0 0 3</float_array>
      <technique_common><accessor source="#pa" count="4" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 0 3 2 1 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_nodes><node id="shared"><instance_geometry url="#g"/></node></library_nodes>
  <library_visual_scenes><visual_scene id="s">
    <node name="near"><instance_geometry url="#g"/></node>
    <node name="far"><translate>10 0 0</translate>
      <node><translate>0 5 0</translate><instance_node url="#shared"/></node></node>
  </visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def obj() -> str:
    """Return the text of an OBJ file: its second object counts vertices from the end."""
    lines = []
    for key, name in (("o", "near"), ("g", "far")):
        lines += [f"v {x} {y} {z}" for x, y, z in (TETRAHEDRON + PLACES[name]).tolist()]
        lines += [f"{key} {name}"]
        corners = FACES + 1 if name == "near" else FACES - 4
        lines += [f"f {a}//1 {b}//1 {c}//1" for a, b, c in corners.tolist()]
    return "\n".join(lines)


def link(uri: str, submesh: str, kind: str = "collision") -> str:
    """Return a world of one link, whose mass is that of its collision."""
    shape = f"<geometry><mesh><uri>{uri}</uri><scale>2 1 1</scale><submesh>{submesh}</submesh></mesh></geometry>"
    solid = '<inertial auto="true"><density>600</density></inertial>' if kind == "collision" else ""
    inside = f'<link name="l">{solid}<{kind} name="c">{shape}</{kind}></link>'
    return f'<sdf version="1.11"><world name="w"><model name="m">{inside}</model></world></sdf>'


@pytest.fixture(params=["parts.dae", "parts.obj"])
def mesh(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a mesh file that has two tetrahedra."""
    name = str(request.param)
    (tmp_path / name).write_text(COLLADA if name.endswith(".dae") else obj())
    return name


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("part", list(PLACES))
def test_a_submesh_is_what_has_its_name(mesh: str, part: str, centred: bool, tmp_path: Path) -> None:
    path = tmp_path / "w.sdf"
    path.write_text(link(mesh, f"<name>{part}</name><center>{str(centred).lower()}</center>"))
    (body,) = load(path).bodies
    (shape,) = body.shapes
    # Gazebo puts the middle of its box at the origin, before the scale.
    corners = TETRAHEDRON - [0.5, 1.0, 1.5] if centred else TETRAHEDRON + PLACES[part]
    corners = corners * [2.0, 1.0, 1.0]
    assert shape.triangles is not None
    np.testing.assert_allclose(sorted(shape.triangles.vertices.tolist()), sorted(corners.tolist()), atol=1e-12)
    assert body.inertial is not None
    assert body.inertial.mass == pytest.approx(600.0 * 2.0)  # 2 m^3
    np.testing.assert_allclose(body.inertial.centre, corners.mean(axis=0), atol=1e-9)


def test_a_submesh_that_is_not_there_is_refused_or_not_drawn(mesh: str, tmp_path: Path) -> None:
    path, known = tmp_path / "w.sdf", r"no submesh 'fer'; did you mean far\? \(known: far, near\)"
    path.write_text(link(mesh, "<name>fer</name>"))
    with pytest.raises(WorldError, match=rf"w.sdf:1:\d+: uri: {known}"):
        load(path)
    path.write_text(link(mesh, "<name>fer</name>", "visual"))
    with pytest.warns(WorldWarning, match=rf"w.sdf:1:\d+: mesh: {known}; the visual is not drawn"):
        assert not load(path).bodies[0].shapes


def test_the_whole_mesh_stands_for_a_submesh_of_what_has_no_names(tmp_path: Path) -> None:
    corners = "".join(
        "facet normal 0 0 0\nouter loop\n{}endloop\nendfacet\n".format(
            "".join("vertex {} {} {}\n".format(*TETRAHEDRON[corner]) for corner in face)
        )
        for face in FACES
    )
    (tmp_path / "one.stl").write_text(f"solid far\n{corners}endsolid far\n")
    (tmp_path / "w.sdf").write_text(link("one.stl", "<name>near</name>"))
    with pytest.warns(WorldWarning, match=r"submesh: a submesh of .stl stands for the whole mesh here"):
        (body,) = load(tmp_path / "w.sdf").bodies
    assert body.inertial is not None
    assert body.inertial.mass == pytest.approx(1200.0)


def test_damaged_objects_are_refused(tmp_path: Path) -> None:
    (tmp_path / "w.sdf").write_text(link("parts.obj", "<name>a</name>"))
    for text, message in {
        "o a\nv 0 0 0\nf 1 2 3\n": "no vertex 2; there are 1",
        "o a\nv 0 0 x\nf 1 2 3\n": "could not convert",
        "o a\nv 0 0 0\nf 1 y 3\n": "invalid literal",
        "o a\nf\n": "no submesh 'a'",
        "": r"no submesh 'a' \(known: none\)",
    }.items():
        (tmp_path / "parts.obj").write_text(text)
        with warnings.catch_warnings(), pytest.raises(WorldError, match=f"uri: {message}"):
            load(tmp_path / "w.sdf")
