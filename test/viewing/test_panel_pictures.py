"""Pictures of panels: where panels are, where curves are, and how much of a horizon is sky."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import get_data_path
from nightly import only
from PIL import ImageFont
from robot_topics import a, transforms, written

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording import open_bag
from sim_node.session.bag_world import sources_of_bag
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.viewing import RenderError, RenderRequest, draw
from sim_node.viewing.framebuffer import Pixels
from sim_node.viewing.panel_pictures import Box, boxes, render_panels
from sim_node.viewing.schematic import read_schematic
from sim_node.world import World, WorldWarning, loads

SIZE = (480, 270)
SECOND = 1_000_000_000
# A frame that goes from y = -2 to y = 2 in 4 s.
CROSSING = """
world: crossing
time: {{step: 0.01}}
motions:
  - frame: base
    keyframes:
      - {{t: 0, position: [0, -2, 2]}}
      - {{t: 4, position: [0, 2, 2]}}
frames: [{{name: still, pose: {{rpy_deg: [{roll}, {pitch}, 0]}}}}]
schematic: |
  {schematic}
"""
WALL = """
bodies: [{name: wall, pose: {position: [0, 5, 2]}, geometry: [{box: [1, 1, 1]}]}]
sensors:
  - name: base/RANGE
    parent: base
    pose: {rpy_deg: [0, 0, 90]}
    type: rangefinder
    field_of_view: 0
    noise: {deviation: 0, resolution: 0}
  - {name: base/CAM, parent: base, type: camera, width: 64, height: 48}
  - {name: base/IMU, parent: base, type: imu}
  - {name: base/BARO, parent: base, type: barometer}
"""
RED, GREEN = (201, 42, 42), (35, 122, 51)
SKY, EARTH = (74, 144, 217), (138, 103, 66)


def world(schematic: str, roll: float = 0.0, pitch: float = 0.0) -> World:
    return loads(CROSSING.format(schematic=schematic, roll=roll, pitch=pitch))


def pictured(of: World, *times_s: float, size: tuple[int, int] = SIZE) -> list[Pixels]:
    return list(draw(of, RenderRequest(size=size, panels=True), [round(each * SECOND) for each in times_s]))


def places(pixels: Pixels, colour: tuple[int, int, int]) -> FloatArray:
    """Rows and columns (P, 2) of what has nearly this colour."""
    near = (np.abs(pixels.astype(int) - colour) < 40).all(axis=2)
    return np.argwhere(near).astype(float)


def test_splits_share_tabs_show_one_and_windows_float() -> None:
    panels = read_schematic(
        'hsplit {\n graph "a.x" name=A share=0.25\n vsplit share=0.75 {\n graph "b.x" name=B\n tabs {\n'
        ' graph "c.x" name=C\n graph "d.x" name=D active=#true\n }\n }\n}\n'
        'window {\n rect 50 10 20 30\n graph "e.x" name=E\n}\n'
    ).panels
    found = {panel.name: box for panel, box in boxes(panels, Box(0, 0, 400, 200))}
    assert found == {
        "A": (0, 0, 100, 200),
        "B": (100, 0, 300, 100),
        "D": (100, 100, 300, 100),
        "E": (200, 20, 80, 60),
    }
    assert list(found)[-1] == "E"


@pytest.mark.usefixtures("opengl")
def test_shares_are_weights_as_elodins_rc_jet_has_them() -> None:
    """In Elodin's editor, shares are weights against 1 of the others."""
    text = 'vsplit { graph "a.x" name=A share=3.0; graph "b.x" name=B; graph "c.x" name=C; }'
    found = {panel.name: box for panel, box in boxes(read_schematic(text).panels, Box(0, 0, 100, 200))}
    assert [found[each].height for each in "ABC"] == pytest.approx([120.0, 40.0, 40.0])


@pytest.mark.parametrize(
    ("graph", "up"),
    only(
        [
            ('graph "base.world_pos.y" y_min=-3 y_max=3', 1.0),
            ('graph "base/RANGE.range" y_min=1 y_max=7', -1.0),
            ('graph "base/RANGE" y_min=1 y_max=7', -1.0),
        ],
        1,
    ),
)
def test_a_curve_ends_where_its_value_is(graph: str, up: float) -> None:
    """Rows are affine in values: -2 at the start, then -1, 0 and 1; and it ends at the right, whenever it is seen.

    A rangefinder on the frame measures how far it is to a wall ahead: 6.5 m, then 5.5, 4.5 and 3.5.
    """
    pictures = pictured(loads(WALL + CROSSING.format(schematic=graph, roll=0, pitch=0)), 1.0, 2.0, 3.0)
    rows = []
    for pixels in pictures:
        curve = places(pixels[:, : int(0.9 * SIZE[0])], RED)
        begins, ends = (curve[curve[:, 1] == column] for column in (curve[:, 1].min(), curve[:, 1].max()))
        rows.append((begins[:, 0].mean(), ends[:, 0].mean()))
        assert curve[:, 1].max() > 0.85 * SIZE[0]
    starts, ends = np.array(rows).T
    assert np.ptp(starts) <= 1.0
    apart = (starts[0] - ends[-1]) / 3.0
    assert up * apart > 20.0
    np.testing.assert_allclose(starts[0] - ends, apart * np.array([1.0, 2.0, 3.0]), atol=1.5)


