"""Signals against closed forms of moving bodies; contacts, changes of the world, conditions at each step."""

from __future__ import annotations

import math
from typing import Any

import mujoco
import numpy as np
import pytest

from sim_node import Simulation, loads
from sim_node.extensions.scenario import SIGNALS, FormulaError, SignalCondition, SignalRecorder, Zone
from sim_node.extensions.scenario.health import looks_every

MS = 1_000_000
BALL = """\
world: ball
physics: {gravity: [0, 0, -10], timestep: 0.01}
time: {step: 0.01}
bodies:
  - {name: floor, geometry: [{plane: true}], pose: {position: [0, 0, -1]}}
  - {name: ball, joint: {type: free, qd: [3, 4, 5, 0, 0, 0]}, geometry: [{sphere: 0.1, mass: 1.0}]}
frames:
  - {name: ball/top, parent: ball, pose: {position: [0, 0, 0.5], rpy_deg: [20, 30, 40]}}
  - {name: mark, pose: {position: [3, 4, 12]}}
"""
TIMES = np.arange(101) * 0.01
HEIGHTS = 5.0 * TIMES - 5.0 * TIMES**2  # of a ball that flies for a second


def recorded(simulation: Simulation, *names: str, seconds: float = 1.0, **zones: Zone) -> dict[str, np.ndarray]:
    recorder = SignalRecorder(simulation, names, simulation.world.time.step_ns, zones)
    simulation.connect(recorder)
    simulation.reset()
    simulation.run(seconds)
    return recorder.values()


def test_signals_of_a_thrown_ball_are_those_of_its_parabola() -> None:
    expected = {
        "altitude(ball)": HEIGHTS,
        "x(ball)": 3.0 * TIMES,
        "y(ball)": 4.0 * TIMES,
        "z(ball/top)": HEIGHTS + 0.5,
        "roll(ball/top)": np.full(101, math.radians(20)),
        "pitch(ball/top)": np.full(101, math.radians(30)),
        "yaw(ball/top)": np.full(101, math.radians(40)),
        # The z axis of R = Rz Ry Rx has the vertical part cos(pitch) cos(roll).
        "tilt(ball/top)": np.full(101, math.acos(math.cos(math.radians(30)) * math.cos(math.radians(20)))),
        "climb_rate(ball)": 5.0 - 10.0 * TIMES,
        "speed(ball)": np.hypot(5.0, 5.0 - 10.0 * TIMES),
        "ground_speed(ball)": np.full(101, 5.0),
        "turn_rate(ball)": np.zeros(101),
        "distance(ball, mark)": np.hypot(5.0 * (1.0 - TIMES), 12.0 - HEIGHTS),
        "horizontal_distance(ball, mark)": 5.0 * (1.0 - TIMES),
        "inside(ball, shaft)": np.minimum(2.0 - 5.0 * TIMES, 1.0 - HEIGHTS),
        "touching(ball)": np.zeros(101),
        "colliding(ball, floor)": np.zeros(101),
        "landed(ball)": np.zeros(101),
        "present(ball/top)": np.ones(101),
        "finite()": np.ones(101),
        "events_succeed()": np.ones(101),
        "pose[ball].z": HEIGHTS,
        "qvel[ball.vz]": 5.0 - 10.0 * TIMES,
    }
    found = recorded(Simulation(loads(BALL), sensors=False), *expected, shaft=Zone("shaft", radius=2.0, ceiling=1.0))
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0.0, atol=1e-9, err_msg=name)
    elsewhere = {"age", "happened", "mavlink", "battery", "battery_voltage", "battery_current", "/"}
    assert {name.partition("(")[0] for name in expected if "(" in name} | {"z"} | elsewhere == set(SIGNALS)


