"""Schematics of the seed, what is refused and where, and the key of world files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim_node.viewing.schematic import GlbModel, GraphPanel, LiveEllipsoid, Solid, Split, Tabs, Viewport, read_schematic
from sim_node.world import World, WorldError, load
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
    assert schematic.notes == ("layout.kdl:21:1: theme: has no effect here",)


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
        ("hsplit {\n  viewport nam=1\n}", "f.kdl:2:12: hsplit.viewport.nam: unknown property; did you mean name?"),
        ('viewport pos="a.b.rotate("', "f.kdl:1:14: viewport.pos: found the end"),
        ("graph", "f.kdl:1:1: graph: needs the formula of its curves, found 0 arguments"),
        ('graph "a.b" y_min=2 y_max=1', "f.kdl:1:1: graph: y_min is 2, y_max 1; y_max must be greater"),
        ("object_3d a.b", "f.kdl:1:1: object_3d: needs a shape in braces: sphere, box"),
        ("object_3d a.b { sphere; }", "f.kdl:1:17: object_3d.sphere: needs radius=, a length in m"),
        ("object_3d a.b { sphere radius=0; }", "f.kdl:1:31: object_3d.sphere.radius: found 0; allowed: above 0"),
        ("object_3d a.b { sphere radius=1 { color 1 2; }\n}", "f.kdl:1:35: object_3d.sphere.color: needs red, green"),
        ("object_3d a.b { sphere radius=1 { color 1 2 300; }\n}", "f.kdl:1:45: object_3d.sphere.color: found 300"),
        ("object_3d a.b { sphere radius=1 { color orang; }\n}", "unknown colour 'orang'; did you mean orange?"),
        ('object_3d a.b { glb path="no.glb"; }', "f.kdl:1:26: object_3d.glb.path: 'no.glb': there is no such file"),
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
