"""What gauges and other panels of a page show of known poses: answers of geometry, of WGS84, and of scipy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.viewing.browser.feeds import FeedContext, feed_of
from sim_node.viewing.browser.markers import arrow
from sim_node.viewing.browser.panel import table, without_noise
from sim_node.viewing.browser.plots import signals_of
from sim_node.viewing.schematic import read_schematic
from sim_node.viewing.schematic.eql import formula
from sim_node.viewing.sensor_numbers import labels_of, units_of
from sim_node.viewing.shown_signals import ShownSignals, unit_of
from sim_node.world import World, WorldError, loads
from sim_node.world.layout import lay_out

# WGS84: the radius of the meridian at the equator is a (1 - e^2), m.
MERIDIAN = 6378137.0 * (1.0 - 6.69437999014e-3)
FRAMES = """
world: test
{origin}
motions:
  - frame: drone
    keyframes: [{{t: 0, position: [0, 0, 0]}}, {{t: 1, position: [1, 0, 0]}}]
"""


EQUATOR = "origin: {latitude: 0, longitude: 0, altitude: 0}"


def shown(text: str, pose: np.ndarray, selected: str = "", origin: str = "") -> Any:
    """What a panel shows of a drone at a pose."""
    world: World = loads(FRAMES.format(origin=origin))
    frames = lay_out(world).frames
    in_root = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(frames), 1))
    in_root[frames.index("drone")] = pose
    signals = ShownSignals(frames, {}, world)
    signals.update(in_root, {})
    (panel,) = read_schematic(text).data_panels()
    feed = feed_of(panel, FeedContext(signals, frames, world, lambda: selected, lambda: None))
    assert feed is not None
    return feed()


def test_what_is_rounding_is_shown_as_nothing_and_what_is_small_as_it_is() -> None:
    """The sine of pi is 1e-16 in doubles; a micrometre is a position."""
    turned = shown(
        "component_monitor component_name=drone.world_pos", np.array([1e-6, 1e-17, 5, 0, 0, np.sin(np.pi), 1])
    )
    values = {label: value for label, value, _ in turned}
    assert (values["x"], values["y"], values["z"], values["q2"]) == (1e-6, 0.0, 5.0, 0.0)
    assert without_noise([1e15, -1e-17, 1e-9]).tolist() == [1e15, 0.0, 1e-9]


def pose(turn: Rotation, *position: float) -> np.ndarray:
    return np.concatenate([position or (0.0, 0.0, 0.0), turn.as_quat()])


def test_a_horizon_has_the_angles_of_aviation() -> None:
    """To the north, the nose 20 degrees up, the right wing 30 degrees down: yaw, pitch and roll of FLU in ENU."""
    turn = Rotation.from_euler("ZYX", [90.0, -20.0, 30.0], degrees=True)
    found = shown("horizon_gauge drone.world_pos", pose(turn))
    assert found == pytest.approx({"roll": 30.0, "pitch": 20.0, "heading": 0.0}, abs=1e-4)
    east = shown("horizon_gauge drone.world_pos", pose(Rotation.identity()))
    assert east == pytest.approx({"roll": 0.0, "pitch": 0.0, "heading": 90.0}, abs=1e-4)


def test_a_gauge_of_an_attitude_in_ned_shows_that_of_a_body_in_frd() -> None:
    """To the east, the nose 20 degrees up, the right wing 30 degrees down: yaw, pitch and roll of FRD in NED."""
    turn = Rotation.from_euler("ZYX", [90.0, 20.0, 30.0], degrees=True)
    found = shown("horizon_gauge drone.world_pos source=NED", pose(turn))
    assert found == pytest.approx({"roll": 30.0, "pitch": 20.0, "heading": 90.0}, abs=1e-4)
    body = shown("orientation_gauge drone.world_pos source=NED display=ECEF", pose(turn), origin=EQUATOR)
    in_enu = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]]) @ turn.as_matrix()
    assert np.array(body["body"]) == pytest.approx(in_enu.T, abs=1e-6)
    # At the equator and the first meridian, x is up, y east and z north.
    assert (body["names"], body["axes"]) == (["X", "Y", "Z"], [[0, 0, 1], [1, 0, 0], [0, 1, 0]])


def test_a_position_of_other_axes_is_converted() -> None:
    there = pose(Rotation.identity(), 3.0, 4.0, -5.0)
    found = shown("geo_position_gauge drone.world_pos source=NED display=ENU", there)
    assert [value for _, value, _ in found] == [4.0, 3.0, 5.0]
    earth = pose(Rotation.identity(), 6378137.0 + 7.0, 0.0, 0.0)
    found = shown("coordinate frame=ECEF\ngeo_position_gauge drone.world_pos", earth, origin=EQUATOR)
    assert [value for _, value, _ in found] == pytest.approx([0.0, 0.0, -7.0], abs=1e-6)
    found = shown("geo_position_gauge drone.world_pos source=ECEF", earth)
    assert found == {"empty": "ECEF as NED needs the origin of the world on Earth, which has none."}


def test_what_a_gauge_has_as_neutral_is_level() -> None:
    turn = Rotation.from_euler("ZYX", [10.0, 80.0, 5.0], degrees=True)
    numbers = " ".join(f"{each:.12f}" for each in turn.as_quat())
    found = shown(f"horizon_gauge drone.world_pos {{ reference {numbers}; }}", pose(turn))
    assert found == pytest.approx({"roll": 0.0, "pitch": 0.0, "heading": 90.0}, abs=1e-4)


def test_an_attitude_has_the_axes_of_the_body() -> None:
    turn = Rotation.from_euler("ZYX", [35.0, -20.0, 30.0], degrees=True)
    found = shown("orientation_gauge drone.world_pos", pose(turn))
    assert np.array(found["body"]) == pytest.approx(turn.as_matrix().T, abs=1e-6)
    assert found["names"] == ["N", "E", "D"]
    assert found["axes"] == [[0, 1, 0], [1, 0, 0], [0, 0, -1]]


def test_a_position_is_shown_in_the_axes_that_are_asked_for() -> None:
    there = pose(Rotation.identity(), 3.0, 4.0, 5.0)
    assert shown("geo_position_gauge drone.world_pos", there) == [
        ["north", 4.0, "m"],
        ["east", 3.0, "m"],
        ["down", -5.0, "m"],
    ]
    origin = "origin: {latitude: 0, longitude: 0, altitude: 100}"
    lla = shown("geo_position_gauge drone.world_pos display=LLA", pose(Rotation.identity(), 0, 10, 5), origin=origin)
    assert [name for name, *_ in lla] == ["latitude", "longitude", "altitude"]
    assert lla[0][1] == pytest.approx(math.degrees(10.0 / (MERIDIAN + 100.0)), rel=1e-4)
    assert lla[2][1] == pytest.approx(105.0, abs=1e-3)
    assert "needs the origin" in shown("geo_position_gauge drone.world_pos display=LLA", there)["empty"]


def test_numbers_have_units_and_the_selected_frame_its_pose() -> None:
    there = pose(Rotation.from_euler("z", 90, degrees=True), 3.0, 4.0, 5.0)
    rows = shown("component_monitor component_name=drone.world_pos", there)
    assert rows[4:] == [["x", 3.0, "m"], ["y", 4.0, "m"], ["z", 5.0, "m"]]
    selected = shown("inspector", there, selected="drone")
    assert selected["name"] == "drone"
    assert [row[1] for row in selected["rows"][:6]] == pytest.approx([3.0, 4.0, 5.0, 0.0, 0.0, 90.0], abs=1e-5)
    assert "click" in shown("inspector", there)["empty"]
    assert shown("hierarchy", there, selected="drone")["selected"] == "drone"
    assert "drone.world_pos" in shown("data_overview", there)["signals"]
    assert shown('sensor_view "front"', there) == {"empty": "There is no camera front."}


def test_parameters_are_the_numbers_of_the_world() -> None:
    world = loads(FRAMES.format(origin=""))
    (panel,) = read_schematic("parameters").data_panels()
    context = FeedContext(
        ShownSignals(lay_out(world).frames, {}, world), lay_out(world).frames, world, str, lambda: None
    )
    feed, empty = feed_of(panel, context._replace(shown=world)), feed_of(panel, context)
    assert feed is not None
    assert empty is not None
    assert ["motions[drone].keyframes[1].position[0]", 1.0] in feed()["numbers"]
    assert not feed()["can_set"]
    assert "of a run or of a bag" in empty()["empty"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("component_monitor component_name=dron.world_pos", "did you mean drone.world_pos?"),
        ('horizon_gauge "drone.world_pos.linear()"', "is 3 numbers; 4 or 7 are needed"),
    ],
)
def test_a_panel_of_what_does_not_exist_is_refused(text: str, why: str) -> None:
    with pytest.raises(WorldError, match=why.replace("?", r"\?")):
        shown(text, pose(Rotation.identity()))


def test_an_arrow_goes_from_its_origin_along_its_vector() -> None:
    ends = arrow(np.array([1.0, 2.0, 3.0]), np.array([0.0, 0.0, 2.0]))
    assert ends[0].tolist() == [[1, 2, 3], [1, 2, 5]]
    heads = ends[1:, 1] - ends[1:, 0]
    assert (heads[:, 2] < 0).all(), "the head goes back from the tip"
    assert np.linalg.norm(heads[:, :2], axis=1) == pytest.approx([0.16] * 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("drone.world_pos.linear()", "m"),
        ("drone.world_pos.translate_z(4).linear().norm()", "m"),
        ("(drone.world_pos.linear() - cart.world_pos.linear()).norm()", "m"),
        ("drone.world_pos.x", "m"),
        ("drone.world_pos[4]", "m"),
        ("drone.world_pos", ""),
        ("drone.world_pos.q0", ""),
        ("drone.world_pos[3]", ""),
        ("drone.world_pos.angular()", ""),
        ("drone.world_pos.linear() * 2", ""),
        ("drone.world_pos.linear() + drone.world_vel.linear()", ""),
        ("drone.world_vel.linear().norm()", "m/s"),
        ("drone.world_vel.x", "m/s"),
        ("drone.world_vel[3]", "m/s"),
        ("drone.world_vel[2]", "rad/s"),
        ("drone.world_vel.angular() - cart.world_vel.angular()", "rad/s"),
        ("drone.world_vel", ""),
        ("drone.world_accel.linear()", "m/s²"),
        ("drone.imu.x", ""),
    ],
)
def test_graphs_have_the_unit_that_all_of_a_formula_has(text: str, expected: str) -> None:
    assert unit_of(formula(text).tree) == expected


# Their units as sensor_msgs documents the fields of Imu, MagneticField, FluidPressure, NavSatFix and BatteryState.
MEASURED = """
world: test
origin: {latitude: 0, longitude: 0, altitude: 0}
frames: [{name: mast/base_link}]
sensors:
  - {name: mast/imu, type: imu}
  - {name: mast/mag, type: magnetometer}
  - {name: mast/baro, type: barometer}
  - {name: mast/gps, type: gps}
  - {name: mast/power, type: battery}
  - {name: mast/truth, type: ground_truth}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'mast/imu'.rate_y", "rad/s"),
        ("'mast/imu'.force_z", "m/s²"),
        ("'mast/imu'[3]", "m/s²"),
        ("'mast/imu'", ""),
        ("'mast/mag'", "T"),
        ("'mast/mag'.norm()", "T"),
        ("'mast/baro'", "Pa"),
        ("'mast/gps'.latitude", "°"),
        ("'mast/gps'.altitude", "m"),
        ("'mast/gps'.velocity_up", "m/s"),
        ("'mast/power'.voltage", "V"),
        ("'mast/power'.charge", "Ah"),
        ("'mast/power'.percentage", ""),
        ("'mast/truth'.vx", "m/s"),
        ("'mast/truth'.qw", ""),
        ("'mast/truth'.z - drone.world_pos.z", "m"),
    ],
)
def test_graphs_have_the_units_of_measurements(text: str, expected: str) -> None:
    assert unit_of(formula(text).tree, units_of(loads(MEASURED))) == expected


