"""The `vehicles` of world files: what a model expands to, and every fault at its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sim_node.simulation import Simulation
from sim_node.world import Body, Multirotor, Pilot, Rotor, Waypoint, World, WorldError, lay_out, load
from sim_node.world.locate import shipped_vehicles

MODEL = """\
geometry: [{box: [0.2, 0.2, 0.1], mass: 1.0}]
rotor: {thrust_coefficient: 1e-5, moment_coefficient: 0.02, max_speed: 900, spin: ccw, time_constant: [0.01, 0.02]}
rotors:
  - {position: [0.1, 0, 0]}
  - {position: [-0.1, 0, 0], spin: cw, time_constant: 0.05, axis: [0, 0, -2], min_speed: 50}
drag: {linear: 0.1, quadratic: [1, 2, 3]}
frames: [{name: CAM, pose: {position: [0.1, 0, 0]}}, {name: lens, parent: CAM}]
sensors: [{name: IMU, type: imu, rate: 100}]
"""


def test_a_vehicle_is_a_body_with_rotors_frames_and_sensors_below_its_name(write: Callable[..., Path]) -> None:
    write(MODEL, "models/two.yaml")
    world = load(write("vehicles:\n  - {name: a/b, model: models/two.yaml, pose: {position: [1, 2, 3]}}\n"))
    table = lay_out(world).frames
    parents = {name: table.names[p] if p >= 0 else "" for name, p in zip(table.names, table.parents, strict=True)}
    assert parents == {
        "map": "",
        "a/b/base_link": "map",
        "a/b/rotor_0": "a/b/base_link",
        "a/b/rotor_1": "a/b/base_link",
        "a/b/CAM": "a/b/base_link",
        "a/b/lens": "a/b/CAM",
        "a/b/IMU": "a/b/base_link",
    }
    (body,) = world.bodies
    assert (body.joint, np.asarray(body.q).tolist(), body.own_mass()) == ("free", [1, 2, 3, 0, 0, 0, 1], 1.0)
    (vehicle,) = world.vehicles
    assert (vehicle.name, vehicle.body, vehicle.pilot) == ("a/b", "a/b/base_link", None)
    common: dict[str, Any] = {"thrust_coefficient": 1e-5, "moment_coefficient": 0.02, "max_speed": 900.0}
    assert vehicle.rotors == (
        Rotor(np.array([0.1, 0, 0]), "ccw", **common, time_constant_up=0.01, time_constant_down=0.02),
        Rotor(
            np.array([-0.1, 0, 0]),
            "cw",
            **common,
            min_speed=50.0,
            axis=np.array([0, 0, -1]),
            time_constant_up=0.05,
            time_constant_down=0.05,
        ),
    )
    assert (vehicle.drag_linear.tolist(), vehicle.drag_quadratic.tolist()) == ([0.1] * 3, [1, 2, 3])
    (sensor,) = world.sensors
    assert (sensor.type, sensor.parameters) == ("imu", {"rate": 100.0})


def test_a_rotor_frame_thrusts_along_its_z(write: Callable[..., Path]) -> None:
    write(MODEL.replace("axis: [0, 0, -2]", "axis: [1, 1, 1]"), "m.yaml")
    layout = lay_out(load(write("vehicles: [{name: v, model: m.yaml}]")))
    pose = layout.poses[layout.frames.index("v/rotor_1")]
    x, y, z, w = pose[3:]
    thrust = [2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)]
    np.testing.assert_allclose(thrust, np.full(3, 3**-0.5), atol=1e-15)


def test_sensors_of_a_model_may_be_left_out(write: Callable[..., Path]) -> None:
    write(MODEL, "m.yaml")
    assert load(write("vehicles: [{name: v, model: m.yaml, sensors: false}]")).sensors == ()


SETS = """\
geometry: [{box: [0.2, 0.2, 0.1], mass: 1.0}]
rotors: [{position: [0, 0, 0], thrust_coefficient: 1e-5, moment_coefficient: 0.02, max_speed: 900, spin: ccw}]
sensors:
  good: [{name: IMU, type: imu, rate: 200}, {name: CAM, pose: {position: [1, 0, 0]}}]
  bad: [{name: IMU, type: imu, rate: 50}]
