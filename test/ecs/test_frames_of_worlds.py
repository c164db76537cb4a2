"""Worlds in Python in NED and ECEF: their entities stand where other libraries have them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pymap3d
import pytest
from scipy.spatial.transform import Rotation

import sim_node.extensions.elodin as el
from sim_node.cli.main import main
from sim_node.extensions.elodin import jax
from sim_node.simulation import Simulation
from sim_node.viewing.cameras import ViewportCamera
from sim_node.viewing.drawn_objects import drawing_of
from sim_node.viewing.shown_signals import ShownSignals, scene_reference
from sim_node.world import load

ORIGIN = (47.4, 8.5, 400.0)
SCRIPT = """\
import numpy as np
import sim_node.extensions.elodin as el

w = el.World(frame=el.Frame.{frame}, origin={origin})
start = el.SpatialTransform(angular=el.Quaternion(np.array({attitude})), linear=np.array({position}))
velocity = el.SpatialMotion(angular=np.array([0.1, 0.0, 0.0]), linear=np.array([3.0, 4.0, 5.0]))
w.spawn(el.Body(world_pos=start, world_vel=velocity), name="ball")
w.run(el.six_dof(), sim_time_step=0.01)
"""


def simulated(folder: Path, frame: str, position: list[float], attitude: list[float]) -> Simulation:
    script = folder / "script.py"
    script.write_text(SCRIPT.format(frame=frame, origin=ORIGIN, attitude=attitude, position=position))
    return Simulation(load(script))


def in_map(simulation: Simulation) -> np.ndarray:
    return simulation.frames.lookup(simulation.snapshot().poses, "map", "ball")


def test_entities_of_a_ned_world_stand_in_enu_where_they_should(tmp_path: Path) -> None:
    attitude = Rotation.from_euler("xyz", [0.2, -0.1, 0.7])
    simulation = simulated(tmp_path, "NED", [10.0, 20.0, -30.0], attitude.as_quat().tolist())
    assert simulation.frames.path("ball") == "map/map_ned/ball"
    pose = in_map(simulation)
    assert pose[:3] == pytest.approx([20.0, 10.0, 30.0], abs=1e-12)
    swapped = Rotation.from_matrix([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
    assert (Rotation.from_quat(pose[3:]).inv() * swapped * attitude).magnitude() == pytest.approx(0.0, abs=1e-12)
    twist = simulation.columns["twist"][simulation.frames.index("ball")]
    assert twist == pytest.approx([4.0, 3.0, -5.0, 0.0, 0.1, 0.0], abs=1e-9)
    simulation.step(100)
    assert in_map(simulation)[:3] == pytest.approx([24.0, 13.0, 25.0], abs=1e-9)


def test_entities_of_an_ecef_world_stand_where_pymap3d_has_them(tmp_path: Path) -> None:
    place = (47.41, 8.52, 1500.0)
    simulation = simulated(
        tmp_path, "ECEF", [float(each) for each in pymap3d.geodetic2ecef(*place)], [0.0, 0.0, 0.0, 1.0]
    )
    assert simulation.frames.path("ball") == "map/earth/ball"
    assert simulation.world.origin is not None
    assert simulation.world.origin.latitude == ORIGIN[0]
    assert in_map(simulation)[:3] == pytest.approx(pymap3d.geodetic2enu(*place, *ORIGIN), abs=1e-6)
    # The x axis of the Earth, from the fixed frame.
    east, north, up = pymap3d.ecef2enuv(1.0, 0.0, 0.0, ORIGIN[0], ORIGIN[1])
    turned = Rotation.from_quat(in_map(simulation)[3:]).apply([1.0, 0.0, 0.0])
    assert turned == pytest.approx([east, north, up], abs=1e-12)


def test_a_recording_has_the_frame_of_its_poses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    world = el.World(frame="NED")
    start = el.SpatialTransform(linear=jax.numpy.array([10.0, 20.0, -30.0]))
    world.spawn(el.Body(world_pos=start), name="ball")
    bag = str(tmp_path / "bag")
    world.run(el.six_dof(), 0.01, max_ticks=3, interactive=False, start_timestamp=0, db_path=bag)
    assert main(["lookup", bag, "map", "ball", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["translation"] == pytest.approx([20.0, 10.0, 30.0])
    assert (found["target_convention"], found["source_convention"]) == ("ENU", "FLU")


@pytest.mark.parametrize("frame", ["NED", "ECEF"])
def test_what_a_schematic_draws_in_such_a_world_stands_where_its_entities_stand(tmp_path: Path, frame: str) -> None:
    """On pages, which have the components, and in pictures, which have poses of frames alone."""
    position = [10.0, 20.0, -30.0] if frame == "NED" else [*map(float, pymap3d.geodetic2ecef(47.41, 8.52, 1500.0))]
    script = tmp_path / "script.py"
    text = SCRIPT.format(frame=frame, origin=ORIGIN, attitude=[0.0, 0.0, 0.6, 0.8], position=position)
    drawn = "viewport pos=ball.world_pos; object_3d ball.world_pos { sphere radius=1; }"
    script.write_text(text.replace("w.run(", f"w.schematic({drawn!r})\nw.run("))
    world = load(script)
    simulation = Simulation(world)
    snapshot = simulation.snapshot()
    in_root = simulation.frames.in_root(snapshot.poses)
    expected = in_root[simulation.frames.index("ball")]
    assert world.schematic is not None
    components = {"component/world_pos": (simulation.columns["component/world_pos"], in_root)}
    for of in (world, None):
        signals = ShownSignals(simulation.frames, {}, of, reference=scene_reference(world.schematic, world))
        drawing = drawing_of(world.schematic, signals)
        camera = ViewportCamera(world.schematic.viewports()[0], signals)
        signals.update(in_root, components)
        assert drawing.poses()[0, :3] == pytest.approx(expected[:3], abs=1e-6)
        assert abs(np.dot(drawing.poses()[0, 3:], expected[3:])) == pytest.approx(1.0, abs=1e-12)
        sight = camera.sight()
        assert sight is not None
        assert sight.position == pytest.approx(expected[:3], abs=1e-6)
