"""Sensors that ride on rigid bodies, against analytic solutions and against MuJoCo's own sensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mujoco import MjData
from nightly import only
from scipy.spatial.transform import Rotation

from sim_node.simulation import Simulation
from sim_node.simulation.columns import Array, Column, Columns
from sim_node.simulation.physics.force_elements import FORCE_ELEMENTS
from sim_node.simulation.sensors.truth import state_of
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import Body, Geometry, Inertial, Motion, Physics, Sensor, StaticFrame, TimeGrid, World

G = 9.81
MS = 1_000_000
SECOND = 1_000_000_000
IDENTITY = np.array([0.0, 0, 0, 0, 0, 0, 1])
PERFECT = {"gyroscope": "none", "accelerometer": "none", "rate": 1000.0}


def at(*position: float, rotation: Rotation | None = None) -> FloatArray:
    return np.array([*position, *(rotation or Rotation.identity()).as_quat()], dtype=float)


def imu(parent: str, pose: FloatArray = IDENTITY, name: str = "IMU", **parameters: Any) -> Sensor:
    return Sensor(name, parent, pose, type="imu", parameters={**PERFECT, **parameters})


def world(
    *bodies: Body,
    sensors: Sequence[Sensor],
    frames: tuple[StaticFrame, ...] = (),
    motions: tuple[Motion, ...] = (),
    **physics: Any,
) -> World:
    return World(
        "test",
        time=TimeGrid(0, MS),
        frames=frames,
        motions=motions,
        sensors=tuple(sensors),
        bodies=bodies,
        physics=Physics(**physics),
    )


def read(simulation: Simulation, name: str = "IMU") -> tuple[FloatArray, FloatArray]:
    """The last reading of an IMU: angular rate, specific force."""
    values = simulation.snapshot().measurements[name].values[-1]
    return values[:3], values[3:]


def orientation(simulation: Simulation, name: str = "IMU") -> Rotation:
    frames = simulation.frames
    return Rotation.from_quat(frames.in_root(simulation.snapshot().poses)[frames.index(name), 3:])


# Analytic solutions


def test_falling_freely_it_feels_nothing_but_its_turn() -> None:
    """A sphere: the rate is the initial one for ever, the specific force that of the lever arm alone."""
    rate, arm = np.array([0.4, -2.0, 1.0]), np.array([0.3, 0.1, -0.2])
    mounting = at(*arm, rotation=Rotation.from_rotvec([0.3, -1.0, 0.5]))
    stone = Body(
        "stone", "map", "free", geometry=(Geometry("sphere", np.array([0.1]), 2.0),), qd=np.array([3, 2, 1, *rate])
    )
    simulation = Simulation(world(stone, sensors=(imu("stone", name="CENTRE"), imu("stone", mounting))))
    simulation.run(0.7)
    np.testing.assert_allclose(read(simulation, "CENTRE"), [rate, np.zeros(3)], atol=1e-9)
    to_sensor = Rotation.from_quat(mounting[3:]).inv()
    centripetal = np.cross(rate, np.cross(rate, arm))
    np.testing.assert_allclose(read(simulation), [to_sensor.apply(rate), to_sensor.apply(centripetal)], atol=1e-9)


@pytest.mark.parametrize("arm", [0.4, 0.7, 1.3])
def test_a_pendulum_feels_what_its_angle_and_rate_say(arm: float) -> None:
    """A point mass at l: towards the pivot g cos(a) + w² arm; across (arm / l - 1) g sin(a)
    along x, from a'' = -g / l sin(a)."""
    length = 0.7
    inertial = Inertial(2.0, np.eye(3) * 1e-12, np.array([0.0, 0.0, -length]))
    bob = Body("bob", "map", "ry", inertial=inertial, q=np.array([1.2]), qd=np.array([0.5]))
    simulation = Simulation(world(bob, sensors=(imu("bob", at(0, 0, -arm)),)))
    for _ in range(5):
        simulation.run(0.237)
        angle = orientation(simulation).as_rotvec()[1]
        rate, force = read(simulation)
        energy = 0.5 * (length * rate[1]) ** 2 - G * length * np.cos(angle)
        assert energy == pytest.approx(0.5 * (length * 0.5) ** 2 - G * length * np.cos(1.2), abs=1e-9)
        across = (arm / length - 1.0) * G * np.sin(angle)
        np.testing.assert_allclose(force, [across, 0.0, G * np.cos(angle) + rate[1] ** 2 * arm], atol=1e-7)


def test_on_a_turntable_it_feels_the_centre() -> None:
    """w² r inwards, and gravity."""
    table = Body("table", "map", "rz", inertial=Inertial(1.0, np.eye(3)), qd=np.array([3.0]))
    simulation = Simulation(world(table, sensors=(imu("table", at(0.5, 0, 0)),)))
    simulation.run(1.234)
    np.testing.assert_allclose(read(simulation), [[0, 0, 3.0], [-9.0 * 0.5, 0, G]], atol=1e-10)


def test_a_spinning_top_without_torque_feels_its_precession() -> None:
    """Euler's equations of a symmetric top: the rate turns about the axis at (I1 - I3) / I1 w3 in the body."""
    i1, i3 = 0.3, 0.5
    start, arm = np.array([0.4, 0.0, 3.0]), np.array([0.2, -0.1, 0.4])
    top = Body("top", "map", "spherical", inertial=Inertial(1.0, np.diag([i1, i1, i3])), qd=start)
    simulation = Simulation(world(top, sensors=(imu("top", at(*arm)),), gravity=np.zeros(3)))
    for _ in range(3):
        simulation.run(0.31)
        pace = (i1 - i3) / i1 * start[2]
        rate = Rotation.from_rotvec([0, 0, -pace * simulation.time_ns * 1e-9]).apply(start)
        spin_up = np.cross([0, 0, -pace], rate)
        expected = np.cross(spin_up, arm) + np.cross(rate, np.cross(rate, arm))
        np.testing.assert_allclose(read(simulation), [rate, expected], atol=1e-6)


