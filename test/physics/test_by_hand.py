"""Multirotors by hand: the motion that cmd_vel asks for, the position held afterwards, and what is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from nightly import only

from sim_node.simulation import Simulation
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, loads

AIR = """
world: air
time: {step: 0.004}
physics: {timestep: 0.004}
bodies:
  - {name: ground, geometry: [{plane: true}]}
"""
CRATE = Geometry("box", np.array([1.0, 1.0, 1.0]), mass=1.0)
PILOT = "{wait: 0, take_off: 3, after: hold}"


def flight(pilot: str = PILOT, more: str = "", yaw_deg: float = 0.0) -> Simulation:
    """A quadrotor near the ground, looking to some side."""
    drone = f"{{name: drone, model: iris, sensors: false, pose: {{position: [0, 0, 0.13], rpy_deg: [0, 0, {yaw_deg}]}}"
    return Simulation(loads(f"{AIR}{more}vehicles: [{drone}, pilot: {pilot}}}]\n"))


def hovering(**options: Any) -> Simulation:
    run = flight(**options)
    run.run(6.0)
    return run


def place(run: Simulation) -> FloatArray:
    """[x y z yaw] of its base_link."""
    pose = run.bodies["drone/base_link"].pose
    return np.array([*pose[:3], quaternions.to_rpy(pose[3:])[2]])


def bytes_of(run: Simulation) -> bytes:
    """Of its poses and its rotors: what any difference would reach."""
    return run.snapshot().poses.tobytes() + run.vehicles["drone"].speeds.tobytes()


@pytest.mark.parametrize("wind", ["", "forces: [{type: wind, velocity: [0, -6, 0]}]\n"])
@pytest.mark.parametrize("yaw_deg", only([0.0, 120.0], 1))
def test_it_flies_at_the_commanded_velocity_along_its_heading(yaw_deg: float, wind: str) -> None:
    """v t, turned by the heading; a wind does not change it."""
    run = hovering(yaw_deg=yaw_deg, more=wind)
    run.run(6.0)
    run.vehicles["drone"].cmd_vel(2.0, 1.0, linear_z=0.5, timeout=0)
    run.run(4.0)
    before = place(run)
    run.run(2.0)
    cosine, sine = math.cos(math.radians(yaw_deg)), math.sin(math.radians(yaw_deg))
    expected = np.array([2.0 * cosine - 1.0 * sine, 2.0 * sine + 1.0 * cosine, 0.5])
    np.testing.assert_allclose((place(run) - before)[:3] / 2.0, expected, atol=0.03 * np.linalg.norm(expected))
    assert place(run)[3] == pytest.approx(math.remainder(math.radians(yaw_deg), 2 * math.pi), abs=0.02)


def test_ahead_and_turning_is_a_circle() -> None:
    """Of radius v/w, which takes 2 pi/w."""
    run = hovering()
    run.vehicles["drone"].cmd_vel(1.5, 0.0, 0.5, timeout=0)
    run.run(3.0)
    start, flown = place(run), []
    for _ in range(100):
        run.run(4.0 * math.pi / 100)
        flown.append(place(run))
    path = np.array(flown)
    assert np.linalg.norm(path[-1, :2] - start[:2]) < 0.03 * 2 * math.pi * 3.0
    assert math.remainder(path[-1, 3] - start[3], 2 * math.pi) == pytest.approx(0.0, abs=0.03 * 2 * math.pi)
    radii = np.linalg.norm(path[:, :2] - path[:, :2].mean(axis=0), axis=1)
    np.testing.assert_allclose(radii, 1.5 / 0.5, rtol=0.03)
    rates = np.diff(np.unwrap(path[:, 3])) / (4.0 * math.pi / 100)
    np.testing.assert_allclose(rates, 0.5, rtol=0.03)


def test_a_command_beyond_the_limits_is_scaled_down_as_a_whole() -> None:
    """Here by 4: to the pilot's 5 m/s, of which 3 ahead and 4 to the left; the turn is less, too."""
    run = hovering()
    run.vehicles["drone"].cmd_vel(12.0, 16.0, timeout=0)
    run.run(5.0)
    before = place(run)
    run.run(1.0)
    np.testing.assert_allclose((place(run) - before)[:3], [3.0, 4.0, 0.0], atol=0.03 * 5.0)
    run.vehicles["drone"].cmd_vel(2.0, 0.0, 4.0, timeout=0)
    run.run(4.0)
    before = place(run)
    run.run(1.0)
    assert place(run)[3] - before[3] == pytest.approx(1.0, rel=0.03)


