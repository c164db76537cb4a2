"""Masses and inertias against textbook formulae, and against MuJoCo's own."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt
import pytest
from scipy.spatial.transform import Rotation

from sim_node.assembly.masses import mass_properties, masses_of, with_mass
from sim_node.world import ContactGeometry, Geometry, Inertial, RigidBody

PI = np.pi
SIZES = {
    "box": [0.2, 0.3, 0.4],
    "sphere": [0.5],
    "cylinder": [0.2, 1.0],
    "capsule": [0.2, 1.0],
    "ellipsoid": [0.2, 0.3, 0.4],
}


def part(
    shape: str, density: float = 1000.0, pose: npt.ArrayLike = (0, 0, 0, 0, 0, 0, 1), mass: float = 0.0, **more: Any
) -> ContactGeometry:
    return ContactGeometry(shape, Geometry(shape, np.array(SIZES[shape]), mass, np.array(pose)), density, **more)


@pytest.mark.parametrize(
    ("shape", "volume"),
    [
        ("box", 0.024),
        ("sphere", PI / 6),
        ("cylinder", 0.04 * PI),
        ("capsule", 0.04 * PI + 4 / 3 * PI * 0.008),
        ("ellipsoid", 4 / 3 * PI * 0.024),
    ],
)
def test_a_mass_is_density_times_volume(shape: str, volume: float) -> None:
    assert with_mass(part(shape, 2700.0)).mass == pytest.approx(2700.0 * volume, rel=1e-14)


def test_a_mass_of_the_shapes_own_goes_before_its_density() -> None:
    assert with_mass(part("box", 2700.0, mass=3.0)).mass == 3.0
    assert with_mass(part("box", massive=False)).mass == 0.0


def test_a_shape_that_is_only_shown_has_no_mass() -> None:
    shown = Geometry("box", np.array(SIZES["box"]), only="visual")
    assert with_mass(ContactGeometry("box", shown)).mass == 0.0


@pytest.mark.parametrize("shape", SIZES)
def test_inertia_is_that_of_mujoco(shape: str) -> None:
    """Turned and moved, beside a second shape: the whole inertia about the whole's centre."""
    pose = np.array([0.3, -0.1, 0.2, *Rotation.from_euler("xyz", [0.3, -0.5, 0.7]).as_quat()])
    shapes = [with_mass(part(shape, 800.0, pose)), with_mass(part("box", 500.0))]
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="b")
    for s in shapes:
        size = np.zeros(3)
        to_mujoco = {"box": [0.5] * 3, "cylinder": [1, 0.5], "capsule": [1, 0.5]}
        size[: len(s.size)] = s.size * np.array(to_mujoco.get(s.shape, [1.0]))
        kind = getattr(mujoco.mjtGeom, f"mjGEOM_{s.shape.upper()}")
        body.add_geom(type=kind, size=size, pos=s.pose[:3], quat=s.pose[[6, 3, 4, 5]], mass=s.mass)
    model = spec.compile()
    found = mass_properties(shapes)
    assert found.mass == pytest.approx(model.body_mass[1], rel=1e-12)
    np.testing.assert_allclose(found.centre, model.body_ipos[1], atol=1e-12)
    axes = Rotation.from_quat(model.body_iquat[1][[1, 2, 3, 0]]).as_matrix()
    np.testing.assert_allclose(found.inertia, axes @ np.diag(model.body_inertia[1]) @ axes.T, atol=1e-9)


def test_two_balls_on_a_rod_have_their_textbook_inertia() -> None:
    """m l^2 / 2 for two masses at l / 2, beside their own 2/5 m r^2 (Huygens and Steiner)."""
    ball = [
        with_mass(ContactGeometry("b", Geometry("sphere", np.array([0.1]), 2.0, np.array([x, 0, 0, 0, 0, 0, 1]))))
        for x in (-0.5, 0.5)
    ]
    found = mass_properties(ball)
    own = 2 * 0.4 * 2.0 * 0.01
    np.testing.assert_allclose(found.inertia, np.diag([own, own + 1.0, own + 1.0]), atol=1e-15)


def test_a_mass_of_the_bodys_own_scales_the_inertia_with_it() -> None:
    """OpenPLX: explicit inertia or mass overrides what geometries give."""
    box = part("box", 1000.0)
    geometry, inertial = masses_of(RigidBody("b", geometries=(box,), mass=48.0))
    assert inertial is None
    assert sum(shape.mass for shape in geometry) == pytest.approx(48.0)
    geometry, inertial = masses_of(RigidBody("b", geometries=(box,), mass=5.0, inertia=np.diag([1, 2, 2.5])))
    assert inertial == Inertial(5.0, np.diag([1, 2, 2.5]), np.zeros(3))
    geometry, inertial = masses_of(RigidBody("b", geometries=(box,), centre=np.array([0.1, 0, 0])))
    assert inertial is not None
    assert inertial.mass == pytest.approx(24.0)
    assert inertial.centre.tolist() == [0.1, 0, 0]