@pytest.mark.parametrize("turned", [0.0, 90.0], ids=["along the fixed axes", "turned about z"])
def test_a_ball_whose_joint_frame_is_elsewhere_flies_its_parabola(turned: float) -> None:
    """Its motion is relative to a joint frame at [1, 2, 3], which is fixed to a table at [10, 0, 0]."""
    frame = f"pose: {{position: [1, 2, 3], rpy_deg: [0, 0, {turned}]}}"
    text = BALL.replace("name: ball, ", f"name: ball, parent: table, {frame}, ")
    text = text.replace("frames:", "frames:\n  - {name: table, pose: {position: [10, 0, 0]}}")
    along, across = (3.0, 4.0) if not turned else (-4.0, 3.0)
    expected = {
        "x(ball)": 11.0 + along * TIMES,
        "y(ball)": 2.0 + across * TIMES,
        "altitude(ball)": 3.0 + HEIGHTS,
        "z(ball/top)": 3.5 + HEIGHTS,
        "yaw(ball/top)": np.full(101, math.remainder(math.radians(40.0 + turned), math.tau)),
        "ground_speed(ball)": np.full(101, 5.0),
        "climb_rate(ball)": 5.0 - 10.0 * TIMES,
    }
    found = recorded(Simulation(loads(text), sensors=False), *expected)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=0.0, atol=1e-9, err_msg=name)