def widths(pixels: Pixels, bands: list[tuple[int, int]]) -> list[int]:
    """How wide what is written is in bands of rows of a picture, pixels."""
    written = pixels.max(axis=2) < 225
    columns = (np.flatnonzero(written[begin:end].any(axis=0)) for begin, end in bands)
    return [int(np.ptp(each)) + 1 for each in columns]


def widths_of(*texts: str) -> FloatArray:
    """How wide texts of 11 pixels are in DejaVu Sans."""
    font = ImageFont.truetype(str(Path(get_data_path(), "fonts/ttf/DejaVuSans.ttf")), 22)
    boxes_of_ink = np.array([font.getmask(each).getbbox() for each in texts])
    return np.asarray(boxes_of_ink[:, 2] - boxes_of_ink[:, 0]) / 2.0


@pytest.mark.parametrize(("sensor", "unit"), only([("RANGE", "m"), ("BARO", "Pa"), ("IMU.force_x", "m/s²")], 2))
def test_a_graph_has_the_unit_of_what_is_measured(sensor: str, unit: str) -> None:
    """In its upper left corner, right of the numbers of its axis, below its name."""
    graph = f'graph "base/{sensor}" y_min=200000 y_max=900000'
    (pixels,) = pictured(loads(WALL + CROSSING.format(schematic=graph, roll=0, pitch=0)), 0.5)
    np.testing.assert_allclose(widths(pixels[:, 50:200], [(17, 32)]), widths_of(unit), atol=1.5)


def test_a_monitor_has_the_units_of_what_is_measured() -> None:
    """One in each row of 16.5 pixels, right of its number. Those of an IMU are two."""
    monitor = 'component_monitor component_name="base/IMU"'
    (pixels,) = pictured(loads(WALL + CROSSING.format(schematic=monitor, roll=0, pitch=0)), 0.5)
    bands = [(round(11 * (2.4 + 1.5 * row)) - 7, round(11 * (2.4 + 1.5 * row)) + 8) for row in range(6)]
    found = widths(pixels[:, int(0.77 * SIZE[0]) : -4], bands)
    np.testing.assert_allclose(found, widths_of(*["rad/s"] * 3, *["m/s²"] * 3), atol=1.5)


def test_a_curve_of_a_bag_has_the_numbers_of_a_topic_until_the_next_ones(tmp_path: Path) -> None:
    """0 until 1 s, then 4: in the picture at 0.9 s the curve is flat, in that at 3 s it rises at a third alone."""
    messages: list[tuple[str, float, Any]] = [("/tf", 0.0, transforms("map", "base", (0.0, 0.0, 0.0), 0.0))]
    messages += [("/level", at, a("std_msgs/Float64", data=value)) for at, value in ((0.0, 0.0), (1.0, 4.0))]
    messages += [("/tf", 3.0, transforms("map", "base", (0.0, 0.0, 0.0), 3.0))]
    path = written(tmp_path / "run", sorted(messages, key=lambda each: each[1]))
    schematic = read_schematic('graph "/level.data" y_min=-1 y_max=5')
    with open_bag(path) as bag, sources_of_bag(bag, bag.messages, Unreadable(pytest.fail)) as (source,):
        shown = replace(source, world=replace(source.world, schematic=schematic))
        request = RenderRequest(size=SIZE, panels=True)
        times = [source.start_ns + round(at * SECOND) for at in (0.9, 0.99, 1.0, 3.0)]
        low, _, _, steps = (places(each[:, : int(0.9 * SIZE[0])], RED) for each in render_panels(shown, request, times))
        unknown = replace(source.world, schematic=read_schematic('graph "/levle.data"'))
        with pytest.warns(WorldWarning, match=r"there is no topic /levle; did you mean /level\?"):
            list(render_panels(replace(source, world=unknown), request, times[:1]))
    assert np.ptp(low[:, 0]) < 5.0
    begin, end = (steps[steps[:, 1] == column, 0].mean() for column in (steps[:, 1].min(), steps[:, 1].max()))
    assert begin == pytest.approx(low[:, 0].mean(), abs=2.0)
    risen = steps[steps[:, 0] < 0.5 * (begin + end), 1].min()
    left, right = steps[:, 1].min(), steps[:, 1].max()
    assert (risen - left) / (right - left) == pytest.approx(1.0 / 3.0, abs=0.03)
    # Four sixths of what is between the axes.
    assert begin - end == pytest.approx(4.0 / 6.0 * SIZE[1], rel=0.2)


