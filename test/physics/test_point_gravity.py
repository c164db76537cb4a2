"""Gravity towards points against Kepler's orbits and free fall."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nightly import only

from sim_node.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import (
    Body,
    Inertial,
    Physics,
    PointGravity,
    TimeGrid,
    World,
    WorldError,
    WorldWarning,
    lay_out,
    load,
    loads,
)
from sim_node.world.writers.yaml import to_yaml

# WGS 84: m^3/s^2.
EARTH = 3.986004418e14
STILL = np.zeros(3)


def satellite(at: list[float], speed: list[float], mass: float = 3.0) -> Body:
    q, qd = np.array([*at, 0.0, 0.0, 0.0, 1.0]), np.array([*speed, 0.0, 0.0, 0.0])
    return Body("satellite", "map", "free", inertial=Inertial(mass, np.eye(3)), q=q, qd=qd)


def world(body: Body, *fields: PointGravity, step_ns: int = 10_000_000, **more: Any) -> World:
    physics = Physics(gravity=STILL, timestep_ns=more.pop("timestep_ns", None))
    return World("w", bodies=(body,), gravity_fields=fields, physics=physics, time=TimeGrid(step_ns=step_ns), **more)


def kepler(a: float, e: float, mu: float, time: float) -> FloatArray:
    """Return position and velocity (4,) in the plane of an orbit after a time from the pericentre.

    Kepler's equation M = E - e sin E: D. Vallado, Fundamentals of Astrodynamics and Applications, 2.2.
    """
    mean = math.sqrt(mu / a**3) * time
    anomaly = mean
    for _ in range(50):
        anomaly -= (anomaly - e * math.sin(anomaly) - mean) / (1.0 - e * math.cos(anomaly))
    rate = math.sqrt(mu / a**3) / (1.0 - e * math.cos(anomaly))
    minor = a * math.sqrt(1.0 - e * e)
    position = a * (math.cos(anomaly) - e), minor * math.sin(anomaly)
    return np.array([*position, -a * math.sin(anomaly) * rate, minor * math.cos(anomaly) * rate])


# A circle is an ellipse.
@pytest.mark.parametrize(("a", "e", "mu"), only([(10.0, 0.0, 100.0), (10.0, 0.4, 100.0)], 1))
def test_a_body_is_on_its_orbit_after_half_a_period(a: float, e: float, mu: float) -> None:
    x, _, _, v = kepler(a, e, mu, 0.0)
    run = Simulation(world(satellite([x, 0, 0], [0, v, 0]), PointGravity(STILL, mu=mu)))
    run.run(9.9)
    there = kepler(a, e, mu, 9.9)
    body = run.bodies["satellite"]
    np.testing.assert_allclose([*body.pose[:2], *body.twist[:2]], there, atol=2e-5)


def test_the_error_is_of_second_order_with_rk4() -> None:
    x, _, _, v = kepler(10.0, 0.4, 100.0, 0.0)
    errors = []
    for timestep_ns in (10_000_000, 5_000_000):
        body = satellite([x, 0, 0], [0, v, 0])
        run = Simulation(world(body, PointGravity(STILL, mu=100.0), timestep_ns=timestep_ns))
        run.run(5.0)
        errors.append(np.abs(run.bodies["satellite"].pose[:2] - kepler(10.0, 0.4, 100.0, 5.0)[:2]).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.5)


# Takes seconds: make test has half an orbit.
@pytest.mark.nightly
def test_a_satellite_of_the_earth_keeps_its_height() -> None:
    """Circular at 7000 km. What an IMU feels, acceleration minus gravity, is nothing."""
    speed = math.sqrt(EARTH / 7e6)
    body = satellite([7e6, 0, 0], [0, speed, 0])
    run = Simulation(world(body, PointGravity(STILL, mu=EARTH)))
    observe = run.observer(["satellite"])
    run.run(60.0)
    angle = speed / 7e6 * 60.0
    up = np.array([math.cos(angle), math.sin(angle), 0.0])
    np.testing.assert_allclose(run.bodies["satellite"].pose[:3], 7e6 * up, atol=1e-3)
    state = observe()
    np.testing.assert_allclose(state.gravity[0], -EARTH / 7e6**2 * up, atol=1e-8)
    np.testing.assert_allclose(state.acceleration[0, :3] - state.gravity[0], 0.0, atol=1e-5)


def test_uniform_magnitude_falls_as_on_a_plane_and_adds_to_other_fields() -> None:
    centre = np.array([0.0, 3.0, 0.0])
    fields = (PointGravity(centre, acceleration=2.0), PointGravity(-centre, acceleration=-1.0))
    run = Simulation(world(satellite([0, -1, 0], [0, 0, 0], mass=7.0), *fields))
    run.run(1.0)
    assert run.bodies["satellite"].pose[1] == pytest.approx(-1.0 + 0.5 * 3.0, abs=1e-9)


def test_in_the_centre_there_is_no_direction() -> None:
    run = Simulation(world(satellite([0, 0, 0], [0, 0, 0]), PointGravity(STILL, mu=5.0)))
    run.run(0.1)
    assert run.bodies["satellite"].pose[:3].tolist() == [0.0, 0.0, 0.0]


TEXT = """\
world: w
physics: {gravity: [0, 0, 0]}
forces:
  - {type: gravity, center: [1, 2, 3], mu: 50}
  - {type: gravity, acceleration: -2}
