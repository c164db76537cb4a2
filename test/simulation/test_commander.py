"""Wrenches, rotor speeds and attitudes from outside, against Newton's laws."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from sim_node.simulation import Loop, Simulation
from sim_node.simulation.commander import Commander
from sim_node.simulation.latest_commands import CommandRefused
from sim_node.world import WorldError, WorldWarning, load, loads

MASS, G = 2.0, 9.81
BOX = """
world: box
fixed_frame: map
time: {{step: 0.01}}
physics: {{gravity: [0, 0, 0], timestep: 0.002}}
bodies:
  - name: box
    joint: free
    pose: {{rpy_deg: [0, 0, 90]}}
    inertial: {{mass: 2, inertia: [0.1, 0.2, 0.25]}}
frames:
  - {{name: tool, parent: box, pose: {{rpy_deg: [90, 0, 0]}}}}
body_commands: [{{body: box, duration: {duration}}}]
"""
QUAD = """
world: quad
fixed_frame: map
time: {{step: 0.004}}
physics: {{integrator: euler, timestep: 0.001}}
bodies:
  - name: quad
    joint: free
    pose: {{position: [0, 0, 50], rpy_deg: [0, {pitch}, 0]}}
    inertial: {{mass: 2, inertia: [0.02, 0.02, 0.04]}}
vehicles:
  - name: drone
    body: quad
    rotor: {{thrust_coefficient: 1.0e-5, moment_coefficient: 0.02, max_speed: 1500, min_speed: 50}}
    rotors:
      - {{position: [0.2, -0.2, 0], spin: ccw}}
      - {{position: [-0.2, 0.2, 0], spin: ccw}}
      - {{position: [0.2, 0.2, 0], spin: cw}}
      - {{position: [-0.2, -0.2, 0], spin: cw}}
vehicle_commands: [{{vehicle: drone, timeout: {timeout}}}]
"""
CART = """
<mujoco>
  <worldbody>
    <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom type="box" size=".1 .1 .1" mass="2"/></body>
  </worldbody>
