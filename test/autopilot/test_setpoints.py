"""Setpoints turned by scipy, masks from MAVLink's definition, refusals with their reasons."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import common as mavlink
from scipy.spatial.transform import Rotation

from sim_node.mavlink import setpoints
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.commands import takeoff
from sim_node.mavlink.setpoints import SetpointLimits, SetpointRefused, odometry, vision_pose
from sim_node.mavlink.telemetry import Home, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.spatial.frames import Ned

ENU_NED = np.array([[0, 1, 0], [1, 0, 0], [0, 0, -1]])
FLU_FRD = np.diag([1, -1, -1])
HOME = Home(47.0, 8.0, 400.0, Ned((3.0, -2.0, 0.5)))
AT_REST = (0.0, 0.0, 0.0, 1.0)
YAW = st.floats(-3.1, 3.1)


def used(mask: int) -> set[str]:
    """The groups of fields that a mask lets through, by MAVLink's own names of the bits."""
    bits = {
        "position": mavlink.POSITION_TARGET_TYPEMASK_X_IGNORE
        | mavlink.POSITION_TARGET_TYPEMASK_Y_IGNORE
        | mavlink.POSITION_TARGET_TYPEMASK_Z_IGNORE,
        "velocity": mavlink.POSITION_TARGET_TYPEMASK_VX_IGNORE
        | mavlink.POSITION_TARGET_TYPEMASK_VY_IGNORE
        | mavlink.POSITION_TARGET_TYPEMASK_VZ_IGNORE,
        "acceleration": mavlink.POSITION_TARGET_TYPEMASK_AX_IGNORE
        | mavlink.POSITION_TARGET_TYPEMASK_AY_IGNORE
        | mavlink.POSITION_TARGET_TYPEMASK_AZ_IGNORE,
        "force": mavlink.POSITION_TARGET_TYPEMASK_FORCE_SET,
        "yaw": mavlink.POSITION_TARGET_TYPEMASK_YAW_IGNORE,
        "yaw rate": mavlink.POSITION_TARGET_TYPEMASK_YAW_RATE_IGNORE,
    }
    assert all(mask & bit in (0, bit) for bit in bits.values()), "whole groups only"
    return {name for name, bit in bits.items() if not mask & bit} - {"force"}


@given(st.tuples(*[st.floats(-80, 80)] * 3), YAW)
def test_position(xyz: tuple[float, float, float], yaw: float) -> None:
    q = tuple(Rotation.from_euler("z", yaw).as_quat())
    fields = setpoints.position("map", xyz, q, "map", SetpointLimits(), HOME).fields
    np.testing.assert_allclose([fields["x"], fields["y"], fields["z"]], ENU_NED @ xyz, atol=1e-12)
    north, east = math.cos(fields["yaw"]), math.sin(fields["yaw"])
    np.testing.assert_allclose([east, north], [math.cos(yaw), math.sin(yaw)], atol=1e-9)
    assert used(fields["type_mask"]) == {"position", "yaw"}
    assert fields["coordinate_frame"] == mavlink.MAV_FRAME_LOCAL_NED


@given(st.tuples(*[st.floats(-80, 80)] * 3))
def test_goto_counts_from_home(xyz: tuple[float, float, float]) -> None:
    setpoint = setpoints.goto("map", xyz, AT_REST, "map", SetpointLimits(), HOME)
    assert setpoint.ned is not None
    assert HOME.ned is not None
    np.testing.assert_allclose(setpoint.ned, ENU_NED @ xyz + np.array(HOME.ned), atol=1e-12)


@given(st.tuples(*[st.floats(-5, 5)] * 3), st.floats(-1, 1))
def test_velocity_along_the_map_and_along_the_heading(v: tuple[float, float, float], rate: float) -> None:
    along_map = setpoints.velocity("map", v, rate, "map", "base", SetpointLimits()).fields
    np.testing.assert_allclose([along_map["vx"], along_map["vy"], along_map["vz"]], ENU_NED @ v, atol=1e-12)
    assert along_map["yaw_rate"] == -rate
    assert used(along_map["type_mask"]) == {"velocity", "yaw rate"}
    ahead = setpoints.velocity("base", v, rate, "map", "base", SetpointLimits()).fields
    np.testing.assert_allclose([ahead["vx"], ahead["vy"], ahead["vz"]], FLU_FRD @ v, atol=1e-12)
    assert ahead["coordinate_frame"] == mavlink.MAV_FRAME_BODY_NED


def test_acceleration() -> None:
    fields = setpoints.acceleration("map", (1.0, 2.0, 3.0), "map", SetpointLimits()).fields
    assert (fields["afx"], fields["afy"], fields["afz"]) == (2.0, 1.0, -3.0)
    assert used(fields["type_mask"]) == {"acceleration"}