bodies:
  - {name: a, joint: free, inertial: {mass: 1, inertia: [1, 1, 1]}}
"""


def test_world_files_have_it() -> None:
    read = loads(TEXT)
    first, second = read.gravity_fields
    assert first == PointGravity(np.array([1.0, 2.0, 3.0]), mu=50.0)
    assert second == PointGravity(STILL, acceleration=-2.0)
    assert loads(to_yaml(read)).gravity_fields == read.gravity_fields
    assert read.with_values({"gravity_fields[0].mu": 7}).gravity_fields[0].mu == 7.0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("mu: 50", "mass: 50", "4:40: forces[0].mass: unknown key (known: type, center, mu, acceleration)"),
        (", mu: 50", "", "4:5: forces[0]: mu (m^3/s^2) or acceleration (m/s^2) is needed"),
        ("acceleration: -2", "acceleration: 1e9", "5:35: forces[1].acceleration: 1e9 is out of range"),
    ],
)
def test_faults_name_the_place(before: str, after: str, message: str) -> None:
    with pytest.raises(WorldError) as error:
        loads(TEXT.replace(before, after))
    assert message in str(error.value)


def test_that_of_an_included_file_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "part.yaml").write_text(TEXT, encoding="utf-8")
    path = tmp_path / "w.yaml"
    path.write_text("world: w\ninclude: [part.yaml]\nphysics: {gravity: [0, 0, 0]}\n", encoding="utf-8")
    with pytest.warns(WorldWarning, match=r"part\.yaml:4:5: forces\[0\]: is not used in an included file"):
        read = load(path)
    assert read.gravity_fields == ()


def test_a_field_of_openplx_has_the_same_magnitude_everywhere(tmp_path: Path) -> None:
    path = tmp_path / "planet.openplx"
    path.write_text(
        "Space is Simulation.Environment:\n    gravity becomes Simulation.PointGravitationalField:\n"
        "        center: {0, 0, -10}\n        magnitude: 3\n    stone is Physics3D.Bodies.RigidBody:\n"
        "        kinematics.local_transform.position: {0, 6, -10}\n"
        "        shape is Physics3D.Geometries.Sphere:\n            radius: 0.1\n",
        encoding="utf-8",
    )
    made = load(path)
    assert made.physics.gravity.tolist() == [0.0, 0.0, 0.0]
    run = Simulation(made)
    run.run(1.0)
    assert run.bodies["Space/stone"].pose[1] == pytest.approx(6.0 - 1.5, abs=1e-9)
    lay_out(run.world)