def test_monitors_and_plots_have_the_units_of_measurements() -> None:
    world = loads(MEASURED)
    frames, units, labels = lay_out(world).frames, units_of(world), labels_of(world)
    signals = ShownSignals(frames, labels, world)
    (panel,) = read_schematic('component_monitor component_name="mast/gps"').data_panels()
    feed = feed_of(panel, FeedContext(signals, frames, world, str, lambda: None))
    assert feed is not None
    assert [unit for _, _, unit in feed()] == ["°", "°", "m", "m/s", "m/s", "m/s"]
    plotted = {name: signal.unit for name, signal in signals_of(labels["mast/imu"], units["mast/imu"]).items()}
    assert plotted == {"rate": "rad/s", "force": "m/s²"}
    assert "| altitude | 5 | m |" in table(labels["mast/gps"], np.array([0.0, 0, 5, 0, 0, 0]), units["mast/gps"])


def test_a_velocity_is_that_of_a_turn_about_a_fixed_axis_and_unknown_after_a_jump() -> None:
    """A turn about a unit axis at a rate, and a straight way: both are exact between any two instants (scipy)."""
    axis, rate, along = np.array([2.0, -1.0, 2.0]) / 3.0, 1.7, np.array([3.0, -0.5, 0.25])
    start = Rotation.from_euler("ZYX", [35.0, -20.0, 30.0], degrees=True)

    def at(time_s: float) -> np.ndarray:
        return pose(Rotation.from_rotvec(axis * rate * time_s) * start, *(along * time_s))

    world: World = loads(FRAMES.format(origin=""))
    frames = lay_out(world).frames
    signals, row = ShownSignals(frames, {}, world), frames.index("drone")
    found = signals.find("drone.world_vel")
    assert found is not None
    seen = {}
    for time_s in (0.0, 0.02, 0.02, 0.05, 9.0, 3.0, 3.1):
        in_root = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(frames), 1))
        in_root[row] = at(time_s)
        signals.update(in_root, {}, time_s)
        seen[time_s] = found.read()
    for time_s in (0.02, 0.05, 3.1):
        assert seen[time_s] == pytest.approx(np.concatenate([axis * rate, along]), abs=1e-9)
    for time_s in (0.0, 9.0, 3.0):
        assert np.isnan(seen[time_s]).all()
    (panel,) = read_schematic("inspector").data_panels()
    feed = feed_of(panel, FeedContext(signals, frames, world, lambda: "drone", lambda: None))
    assert feed is not None
    rows = {label: (value, unit) for label, value, unit in feed()["rows"]}
    assert (rows["vx"], rows["ωx"][1]) == ((pytest.approx(3.0), "m/s"), "rad/s")
    monitor = "component_monitor component_name=drone.world_vel"
    (panel,) = read_schematic(monitor).data_panels()
    feed = feed_of(panel, FeedContext(signals, frames, world, str, lambda: None))
    assert feed is not None
    assert [unit for _, _, unit in feed()] == ["rad/s"] * 3 + ["m/s"] * 3