"""


@pytest.mark.parametrize(
    ("chosen", "rates"),
    [("", [200.0, None]), ("good", [200.0, None]), ("true", [200.0, None]), ("bad", [50.0]), ("false", [])],
)
def test_a_vehicle_has_one_of_the_sets_of_sensors_of_its_model(
    write: Callable[..., Path], chosen: str, rates: list[float | None]
) -> None:
    write(SETS, "m.yaml")
    sensors = load(write(f"vehicles: [{{name: v, model: m.yaml{chosen and f', sensors: {chosen}'}}}]")).sensors
    assert [sensor.parameters.get("rate") for sensor in sensors] == rates
    assert all(sensor.name.startswith("v/") for sensor in sensors)


def test_two_vehicles_of_a_model_may_have_different_sensors(write: Callable[..., Path]) -> None:
    write(SETS, "m.yaml")
    world = load(write("vehicles: [{name: a, model: m.yaml, sensors: bad}, {name: b, model: m.yaml}]"))
    assert [sensor.name for sensor in world.sensors] == ["a/IMU", "b/IMU", "b/CAM"]


@pytest.mark.parametrize(
    ("model", "entry", "line"),
    [
        (
            SETS,
            "sensors: goood",
            "w.yaml:1:46: vehicles[0].sensors: found 'goood'; "
            "allowed: true, True, TRUE, false, False, FALSE, good, bad; did you mean good?",
        ),
        (SETS.replace("bad:", "true:"), "pose: {}", "m.yaml:5:3: sensors.true: is not a name of a set; use a word"),
        (SETS.replace("[{name: IMU, type: imu, rate: 50}]", "7"), "pose: {}", "m.yaml:5:8: sensors.bad: a list"),
        (SETS.replace("rate: 50", "parent: [1]"), "sensors: good", "m.yaml:5:40: sensors.bad[0].parent: a text"),
    ],
)
def test_faults_of_sets_of_sensors(write: Callable[..., Path], model: str, entry: str, line: str) -> None:
    """Also in a set that no vehicle has."""
    write(model, "m.yaml")
    with pytest.raises(WorldError) as caught:
        load(write(f"vehicles: [{{name: v, model: m.yaml, {entry}}}]"))
    assert str(caught.value).startswith(line)


def test_a_pilot_with_its_mission(read: Callable[..., World]) -> None:
    world = read("""
        vehicles:
          - name: v
            model: iris
            sensors: false
            pilot:
              wait: 2
              take_off: 5
              speed: 7
              rate: 100
              after: loop
              waypoints:
                - [1, 2, 3]
                - {position: [4, 5, 6], yaw_deg: 180, speed: 2, hold: 3, radius: 0.1}
    """)
    waypoints = (Waypoint(np.array([1, 2, 3])), Waypoint(np.array([4, 5, 6]), np.pi, 2.0, 3.0, 0.1))
    assert world.vehicles[0].pilot == Pilot(waypoints, "loop", 2.0, 5.0, speed=7.0, rate=100.0)


def test_included_vehicles_get_the_prefix_and_fly_relative_to_their_place(write: Callable[..., Path]) -> None:
    """A mission on an included map: 90 degrees turned, its x is the world's y."""
    write("""
        world: part
        physics: {integrator: implicitfast}
        vehicles:
          - {name: v, model: iris, sensors: false,
             pilot: {wait: 0, after: hold, waypoints: [{position: [3, 0, 2], yaw: 0}]}}
        """, "part.yaml")  # fmt: skip
    path = write("""
        physics: {integrator: implicitfast}
        include:
          - {file: part.yaml, prefix: yard, pose: {position: [10, 0, 5], rpy_deg: [0, 0, 90]}}
        """)
    world = load(path)
    assert (world.vehicles[0].name, world.vehicles[0].body) == ("yard/v", "yard/v/base_link")
    simulation = Simulation(world)
    simulation.run(20.0)
    pose = simulation.frames.lookup(simulation.snapshot().poses, "map", "yard/v/base_link")
    np.testing.assert_allclose(pose, [10, 3, 7, 0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)], atol=0.02)


