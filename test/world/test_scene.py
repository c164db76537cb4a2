"""The ground, the lights and the sky in world files: located errors, includes, and the way through the writer."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sim_node.world import Ground, Heightmap, Light, Sky, World, WorldWarning, load
from sim_node.world.surfaces import Material, Surface
from sim_node.world.writers.yaml import to_yaml


def test_every_key_is_read(read: Callable[..., World]) -> None:
    world = read(
        """
        ground:
          height: 1
          heightmap: {heights: [[0, 1], [2, 3], [4, 5]], size: [10, 20], center: [3, 4]}
          color: [0.1, 0.2, 0.3]
          friction: 0.7
          material: {roughness: 0.9}
        lights:
          - {direction: [1, 0, -1], color: [1, 1, 0.9], shadows: false}
          - {type: point, position: [1, 2, 3], attenuation: [1, 0.1, 0]}
          - {type: spot, position: [1, 2, 3], direction: [0, 0, -1], angle_deg: 30}
        sky: {zenith: [0, 0, 0.3], horizon: [0.5, 0.5, 0.5], ambient: 0.2}
        """
    )
    heights = np.array([[0, 1], [2, 3], [4, 5]])
    assert world.ground == Ground(
        1.0,
        Heightmap(np.array([10, 20]), heights, centre=np.array([3, 4])),
        np.array([0.1, 0.2, 0.3, 1]),
        Surface(sliding=0.7),
        Material(roughness=0.9),
    )
    assert world.lights == (
        Light(direction=np.array([1, 0, -1]), colour=np.array([1, 1, 0.9]), shadows=False),
        Light("point", np.array([1, 2, 3]), attenuation=np.array([1, 0.1, 0])),
        Light("spot", np.array([1, 2, 3]), np.array([0, 0, -1]), angle=math.radians(30)),
    )
    assert world.sky == Sky(np.array([0, 0, 0.3]), np.array([0.5, 0.5, 0.5]), 0.2)
    assert read("ground: plane").ground == Ground()


HERE = "ground.heightmap"
FAULTS = [
    ("ground: flat", "w.yaml:1:9: ground: `plane` or a mapping is needed"),
    ("ground: {hight: 1}", "w.yaml:1:10: ground.hight: unknown key; did you mean height?"),
    ("ground: {height: 1e9}", "w.yaml:1:18: ground.height: 1e9 is out of range; allowed: -100000 to 100000"),
    ("ground: {friction: -1}", "w.yaml:1:20: ground.friction: -1 is out of range; allowed: 0 to 100"),
    (
        "ground: {restitution: 0.8, contact_time: 0.001}",
        "w.yaml:1:23: ground.restitution: 0.8 needs timesteps of at most",
    ),
    ("ground: {touches: [robot]}", "w.yaml:1:19: ground.touches: no shape is in the layer 'robot' (layers: default)"),
    ("ground: {material: {texture: no.png}}", "w.yaml:1:30: ground.material.texture: no file 'no.png' beside w.yaml"),
    ("ground: {heightmap: {size: [1, 1]}}", f"w.yaml:1:21: {HERE}: one of file (an image, or an array in .npy) and"),
    ("ground: {heightmap: {heights: [[0, 1], [0]], size: [1, 1]}}", f"{HERE}.heights: [1] has 1 heights, [0] has 2"),
    ("ground: {heightmap: {heights: [[0, 1]], size: [1, 1]}}", f"{HERE}.heights: found 1 rows of 2; allowed: 2 to"),
    ("ground: {heightmap: {heights: [[0, 1], [1, x]], size: [1, 1]}}", f"{HERE}.heights[1][1]: a number is needed"),
    ("ground: {heightmap: {heights: [[0, 1], [1, 2]], size: [0, 1]}}", f"{HERE}.size: [0.0, 1.0] is out of range"),
    ("ground: {heightmap: {heights: [[0, 1], [1, 2]]}}", f"{HERE}: size is missing"),
    ("ground: {heightmap: {file: hills.png, size: [1, 1]}}", f"{HERE}: range is needed: [black, white], m"),
    ("ground: {heightmap: {file: a.npy, size: [1, 1], range: [0, 1]}}", f"{HERE}.range: is only for images"),
    ("ground: {heightmap: {file: cube.npy, size: [1, 1]}}", f"{HERE}.file: 'cube.npy' has float64 of shape (2, 2, 2)"),
    ("ground: {heightmap: {file: bad.npy, size: [1, 1]}}", f"{HERE}.file: 'bad.npy' "),
    ("ground: {heightmap: {file: objects.npy, size: [1, 1]}}", f"{HERE}.file: 'objects.npy' "),
    ("ground: {heightmap: {file: nan.npy, size: [1, 1]}}", f"{HERE}.file: [0][1] is nan m; allowed: up to 100000 m"),
    ("ground: {heightmap: {file: w.yaml, size: [1, 1]}}", f"{HERE}.file: 'w.yaml' is not a supported heightmap"),
    ("ground: {heightmap: {file: ../a.npy, size: [1, 1]}}", f"{HERE}.file: '../a.npy' is outside the world's folder"),
    ("lights: [{type: sun}]", "w.yaml:1:17: lights[0].type: found 'sun'; allowed: directional, point, spot"),
    ("lights: [{position: [0, 0, 1]}]", "w.yaml:1:21: lights[0].position: has no effect on a directional light"),
    ("lights: [{type: point, shadows: true}]", "lights[0].shadows: has no effect on a point light"),
    ("lights: [{color: [1, 2, 0]}]", "lights[0].color[1]: 2 is out of range; allowed: 0 to 1"),
    ("lights: [{direction: [0, 0, 0]}]", "lights[0].direction: [0.0, 0.0, 0.0] has no direction"),
    ("lights: [{type: spot, angle: 1, angle_deg: 1}]", "lights[0].angle_deg: cannot be combined with angle"),
    ("lights: [{}, {}, {}, {}, {}, {}, {}, {}]", "w.yaml:1:38: lights[7]: the world has 8 lights; allowed: up to 7"),
    ("sky: {zenit: [1, 1, 1]}", "w.yaml:1:7: sky.zenit: unknown key; did you mean zenith?"),
    ("sky: {zenith: [1, 1]}", "w.yaml:1:15: sky.zenith: [red, green, blue] is needed, found a list of 2"),
    ("sky: {ambient: 2}", "w.yaml:1:16: sky.ambient: 2 is out of range; allowed: 0 to 1"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_each_fault_has_its_place(
    text: str, message: str, layout_faults: Callable[[str], list[str]], write: Callable[..., Path]
) -> None:
    write(b"no array", "bad.npy")
    np.save("a.npy", np.zeros((2, 2)))
    np.save("cube.npy", np.zeros((2, 2, 2)))
    np.save("nan.npy", np.array([[0.0, np.nan], [0.0, 0.0]]))
    np.save("objects.npy", np.array([[{}, {}], [{}, {}]], dtype=object), allow_pickle=True)
    Image.new("L", (4, 4)).save("hills.png")
    (first,) = layout_faults(text)
    assert message in first
    assert first.startswith("w.yaml:1:")


def test_surroundings_of_an_included_file_are_left_out_with_a_warning(write: Callable[..., Path]) -> None:
    write("ground: plane\nsky: {ambient: 0.5}\nlights: [{}]\n", "part.yaml")
    with pytest.warns(WorldWarning) as warned:
        world = load(write("include: [part.yaml]\n"))
    assert (world.ground, world.sky, world.lights) == (None, None, ())
    lines = [str(each.message) for each in warned]
    assert len(lines) == 3
    assert "part.yaml:1:9: ground: is not used in an included file; w.yaml has none" in lines[0]


UNIT = st.floats(0.0, 1.0)
COLOURS = st.tuples(UNIT, UNIT, UNIT).map(np.array)
VECTORS = st.tuples(*[st.floats(-100, 100)] * 3).map(np.array)
DIRECTIONS = VECTORS.filter(lambda v: bool(np.linalg.norm(v) > 1e-3))
GRIDS = st.integers(2, 4).flatmap(
    lambda columns: st.lists(st.lists(st.floats(-1e5, 1e5), min_size=columns, max_size=columns), min_size=2, max_size=4)
)
HEIGHTMAPS = st.builds(
    lambda size, grid, centre: Heightmap(np.array(size), np.array(grid), centre=np.array(centre)),
    st.tuples(st.floats(0.1, 1e6), st.floats(0.1, 1e6)),
    GRIDS,
    st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)),
)
GROUNDS = st.builds(
    Ground,
    st.floats(-1e5, 1e5),
    st.none() | HEIGHTMAPS,
    st.none() | st.tuples(UNIT, UNIT, UNIT, UNIT).map(np.array),
    st.none() | st.builds(Surface, UNIT, st.none() | UNIT),
    st.none() | st.builds(Material, roughness=UNIT),
)
LIGHTS = st.one_of(
    st.builds(lambda d, c, s: Light(direction=d, colour=c, shadows=s), DIRECTIONS, COLOURS, st.booleans()),
    st.builds(lambda p, c: Light("point", p, colour=c), VECTORS, COLOURS),
    st.builds(
        lambda p, d, c, angle: Light("spot", p, d, c, angle, np.array([1.0, 0.1, 0.01])),
        *(VECTORS, DIRECTIONS, COLOURS, st.floats(0.01, 1.5)),
    ),
)
SKIES = st.builds(Sky, st.none() | COLOURS, st.none() | COLOURS, st.none() | UNIT)


@given(st.none() | GROUNDS, st.lists(LIGHTS, max_size=3), st.none() | SKIES)
def test_any_scene_reads_back(
    tmp_path_factory: pytest.TempPathFactory, ground: Ground | None, lights: list[Light], sky: Sky | None
) -> None:
    world = World("w", ground=ground, lights=tuple(lights), sky=sky)
    path = tmp_path_factory.mktemp("w") / "w.yaml"
    path.write_text(to_yaml(world), encoding="utf-8")
    assert load(path) == world


def test_files_of_a_scene_are_read_and_written_by_reference(write: Callable[..., Path]) -> None:
    np.save("a.npy", np.zeros((2, 2)))
    Image.new("RGB", (4, 4)).save("t.png")
    world = load(
        write("ground: {heightmap: {file: a.npy, size: [1, 1]}, material: {texture: t.png, texture_size: 0.5}}\n")
    )
    assert [path.name for path in world.files] == ["w.yaml", "a.npy", "t.png"]
    text = to_yaml(world, lambda path: path.name)
    assert "file: a.npy" in text
    assert load(write(text, "again.yaml")).ground == world.ground
    assert world.at("ground.heightmap.size[0]") == 1.0
    assert world.with_values({"ground.height": 2}).ground.height == 2.0