def test_frames_on_turning_parents_have_the_pose_of_the_chain() -> None:
    """On a wheel that turns by 90 degrees per second about z, a mark at [2, 0, 1] moves on a circle."""
    wheel = """\
world: wheel
time: {step: 0.01}
motions:
  - frame: wheel
    parent: map
    keyframes: [{t: 0, position: [0, 0, 1], rpy_deg: [0, 0, 0]}, {t: 1, position: [0, 0, 1], rpy_deg: [0, 0, 90]}]
frames:
  - {name: arm, parent: wheel, pose: {position: [1, 0, 0]}}
  - {name: tip, parent: arm, pose: {position: [1, 0, 0]}}
"""
    found = recorded(Simulation(loads(wheel), sensors=False), "x(tip)", "y(tip)", "altitude(tip)", "yaw(arm)")
    angle = TIMES * math.pi / 2.0
    np.testing.assert_allclose(found["x(tip)"], 2.0 * np.cos(angle), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found["y(tip)"], 2.0 * np.sin(angle), rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(found["yaw(arm)"], angle, rtol=0.0, atol=1e-9)
    assert (found["altitude(tip)"] == 1.0).all()


def test_the_age_of_a_sensor_is_the_time_since_it_published() -> None:
    """At 10 Hz with a latency of 50 ms: at 0.05 s, 0.15 s, 0.25 s and so on."""
    imu = "sensors:\n  - {name: ball/IMU, parent: ball, type: imu, rate: 10, latency: 0.05}\nframes:"
    found = recorded(Simulation(loads(BALL.replace("frames:", imu, 1))), "age(ball/IMU)")["age(ball/IMU)"]
    expected = np.where(np.arange(101) < 5, np.arange(101), (np.arange(101) - 5) % 10) * 0.01
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


def test_the_depth_in_a_polygon() -> None:
    """In an L, whose inner corner is at (1, 1)."""
    corners = np.array([[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]])
    zone = Zone("l", polygon=tuple(corners), floor=-5.0)
    points = np.array([[0.5, 0.5, 0.0], [2.0, 2.0, 0.0], [2.0, 0.75, 0.0], [4.0, 1.0, 0.0], [0.5, 2.0, -4.9]])
    expected = [0.5, -1.0, 0.25, -1.0, 0.1]
    np.testing.assert_allclose(zone.depth(points), expected, rtol=0.0, atol=1e-12)


def test_a_contact_is_seen_where_the_ball_meets_the_floor() -> None:
    """It falls from 1 m to the floor at -1 m, with a radius of 0.1 m: -0.9 = 5 t - 5 t^2."""
    found = recorded(Simulation(loads(BALL), sensors=False), "touching(ball, floor)", seconds=1.5)
    first = int(np.argmax(found["touching(ball, floor)"])) * 0.01
    assert first == pytest.approx((5.0 + math.sqrt(25.0 + 4.0 * 5.0 * 0.9)) / 10.0, abs=0.02)


def test_short_contacts_are_seen_between_samples() -> None:
    simulation = Simulation(loads(BALL), sensors=False)
    each = SignalRecorder(simulation, ["touching(ball)"], 10 * MS, {})
    seldom = SignalRecorder(simulation, ["touching(ball)"], 500 * MS, {})
    for recorder in (each, seldom):
        simulation.connect(recorder)
    simulation.run(1.5)
    assert each.values()["touching(ball)"].any()
    assert seldom.values()["touching(ball)"].tolist() == [0.0, 0.0, 1.0]


def test_to_look_at_contacts_changes_nothing() -> None:
    watched, plain = (Simulation(loads(BALL), sensors=False) for _ in range(2))
    watched.connect(SignalRecorder(watched, ["touching(ball)", "landed(ball)", "speed(ball)"], 20 * MS, {}))
    for simulation in (watched, plain):
        simulation.run(2.0)
    for name, array in plain.columns.state().items():
        assert watched.columns[name].tobytes() == array.tobytes(), name


def test_signals_survive_changes_of_the_world_and_end_with_what_they_are_of() -> None:
    simulation = Simulation(loads(BALL), sensors=False)
    recorder = SignalRecorder(simulation, ["altitude(ball)", "altitude(mark)"], 10 * MS, {})
    simulation.connect(recorder)
    recorder.begin()
    simulation.run(0.5)
    simulation.remove("mark")
    simulation.run(0.5)
    found = recorder.values()
    np.testing.assert_allclose(found["altitude(ball)"], HEIGHTS, rtol=0.0, atol=1e-9)
    assert (found["altitude(mark)"][:51] == 12.0).all()
    assert np.isnan(found["altitude(mark)"][51:]).all()


def test_a_reset_forgets_what_came_before() -> None:
    simulation = Simulation(loads(BALL), sensors=False)
    recorder = SignalRecorder(simulation, ["altitude(ball)"], 10 * MS, {})
    simulation.connect(recorder)
    simulation.run(0.7)
    simulation.reset()
    recorder.begin()
    simulation.run(0.3)
    np.testing.assert_allclose(recorder.values()["altitude(ball)"], HEIGHTS[:31], rtol=0.0, atol=1e-9)


def test_a_condition_holds_from_the_step_on_at_which_it_is_known() -> None:
    """5 t - 5 t^2 > 1.201 from after 0.4 s to before 0.6 s."""
    simulation = Simulation(loads(BALL), sensors=False)
    above = SignalCondition(simulation, "altitude(ball) > 1.201 m")
    longer = SignalCondition(simulation, "altitude(ball) > 120.1 cm for at least 100 ms")
    too_long = SignalCondition(simulation, "altitude(ball) > 1.201 m for at least 0.3 s")
    found: list[tuple[bool, bool, bool]] = []
    for _ in range(101):
        found.append((above.evaluate(), longer.evaluate(), too_long.evaluate()))
        simulation.step()
    steps = np.array(found)
    assert np.flatnonzero(steps[:, 0]).tolist() == list(range(41, 60))
    assert np.flatnonzero(steps[:, 1]).tolist() == list(range(51, 60))
    assert not steps[:, 2].any()
    simulation.reset()
    longer.reset()
    assert not longer.evaluate()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("altitude(bal) > 1", "no frame or vehicle 'bal'; did you mean ball?"),
        ("altitud(ball) > 1", "no signal 'altitud'; did you mean altitude? (known: altitude(FRAME), "),
        ("altitude(ball, mark) > 1", "altitude(ball, mark): altitude(FRAME) is needed"),
        ("inside(ball, shed) > 0", "no zone 'shed'"),
        ("touching(bal)", "no body 'bal'; did you mean ball?"),
        ("pose[bal].z > 1", "pose[bal].z: column 'pose' has no row 'bal'; did you mean ball?"),
        ("altitude(ball) > 3 s", "altitude(ball) is in m, and 3 s in s"),
        ("always altitude(ball) > 3", "is known only at the end of a run; give its operators an interval"),
    ],
)
def test_faults_of_conditions(text: str, message: str) -> None:
    with pytest.raises(FormulaError) as caught:
        SignalCondition(Simulation(loads(BALL), sensors=False), text)
    assert message in str(caught.value)


