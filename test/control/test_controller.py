"""The control loops on rigid bodies that are integrated here, by Euler's equations, without any physics engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy
from airframes import iris
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from sim_node.simulation.control.airframe import effectiveness
from sim_node.simulation.control.controller import Controller
from sim_node.spatial.geometry.arrays import FloatArray

PERIOD, GRAVITY = 0.004, 9.81
ON = np.array([1])


def flown(states: npt.ArrayLike, duration: float, command: Callable[..., Any], lag: npt.ArrayLike = 0.0) -> FloatArray:
    """States (T, V, 13) once a period, of irises whose thrusts follow their commands with a lag, of all or of each."""
    frame, states = iris(), np.array(states, dtype=float).reshape(-1, 13)
    matrix, commands, speeds = effectiveness(frame), np.zeros(4 * len(states)), np.zeros((len(states), 4))
    history, step, inverse = [], PERIOD / 4, np.linalg.inv(frame.inertia)
    lags = np.broadcast_to(lag, len(states))[:, None]
    follow = 1.0 - np.exp(-step / np.maximum(lags, 1e-9))
    for _ in range(round(duration / PERIOD)):
        history.append(np.array(states))
        command(states, commands)
        demanded, turn = 1100 * commands.reshape(-1, 4), matrices(states[:, 3:7])
        rates = np.einsum("vji,vj->vi", turn, states[:, 10:])
        for _ in range(4):
            speeds += (demanded - speeds) * follow
            wrenches = 5.84e-6 * speeds**2 @ matrix.T
            rates += step * (wrenches[:, 1:] - crossed(rates, rates @ frame.inertia)) @ inverse
            states[:, 7:10] += step * (turn[:, :, 2] * (wrenches[:, :1] / frame.mass) - [0, 0, GRAVITY])
            states[:, :3] += step * states[:, 7:10]
            states[:, 3:7] = turned_on(states[:, 3:7], step * rates)
            turn = matrices(states[:, 3:7])
        states[:, 10:] = np.einsum("vij,vj->vi", turn, rates)
    return np.array(history)


def crossed(one: FloatArray, other: FloatArray) -> FloatArray:
    """Cross products of vectors (V, 3); numpy.cross would take five times as long for a few."""
    (a, b, c), (x, y, z) = one.T, other.T
    product: FloatArray = np.array([b * z - c * y, c * x - a * z, a * y - b * x]).T
    return product


def matrices(quaternions: FloatArray) -> FloatArray:
    """Rotation matrices (V, 3, 3) of unit quaternions; SciPy's Rotation would take five times as long."""
    x, y, z, w = quaternions.T
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    found: FloatArray = np.array(rows).transpose(2, 0, 1)
    return found


def turned_on(quaternions: FloatArray, turns: FloatArray) -> FloatArray:
    """Unit quaternions after turns about their own axes, which are rotation vectors (V, 3)."""
    half = 0.5 * np.sqrt((turns * turns).sum(axis=1))
    a, b, c = 0.5 * np.sin(half) / np.maximum(half, 1e-100) * turns.T
    d, (x, y, z, w) = np.cos(half), quaternions.T
    product: FloatArray = np.array(
        [
            w * a + x * d + y * c - z * b,
            w * b - x * c + y * d + z * a,
            w * c + x * b - y * a + z * d,
            w * d - x * a - y * b - z * c,
        ]
    ).T
    product /= np.sqrt((product * product).sum(axis=1))[:, None]
    return product


def at_rest(quaternion: Iterable[float] = (0, 0, 0, 1), position: tuple[int, int, int] = (0, 0, 0)) -> list[float]:
    return [*position, *quaternion, 0, 0, 0, 0, 0, 0]


def levelling(yaw: float = 0.0, count: int = 1) -> Callable[..., Any]:
    controller = Controller([iris()] * count, np.tile([5.0, 1.5], (count, 1)), PERIOD, GRAVITY)
    demands, on = np.tile([0, 0, GRAVITY, yaw, 0.0], (count, 1)), np.ones(count, dtype=np.int64)
    return lambda states, commands: controller.turn(states, demands, on, commands)


