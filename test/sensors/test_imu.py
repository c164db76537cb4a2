"""What an accelerometer and a gyroscope feel, by hand (REP 145)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.simulation.sensors import Imu
from sim_node.simulation.sensors.context import SensorContext
from sim_node.simulation.sensors.truth import FrameState
from sim_node.world import World

G = 9.80665
rate_and_force = Imu.measure((Imu(),), SensorContext(World("earth")))
COMPONENT = st.floats(-20, 20)
VECTOR = st.tuples(COMPONENT, COMPONENT, COMPONENT)


def state(
    rotation: Rotation | None = None,
    twist: tuple[float, ...] = (0.0,) * 6,
    acceleration: tuple[float, ...] = (0.0,) * 6,
) -> FrameState:
    turn = (rotation or Rotation.identity()).as_quat()
    return FrameState(np.array([[0, 0, 0, *turn]]), np.array([twist]), np.array([acceleration]))


def test_at_rest_it_feels_gravity_upwards() -> None:
    """+g along z for a level frame with z up: REP 145, Accelerometers."""
    np.testing.assert_allclose(rate_and_force(state()), [[0, 0, 0, 0, 0, G]], atol=1e-15)


def test_upside_down_as_autopilots_mount_it_it_feels_it_downwards() -> None:
    """FRD, half a turn about x."""
    np.testing.assert_allclose(
        rate_and_force(state(Rotation.from_euler("x", np.pi))), [[0, 0, 0, 0, 0, -G]], atol=1e-14
    )


def test_falling_freely_it_feels_nothing() -> None:
    np.testing.assert_allclose(rate_and_force(state(acceleration=(0, 0, -G, 0, 0, 0))), np.zeros((1, 6)), atol=1e-15)


def test_nose_up_it_feels_gravity_forwards() -> None:
    """Nose straight up is -90 degrees about y (REP 103): x points up."""
    nose_up = state(Rotation.from_euler("y", -90, degrees=True))
    np.testing.assert_allclose(rate_and_force(nose_up), [[0, 0, 0, G, 0, 0]], atol=1e-14)


def test_in_a_centrifuge_it_feels_the_centre() -> None:
    """3 m from the axis at 2 rad/s, nose along the path: 12 m/s² towards the centre, on its left."""
    ahead = Rotation.from_euler("z", 90, degrees=True)
    rim = FrameState(
        np.array([[3.0, 0, 0, *ahead.as_quat()]]), np.array([[0, 6, 0, 0, 0, 2.0]]), np.array([[-12.0, 0, 0, 0, 0, 0]])
    )
    np.testing.assert_allclose(rate_and_force(rim), [[0, 0, 2, 0, 12, G]], atol=1e-14)


@given(VECTOR.filter(lambda v: np.linalg.norm(v) > 1e-3), VECTOR, VECTOR)
def test_both_are_the_world_vectors_seen_from_the_frame(
    turn: tuple[float, float, float], rate: tuple[float, float, float], acceleration: tuple[float, float, float]
) -> None:
    """Against scipy's rotations."""
    rotation = Rotation.from_rotvec(turn)
    expected = [*rotation.inv().apply(rate), *rotation.inv().apply(np.array(acceleration) + [0, 0, G])]
    felt = rate_and_force(state(rotation, (0, 0, 0, *rate), (*acceleration, 0, 0, 0)))
    np.testing.assert_allclose(felt[0], expected, atol=1e-12)