def test_it_brakes_at_the_expiry_and_holds_its_position() -> None:
    """v t from where it began: what it misses while its speed rises it makes up for while it brakes."""
    run = hovering()
    drone, start = run.vehicles["drone"], place(run)
    drone.cmd_vel(2.0, timeout=3.0)
    run.run(3.0)
    assert run.bodies["drone/base_link"].twist[0] == pytest.approx(2.0, rel=0.03)
    run.run(8.0)
    held = place(run)
    assert held[0] - start[0] == pytest.approx(2.0 * 3.0, abs=0.05)
    for _ in range(20):
        run.run(0.25)
        assert np.linalg.norm((place(run) - held)[:3]) < 0.05
    drone.cmd_vel(0.0, 1.0)  # for 0.5 s, of which 0.4 s are enough to be that fast
    run.run(4.0)
    assert 0.4 < place(run)[1] - held[1] < 0.6
    drone.cmd_vel(0.0, 1.0, timeout=0)
    run.run(2.0)
    drone.cmd_vel()
    run.run(8.0)
    held = place(run)
    run.run(2.0)
    assert np.linalg.norm((place(run) - held)[:3]) < 0.05


def test_it_holds_its_position_when_it_is_taken_from_its_mission() -> None:
    """Here on a leg at 4 m/s, from which it brakes in v^2/2a and by what its drag has it trail its setpoint."""
    run = flight("{wait: 0, take_off: 2, speed: 4, waypoints: [[60, 0, 2.13]]}")
    run.run(8.0)
    assert run.bodies["drone/base_link"].twist[0] == pytest.approx(4.0, rel=0.03)
    before = place(run)
    run.vehicles["drone"].cmd_vel()
    run.run(15.0)
    held = place(run)
    assert held[0] - before[0] == pytest.approx(4.0**2 / (2 * 2.5) + 0.3, abs=0.3)
    run.run(10.0)
    assert np.linalg.norm((place(run) - held)[:3]) < 0.05
    run.reset()
    run.run(8.0)
    np.testing.assert_array_equal(place(run), before)  # a reset gives the mission back


def test_on_the_ground_its_motors_stand_until_it_is_to_go_up_and_again_once_it_has_landed() -> None:
    run = flight("{wait: 1, take_off: 2}")
    drone = run.vehicles["drone"]
    drone.cmd_vel(1.0, timeout=0)
    run.run(3.0)
    assert drone.command.tolist() == [0.0] * 4
    on_ground = place(run)
    drone.cmd_vel(linear_z=1.0, timeout=2.0)
    run.run(5.0)
    # From rest to 1 m/s within 0.4 s, and back to rest in the same time.
    assert place(run)[2] - on_ground[2] == pytest.approx(2.0, abs=0.1)
    drone.cmd_vel(linear_z=-0.8, timeout=0)
    run.run(1.0)
    assert (drone.command > 0.0).all()
    run.run(3.0)
    assert drone.command.tolist() == [0.0] * 4
    np.testing.assert_allclose(place(run)[:3], on_ground[:3], atol=0.1)


def test_a_head_wind_does_not_keep_it_from_its_speed() -> None:
    """Of 13 m/s through the air: it trails its setpoint by as much as at a wall, but is not blocked."""
    run = hovering(more="forces: [{type: wind, velocity: [-8, 0, 0]}]\n")
    run.vehicles["drone"].cmd_vel(5.0, timeout=0)
    run.run(12.0)
    before = place(run)
    run.run(2.0)
    assert (place(run) - before)[0] / 2.0 == pytest.approx(5.0, rel=0.03)