quaternions = st.tuples(*[st.floats(-1, 1)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)
UPSIDE_DOWN = [(1.0, 0, 0, 0), (0, 1.0, 0, 0), (0.6, 0.8, 0, 0), (-1.0, 0, 0, 1e-12)]


# Takes seconds: make test has the bandwidths of both loops.
@pytest.mark.nightly
@settings(max_examples=3)  # of 64 attitudes each
@given(st.lists(quaternions, min_size=60, max_size=60))
def test_it_comes_upright_from_any_attitude(attitudes: list[tuple[float, float, float, float]]) -> None:
    """And to the demanded heading, with motors that lag by 25 ms, within two and four seconds.

    From upside down, too, where the shortest way is not unique and Lee's attitude error is zero.
    """
    quaternions = np.array([*UPSIDE_DOWN, *attitudes])
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    history = flown([at_rest(q) for q in quaternions], 4.0, levelling(0.3, len(quaternions)), lag=0.025)
    for states in history[500::50]:
        up = Rotation.from_quat(states[:, 3:7]).apply([0, 0, 1])
        assert np.degrees(np.arccos(np.clip(up[:, 2], -1, 1))).max() < 1.0
    yaw = Rotation.from_quat(history[-1, :, 3:7]).as_euler("ZYX")[:, 0]
    assert np.abs(yaw - 0.3).max() < 0.03
    assert np.linalg.norm(history[-1, :, 10:], axis=1).max() < 0.1


def test_the_attitude_loop_has_the_bandwidth_that_its_gains_say() -> None:
    """Of small tilts, with rotors that do not lag: s^2 + k_rate s + k_rate k_attitude = 0; scipy's step response."""
    controller = Controller([iris()], np.array([[5.0, 1.5]]), PERIOD, GRAVITY)
    attitude, rate = controller.gains[0, 3], controller.gains[0, 5]
    assert (rate, attitude) == pytest.approx((0.4 / 0.025, 0.4 / 0.025 / 3))
    tilt = 0.02
    history = flown(at_rest([np.sin(tilt / 2), 0, 0, np.cos(tilt / 2)]), 1.0, levelling())[:, 0]
    found = Rotation.from_quat(history[:, 3:7]).as_euler("ZYX")[:, 2] / tilt
    _times, step = scipy.signal.step(
        ([rate * attitude], [1, rate, rate * attitude]), T=PERIOD * np.arange(len(history))
    )
    # A command is held for a period, as good as half of one late: 0.002 s at the fastest slope.
    assert np.abs(found - (1 - step)).max() < 0.02


@pytest.fixture(scope="module")
def held() -> FloatArray:
    """States (T, 4, 13) of flights from rest to setpoints, beside each other.

    0.1 m along each axis, without a lag; 40 m ahead at 3 m/s at most, with one of 25 ms.
    """
    setpoints = np.zeros((4, 11))
    setpoints[:, :3] = [[0.1, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.1], [40.0, 0.0, 0.0]]
    limits = np.array([[5.0, 1.5], [5.0, 1.5], [5.0, 1.5], [3.0, 1.0]])
    controller, on = Controller([iris()] * 4, limits, PERIOD, GRAVITY), np.ones(4, dtype=np.int64)
    return flown(
        [at_rest()] * 4,
        12.0,
        lambda states, commands: controller.flying(states, setpoints, on, commands)(),
        lag=[0.0, 0.0, 0.0, 0.025],
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_position_loop_has_the_bandwidth_that_its_gains_say(axis: int, held: FloatArray) -> None:
    """Of small steps: P on the position around PI on the velocity; vertically nothing lags but a period's hold.

    Horizontally the attitude loop is three times as fast, which shows.
    """
    gains = Controller([iris()], np.array([[5.0, 1.5]]), PERIOD, GRAVITY).gains[0]
    p, v, i = gains[:3]
    history = held[:1500, axis]  # 6 s
    numerator, denominator = [v * p, i * p], [1, v, v * p + i, i * p]
    if axis < 2:
        inner = gains[5] * gains[3]
        denominator = np.polyadd(
            np.polymul([1, 0, 0, 0], [1, gains[5], inner]), inner * np.array(denominator[1:])
        ).tolist()
        numerator = [inner * part for part in numerator]
    _, step = scipy.signal.step((numerator, denominator), T=PERIOD * np.arange(len(history)))
    assert np.abs(history[:, axis] / 0.1 - step).max() < 0.02


def test_a_far_setpoint_is_approached_at_the_limit(held: FloatArray) -> None:
    history = held[:, 3]
    assert abs(history[2000, 7] - 3.0) < 0.1
    assert history[:, 7].max() < 1.2 * 3.0
    assert np.abs(history[:, 2]).max() < 0.5


def test_vehicles_do_not_hear_of_each_other() -> None:
    """Ten in one controller get the commands that each gets in one of its own, to the bit."""
    random = np.random.default_rng(5)
    states = np.concatenate([random.normal(size=(10, 13))])
    states[:, 3:7] /= np.linalg.norm(states[:, 3:7], axis=1, keepdims=True)
    setpoints = random.normal(size=(10, 11))
    together, alone = np.zeros(40), np.zeros(4)
    controller = Controller([iris()] * 10, np.tile([5.0, 1.0], (10, 1)), PERIOD)
    controller.flying(states, setpoints, np.ones(10, dtype=np.int64), together)()
    for v in range(10):
        one = Controller([iris()], np.array([[5.0, 1.0]]), PERIOD)
        one.flying(states[v : v + 1], setpoints[v : v + 1], ON, alone)()
        assert alone.tobytes() == together[4 * v : 4 * v + 4].tobytes()