@pytest.mark.parametrize("gravity", [9.81, 1.62])
def test_at_rest_on_a_plane_it_feels_the_ground(gravity: float) -> None:
    """REP 145: the acceleration that holds it up. On the Moon, too."""
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    box = Body(
        "box",
        "map",
        "free",
        geometry=(Geometry("box", np.array([0.4, 0.4, 0.2]), 1.0),),
        q=np.array([0, 0, 0.1, 0, 0, 0, 1]),
    )
    resting = world(
        ground, box, sensors=(imu("box", at(0.1, 0.05, 0.02)), imu("map", name="FLOOR")), gravity=[0, 0, -gravity]
    )
    simulation = Simulation(resting)
    simulation.run(2.0)
    for name in ("IMU", "FLOOR"):
        np.testing.assert_allclose(read(simulation, name), np.array([[0, 0, 0], [0, 0, gravity]]), atol=2e-5)


# MuJoCo's own sensors, on a model that is built beside ours

ARM = """\
<mujoco>
  <option timestep="0.001" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body name="base" pos="0 0 1">
      <freejoint/>
      <inertial pos="0.02 0.01 0" mass="3" fullinertia="0.05 0.06 0.07 0.003 -0.002 0.001"/>
      <body name="link" pos="0.2 0 0.1" quat="0.8 0.6 0 0">
        <joint type="hinge" axis="0 1 0" damping="0.05"/>
        <inertial pos="0 0 -0.3" mass="0.7" diaginertia="0.02 0.03 0.01"/>
        <site name="imu" pos="0.1 -0.2 0.3" quat="0.5 0.5 -0.5 0.5"/>
      </body>
    </body>
  </worldbody>
  <sensor>
    <gyro site="imu"/><accelerometer site="imu"/>
    <framepos objtype="site" objname="imu"/><framelinvel objtype="site" objname="imu"/>
    <frameangvel objtype="site" objname="imu"/>
  </sensor>
</mujoco>
"""