@given(YAW, st.floats(-1.0, 1.0), st.floats(-1.0, 1.0))
def test_attitude(yaw: float, pitch: float, roll: float) -> None:
    wanted = Rotation.from_euler("ZYX", [yaw, pitch, roll])
    fields = setpoints.attitude("map", tuple(wanted.as_quat()), 0.6, "map").fields
    w, x, y, z = fields["q"]
    expected = Rotation.from_matrix(ENU_NED.T @ wanted.as_matrix() @ FLU_FRD)
    assert (Rotation.from_quat([x, y, z, w]) * expected.inv()).magnitude() < 1e-9
    assert fields["thrust"] == 0.6
    rates = mavlink.ATTITUDE_TARGET_TYPEMASK_BODY_ROLL_RATE_IGNORE
    rates |= mavlink.ATTITUDE_TARGET_TYPEMASK_BODY_PITCH_RATE_IGNORE
    rates |= mavlink.ATTITUDE_TARGET_TYPEMASK_BODY_YAW_RATE_IGNORE
    assert fields["type_mask"] == rates


def test_body_rates() -> None:
    fields = setpoints.body_rates("base", (0.1, 0.2, 0.3), 0.5, "base").fields
    assert (fields["body_roll_rate"], fields["body_pitch_rate"], fields["body_yaw_rate"]) == (0.1, -0.2, -0.3)
    assert fields["type_mask"] == mavlink.ATTITUDE_TARGET_TYPEMASK_ATTITUDE_IGNORE


NAN = math.nan


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: setpoints.position("odom", (0, 0, 1), AT_REST, "map", SetpointLimits(), HOME), "'odom'; allowed: map"),
        (lambda: setpoints.position("map", (0, NAN, 1), AT_REST, "map", SetpointLimits(), HOME), "not finite"),
        (lambda: setpoints.position("map", (0, 0, 1), (0, 0, 0, 0), "map", SetpointLimits(), HOME), "norm is 0"),
        (lambda: setpoints.goto("map", (0, 0, 121), AT_REST, "map", SetpointLimits(), HOME), "limit_height is 120 m"),
        (
            lambda: setpoints.goto("map", (900, 900, 1), AT_REST, "map", SetpointLimits(), HOME),
            "limit_distance is 1000 m",
        ),
        (
            lambda: setpoints.goto("map", (0, 0, 1), AT_REST, "map", SetpointLimits(), None),
            "no HOME_POSITION received yet",
        ),
        (
            lambda: setpoints.velocity("map", (20, 20, 0), 0, "map", "base", SetpointLimits()),
            "28.3 m/s; limit_velocity",
        ),
        (lambda: setpoints.velocity("map", (0, 0, 0), NAN, "map", "base", SetpointLimits()), "not finite"),
        (lambda: setpoints.acceleration("map", (0, 0, 11), "map", SetpointLimits()), "limit_acceleration is 10"),
        (lambda: setpoints.attitude("map", AT_REST, 1.2, "map"), "thrust is 1.2; allowed: 0 to 1"),
        (lambda: setpoints.attitude("map", AT_REST, NAN, "map"), "thrust is nan"),
        (lambda: setpoints.body_rates("map", (0, 0, 0), 0.5, "base"), "allowed: base"),
    ],
)
def test_a_setpoint_that_is_not_sent_says_why(make: Callable[[], object], words: str) -> None:
    with pytest.raises(SetpointRefused) as refused:
        make()
    assert words in str(refused.value)


def vehicle(autopilot: int = 3) -> Telemetry:
    made = Telemetry(1, FrameNames("map", "odom", "base"), lambda topic, data: None)
    from sim_node.mavlink.telemetry import Heartbeat

    made.heartbeat = Heartbeat(autopilot=autopilot)
    return made


