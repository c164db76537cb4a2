"""Wheeled bases in a run: against analytic arcs, with wheels on the ground, and their commands and limits."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import WorldError, loads
from sim_node.world.load import load
from sim_node.world.writers.yaml import to_yaml

YARD = """
world: yard
time: {step: 0.002}
physics: {integrator: implicitfast, timestep: 0.002}
ground: {friction: 0.8}
bases:
  - {name: amr, model: differential, DRIVE, pose: {position: [1, 2, 0], rpy_deg: [0, 0, 30]}, sensors: [IMU], LIMITS}
"""
FREE = "limits: {}"


def yard(drive: str = "kinematic", limits: str = FREE) -> Simulation:
    return Simulation(loads(YARD.replace("DRIVE", f"drive: {drive}").replace("LIMITS", limits)))


def true_pose(run: Simulation, base: str = "amr") -> FloatArray:
    """[x y yaw] of a base, relative to its start."""
    x, y, _, _, _, qz, qw = run.bodies[f"{base}/base_link"].pose
    start, turn = np.array([1.0, 2.0]), math.radians(30)
    away = np.array([[math.cos(turn), math.sin(turn)], [-math.sin(turn), math.cos(turn)]]) @ ([x, y] - start)
    return np.array([*away, math.remainder(2 * math.atan2(qz, qw) - turn, 2 * math.pi)])


def arc(speed: float, turn: float, seconds: float) -> FloatArray:
    radius, angle = speed / turn, turn * seconds
    return np.array([radius * math.sin(angle), radius * (1 - math.cos(angle)), angle])


def test_a_kinematic_base_follows_the_analytic_arc() -> None:
    run = yard()
    amr = run.vehicles["amr"]
    amr.cmd_vel(0.8, 0.0, 0.6, timeout=0)
    run.run(5.0)
    np.testing.assert_allclose(amr.odometry, arc(0.8, 0.6, 5.0), atol=1e-9)
    np.testing.assert_allclose(true_pose(run), arc(0.8, 0.6, 5.0), atol=1e-9)
    np.testing.assert_allclose(amr.slip, 0.0, atol=1e-9)
    found = run.frames.lookup(run.snapshot().poses, "amr/odom", "amr/base_link")
    np.testing.assert_allclose(found[:2], arc(0.8, 0.6, 5.0)[:2], atol=1e-9)
    between = run.seek(5_000_000_000 + 1_000_000)
    found = run.frames.lookup(between.poses, "amr/odom", "amr/base_link")
    np.testing.assert_allclose(found[:2], arc(0.8, 0.6, 5.001)[:2], atol=1e-9)


# Takes seconds: make test has arcs and limits.
@pytest.mark.nightly
def test_wheels_on_the_ground_slip_a_little() -> None:
    """The odometry counts what the wheels turn; that it is not the truth is slip, below 1 % here, and is reported."""
    run = yard("wheels", "limits: {linear_acceleration: 1, angular_acceleration: 3}")
    amr = run.vehicles["amr"]
    amr.cmd_vel(0.8, 0.0, 0.6, timeout=0)
    run.run(5.0)
    truth, told = true_pose(run), amr.odometry
    path = 0.8 * 5.0
    assert 1e-6 < np.hypot(*(truth - told)[:2]) < 0.01 * path
    assert abs(truth[2] - told[2]) < 0.01 * 0.6 * 5.0
    assert np.abs(amr.slip[[0, 2]]).max() < 0.01
    assert amr.twist[0] == pytest.approx(0.8, rel=0.005)


# Takes seconds: make test has arcs and limits.
@pytest.mark.nightly
def test_a_kinematic_base_accelerates_as_it_moves() -> None:
    """What imus on it measure: v w towards the middle of the arc, and no fall."""
    run = yard()
    run.vehicles["amr"].cmd_vel(0.8, 0.0, 0.6, timeout=0)
    run.run(2.0)
    x, y, z = run.observer(["amr/base_link"])().acceleration[0, :3]
    heading = math.radians(30) + 0.6 * 2.0
    np.testing.assert_allclose([x, y], [-0.48 * math.sin(heading), 0.48 * math.cos(heading)], atol=0.005)
    assert z == pytest.approx(0.0, abs=0.005)


def test_commands_expire() -> None:
    run = yard()
    amr = run.vehicles["amr"]
    amr.cmd_vel(1.0)
    run.run(2.0)
    assert amr.odometry[0] == pytest.approx(0.5, abs=1e-9)  # the default time-out
    amr.cmd_vel(1.0, timeout=0.1)
    run.run(1.0)
    assert amr.odometry[0] == pytest.approx(0.6, abs=1e-9)
    run.reset()
    assert np.all(amr.odometry == 0.0)
    run.run(1.0)
    assert np.all(amr.odometry == 0.0)


def test_limits_keep_the_path_and_bound_the_acceleration() -> None:
    run = yard(limits="limits: {linear: 0.5, angular: 5, linear_acceleration: 2}")
    amr = run.vehicles["amr"]
    amr.cmd_vel(2.0, 0.0, 1.0, timeout=0)
    run.run(0.1)
    assert amr.twist[0] == pytest.approx(0.2)
    run.run(1.0)
    np.testing.assert_allclose(amr.twist, [0.5, 0.0, 0.25])  # slower, on the same circle


# Takes seconds: make test has arcs and limits.
@pytest.mark.nightly
def test_limits_backwards_and_to_the_right_are_their_own() -> None:
    reverse = "reverse: {linear: 0.2, angular: 0.5, linear_acceleration: 4}"
    run = yard(limits=f"limits: {{linear: 1, angular: 2, linear_acceleration: 1, {reverse}}}")
    assert loads(to_yaml(run.world)).bases == run.world.bases
    amr = run.vehicles["amr"]
    amr.cmd_vel(3.0, 0.0, 0.0, timeout=0)
    run.run(2.0)
    assert amr.twist[0] == pytest.approx(1.0)
    amr.cmd_vel(-3.0, 0.0, 0.0, timeout=0)
    run.run(0.1)
    assert amr.twist[0] == pytest.approx(0.6), "4 m/s^2 downwards"
    run.run(1.0)
    assert amr.twist[0] == pytest.approx(-0.2)
    amr.cmd_vel(0.0, 0.0, -3.0, timeout=0)
    run.run(1.0)
    assert amr.twist[2] == pytest.approx(-0.5)
    amr.cmd_vel(0.0, 0.0, 3.0, timeout=0)
    run.run(0.1)
    assert amr.twist[2] == pytest.approx(2.0)


# Takes seconds: make test has arcs and limits.
@pytest.mark.nightly
def test_a_jerk_bounds_the_change_of_the_acceleration() -> None:
    run = yard(limits="limits: {linear_acceleration: 1, linear_jerk: 2, reverse: {linear_jerk: 4}}")
    amr, step = run.vehicles["amr"], 0.002
    amr.cmd_vel(5.0, 0.0, 0.0, timeout=0)
    run.run(0.5)
    # Of equal steps: changes of 1, 2, 3, ... times jerk step^2.
    count = round(0.5 / step)
    assert amr.twist[0] == pytest.approx(2.0 * step**2 * count * (count + 1) / 2.0)
    run.run(1.0)
    assert amr.twist[0] == pytest.approx(0.25 + 1.0, abs=2.0 * step)
    state = run.state
    amr.cmd_vel(0.0, 0.0, 0.0, timeout=0)
    run.run(0.25)
    # From 1 m/s^2 down by 4 m/s^3: the speed is the same after half a second, and has its top in the middle.
    assert amr.twist[0] == pytest.approx(1.25 + 0.125, abs=2.0 * step)
    run.run(0.25)
    assert amr.twist[0] == pytest.approx(1.25, abs=2.0 * step)
    first = run.columns["base/setpoint"].tobytes()
    run.restore(state)
    amr.cmd_vel(0.0, 0.0, 0.0, timeout=0)
    run.run(0.5)
    assert run.columns["base/setpoint"].tobytes() == first


def test_a_run_repeats_and_restores_to_the_bit() -> None:
    run = yard("wheels")
    run.vehicles["amr"].cmd_vel(0.5, 0.0, 1.0, timeout=0)
    run.run(0.5)
    state = run.state
    run.run(0.5)
    first = run.columns["base/odometry"].tobytes(), run.snapshot().poses.tobytes()
    run.restore(state)
    run.run(0.5)
    assert (run.columns["base/odometry"].tobytes(), run.snapshot().poses.tobytes()) == first


def test_bases_are_written_and_read_back() -> None:
    world = yard("wheels").world
    assert loads(to_yaml(world)).bases == world.bases


def test_handles_tell_bases_and_multirotors_apart() -> None:
    amr, drone = yard().vehicles["amr"], Simulation("quadrotor", sensors=False).vehicles["drone"]
    assert amr.drives
    assert not drone.drives
    with pytest.raises(TypeError, match="'amr' is a base on wheels"):
        _ = amr.command
    with pytest.raises(TypeError, match="'drone' is a multirotor"):
        _ = drone.odometry
    with pytest.raises(TypeError, match="'amr' is a base on wheels; only a multirotor can go up"):
        amr.cmd_vel(linear_z=1.0)
    for bad in ({"linear_x": math.nan}, {"timeout": -1.0}):
        with pytest.raises(ValueError, match="'amr'"):
            amr.cmd_vel(**bad)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{name: a, model: diferential}", "bases[0].model: found 'diferential'; allowed: .*did you mean differential"),
        ("{name: a, model: differential, sensors: [LIDA]}", "sensors[0]: found 'LIDA'; .*did you mean LIDAR"),
        ("{name: a, body: b, type: omny}", "type: found 'omny'; allowed: .*did you mean omni"),
        ("{name: a, body: b, type: differential, track: 1}", "wheel_radius is missing"),
        ("{name: a, body: b, type: differential, track: 1, wheel_radius: 0}", "0 is out of range; allowed: 0.0001"),
        (
            "{name: a, body: x, type: omni, base_radius: 1, wheel_radius: 1, drive: kinematic}",
            "bases[0].body: 'x' is not a frame",
        ),
        ("{name: a, body: b, type: differential, track: 1, wheel_radius: 1}", "joints.left: is missing"),
        (
            "{name: a, body: b, type: differential, track: 1, wheel_radius: 1, joints: {left: w, right: b}}",
            "'w' has no actuator of the type velocity",
        ),
        (
            "{name: a, body: b, type: ackermann, track: 2, wheelbase: 0.5, wheel_radius: 1, drive: kinematic}",
            "max_steering: 0.6 turns about the inner wheel; allowed: less than 0.4636",
        ),
        ("{name: a, body: w, type: omni, base_radius: 1, wheel_radius: 1, drive: kinematic}", "needs a free joint"),
    ],
)
def test_faults_name_the_key_and_what_is_allowed(entry: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "w.yaml"
    text = "bodies: [{name: b, joint: free, geometry: [{sphere: 1, mass: 1}]}, "
    text += "{name: w, parent: b, joint: ry, geometry: [{sphere: 1, mass: 1}]}]\n"
    path.write_text(f"{text}bases: [{entry}]", encoding="utf-8")
    with pytest.raises(WorldError, match=message.replace("[", r"\[").replace("]", r"\]")):
        Simulation(load(path))
