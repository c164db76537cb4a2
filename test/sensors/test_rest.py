"""What holds for every sensor of what stands still: its first sample is that of rest, and no variance is negative."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from nightly import only

from sim_node.simulation import Simulation
from sim_node.simulation.sensors import SENSORS, Noise
from sim_node.simulation.sensors.camera import CameraType
from sim_node.simulation.sensors.rays import RangeNoise
from sim_node.simulation.sensors.registry import Channels
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import loads

# Those that can be at a link of a standing vehicle without more.
KINDS = sorted(
    kind for kind, of in SENSORS.items() if not issubclass(of, CameraType) and kind not in ("contact", "force_torque")
)
# Multirotors, and how high they stand: on legs, whose axes and radii config/vehicles has.
HEIGHTS = {"iris": 0.12 + 0.01, "hexarotor": 0.1 + 0.01}
MODELS = ["ackermann", "differential", "mecanum", "rover", *HEIGHTS]


def quiet(kind: str) -> str:
    """An entry's parameters without noise."""
    sensor: Any = SENSORS[kind]()
    groups = [part.name for part in fields(sensor) if isinstance(getattr(sensor, part.name), (Noise, RangeNoise))]
    return "".join(f", {name}: none" for name in groups)


def standing(model: str) -> Simulation:
    """A vehicle on the ground, a multirotor without a pose, with a sensor of each kind at its base."""
    place = ", pose: {position: [1, 2, 0]}"
    kind, pose = ("vehicles", "") if model in HEIGHTS else ("bases", place)
    part = f"{kind}: [{{name: v, model: {model}{pose}, sensors: false}}]"
    kinds = [kind for kind in KINDS if kind != "joint_states" or model not in HEIGHTS]
    above = "parent: v/base_link, pose: {position: [0, 0, 1]}"
    entries = "".join(f"  - {{name: S_{kind.upper()}, type: {kind}, {above}{quiet(kind)}}}\n" for kind in kinds)
    entries += "  - {name: S_CONTACT, type: contact, parent: v/base_link}\n"
    return Simulation(
        loads(f"""
time: {{step: 0.002}}
origin: {{latitude: 47.4, longitude: 8.5, altitude: 488}}
physics: {{integrator: implicitfast, timestep: 0.002}}
ground: {{friction: 0.8}}
{part}
sensors:
{entries}""")
    )


def samples(run: Simulation) -> dict[str, FloatArray]:
    measured = run.snapshot().measurements
    return {name: np.array(measured[name].values[-1]) for name in measured if len(measured[name].values)}


@pytest.mark.parametrize("model", only(MODELS, 0, 3))
def test_the_first_sample_of_what_stands_is_that_of_rest(model: str) -> None:
    """As long afterwards; and of an imu +g upwards (REP 145), of contacts the weight, and no velocity."""
    run = standing(model)
    first = samples(run)
    mass = float(sum(run.engines["rigid_bodies"].model.body_subtreemass[1:2]))  # type: ignore[attr-defined]
    np.testing.assert_allclose(first["S_IMU"], [0, 0, 0, 0, 0, 9.81], atol=5e-3)
    np.testing.assert_allclose(first["S_GPS"][3:], 0.0, atol=1e-9)
    np.testing.assert_allclose(first["S_GROUND_TRUTH"][7:], 0.0, atol=1e-9)
    if model in HEIGHTS:  # others touch the ground with their wheels
        assert first["S_GROUND_TRUTH"][2] == pytest.approx(HEIGHTS[model] + 1.0, abs=5e-3)
        assert first["S_CONTACT"][2] == pytest.approx(mass * 9.81, rel=1e-3)
    later: dict[str, FloatArray] = {}
    for _ in range(250):
        run.step()
        later |= samples(run)
    for name, value in first.items():
        seen = np.isfinite(value) & np.isfinite(later[name])  # rays that graze the ground
        np.testing.assert_allclose(later[name][seen], value[seen], atol=5e-3, rtol=2e-2, err_msg=name)


def _negative(kind: str, value: Any) -> bool:
    matrix = np.asarray(value.within if isinstance(value, Channels) else value, dtype=np.float64).ravel()
    size = round(len(matrix) ** 0.5)
    # sensor_msgs/Imu, MagneticField and NavSatFix: -1 in front for what is not measured.
    unknown = kind.startswith("sensor_msgs/") and matrix[0] == -1.0 and not matrix[1:].any()
    return not unknown and bool((np.diag(matrix.reshape(size, size)) < 0.0).any())


@pytest.mark.parametrize("kind", sorted(SENSORS))
def test_no_variance_is_negative_but_where_the_message_says_so(kind: str) -> None:
    messages = SENSORS[kind]().messages("frame", "map")
    found = [(each, key) for each in messages for key in each.fields if key.endswith("covariance")]
    wrong = [(each.topic, key) for each, key in found if _negative(each.type, each.fields[key])]
    assert wrong == []
