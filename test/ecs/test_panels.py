"""Panels, shapes and schematics of scripts, as Elodin's have them, as one schematic of the world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from page_graphs import graphs

from sim_node.session import Session
from sim_node.viewing import RenderRequest, draw
from sim_node.viewing.render_requests import source_of_run
from sim_node.viewing.rendering import render_sources
from sim_node.viewing.schematic import GlbModel, GraphPanel, Solid, Split, Viewport, formula
from sim_node.world import World, WorldError, WorldWarning, load

pytest.importorskip("jax", reason="JAX is not installed: pip install 'sim_node[elodin]'")

START = """
import jax.numpy as jnp
import sim_node.extensions.elodin as el

world = el.World()
"""
END = "\nworld.run(None, sim_time_step=0.01, max_ticks=1)\n"


def loaded(folder: Path, text: str) -> World:
    path = folder / "script.py"
    path.write_text(START + text + END, encoding="utf-8")
    return load(path)


CUBE = """
mesh = world.insert_asset(el.Mesh.cuboid(0.1, 0.8, 0.3))
material = world.insert_asset(el.Material.color(25.3, 18.4, 1.0))
cube = world.spawn([el.Body(), el.Shape(mesh, material)], name="cube")
ball = world.spawn([el.Body(), world.shape(el.Mesh.sphere(0.5), el.Material.color(0.0, 1.0, 0.5))], name="ball")
world.spawn(
    el.Panel.hsplit(
        el.Panel.viewport(
            track_entity=cube, track_rotation=False, pos=[7.0, 0.0, 0.5], looking_at=[0.0, 0.0, 0.0], show_grid=True,
            hdr=True, name="Side",
        ),
        el.Panel.vsplit(
            el.Panel.viewport(track_entity=cube, pos=[-2.0, 0.0, 1.0], fov=60.0),
            el.Panel.graph(
                el.GraphEntity(cube, el.Component.index(el.WorldPos)[:4], el.Component.index(el.WorldVel)),
                name="Cube",
            ),
        ),
        active=True,
    ),
    name="Viewport",
)
world.spawn(el.Panel.viewport(pos=[1, 2, 3], looking_at=[0, 0, 1]))
"""


def test_a_script_builds_the_same_data_as_kdl(tmp_path: Path) -> None:
    schematic = loaded(tmp_path, CUBE).schematic
    split, fixed = schematic.panels
    assert isinstance(split, Split)
    assert split.horizontal
    assert split.active
    side, column = split.panels
    assert isinstance(side, Viewport)
    assert (side.name, side.fov, side.show_grid, side.rolls) == ("Side", 45.0, True, False)
    # It moves with the cube, and does not turn with it.
    assert side.pos is not None
    assert side.pos.tree == formula("(0, 0, 0, 1, 7, 0, 0.5) + cube.world_pos").tree
    assert side.look_at is not None
    assert side.look_at.tree == formula("(0, 0, 0, 1, 0, 0, 0) + cube.world_pos").tree
    chase, graph = column.panels  # type: ignore[union-attr]
    assert isinstance(chase, Viewport)
    assert chase.pos is not None
    assert chase.pos.tree == formula("cube.world_pos.translate(-2, 0, 1)").tree
    assert (chase.fov, chase.rolls, chase.look_at) == (60.0, True, None)
    assert isinstance(graph, GraphPanel)
    expected = [*(f"cube.world_pos[{index}]" for index in range(4)), "cube.world_vel"]
    assert [each.text for each in graph.curves] == expected
    assert isinstance(fixed, Viewport)
    assert fixed.pos is not None
    assert fixed.pos.tree == formula("(0, 0, 0, 1, 1, 2, 3)").tree
    cuboid, sphere = schematic.objects
    assert (cuboid.pose.text, sphere.pose.text) == ("cube.world_pos", "ball.world_pos")
    # What glows has the colour of its light.
    assert cuboid.drawn == Solid("box", (0.1, 0.8, 0.3), (1.0, 18.4 / 25.3, 1.0 / 25.3, 1.0))
    assert sphere.drawn == Solid("sphere", (0.5,), (0.0, 1.0, 0.5, 1.0))


def test_texts_in_kdl_and_models_join_them(tmp_path: Path) -> None:
    (tmp_path / "jet.glb").write_bytes(b"")
    (tmp_path / "there.kdl").write_text("viewport name=File", encoding="utf-8")
    schematic = loaded(
        tmp_path,
        'world.spawn([el.Body(), world.glb("jet.glb")], name="jet")\n'
        'world.schematic("viewport name=Text", "missing.kdl")\nworld.schematic("viewport name=Text", "there.kdl")\n',
    ).schematic
    assert [each.name for each in schematic.viewports()] == ["Text", "File"]
    assert schematic.objects[0].drawn == GlbModel(tmp_path / "jet.glb")


def test_a_graph_of_a_component_draws_all_of_it(tmp_path: Path) -> None:
    """Elodin 0.14 takes the class as well as its index."""
    script = 'ball = world.spawn(el.Body(), name="ball")\nworld.spawn(el.Panel.graph(el.GraphEntity(ball, {})))'
    [named] = loaded(tmp_path, script.format("el.WorldPos")).schematic.graphs()
    [indexed] = loaded(tmp_path, script.format("el.Component.index(el.WorldPos)")).schematic.graphs()
    assert [each.tree for each in named.curves] == [each.tree for each in indexed.curves]
    assert len(named.curves) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("world.spawn(el.Panel.viewport(fov=0))", "script.py:6: Panel.viewport: fov: found 0; allowed: 1 to 170"),
        ("world.spawn(el.Panel.viewport(pos=[1, 2]))", r"script.py:6: Panel.viewport: pos: three numbers are needed"),
        ("world.spawn(el.Panel.viewport(track_entity=9))", "script.py:6: Panel: there is no entity 9"),
        ("world.spawn(el.Panel.hsplit(1))", "script.py:6: Panel.hsplit: int is not a Panel"),
        ("world.spawn(el.Panel.graph(1))", "script.py:6: Panel.graph: int is not a GraphEntity"),
        ("world.spawn(el.GraphEntity(1))", "script.py:6: GraphEntity: needs the entity"),
        ('world.spawn(world.glb("no.glb"))', "script.py:6: .*entity_1: is shown, but has no WorldPos"),
        ('world.spawn([el.Body(), world.glb("no.glb")])', "script.py:6: glb: .*no.glb"),
        ('world.schematic("viewprt")', "script.py:6: schematic:1:1: viewprt: unknown node; did you mean viewport?"),
    ],
)
def test_faults_have_the_users_line(tmp_path: Path, text: str, line: str) -> None:
    with pytest.raises(WorldError) as error:
        loaded(tmp_path, text)
    import re

    assert re.search(line.replace("script.py:6:", r"script.py:6:(\d+:)?"), str(error.value)), str(error.value)


FALLING = """
@el.map
def fall(pos: el.WorldPos) -> el.WorldPos:
    return pos + el.SpatialMotion(linear=jnp.array([0.0, 0.0, -0.25]))

