"""Schematics of the seed, what is refused and where, and the key of world files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim_node.spatial.geometry import poses, quaternions
from sim_node.viewing.drawn_objects import drawing_of
from sim_node.viewing.schematic import GlbModel, GraphPanel, LiveEllipsoid, Solid, Split, Tabs, Viewport, read_schematic
from sim_node.viewing.shown_signals import ShownSignals
from sim_node.world import FrameTable, World, WorldError, load
from sim_node.world.writers.yaml import to_yaml

LAYOUT = """
// As Elodin's pages have it.
tabs {
    hsplit name = "Flight" {
        viewport name=Chase pos="drone.world_pos + (0,0,0,0, 2,2,2)" look_at="drone.world_pos" show_grid=#true share=0.6
        vsplit share=0.4 {
            graph "drone.world_pos.linear(), drone.gyro.x" name="Position"
            graph "drone.accel" y_min=-1 y_max=2.5
        }
    }
    viewport name="FPV" pos="drone.world_pos" fov=60 active=#true
}
object_3d drone.world_pos {
    box x=1.0 y=2.0 z=3.0 {
        color 255 128 0
    }
}
object_3d drone.world_pos {
    ellipsoid scale="(1, 1, drone.accel.z)" { color 200 200 0 51; }
}
theme mode="dark"
"""


def test_panels_and_objects_are_read() -> None:
    schematic = read_schematic(LAYOUT, "layout.kdl")
    (tabs,) = schematic.panels
    assert isinstance(tabs, Tabs)
    split, fpv = tabs.panels
    assert isinstance(split, Split)
    assert split.horizontal
    assert split.name == "Flight"
    chase, column = split.panels
    assert isinstance(chase, Viewport)
    assert (chase.name, chase.fov, chase.show_grid, chase.share) == ("Chase", 45.0, True, 0.6)
    assert isinstance(column, Split)
    assert not column.horizontal
    first, second = column.panels
    assert isinstance(first, GraphPanel)
    assert [each.text for each in first.curves] == ["drone.world_pos.linear()", "drone.gyro.x"]
    assert isinstance(second, GraphPanel)
    assert second.limits == (-1.0, 2.5)
    assert isinstance(fpv, Viewport)
    assert (fpv.fov, fpv.active, fpv.look_at) == (60.0, True, None)
    assert [each.name for each in schematic.viewports()] == ["Chase", "FPV"]
    box, ellipsoid = (thing.drawn for thing in schematic.objects)
    assert box == Solid("box", (1.0, 2.0, 3.0), (1.0, 128 / 255, 0.0, 1.0))
    assert isinstance(ellipsoid, LiveEllipsoid)
    assert ellipsoid.colour[3] == pytest.approx(0.2)
    assert schematic.notes == ()
    assert schematic.dark is True


@pytest.mark.parametrize(
    ("attributes", "scale", "rotate", "translate"),
    [
        ("scale=0.1", 0.1, (0, 0, 0), (0, 0, 0)),
        ('translate="(0, 0, -0.05)"', 1.0, (0, 0, 0), (0, 0, -0.05)),
        ('rotate="(0, 0, 180)"', 1.0, (0, 0, 180), (0, 0, 0)),
        ('scale=0.01 translate="(0, 0, 0.5)" rotate="(0, 90, 0)"', 0.01, (0, 90, 0), (0, 0, 0.5)),
    ],
)
def test_the_seeds_models(
    tmp_path: Path, attributes: str, scale: float, rotate: tuple[float, ...], translate: tuple[float, ...]
) -> None:
    (tmp_path / "jet.glb").write_bytes(b"")
    text = f'object_3d jet.world_pos {{\n    glb path="jet.glb" {attributes}\n}}'
    schematic = read_schematic(text, path=tmp_path / "world.kdl")
    assert schematic.objects[0].drawn == GlbModel(tmp_path / "jet.glb", scale, rotate, translate)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("viewprt", "f.kdl:1:1: viewprt: unknown node; did you mean viewport?"),
        ("viewport fov=200", "f.kdl:1:14: viewport.fov: found 200; allowed: 1 to 170"),
        ('viewport pos="a.b.rotate("', "f.kdl:1:14: viewport.pos: found the end"),
        ("graph", "f.kdl:1:1: graph: needs the formula of its curves, found 0 arguments"),
        ('graph "a.b" y_min=2 y_max=1', "f.kdl:1:1: graph: y_min is 2, y_max 1; y_max must be greater"),
        ("object_3d a.b", "f.kdl:1:1: object_3d: needs a shape in braces: sphere, box"),
        ("object_3d a.b { sphere; }", "f.kdl:1:17: object_3d.sphere: needs radius=, a length in m"),
        ("object_3d a.b { sphere radius=0; }", "f.kdl:1:31: object_3d.sphere.radius: found 0; allowed: above 0"),
        ("object_3d a.b { sphere radius=1 { color 1 2; }\n}", "f.kdl:1:35: object_3d.sphere.color: needs red, green"),
        ("object_3d a.b { sphere radius=1 { color 1 2 300; }\n}", "f.kdl:1:45: object_3d.sphere.color: found 300"),
        ("object_3d a.b { sphere radius=1 { color orang; }\n}", "unknown colour 'orang'; did you mean orange?"),
        (
            'object_3d a.b { glb path="https://x.org/a.glb"; }',
            "is not fetched from the network unless asked to: --allow-fetch",
        ),
        (
            'object_3d a.b { glb path="http://x.org/a.glb"; }',
            "f.kdl:1:26: object_3d.glb.path: 'http://x.org/a.glb' is not",
        ),
        ('viewport show_grid="yes"', "f.kdl:1:20: viewport.show_grid: #true or #false is needed, found 'yes'"),
        ("viewport near=2 far=1", "near is 2 m, far 1 m; far must be farther"),
        ("tabs {", "f.kdl:1:6: a brace is not closed"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, line: str) -> None:
    with pytest.raises(WorldError) as error:
        read_schematic(text, "f.kdl")
    assert line in str(error.value)


def test_queries_in_sql_are_said_and_not_drawn() -> None:
    """Of Elodin's rc-jet, whose query asks Elodin's database."""
    text = 'graph "a.x"\nquery_plot name="Track" query="SELECT p.p[5], p.p[6] FROM p" type="sql" share=3.0'
    schematic = read_schematic(text, "f.kdl")
    assert [type(each) for each in schematic.panels] == [GraphPanel]
    assert schematic.notes == ("f.kdl:2:1: query_plot: a query in SQL, of Elodin's database; nothing is drawn",)


def loaded(path: Path, text: str) -> World:
    path.write_text(text, encoding="utf-8")
    return load(path)


def test_a_world_file_names_a_schematic_or_has_it(tmp_path: Path) -> None:
    (tmp_path / "views.kdl").write_text("viewport name=A", encoding="utf-8")
    named = loaded(tmp_path / "named.yaml", "world: w\nschematic: views.kdl\n")
    written = loaded(tmp_path / "written.yaml", "world: w\nschematic: |\n  viewport name=A\n")
    assert named.schematic.viewports() == written.schematic.viewports() == (Viewport(name="A"),)
    assert tmp_path / "views.kdl" in named.files
    assert loaded(tmp_path / "again.yaml", to_yaml(written)).schematic == written.schematic


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("world: w\nschematic: |\n\n    viewport fov=0\n", "w.yaml:4:18: viewport.fov"),
        ("world: w\nschematic: viewport fov=0\n", "w.yaml:2:25: viewport.fov"),
        ("world: w\nschematic: view.kdl\n", "w.yaml:2:12: schematic"),
    ],
)
def test_faults_of_a_schematic_in_a_world_file_have_its_lines(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(WorldError, match=line):
        loaded(tmp_path / "w.yaml", text)


def test_what_elodins_editor_reads_over_is_said_and_not_refused() -> None:
    """`Name=` and the like stand in its own examples."""
    text = 'graph "a.x" Name=Att\nobject_3d a.world_pos {\n  sphere radius=1\n  icon builtin="adjust" {\n'
    text += "    visibility_range min=50.0 fade_distance=50.0\n  }\n}"
    notes = "\n".join(read_schematic(text, "f.kdl").notes)
    assert "f.kdl:1:13: graph.Name: unknown property, which has no effect; did you mean name?" in notes
    assert "f.kdl:4:3: object_3d.icon: has no effect here" in notes


def test_nodes_in_shapes_that_elodins_editor_reads_over_are_said_and_not_refused(tmp_path: Path) -> None:
    """Its reader looks for those that it knows: `visibility_range` in each shape, `color` in those without a file."""
    (tmp_path / "a.glb").touch()
    text = 'object_3d a.b {\n glb path="a.glb" {\n  visibility_range min=50.0\n  wobble 3 { deep 4; }\n }\n'
    text += " bloop 4\n}\n"
    text += "object_3d c.d { sphere radius=1 { visibility_range min=1.0; colr red; }\n}"
    schematic = read_schematic(text, "f.kdl", path=tmp_path / "f.kdl")
    assert len(schematic.objects) == 2
    shapes = "sphere, box, cylinder, plane, ellipsoid, glb"
    assert list(schematic.notes) == [
        "f.kdl:4:3: object_3d.glb.wobble: unknown node, which has no effect (known: visibility_range)",
        f"f.kdl:6:2: object_3d.bloop: unknown node, which has no effect (known: {shapes})",
        "f.kdl:8:61: object_3d.sphere.colr: unknown node, which has no effect; did you mean color? (known: color)",
        "f.kdl:3:3: object_3d.glb.visibility_range: has no effect here",
        "f.kdl:8:35: object_3d.sphere.visibility_range: has no effect here",
    ]


def test_planes_and_ellipsoids_have_the_sizes_of_elodins_editor() -> None:
    text = "object_3d a { plane; }\nobject_3d a { plane size=3 depth=2 { colour red; }; }\nobject_3d a { ellipsoid; }"
    plane, sized, ball = (thing.drawn for thing in read_schematic(text).objects)
    assert plane == Solid("plane", (10.0, 10.0))
    assert sized == Solid("plane", (3.0, 2.0), (230 / 255, 45 / 255, 45 / 255, 1.0))
    assert ball == LiveEllipsoid()


@pytest.mark.parametrize(
    ("confidence", "chi_squared", "of"),
    [("", 3.6649, "_cholesky"), ("50", 2.36597, "_cholesky"), ('"95"', 7.81473, "_cholesky"), ("50", 2.36597, "")],
)
def test_a_covariance_is_the_ellipsoid_of_its_confidence(confidence: str, chi_squared: float, of: str) -> None:
    """x' C^-1 x is the quantile of chi-squared on its surface (NIST's tables; 3 degrees of freedom)."""
    lower = np.array([[3.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-1.0, 0.25, 0.7]])
    triangle = "(3, 0.5, 2, -1, 0.25, 0.7)"
    if not of:
        triangle = f"({', '.join(map(repr, (lower @ lower.T)[np.triu_indices(3)].tolist()))})"
    given = f"error_confidence_interval={confidence}" if confidence else ""
    text = f'object_3d "(0, 0, 0.6, 0.8, 1, 2, 3)" {{ ellipsoid error_covariance{of}="{triangle}" {given}; }}'
    drawing = drawing_of(read_schematic(text), ShownSignals(FrameTable(("map",), np.array([-1]), np.array([True]))))
    (pose,), (shape,) = drawing.poses(), drawing.shapes
    body = quaternions.to_matrix(np.array([0.0, 0.0, 0.6, 0.8]))
    directions = np.random.default_rng(1).normal(size=(20, 3))
    surface = directions / np.linalg.norm(directions, axis=1)[:, None] * shape.scale
    points = (poses.apply(pose, surface) - [1, 2, 3]) @ body  # along the axes of the object
    found = np.einsum("ni,ij,nj->n", points, np.linalg.inv(lower @ lower.T), points)
    np.testing.assert_allclose(found, chi_squared, rtol=1e-4)


def test_a_model_that_is_missing_is_said_at_its_line_and_the_rest_is_drawn() -> None:
    schematic = read_schematic(
        'object_3d a.b { glb path="no.glb" scale=2; }\nobject_3d a.b { sphere radius=1; }', "f.kdl"
    )
    assert [type(each.drawn).__name__ for each in schematic.objects] == ["Solid"]
    assert schematic.notes == ("f.kdl:1:26: object_3d.glb.path: 'no.glb': there is no such file; nothing is drawn",)