def test_samples_within_steps_are_those_of_exchanges() -> None:
    """The engine of bodies takes the first ones; the third signal, of a computed column, needs exchanges."""
    within, exchanged = (Simulation(loads(BALL), sensors=False) for _ in range(2))
    names = ["altitude(ball)", "touching(ball)", "speed(ball)"]
    first = SignalRecorder(within, names, 20 * MS, {})
    other = SignalRecorder(exchanged, [*names, "pose[ball/top].z"], 20 * MS, {})
    assert first.rate < 1 < other.rate
    for simulation, recorder in ((within, first), (exchanged, other)):
        simulation.connect(recorder)
        recorder.begin()
        simulation.run(0.37)
        halfway = simulation.state
        simulation.run(1.0)
        simulation.restore(halfway)  # what came after it is forgotten
        simulation.run(0.63)
    assert len(first) == len(other) == 51
    for name in names:
        assert first.values()[name].tobytes() == other.values()[name].tobytes(), name


def test_a_recorder_goes_on_by_exchanges_where_the_engine_of_bodies_has_not_all() -> None:
    """A ball that is set on the frame of another one does not float any more: its pose is computed."""
    simulation = Simulation(loads(BALL + "  - {name: other, pose: {position: [0, 0, 3]}}\n"), sensors=False)
    recorder = SignalRecorder(simulation, ["altitude(ball)"], 10 * MS, {})
    simulation.connect(recorder)
    recorder.begin()
    simulation.run(0.5)
    simulation.attach("ball", "floor")
    held = float(simulation.bodies["ball"].pose[2])
    simulation.run(0.5)
    found = recorder.values()["altitude(ball)"]
    np.testing.assert_allclose(found[:51], HEIGHTS[:51], rtol=0.0, atol=0.03)
    np.testing.assert_allclose(found[51:], held, rtol=0.0, atol=1e-9)
    assert len(found) == 101
    simulation.reset()
    simulation.run(0.2)
    assert len(recorder) == 21
    np.testing.assert_allclose(recorder.values()["altitude(ball)"], found[:21], rtol=0.0, atol=0.0)


def test_what_observes_timesteps_is_told_of_each_once_from_the_start_on() -> None:
    """Whatever the pieces in which the run steps, and although a change tries the next ones out first."""
    simulation = Simulation(loads(BALL.replace("time: {step: 0.01}", "time: {step: 0.03}")), sensors=False)
    engine: Any = simulation.engines["rigid_bodies"]
    seen: list[int] = []

    def note(timestep: int) -> None:
        assert timestep == engine.timesteps
        seen.append(timestep)

    engine.observe_timesteps("test", note, 4)
    simulation.step(3)
    simulation.step(2)
    simulation.attempt(lambda: None)
    simulation.step(3)
    assert seen == [4, 8, 12, 16, 20, 24]
    simulation.reset()
    simulation.step(3)
    assert seen[6:] == [4, 8]


@pytest.mark.parametrize(("solref", "timesteps"), [("", 10), ('solref="0.008 1"', 4), ('solref="-9000 -500"', 2)])
def test_contacts_are_looked_at_twice_in_their_time_constant(solref: str, timesteps: int) -> None:
    """MuJoCo's default is 0.02 s, that of a damping of 500 / s is 2 / 500 s; the timestep is 1 ms."""
    xml = f'<mujoco><option timestep="0.001"/><worldbody><geom size="1" {solref}/></worldbody></mujoco>'
    assert looks_every(mujoco.MjModel.from_xml_string(xml)) == timesteps