@pytest.mark.usefixtures("opengl")
@pytest.mark.parametrize("pitch", only([0.0, 15.0, -25.0], 1))
@pytest.mark.parametrize("roll", only([0.0, 40.0], 1))
def test_a_horizon_has_the_sky_of_its_pitch(roll: float, pitch: float) -> None:
    """Of a disc of 40 degrees, what lies beyond a chord at the pitch is earth: r^2 (acos d - d sqrt(1 - d^2))."""
    (pixels,) = pictured(world("horizon_gauge still.world_pos", roll, -pitch), 0.0)
    sky, earth = places(pixels, SKY), places(pixels, EARTH)
    level = pitch / 40.0
    expected = (np.arccos(level) - level * np.sqrt(1.0 - level**2)) / np.pi
    assert len(earth) / (len(earth) + len(sky)) == pytest.approx(expected, abs=0.02)
    # The sky turns against the roll: with the right wing down, the earth is seen on the right.
    down, right = earth.mean(axis=0) - sky.mean(axis=0)
    assert np.degrees(np.arctan2(right, down)) == pytest.approx(roll, abs=2.0)


# Takes seconds: make test has a camera among panels.
@pytest.mark.nightly
@pytest.mark.usefixtures("opengl")
def test_a_view_among_panels_is_that_of_the_viewport() -> None:
    """Bytes for bytes, beside a graph."""
    view = 'viewport name=Eye pos="(0,0,0,1, -6,0,2)"'
    whole = world(f'hsplit {{ {view}; graph "base.world_pos.y"; }}')
    at = [2 * SECOND]
    (page,) = draw(whole, RenderRequest(size=(402, 200), panels=True), at)
    (alone,) = draw(whole, RenderRequest(size=(199, 198), viewport="Eye", frames=()), at)
    np.testing.assert_array_equal(page[:198, :199], alone)


@pytest.mark.usefixtures("opengl")
def test_a_camera_among_panels_has_the_shape_of_its_images_and_sees_as_a_pinhole_camera() -> None:
    """A square of 1 m in 3.5 m is 2 * 0.5 / 3.5 / tan(0.6) of half the width of 1.2 rad, in the middle of the panel."""
    camera = "sensors: [{name: base/EYE, parent: base, type: camera, width: 96, height: 48, horizontal_fov: 1.2}]\n"
    box = "bodies: [{name: box, pose: {position: [4, 0, 2]}, geometry: [{box: [1, 1, 1], color: [1, 0, 0]}]}]\n"
    panels = 'hsplit { sensor_view "base.EYE"; hierarchy; }'
    of = loads(camera + box + CROSSING.format(schematic=panels, roll=0, pitch=0))
    with pytest.warns(WorldWarning, match="hierarchy") as said:
        (page,) = draw(of, RenderRequest(size=(404, 202), panels=True), [2 * SECOND])
    assert len(said) == 1
    seen = page[:200, :200].astype(int)
    red = np.argwhere((seen[:, :, 0] > 150) & (seen[:, :, 1:].max(axis=2) < 60))
    half = 100.0 * 0.5 / 3.5 / np.tan(0.6)
    np.testing.assert_allclose(red.min(axis=0), 100.0 - half, atol=1.0)
    np.testing.assert_allclose(red.max(axis=0) + 1, 100.0 + half, atol=1.0)
    assert (seen[[0, 48, 151, 199]] == 255).all(), "paper above and below"
    assert (seen[[52, 147]] != 255).any(axis=(1, 2)).all(), "the image between"


@pytest.mark.usefixtures("opengl")
def test_what_pictures_do_not_know_is_said_with_its_place() -> None:
    of = world('hsplit { hierarchy; graph "base/IMU.force_x"; graph "base.world_pos.y"; }')
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", WorldWarning)
        (pixels,) = pictured(of, 2.0)
    text = [str(each.message) for each in said]
    assert [each.startswith("not in pictures: ") for each in text] == [True, True], text
    assert "hierarchy" in text[0]
    assert "'base/IMU.force_x'" in text[1]
    assert places(pixels, RED)[:, 1].min() > 0.6 * SIZE[0], "the third panel is drawn"


def test_a_world_without_panels_is_refused() -> None:
    with pytest.raises(RenderError, match="the world's schematic has no panels"):
        pictured(loads("world: w"), 0.0)