def test_it_reads_what_mujocos_sensors_read() -> None:
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    data.qvel[:] = [0.5, -1.0, 2.0, 3.0, -2.0, 1.0, 4.0]
    inertia = np.array([[0.05, 0.003, -0.002], [0.003, 0.06, 0.001], [-0.002, 0.001, 0.07]])
    tilted, mounted = Rotation.from_quat([0.6, 0, 0, 0.8]), Rotation.from_quat([0.5, -0.5, 0.5, 0.5])
    base = Body(
        "base",
        "map",
        "free",
        inertial=Inertial(3.0, inertia, np.array([0.02, 0.01, 0.0])),
        q=np.array([0, 0, 1, 0, 0, 0, 1]),
        qd=np.array([0.5, -1.0, 2.0, 3.0, -2.0, 1.0]),
    )
    link = Body(
        "link",
        "base",
        "ry",
        at(0.2, 0, 0.1, rotation=tilted),
        inertial=Inertial(0.7, np.diag([0.02, 0.03, 0.01]), np.array([0, 0, -0.3])),
        damping=np.array([0.05]),
        qd=np.array([4.0]),
    )
    mounting = at(0.1, -0.2, 0.3, rotation=mounted)
    truth = Sensor("TRUTH", "link", mounting, type="ground_truth", parameters={"rate": 1000.0})
    simulation = Simulation(world(base, link, sensors=(imu("link", mounting), truth), contact=False))
    for _ in range(5):
        mujoco.mj_forward(model, data)
        gyro, accelerometer, position, velocity, rate = data.sensordata.reshape(5, 3)
        np.testing.assert_allclose(read(simulation), [gyro, accelerometer], rtol=1e-9, atol=1e-9)
        reported = simulation.snapshot().measurements["TRUTH"].values[-1]
        turned = Rotation.from_quat(reported[3:7])
        np.testing.assert_allclose(reported[:3], position, atol=1e-9)
        np.testing.assert_allclose(turned.apply(reported[7:10]), velocity, atol=1e-9)
        np.testing.assert_allclose(turned.apply(reported[10:]), rate, atol=1e-9)
        simulation.step(100)
        # MuJoCo's own timesteps turn bodies less accurately.
        columns = simulation.columns
        data.qpos[:], data.qvel[:] = columns["qpos"], columns["qvel"]


# make test has ten minutes of the sensor alone in test/sensors/test_noise.py.
@pytest.mark.nightly
def test_ten_minutes_on_a_body_give_back_the_densities() -> None:
    """N / sqrt(t), through a whole run: IEEE Std 952-1997, equation C.12. Allan deviations by successive means."""
    biases = {"bias_instability": 0.0, "turn_on_bias": 0.0}
    noise = {"gyroscope": {"density": 2e-4, **biases}, "accelerometer": {"density": 3e-3, **biases}}
    table = Body("table", "map", "rz", inertial=Inertial(1.0, np.eye(3)), qd=np.array([3.0]))
    mounted = Sensor("IMU", "table", at(0.5, 0, 0), type="imu", parameters=noise)
    run = replace(world(table, sensors=(mounted,), timestep_ns=10 * MS), time=TimeGrid(0, 10 * MS))
    simulation = Simulation(run)
    simulation.run(600.0)
    values = simulation.snapshot().measurements["IMU"].values
    assert len(values) == 60_000
    for span in (1, 10, 100):
        means = values.reshape(-1, span, 6).mean(axis=1)
        deviation = np.sqrt(0.5 * np.mean(np.diff(means, axis=0) ** 2, axis=0))
        density = np.repeat([2e-4, 3e-3], 3)
        np.testing.assert_allclose(deviation, density / np.sqrt(span / 100.0), rtol=0.1)


# Keyframes on bodies