@pytest.mark.parametrize("model", shipped_vehicles())
def test_shipped_models_fly_and_weigh_what_they_say(read: Callable[..., World], model: str) -> None:
    world = read(f"vehicles: [{{name: v, model: {model}, sensors: false}}]")
    assert world.bodies[0].inertial is not None
    lift = sum(r.thrust_coefficient * r.max_speed**2 for r in world.vehicles[0].rotors)
    assert 1.5 < lift / (world.bodies[0].own_mass() * 9.81) < 5.0
    assert np.abs(np.sum([r.position for r in world.vehicles[0].rotors], axis=0)[:2]).max() < 1e-9
    assert sum({"ccw": 1, "cw": -1}[r.spin] for r in world.vehicles[0].rotors) == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{model: iris}", "1:12: vehicles[0]: name is missing"),
        ("{name: v}", "1:12: vehicles[0]: model is missing"),
        (
            "{name: v, model: irs}",
            "1:29: vehicles[0].model: found 'irs'; allowed: hexarotor, iris, or the path of a model file; "
            "did you mean iris?",
        ),
        ("{name: v, model: no.yaml}", "1:29: vehicles[0].model: no file 'no.yaml' beside w.yaml"),
        (
            "{name: /v, model: iris}",
            "1:19: vehicles[0].name: the name '/v' begins with a slash, which tf2 refuses; did you mean v?",
        ),
        (
            "{name: v, model: iris, pilt: none}",
            "1:35: vehicles[0].pilt: unknown key; did you mean pilot? "
            "(known: name, model, parent, pose, pilot, autopilot, sensors)",
        ),
        (
            "{name: v, model: iris, pilot: auto}",
            "1:42: vehicles[0].pilot: `none` or a mapping is needed (waypoints, after, wait, take_off, "
            "speed, acceleration, landing_speed, yaw_rate, rate), found 'auto'",
        ),
        (
            "{name: v, model: iris, pilot: {speed: -1}}",
            "1:50: vehicles[0].pilot.speed: -1 is out of range; allowed: 0.001 to 1000",
        ),
        (
            "{name: v, model: iris, pilot: {after: fly}}",
            "1:50: vehicles[0].pilot.after: found 'fly'; allowed: land, hold, loop",
        ),
        (
            "{name: v, model: iris, pilot: {waypoints: [{yaw: 1}]}}",
            "1:55: vehicles[0].pilot.waypoints[0]: position is missing",
        ),
        (
            "{name: v, model: iris, pilot: {waypoints: [{position: [0, 0, 1], yaw: 1, yaw_deg: 2}]}}",
            "1:94: vehicles[0].pilot.waypoints[0].yaw_deg: cannot be combined with yaw; give one of them",
        ),
        (
            "{name: v, model: iris, pilot: {waypoints: [[0, 1]]}}",
            "1:55: vehicles[0].pilot.waypoints[0]: a list of 3 numbers is needed, found a list of 2",
        ),
        (
            "{name: v, model: iris, sensors: some}",
            "1:44: vehicles[0].sensors: found 'some'; allowed: true, True, TRUE, false, False, FALSE, calibrated, worn",
        ),
    ],
)
def test_faults_of_a_vehicle(faults: Callable[..., list[str]], text: str, line: str) -> None:
    assert faults(f"vehicles: [{text}]") == [f"w.yaml:{line}"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("max_speed: 900, ", "", "4:5: rotors[0]: max_speed is missing"),
        ("spin: cw", "spin: left", "5:36: rotors[1].spin: found 'left'; allowed: ccw, cw"),
        ("[0, 0, -2]", "[0, 0, 0]", "5:67: rotors[1].axis: is zero; an axis needs a direction"),
        ("min_speed: 50", "min_speed: 950", "5:5: rotors[1]: min_speed 950 is not below max_speed 900"),
        ("linear: 0.1", "linear: -1", "6:16: drag.linear: -1 is out of range; allowed: 0 to 1e+06"),
        (
            "time_constant: 0.05",
            "time_constant: [1, 2, 3]",
            "5:55: rotors[1].time_constant: a list of 2 numbers is needed, found a list of 3",
        ),
        ("1e-5", "-1e-5", "2:29: rotor.thrust_coefficient: -1e-5 is out of range; allowed: 1e-15 to 1000"),
        (
            "drag:",
            "drg:",
            "6:1: drg: unknown key; did you mean drag? "
            "(known: inertial, geometry, rotor, rotors, drag, frames, sensors)",
        ),
    ],
)  # fmt: skip
def test_faults_of_a_model_are_located_in_its_file(
    write: Callable[..., Path], faults: Callable[..., list[str]], old: str, new: str, line: str
) -> None:
    write(MODEL.replace(old, new, 1), "models/m.yaml")
    found = faults("vehicles: [{name: v, model: models/m.yaml}]")
    assert f"models/m.yaml:{line}" in found


def test_an_empty_model(write: Callable[..., Path], faults: Callable[..., list[str]]) -> None:
    write("", "m.yaml")
    assert faults("vehicles: [{name: v, model: m.yaml}]") == ["m.yaml: is empty; a vehicle has at least rotors"]