@pytest.mark.parametrize(("autopilot", "frame"), [(3, 20), (12, 1)])
def test_external_odometry_in_the_map(autopilot: int, frame: int) -> None:
    """ArduPilot takes LOCAL_FRD alone; PX4 is told that the estimate knows north."""
    turned = Rotation.from_euler("ZYX", [0.3, 0.2, 0.1])
    covariance = np.diag([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    fields = odometry(
        vehicle(autopilot), 5_000, ("map", "base"), (1, 2, 3, *turned.as_quat()), (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
        covariance.ravel(), np.zeros(36),
    ).fields  # fmt: skip
    assert (fields["frame_id"], fields["child_frame_id"]) == (frame, 12)
    assert (fields["x"], fields["y"], fields["z"]) == (2.0, 1.0, -3.0)
    assert (fields["vx"], fields["vy"], fields["vz"]) == (0.1, -0.2, -0.3)
    assert (fields["rollspeed"], fields["pitchspeed"], fields["yawspeed"]) == (0.4, -0.5, -0.6)
    w, x, y, z = fields["q"]
    expected = Rotation.from_matrix(ENU_NED.T @ turned.as_matrix() @ FLU_FRD)
    assert (Rotation.from_quat([x, y, z, w]) * expected.inv()).magnitude() < 1e-9
    # Row-major upper triangle: its diagonal stands at 0, 6, 11, 15, 18, 20; east and north change places.
    assert [fields["pose_covariance"][place] for place in (0, 6, 11, 15, 18, 20)] == [2.0, 1.0, 3.0, 5.0, 4.0, 6.0]
    assert math.isnan(fields["velocity_covariance"][0])


def test_external_odometry_that_does_not_know_north() -> None:
    turned = Rotation.from_euler("ZYX", [0.3, 0.2, 0.1])
    fields = odometry(
        vehicle(12), 5_000, ("odom", "base"), (1, 2, 3, *turned.as_quat()), [0.0] * 6, np.zeros(36), np.zeros(36)
    ).fields
    assert fields["frame_id"] == 20
    assert (fields["x"], fields["y"], fields["z"]) == (1.0, -2.0, -3.0)
    w, x, y, z = fields["q"]
    expected = Rotation.from_matrix(FLU_FRD @ turned.as_matrix() @ FLU_FRD)
    assert (Rotation.from_quat([x, y, z, w]) * expected.inv()).magnitude() < 1e-9


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_an_estimate_that_is_none_is_refused(value: float) -> None:
    """1e300 is finite, and no 32-bit float."""
    for place in range(3):
        pose = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]
        pose[place] = value
        with pytest.raises(SetpointRefused, match="beyond 1e\\+06 or NaN"):
            vision_pose(vehicle(), 0, "map", pose)
        with pytest.raises(SetpointRefused, match="beyond 1e\\+06 or NaN"):
            odometry(vehicle(), 0, ("map", "base"), pose, [0.0] * 6, np.zeros(36), np.zeros(36))
    huge = np.full(36, 1e300)
    fields = odometry(vehicle(), 0, ("map", "base"), [0.0] * 6 + [1.0], [0.0] * 6, huge, huge).fields
    frame_bytes("ODOMETRY", dict(fields), 1, 1, 0)


def test_takeoff_has_limits() -> None:
    for height in (math.nan, 0.0, -1.0, 121.0, 1e300):
        refused = takeoff(height, 120.0, vehicle()).result
        assert refused is not None
        assert "up to limit_height, 120 m" in refused.text


def test_vision_pose() -> None:
    turned = Rotation.from_euler("ZYX", [0.3, 0.2, 0.1])
    fields = vision_pose(vehicle(), 5_000, "map", (1, 2, 3, *turned.as_quat())).fields
    assert (fields["x"], fields["y"], fields["z"]) == (2.0, 1.0, -3.0)
    expected = Rotation.from_matrix(ENU_NED.T @ turned.as_matrix() @ FLU_FRD).as_euler("ZYX")
    np.testing.assert_allclose([fields["yaw"], fields["pitch"], fields["roll"]], expected, atol=1e-9)
    with pytest.raises(SetpointRefused, match="allowed: map"):
        vision_pose(vehicle(), 0, "base", (0, 0, 0, 0, 0, 0, 1))


def test_a_place_on_earth_counts_from_mean_sea_level_for_the_autopilot() -> None:
    """Home is 400 m above the sea; the geoid lies 48 m above the ellipsoid there, so 478 m are 30 m above home."""
    setpoint = setpoints.place("earth", (47.001, 8.002, 478.0), 48.0, SetpointLimits(), HOME)
    assert setpoint.name == "SET_POSITION_TARGET_GLOBAL_INT"
    assert (setpoint.fields["lat_int"], setpoint.fields["lon_int"]) == (470_010_000, 80_020_000)
    assert setpoint.fields["alt"] == pytest.approx(30.0)
    assert setpoint.fields["coordinate_frame"] == mavlink.MAV_FRAME_GLOBAL_RELATIVE_ALT_INT
    assert used(setpoint.fields["type_mask"]) == {"position"}
    frame_bytes(setpoint.name, setpoint.fields, 1, 1, 0)


@pytest.mark.parametrize(
    ("frame", "lla", "undulation", "words"),
    [
        ("map", (47.0, 8.0, 460.0), 48.0, "frame_id is 'map'; allowed: , earth"),
        ("earth", (math.nan, 8.0, 460.0), 48.0, "not finite"),
        ("earth", (97.0, 8.0, 460.0), 48.0, "needs \\[-90, 90\\]"),
        ("earth", (47.02, 8.0, 460.0), 48.0, "limit_distance is 1000 m"),
        ("earth", (47.0, 8.0, 600.0), 48.0, "152.0 m above home; limit_height"),
    ],
)
def test_a_place_that_cannot_be_flown_to_is_refused(
    frame: str, lla: tuple[float, float, float], undulation: float, words: str
) -> None:
    with pytest.raises(SetpointRefused, match=words):
        setpoints.place(frame, lla, undulation, SetpointLimits(), HOME)