def gimbal(angle: float) -> Motion:
    """Turns about z through `angle` in a second, evenly, and slides 2 m outwards on the way."""
    turned = [at(2.0 * t, 0, 0, rotation=Rotation.from_euler("z", angle * t)) for t in np.linspace(0, 1, 5)]
    return Motion(
        "gimbal", "table", np.linspace(0, 1, 5).astype(int) * 0 + np.arange(5) * SECOND // 4, np.array(turned)
    )


# Takes seconds: make test has pendulums and planes.
@pytest.mark.nightly
def test_on_a_gimbal_on_a_body_it_feels_coriolis() -> None:
    """On a table at w a runner goes outwards at u and turns at q: -w² r inwards, 2 w u across."""
    table = Body("table", "map", "rz", inertial=Inertial(1.0, np.eye(3) * 1e6), qd=np.array([1.5]))
    simulation = Simulation(world(table, motions=(gimbal(0.8),), sensors=(imu("gimbal"),)))
    simulation.run(0.6)
    rate, force = read(simulation)
    np.testing.assert_allclose(rate, [0, 0, 1.5 + 0.8], atol=1e-8)
    on_table = Rotation.from_euler("z", 0.8 * 0.6).apply(force)
    np.testing.assert_allclose(on_table, [-(1.5**2) * 1.2, 2 * 1.5 * 2.0, G], atol=1e-5)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=12, max_size=12))
def test_riding_on_what_moves_is_the_motion_of_the_product(numbers: Sequence[float]) -> None:
    """A body and a rider on it, both in polynomial motion: the composed state against differences of composed poses."""
    body, rider = np.array(numbers).reshape(2, 6)

    def pose(part: FloatArray, t: float) -> FloatArray:
        twist = part * t + 0.5 * part[::-1] * t**2
        return np.array([[*twist[:3], *Rotation.from_rotvec(twist[3:]).as_quat()]])

    h = 1e-3
    instants = [0.3 - h, 0.3, 0.3 + h]
    carrier, mounted = (np.array([pose(part, t) for t in instants]) for part in (body, rider))
    composed = state_of(carrier, h).carrying(state_of(mounted, h))
    product = state_of(poses.compose(carrier, mounted), h)
    np.testing.assert_allclose(composed.pose, product.pose, atol=1e-14)
    np.testing.assert_allclose(composed.twist, product.twist, atol=1e-4)
    np.testing.assert_allclose(composed.acceleration, product.acceleration, atol=2e-3)


# Takes seconds: make test has sensors on bodies that move, and runs in small steps in test/sensors/test_suite.py.
@pytest.mark.nightly
def test_a_fixed_arm_on_a_body_and_a_gimbal_that_holds_still_read_the_same() -> None:
    """One by the body's own motion, the other by it and by differences that are zero."""
    held = Motion("gimbal", "stone", np.array([0, SECOND]), np.array([at(0.3, 0.1, 0), at(0.3, 0.1, 0)]))
    stone = Body(
        "stone", "map", "free", inertial=Inertial(1.0, np.diag([1.0, 2.0, 2.5])), qd=np.array([1, 2, 3, 2, -1, 3])
    )
    sensors = (imu("stone", at(0.3, 0.1, 0)), imu("gimbal", name="SPARE"))
    simulation = Simulation(world(stone, motions=(held,), sensors=sensors))
    simulation.run(0.4)
    np.testing.assert_allclose(read(simulation), read(simulation, "SPARE"), atol=1e-9)


# Looking on changes nothing


def tumbling(sensors: Sequence[Sensor] = ()) -> World:
    """Boxes that fall on a plane and on each other."""
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    boxes = [
        Body(
            f"box{k}",
            "map",
            "free",
            geometry=(Geometry("box", np.array([0.2, 0.3, 0.4]), 1.0),),
            q=np.array([0.05 * k, 0, 0.5 + 0.6 * k, 0, 0, 0, 1]),
            qd=np.array([1, 0, 0, 3, 2, 1]),
        )
        for k in range(3)
    ]
    return world(ground, *boxes, sensors=sensors)