ball = world.spawn([el.Body(world_pos=el.SpatialTransform(linear=jnp.array([1.0, 2.0, 30.0])))], name="ball")
world.spawn(el.Panel.graph(el.GraphEntity(ball, el.Component.index(el.WorldPos))))
world.run(fall, sim_time_step=0.01, max_ticks=60)
"""


def test_a_graph_shows_a_component_as_it_changes(tmp_path: Path) -> None:
    """A ball that falls by 0.25 m at each of its ticks."""
    path = tmp_path / "falling.py"
    path.write_text(START + FALLING, encoding="utf-8")
    with Session(path, view=0, real_time_factor=0.0) as session:
        session.run(0.4)
        assert session.viewer is not None
        _, samples = graphs(session.viewer.url, lambda samples: bool(samples) and samples[0][-1][0] >= 0.4 - 1e-9)
    for time_s, values in samples[0]:
        assert values == pytest.approx([0.0, 0.0, 0.0, 1.0, 1.0, 2.0, 30.0 - 0.25 * round(time_s / 0.01)])


# Takes seconds: make test has graphs in panels.
@pytest.mark.nightly
@pytest.mark.usefixtures("opengl")
def test_a_film_of_panels_has_curves_of_components_and_a_recording_says_that_it_has_none(tmp_path: Path) -> None:
    """After a second of 1 m/s, the curves of the way and of the speed meet: 1 m and 1 m/s."""
    (tmp_path / "ball.py").write_text(
        """\
import jax.numpy as jnp
import sim_node.extensions.elodin as el

world = el.World()
world.spawn(el.Body(world_vel=el.SpatialMotion(linear=jnp.array([1.0, 0.0, 0.0]))), name="ball")
curves = 'graph "ball.world_pos[4], ball.world_vel[3]" y_min=-1 y_max=2'
world.schematic('vsplit {\\n ' + curves + '\\n graph "ball.inertia[6]"\\n}')
world.run(el.six_dof(), sim_time_step=0.01, max_ticks=200)
"""
    )
    request = RenderRequest(size=(400, 360), panels=True)
    (pixels,) = draw(load(tmp_path / "ball.py"), request, [1_000_000_000])
    ends = []
    for colour in ((201, 42, 42), (35, 122, 51)):
        curve = np.argwhere((np.abs(pixels[:180, :294].astype(int) - colour) < 60).all(axis=2))
        ends.append(curve[curve[:, 1] >= curve[:, 1].max() - 1][:, 0].mean())
        assert curve[:, 1].max() > 280
    assert ends[0] == pytest.approx(ends[1], abs=2.0)
    source = replace(source_of_run(load(tmp_path / "ball.py")), columns=None)
    with pytest.warns(WorldWarning, match=r"not in pictures: .*there is no 'ball\.inertia'"):
        next(render_sources([source], request, [1_000_000_000]))