def test_a_model_outside_the_worlds_folder_is_refused(
    write: Callable[..., Path], faults: Callable[..., list[str]]
) -> None:
    assert "is outside the world's folder" in faults("vehicles: [{name: v, model: ../m.yaml}]")[0]


# Worlds made in Python


def problems(vehicle: Multirotor, *bodies: Body) -> list[str]:
    with pytest.raises(WorldError) as error:
        lay_out(World("w", bodies=bodies, vehicles=(vehicle,)))
    return [f"{problem.key}: {problem.message}" for problem in error.value.problems]


ROTOR = Rotor(np.array([0, 0, 0]), "ccw", 1e-5, 0.02, 900.0)


def test_a_vehicle_needs_a_body_on_a_free_joint() -> None:
    vehicle = Multirotor("v", "v/base_lnk", (ROTOR,))
    body = Body("v/base_link", "map")
    assert problems(vehicle, body) == [
        "vehicles.v.body: 'v/base_lnk' is not a body of this world; did you mean v/base_link?"
    ]
    assert problems(replace(vehicle, body="v/base_link"), body) == [
        "vehicles.v.body: 'v/base_link' has a frozen joint; the body of a vehicle needs a free joint"
    ]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"rotors": ()}, "vehicles.v.rotors: found 0; allowed: 1 to 64"),
        ({"rotors": (replace(ROTOR, spin="up"),)}, "vehicles.v.rotors[0].spin: found 'up'; allowed: ccw, cw"),
        (
            {"rotors": (replace(ROTOR, max_speed=np.nan),)},
            "vehicles.v.rotors[0].max_speed: nan is out of range; allowed: 0.001 to 1e+06 rad/s",
        ),
        (
            {"drag_linear": [0, -1, 0]},
            "vehicles.v.drag.linear: [0.0, -1.0, 0.0] is out of range; allowed: 0 to 1e+06 N s/m",
        ),
        (
            {"pilot": Pilot((Waypoint(np.array([0, 0, 1]), hold=-1.0),))},
            "vehicles.v.pilot.waypoints[0].hold: -1 is out of range; allowed: 0 to 1e+09 s",
        ),
        ({"pilot": Pilot(after="fly")}, "vehicles.v.pilot.after: found 'fly'; allowed: land, hold, loop"),
        (
            {"pilot": Pilot(rate=2000.0)},
            "vehicles.v.pilot.rate: 2000 Hz exceeds the 1000 timesteps per second; set a shorter physics.timestep",
        ),
    ],
)
def test_numbers_out_of_range(change: dict[str, Any], line: str) -> None:
    vehicle = replace(Multirotor("v", "v/base_link", (ROTOR,)), **change)
    body = Body("v/base_link", "map", "free")
    assert line in problems(vehicle, body)


ROTORS = "rotors: [{position: [0, 0, 0], spin: ccw, thrust_coefficient: 1e-5, moment_coefficient: 0.1, max_speed: 900}]"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{name: v, body: b}", "2:12: vehicles[0]: rotors is missing"),
        (
            f"{{name: v, body: b, model: iris, {ROTORS}}}",
            "2:31: vehicles[0].model: unknown key (known: name, body, rotors, drag, pilot, autopilot, servos, rotor)",
        ),
        ("{name: v, body: b, rotors: [{position: [0, 0, 0]}]}", "2:40: vehicles[0].rotors[0]: max_speed is missing"),
    ],
)
def test_faults_of_a_vehicle_on_a_body(faults: Callable[..., list[str]], text: str, line: str) -> None:
    bodies = "bodies: [{name: b, joint: free, inertial: {mass: 1, inertia: [1, 1, 1]}}]"
    assert f"w.yaml:{line}" in faults(f"{bodies}\nvehicles: [{text}]")


def test_a_vehicle_on_a_body_that_cannot_carry_it(read: Callable[..., World]) -> None:
    world = read(f"bodies: [{{name: b}}]\nvehicles: [{{name: v, body: b, {ROTORS}}}, {{name: w, body: c, {ROTORS}}}]")
    with pytest.raises(WorldError) as error:
        lay_out(world)
    lines = error.value.lines()
    assert lines[0] == "w.yaml:2:12: vehicles[0].body: 'b' has a frozen joint; the body of a vehicle needs a free joint"
    assert lines[1].endswith("vehicles[1].body: 'c' is not a body of this world")