@pytest.mark.parametrize("integrator", only(["rk4", "implicitfast", "euler"], 1))
def test_a_run_is_the_same_with_and_without_sensors(integrator: str) -> None:
    """Bit for bit, contacts and the solver's warm start included."""
    sensors = [imu(f"box{k}", at(0.1, 0, 0), f"IMU{k}", rate=rate) for k, rate in enumerate((1000.0, 250.0, 77.0))]
    run = replace(tumbling(sensors), physics=Physics(integrator=integrator))
    watched, alone = Simulation(run), Simulation(run, sensors=False)
    for _ in range(40):
        watched.step(25)
        alone.step(25)
        assert watched.snapshot().poses.tobytes() == alone.snapshot().poses.tobytes()
        assert of_engines(watched) == of_engines(alone)
    heights = [watched.snapshot().poses[watched.frames.index(f"box{k}"), 2] for k in range(3)]
    assert min(heights) < 0.4, "nothing touched the ground"


def of_engines(simulation: Simulation) -> dict[str, bytes]:
    """The state of a run without that of its sensors."""
    kept = simulation.state.columns
    return {name: kept[name].tobytes() for name in kept if not name.startswith(("sensor/", "noise/"))}


class Jolts:
    """Drags all bodies, and pushes each at random: what it does depends on where they are and on what it did."""

    def __init__(self, data: MjData, columns: Columns) -> None:
        self._data, self._pushes = data, 0
        pushes = Column("jolts", ("all",), dtype=np.uint64)
        columns.compute(pushes, lambda: (np.array([self._pushes], np.uint64),), self._put)

    def reset(self, seed: int) -> None:
        self._pushes = seed

    def _put(self, kept: Sequence[Array]) -> None:
        self._pushes = int(kept[0][0])

    def act(self) -> None:
        self._pushes = (self._pushes * 6364136223846793005 + 1442695040888963407) % 2**64
        self._data.xfrc_applied[1:, 2] += 5.0 - 0.5 * self._data.cvel[1:, 5] + self._pushes / 2**64


@pytest.fixture
def jolts() -> Iterator[None]:
    with FORCE_ELEMENTS.extended({"jolts": lambda world, layout, compiled, data, wind, columns: Jolts(data, columns)}):
        yield


def test_what_pushes_a_body_is_felt_from_the_start_as_it_pushes_now(jolts: None) -> None:
    """(5 - v / 2 + [0, 1)) / m along z while it falls: 5 to 6 at first, and what a drag adds at the speed of now."""
    stone = Body("stone", "map", "free", geometry=(Geometry("sphere", np.array([0.1]), 1.0),))
    truth = Sensor("TRUTH", "stone", IDENTITY, type="ground_truth", parameters={"rate": 1000.0})
    simulation = Simulation(world(stone, sensors=(imu("stone"), truth)))
    for _ in range(5):
        speed = simulation.snapshot().measurements["TRUTH"].values[-1, 9]
        _, force = read(simulation)
        assert 0.0 <= force[2] - 5.0 + 0.5 * speed < 1.0
        simulation.step(100)


def test_a_run_with_actors_is_the_same_with_and_without_sensors(jolts: None) -> None:
    """Bit for bit: each acts as often as it would, and remembers no more."""
    sensors = tuple(imu(f"box{k}", at(0.1, 0, 0), f"IMU{k}", rate=rate) for k, rate in enumerate((1000.0, 77.0)))
    watched, alone = Simulation(tumbling(sensors)), Simulation(tumbling(sensors), sensors=False)
    for _ in range(10):
        watched.step(70)
        alone.step(70)
        assert of_engines(watched) == of_engines(alone)