</mujoco>
"""
# Of four rotors, each with 1e-5 w^2 N.
LIFT = 4 * 1e-5 * 1500**2
HOVER = math.sqrt(MASS * G / 4 / 1e-5)


def commanded(text: str) -> tuple[Simulation, Commander]:
    simulation = Simulation(loads(text))
    commander = Commander(simulation)
    simulation.connect(commander)
    return simulation, commander


@pytest.mark.parametrize("duration", [0.25, 0.0137, 0.003])
def test_a_force_for_a_time_is_an_impulse(duration: float) -> None:
    simulation, commander = commanded(BOX.format(duration=duration))
    commander.push("box", "", np.array([3.0, 0, -1, 0, 0, 0.05]))
    simulation.run(0.5)
    expected = np.array([3.0, 0, -1]) * duration / MASS
    np.testing.assert_allclose(simulation.bodies["box"].twist[:3], expected, rtol=1e-9, atol=1e-12)
    assert simulation.bodies["box"].twist[5] == pytest.approx(0.05 * duration / 0.25, rel=1e-9)
    assert not simulation.bodies["box"].wrench.any()


@pytest.mark.parametrize(("frame", "direction"), [("map", [1, 0, 0]), ("box", [0, 1, 0]), ("tool", [0, 0, 1])])
def test_a_wrench_is_along_the_axes_of_its_frame(frame: str, direction: list[float]) -> None:
    """The box is turned by 90 degrees about z, so its x is the map's y; y of the tool is the box's z."""
    simulation, commander = commanded(BOX.format(duration=0.1))
    force = [0.0, 4.0, 0.0] if frame == "tool" else [4.0, 0.0, 0.0]
    commander.push("box", frame, np.array([*force, 0, 0, 0]))
    simulation.run(0.2)
    np.testing.assert_allclose(simulation.bodies["box"].twist[:3], np.array(direction) * 4.0 * 0.1 / MASS, atol=1e-12)


def test_it_follows_a_frame_that_turns() -> None:
    """The thrust of a top: in a whole turn its force along its own x has no impulse, half of one leaves 2 F / w."""
    simulation, commander = commanded(BOX.format(duration=0.5))
    simulation.bodies["box"].twist = [0, 0, 0, 0, 0, 2 * math.pi]
    commander.push("box", "box", np.array([1.0, 0, 0, 0, 0, 0]))
    simulation.run(0.5)
    # It begins along y: the integral of (-sin, cos) over half a turn is (-2 / w, 0).
    expected = np.array([-2.0 / (2 * math.pi) / MASS, 0.0])
    np.testing.assert_allclose(simulation.bodies["box"].twist[:2], expected, atol=0.02 * abs(expected[0]) + 0.003)


def test_the_next_command_replaces_the_last_and_python_s_wrench_stays() -> None:
    simulation, commander = commanded(BOX.format(duration=10.0))
    simulation.bodies["box"].wrench = [0, 0, 1.0, 0, 0, 0]
    commander.push("box", "", np.array([5.0, 0, 0, 0, 0, 0]))
    commander.push("box", "", np.array([0, 7.0, 0, 0, 0, 0]))
    simulation.step(2)
    np.testing.assert_array_equal(simulation.bodies["box"].wrench, [0, 7.0, 1.0, 0, 0, 0])
    simulation.reset()
    simulation.run(0.1)
    assert not simulation.bodies["box"].wrench.any()
    assert not simulation.bodies["box"].twist.any()


def test_a_command_that_arrived_acts_in_the_next_step() -> None:
    simulation, commander = commanded(BOX.format(duration=1.0))
    loop = Loop(simulation, (), paused=True)
    loop.start()
    try:
        commander.push("box", "", np.array([1.0, 0, 0, 0, 0, 0]))
        loop.post(commander.drain)
        loop.step()
        assert loop.call(lambda: simulation.bodies["box"].twist[0]) == pytest.approx(0.01 / MASS)
    finally:
        loop.stop()


def test_rotors_at_hover_speed_hold_the_height() -> None:
    simulation, commander = commanded(QUAD.format(pitch=0, timeout=0))
    commander.spin("drone", np.full(4, HOVER))
    commander.drain()
    simulation.run(5.0)
    np.testing.assert_allclose(simulation.bodies["quad"].pose[:3], [0, 0, 50], atol=1e-6)
    np.testing.assert_allclose(simulation.vehicles["drone"].speeds, HOVER)
    commander.spin("drone", np.array([0.0, 10.0, 2000.0, HOVER]))
    simulation.run(0.1)
    np.testing.assert_allclose(simulation.vehicles["drone"].speeds, [0.0, 50.0, 1500.0, HOVER])


def test_motors_stop_when_commands_do() -> None:
    simulation, commander = commanded(QUAD.format(pitch=0, timeout=0.2))
    commander.spin("drone", np.full(4, HOVER))
    commander.drain()
    simulation.run(0.2)
    assert simulation.bodies["quad"].twist[2] == pytest.approx(0.0, abs=1e-9)
    simulation.run(0.5)
    assert simulation.bodies["quad"].twist[2] == pytest.approx(-G * 0.5, rel=1e-6)


@pytest.mark.parametrize("begin", [10, 0])
def test_a_tilt_accelerates_by_g_tan(begin: float) -> None:
    """At the thrust that holds the height; also when it has to tilt first."""
    simulation, commander = commanded(QUAD.format(pitch=begin, timeout=0))
    angle = math.radians(10)
    orientation = Rotation.from_euler("y", angle).as_quat()
    commander.turn("drone", orientation, MASS * G / math.cos(angle) / LIFT)
    commander.drain()
    if begin == 0:
        simulation.run(5.0)
    before = simulation.bodies["quad"].twist[:3].copy()
    simulation.run(1.0)
    change = simulation.bodies["quad"].twist[:3] - before
    np.testing.assert_allclose(change, [G * math.tan(angle), 0, 0], atol=1e-3)


def test_a_heading_is_followed() -> None:
    simulation, commander = commanded(QUAD.format(pitch=0, timeout=0))
    orientation = Rotation.from_euler("zyx", [120, 5, -4], degrees=True)
    commander.turn("drone", orientation.as_quat(), MASS * G / LIFT)
    simulation.run(15.0)
    found = Rotation.from_quat(simulation.bodies["quad"].pose[3:])
    assert (found.inv() * orientation).magnitude() < 1e-3


def test_what_does_not_fit_is_refused() -> None:
    _, commander = commanded(QUAD.format(pitch=0, timeout=0))
    with pytest.raises(CommandRefused, match="3 speeds; the vehicle has 4 rotors"):
        commander.spin("drone", np.zeros(3))
    for speeds in ([np.nan, 1, 1, 1], [-1, 1, 1, 1]):
        with pytest.raises(CommandRefused, match=r"the speeds: .* allowed: 0 to"):
            commander.spin("drone", np.array(speeds))
    with pytest.raises(CommandRefused, match="not of unit length"):
        commander.turn("drone", np.zeros(4), 0.5)
    with pytest.raises(CommandRefused, match="the thrust nan is not finite"):
        commander.turn("drone", np.array([0, 0, 0, 1.0]), math.nan)
    _, commander = commanded(BOX.format(duration=1))
    with pytest.raises(CommandRefused, match="there is no frame 'tol'; did you mean tool"):
        commander.push("box", "tol", np.zeros(6))
    with pytest.raises(CommandRefused, match="is not finite"):
        commander.push("box", "", np.full(6, np.inf))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("body_commands: [{body: bx}]", ":13:24: body_commands[0].body: no body 'bx'; did you mean box?"),
        ("body_commands: [{body: box, duration: -1}]", "duration: -1 is out of range; allowed: 0 to 3600"),
        ("body_commands: [{body: box, durtion: 1}]", "unknown key; did you mean duration?"),
        ("body_commands: [{duration: 1}]", "body is missing"),
        ("body_commands: [{body: box}, {body: box}]", "'box' is listed twice"),
        ("vehicle_commands: [{vehicle: dron}]", "no vehicle 'dron'; did you mean drone?"),
        ("vehicle_commands: [{vehicle: drone}]", "'drone' is flown by its pilot; leave that out"),
        ("vehicle_commands: [{vehicle: drone, accept: [atitude]}]", "did you mean attitude?"),
        ("vehicle_commands: [{vehicle: drone, accept: []}]", "is empty; allowed: rotor_speeds, attitude"),
    ],
)
def test_a_mistake_in_a_world_file_has_its_place(text: str, error: str) -> None:
    world = BOX.format(duration=1).strip().rpartition("\n")[0]
    vehicle = "vehicles: [{name: drone, model: iris, pilot: {}}]"
    with pytest.raises(WorldError) as raised:
        Simulation(loads("\n".join([world, vehicle, text])))
    assert error in str(raised.value)


def test_links_of_models_are_pushed_like_bodies(tmp_path: Path) -> None:
    """3 N for 0.25 s on the 2 kg of a slide: 0.375 m/s. Its misspelt name is an error with the nearest."""
    (tmp_path / "cart.xml").write_text(CART, encoding="utf-8")
    text = (
        "time: {step: 0.01}\ninclude: [{file: cart.xml, prefix: a}]\nbody_commands: [{body: a/NAME, duration: 0.25}]\n"
    )
    (tmp_path / "lab.yaml").write_text(text.replace("NAME", "cart"), encoding="utf-8")
    (tmp_path / "typo.yaml").write_text(text.replace("NAME", "card"), encoding="utf-8")
    simulation = Simulation(load(tmp_path / "lab.yaml"))
    commander = Commander(simulation)
    simulation.connect(commander)
    commander.push("a/cart", "", np.array([3.0, 0, 0, 0, 0, 0]))
    simulation.run(0.5)
    assert simulation.joints["a/slide"].velocity == pytest.approx([0.375])
    with pytest.raises(WorldError, match="no body 'a/card'; did you mean a/cart"):
        Simulation(load(tmp_path / "typo.yaml"))


def test_a_body_that_cannot_move_is_refused() -> None:
    ball = "{name: ball, joint: free, geometry: [{sphere: 1, mass: 1}]}"
    text = "bodies: [{name: wall, geometry: [{box: [1, 1, 1]}]}, " + ball + "]"
    with pytest.raises(WorldError, match="'wall' has no wrench"):
        commanded(text + "\nbody_commands: [{body: wall}]")


def test_an_included_world_keeps_its_commands(tmp_path: Path) -> None:
    for name, text in (("box", BOX.format(duration=1)), ("quad", QUAD.format(pitch=0, timeout=1))):
        (tmp_path / f"{name}.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "lab.yaml").write_text("include: [{file: box.yaml, prefix: a}, {file: quad.yaml, prefix: b}]\n")
    with pytest.warns(WorldWarning):  # of physics and time, which the including world sets
        world = load(tmp_path / "lab.yaml")
    assert [each.body for each in world.body_commands] == ["a/box"]
    assert [each.vehicle for each in world.vehicle_commands] == ["b/drone"]
    Commander(Simulation(world))


def test_the_sections_round_trip() -> None:
    from sim_node.world.writers.yaml import to_yaml

    for text in (BOX.format(duration=0.25), QUAD.format(pitch=0, timeout=2)):
        world = loads(text)
        back = loads(to_yaml(world))
        assert (back.body_commands, back.vehicle_commands) == (world.body_commands, world.vehicle_commands)
