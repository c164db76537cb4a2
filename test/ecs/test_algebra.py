"""Quaternions and spatial vectors beside SciPy's rotations, transforms3d, and closed forms."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import transforms3d.quaternions as t3d
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.extensions.elodin import rows
from sim_node.extensions.elodin.algebra import (
    SpatialForce,
    SpatialInertia,
    SpatialMotion,
    SpatialTransform,
    skew,
)
from sim_node.extensions.elodin.conversions import poses_of, swapped, transforms_of
from sim_node.extensions.elodin.quaternion import Quaternion

TURNS = Rotation.random(5, random_state=1)
A, B = (Quaternion(turn.as_quat()) for turn in TURNS[:2])
VECTOR = np.array([0.3, -1.2, 2.5])
close = np.testing.assert_allclose
number = st.floats(-10, 10).map(lambda value: round(value, 6))


def wxyz(q: Any) -> Any:
    """The order of transforms3d."""
    return np.asarray(q)[[3, 0, 1, 2]]


def test_the_identity_and_its_layout() -> None:
    assert np.asarray(Quaternion.identity().vector()).tolist() == [0, 0, 0, 1]
    assert np.asarray(SpatialTransform().asarray()).tolist() == [0, 0, 0, 1, 0, 0, 0]
    assert np.asarray(SpatialMotion().asarray()).tolist() == np.asarray(SpatialForce().asarray()).tolist() == [0.0] * 6


def test_a_rotation_about_an_axis_of_any_length() -> None:
    axis, angle = np.array([2.0, -1.0, 0.5]), 0.8
    expected = Rotation.from_rotvec(axis / np.linalg.norm(axis) * angle).as_quat()
    close(Quaternion.from_axis_angle(axis, angle).vector(), expected, atol=1e-15)
    close(Quaternion.from_axis_angle(axis, np.array([angle])).vector(), expected, atol=1e-15)


def test_euler_angles_are_about_fixed_axes() -> None:
    angles = [0.3, -0.7, 1.9]
    found = np.asarray(Quaternion.from_euler(np.array(angles)).vector())
    close(Rotation.from_quat(found).as_matrix(), Rotation.from_euler("xyz", angles).as_matrix(), atol=1e-14)


def test_products_are_hamiltons() -> None:
    """i j = k; and as two other libraries multiply."""
    i, j, k = (Quaternion(np.array(unit)) for unit in ([1.0, 0, 0, 0], [0, 1.0, 0, 0], [0, 0, 1.0, 0]))
    assert np.asarray((i * j).vector()).tolist() == np.asarray(k.vector()).tolist()
    close(wxyz((A * B).vector()), t3d.qmult(wxyz(A.vector()), wxyz(B.vector())), atol=1e-15)
    close(Rotation.from_quat(np.asarray((A * B).vector())).as_matrix(), (TURNS[0] * TURNS[1]).as_matrix(), atol=1e-14)


def test_the_inverse_of_a_quaternion_of_any_length() -> None:
    """Conjugate over squared length; transforms3d 0.4 divides by the length, which is right for 1 only."""
    q = Quaternion(np.array([1.0, -2.0, 3.0, 4.0]))
    close(q.inverse().vector(), np.array([-1, 2, -3, 4]) / 30, atol=1e-16)
    close(wxyz(A.inverse().vector()), t3d.qinverse(wxyz(A.vector())), atol=1e-15)
    close((q * q.inverse()).vector(), [0, 0, 0, 1], atol=1e-15)


def test_sums_and_normalisation() -> None:
    q = A + B
    close(q.vector(), np.asarray(A.vector()) + np.asarray(B.vector()))
    close(q.normalize().vector(), np.asarray(q.vector()) / np.linalg.norm(q.vector()))


def test_rotating_a_vector() -> None:
    close(A @ VECTOR, TURNS[0].apply(VECTOR), atol=1e-14)
    close(Quaternion(3.0 * np.asarray(A.vector())) @ VECTOR, TURNS[0].apply(VECTOR), atol=1e-14)


def test_rotating_a_transform_rotates_position_and_orientation() -> None:
    found = A @ SpatialTransform(angular=B, linear=VECTOR)
    assert isinstance(found, SpatialTransform)
    close(found.linear(), TURNS[0].apply(VECTOR), atol=1e-14)
    close(wxyz(found.angular().vector()), t3d.qmult(wxyz(A.vector()), wxyz(B.vector())), atol=1e-15)


@pytest.mark.parametrize("kind", [SpatialMotion, SpatialForce])
def test_rotating_a_motion_or_force_rotates_both_parts(kind: Any) -> None:
    found = A @ kind.from_array(np.concatenate([VECTOR, 2 * VECTOR]))
    assert isinstance(found, kind)
    close(found.asarray(), [*TURNS[0].apply(VECTOR), *(2 * TURNS[0].apply(VECTOR))], atol=1e-14)


def test_what_a_quaternion_does_not_rotate() -> None:
    for other in (B, SpatialInertia(1.0)):
        with pytest.raises(TypeError, match="rotate vectors, transforms, motions or forces"):
            A @ other


def test_a_small_rotation_in_body_axes() -> None:
    """normalize(q + q [d/2, 0]) by transforms3d; of first order: the error against the exact rotation is d^3 / 24."""
    delta = np.array([0.02, -0.01, 0.03])
    found = np.asarray(A.integrate_body(delta).vector())
    raw = wxyz(A.vector()) + t3d.qmult(wxyz(A.vector()), [0, *(delta / 2)])
    close(wxyz(found), raw / np.linalg.norm(raw), atol=1e-16)
    exact = TURNS[0] * Rotation.from_rotvec(delta)
    error = (exact.inv() * Rotation.from_quat(found)).magnitude()
    assert error == pytest.approx(np.linalg.norm(delta) ** 3 / 12, rel=1e-2)


def test_a_transform_plus_a_motion_turns_about_the_worlds_axes() -> None:
    turn = np.array([0.02, -0.01, 0.03])
    moved = SpatialTransform(angular=A, linear=VECTOR) + SpatialMotion(turn, np.array([1.0, 2.0, 3.0]))
    raw = wxyz(A.vector()) + t3d.qmult([0, *(turn / 2)], wxyz(A.vector()))
    close(wxyz(moved.angular().vector()), raw / np.linalg.norm(raw), atol=1e-16)
    close(moved.linear(), VECTOR + [1, 2, 3])


def test_sums_of_spatial_vectors_are_of_their_elements() -> None:
    for kind, size in ((SpatialTransform, 7), (SpatialMotion, 6), (SpatialForce, 6)):
        one, two = np.arange(size) + 0.5, np.arange(size) ** 2.0
        found: Any = kind.from_array(one) + kind.from_array(two)
        assert isinstance(found, kind)
        close(found.asarray(), one + two)
    with pytest.raises(TypeError):
        SpatialMotion() + SpatialForce()


def test_layouts_and_parts() -> None:
    """[q p], [w v], [torque force], [Ix Iy Iz 0 0 0 m]."""
    transform = SpatialTransform(angular=np.array([0.0, 0.0, 1.0, 0.0]), linear=VECTOR)
    assert np.asarray(transform.asarray()).tolist() == [0, 0, 1, 0, *VECTOR]
    assert np.asarray(transform.angular().vector()).tolist() == [0, 0, 1, 0]
    motion = SpatialMotion(VECTOR, 2 * VECTOR)
    assert np.asarray(motion.asarray()).tolist() == [*VECTOR, *(2 * VECTOR)]
    assert (np.asarray(motion.angular()) == VECTOR).all()
    assert (np.asarray(motion.linear()) == 2 * VECTOR).all()
    for force in (SpatialForce(torque=VECTOR, linear=2 * VECTOR), SpatialForce(torque=VECTOR, force=2 * VECTOR)):
        assert np.asarray(force.asarray()).tolist() == [*VECTOR, *(2 * VECTOR)]
        assert (np.asarray(force.torque()) == VECTOR).all()
        assert (np.asarray(force.force()) == 2 * VECTOR).all()
    inertia = SpatialInertia(2.0, np.array([1.0, 2.0, 3.0]))
    assert np.asarray(inertia.asarray()).tolist() == [1, 2, 3, 0, 0, 0, 2]
    assert float(inertia.mass()) == 2.0
    assert np.asarray(inertia.inertia_diag()).tolist() == [1, 2, 3]
    assert np.asarray(SpatialInertia(2.5).inertia_diag()).tolist() == [2.5] * 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: SpatialTransform(np.zeros(7), linear=np.zeros(3)),
        lambda: SpatialForce(np.zeros(6), torque=np.zeros(3)),
        lambda: SpatialForce(force=np.zeros(3), linear=np.zeros(3)),
        lambda: SpatialTransform(linear=np.zeros(2)),
        lambda: SpatialMotion(np.zeros(4)),
        lambda: Quaternion([0.0, 0.0, 1.0]),
        lambda: SpatialInertia(1.0, np.eye(3)),
    ],
)
def test_parts_that_do_not_fit(make: Any) -> None:
    with pytest.raises(ValueError, match=r"not both|numbers are needed"):
        make()


def test_all_are_pytrees() -> None:
    """Through jit, vmap and grad as themselves."""
    for value in (A, SpatialTransform(), SpatialMotion(), SpatialForce(), SpatialInertia(1.0)):
        again = jax.jit(lambda one: one)(value)
        assert type(again) is type(value)
        close(again.asarray(), value.asarray())
    gradient = jax.grad(lambda q: (q @ VECTOR)[0])(A)
    assert isinstance(gradient, Quaternion)


def test_the_matrix_of_a_cross_product() -> None:
    close(skew(VECTOR) @ np.array([1.0, 2.0, 3.0]), np.cross(VECTOR, [1, 2, 3]))


def test_conversions_to_poses_and_twists() -> None:
    """Poses are [p q], twists [v w]; back again they are the same."""
    transforms = np.arange(14.0).reshape(2, 7)
    assert poses_of(transforms)[0].tolist() == [4, 5, 6, 0, 1, 2, 3]
    assert (transforms_of(poses_of(transforms)) == transforms).all()
    vectors = np.arange(12.0).reshape(2, 6)
    assert swapped(vectors)[0].tolist() == [3, 4, 5, 0, 1, 2]
    assert (swapped(swapped(vectors)) == vectors).all()


@settings(max_examples=25, deadline=None)
@given(st.tuples(number, number, number))
def test_the_exponential_is_the_rotation_of_its_vector(vector: tuple[float, float, float]) -> None:
    found = np.array([float(each) for each in rows.exponential(vector)])
    expected = Rotation.from_rotvec(vector).as_quat()
    close(found, expected if np.dot(found, expected) > 0 else -expected, atol=1e-14)


def test_the_exponential_is_smooth_at_zero() -> None:
    """d exp(u) / du at zero is half the unit matrix, and it has no jump where the series ends."""
    jacobian = jax.jacobian(lambda u: jnp.stack(rows.exponential(tuple(u))))(jnp.zeros(3))
    close(jacobian, np.vstack([np.eye(3) / 2, np.zeros(3)]), atol=1e-16)
    for size in (0.99e-4, 1.01e-4):
        close(rows.exponential((size, 0.0, 0.0))[0], np.sin(size / 2), rtol=1e-15)