# Takes seconds: make test has sensors on bodies that move, and runs in small steps in test/sensors/test_suite.py.
@pytest.mark.nightly
@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6))
def test_small_steps_read_what_one_large_one_reads(strides: Sequence[int]) -> None:
    """Bit for bit."""
    sensors = tuple(
        Sensor(f"IMU{k}", f"box{k}", at(0.1, 0, 0), type="imu", parameters={"rate": rate, "latency": 0.004})
        for k, rate in enumerate((1000.0, 250.0, 77.0))
    )
    often, once = Simulation(tumbling(sensors)), Simulation(tumbling(sensors))
    reported = []
    for stride in strides:
        often.step(stride)
        reported.append(often.snapshot().measurements)
    once.step(sum(strides))
    assert often.snapshot().poses.tobytes() == once.snapshot().poses.tobytes()
    for sensor in sensors:
        pieces = np.concatenate([each[sensor.name].values for each in reported])
        assert pieces.tobytes() == once.snapshot().measurements[sensor.name].values.tobytes()


# What they perceive


def test_a_lidar_on_a_falling_body_sees_the_ground_come_up() -> None:
    """h - g t²/2, and nothing of the body that it is in."""
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    box = Body("box", "map", "free", at(0, 0, 8.0), geometry=(Geometry("box", np.array([0.5, 0.5, 0.5]), 2.0),))
    down = at(0, 0, 0, rotation=Rotation.from_euler("y", 90, degrees=True))
    finder = Sensor("RANGE", "box", down, type="rangefinder", parameters={"noise": "none", "rate": 100.0})
    simulation = Simulation(world(ground, box, sensors=(finder,)))
    simulation.run(1.0)
    stamps_ns, values = simulation.snapshot().measurements["RANGE"]
    np.testing.assert_allclose(values[:, 0], 8.0 - 0.5 * G * (stamps_ns * 1e-9) ** 2, atol=1e-9)


def test_a_contact_sensor_feels_nothing_in_flight_and_the_weight_at_rest() -> None:
    """Along the box's own axes: it lies on its side."""
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    aside = Rotation.from_euler("x", 90, degrees=True)
    box = Body(
        "box", "map", "free", at(0, 0, 1.0, rotation=aside), geometry=(Geometry("box", np.array([0.5, 0.5, 0.5]), 2.0),)
    )
    bumper = Sensor("BUMPER", "box", IDENTITY, type="contact")
    simulation = Simulation(world(ground, box, sensors=(bumper,)))
    simulation.run(0.3)
    assert simulation.snapshot().measurements["BUMPER"].values.tolist() == [[0.0] * 6] * 30
    simulation.run(3.0)
    last = simulation.snapshot().measurements["BUMPER"].values[-1]
    np.testing.assert_allclose(last, [0, 2.0 * G, 0, 0, 0, 0], atol=2e-3)


def test_sensors_that_perceive_change_nothing_of_the_run_and_repeat() -> None:
    """To the bit, with noise, saved and restored half way."""
    ground = Body("ground", "map", geometry=(Geometry("plane", np.array([])),))
    tilted = at(0, 0, 0.7, rotation=Rotation.from_euler("xy", [20, 30], degrees=True))
    box = Body("box", "map", "free", tilted, geometry=(Geometry("box", np.array([0.5, 0.4, 0.3]), 2.0),))
    sensors = (
        Sensor("SCAN", "box", at(0, 0, 0.2), type="lidar_2d", parameters={"samples": 50, "noise": {"dropout": 0.1}}),
        Sensor("CLOUD", "box", at(0, 0, 0.2), type="lidar_3d", parameters={"samples": 50, "rings": 3}),
        Sensor("RANGE", "box", IDENTITY, type="rangefinder"),
        Sensor("BUMPER", "box", IDENTITY, type="contact"),
        Sensor("WRIST", "box", IDENTITY, type="force_torque"),
    )
    sensing, blind = Simulation(world(ground, box, sensors=sensors)), Simulation(world(ground, box, sensors=()))
    for simulation in (sensing, blind):
        simulation.run(0.5)
    assert of_engines(sensing) == of_engines(blind)
    half_way = sensing.state

    def reported() -> list[bytes]:
        sensing.run(0.5)
        measurements = sensing.snapshot().measurements
        return [measurements[sensor.name].values.tobytes() for sensor in sensors]

    first = reported()
    sensing.restore(half_way)
    assert reported() == first