def test_a_wall_does_not_wind_it_up() -> None:
    """However long it pushes, it soon leaves: after the ways of 2 s, of the leash and of turning round."""
    wall = "  - {name: wall, pose: {position: [3, 0, 3]}, geometry: [{box: [0.2, 4, 3]}]}\n"
    run = hovering(more=wall)
    drone = run.vehicles["drone"]
    drone.cmd_vel(1.0, timeout=0)
    run.run(12.0)
    before = place(run)
    assert before[0] < 3.0
    drone.cmd_vel(-1.0, timeout=0)
    run.run(4.0)
    assert before[0] - place(run)[0] > 1.0 * (4.0 - 2.5)


def test_the_same_commands_give_the_same_bytes_and_a_restored_run_goes_on_to_the_bit() -> None:
    """In the middle of a command, and before its expiry."""
    found = []
    for _ in range(2):
        run = hovering()
        run.vehicles["drone"].cmd_vel(1.0, -0.5, 0.3, linear_z=0.2, timeout=2.0)
        run.run(0.7)
        state = run.state
        run.run(3.0)
        found.append(bytes_of(run))
        run.restore(state)
        run.run(3.0)
        found.append(bytes_of(run))
    other = flight()
    other.restore(state)  # of a run that was never commanded
    other.run(3.0)
    assert {*found, bytes_of(other)} == {found[0]}
    assert bytes_of(hovering()) != found[0]


def test_a_pilot_that_nobody_commands_flies_as_before() -> None:
    """Beside one that is flown by hand, to the bit: their rows do not mix."""
    pair = "vehicles:\n" + "".join(
        f"  - {{name: {name}, model: iris, sensors: false, pilot: {PILOT}, pose: {{position: [0, {y}, 9]}}}}\n"
        for name, y in (("drone", 0), ("other", 50))
    )
    found = []
    for commanded in (False, True):
        run = Simulation(loads(AIR + pair))
        run.run(2.0)
        if commanded:
            run.vehicles["drone"].cmd_vel(1.0, timeout=0)
        run.run(2.0)
        found.append([run.bodies[f"{name}/base_link"].pose.tobytes() for name in ("drone", "other")])
    assert found[0][1] == found[1][1]
    assert found[0][0] != found[1][0]


def test_a_change_of_the_world_does_not_take_it_out_of_the_hand() -> None:
    """Neither the command nor the setpoint, nor when it expires."""
    found = []
    for changed in (False, True):
        run = hovering()
        run.vehicles["drone"].cmd_vel(1.0, 0.5, timeout=2.0)
        run.run(1.0)
        if changed:
            run.add(Body("crate", "map", "free", q=np.array([0, 90, 5, 0, 0, 0, 1.0]), geometry=(CRATE,)))
        run.run(5.0)
        found.append(place(run))
    np.testing.assert_allclose(found[1], found[0], atol=1e-6)
    assert found[0][0] == pytest.approx(1.0 * 2.0, abs=0.1)


@pytest.mark.parametrize(
    ("pilot", "message"),
    [("none", r"'drone' has no pilot to fly it; add `pilot: \{after: hold\}`"), (PILOT, "")],
)
def test_what_is_refused(pilot: str, message: str) -> None:
    run = flight(pilot)
    drone = run.vehicles["drone"]
    if message:
        with pytest.raises(ValueError, match=message):
            drone.cmd_vel(1.0)
    for bad in ({"linear_x": math.nan}, {"linear_z": math.inf}, {"timeout": -1.0}, {"timeout": math.nan}):
        with pytest.raises(ValueError, match="'drone'"):
            drone.cmd_vel(**bad)
    assert pilot == "none" or not run.columns["pilot/by_hand"].any()


def test_an_autopilot_is_not_taken_over() -> None:
    run = Simulation("guided", sensors=False)
    (name,) = run.vehicles
    with pytest.raises(ValueError, match=r"is flown by its autopilot \(mavlink_builtin\).*sim_node teleop"):
        run.vehicles[name].cmd_vel(1.0)
