"""Sensors of a real node in its own process, received here: types, topics, QoS, frames, stamps, values."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import rclpy.qos as ros_qos
from forked_programs import program
from geometry_msgs.msg import TwistWithCovarianceStamped, WrenchStamped
from listening import listener
from nav_msgs.msg import Odometry
from processes import sim_node
from sensor_msgs.msg import (
    CameraInfo,
    FluidPressure,
    Image,
    Imu,
    LaserScan,
    MagneticField,
    NavSatFix,
    PointCloud2,
    Range,
)
from tf2_msgs.msg import TFMessage

SENSOR_DATA = ros_qos.qos_profile_sensor_data
STATIC = ros_qos.QoSProfile(depth=1, durability=ros_qos.DurabilityPolicy.TRANSIENT_LOCAL)
# On a turntable, a quarter turn per second, half a metre out, in a place near Zurich.
WORLD = """
world: turntable
origin: {latitude: 47.397742, longitude: 8.545594, altitude: 488.0}
time: {step: 0.01}
motions:
  - frame: drone/base_link
    after: loop
    keyframes:
      - {t: 0, rpy_deg: [0, 0, 0]}
      - {t: 1, rpy_deg: [0, 0, 90]}
      - {t: 2, rpy_deg: [0, 0, 180]}
      - {t: 3, rpy_deg: [0, 0, 270]}
      - {t: 4, rpy_deg: [0, 0, 360]}
sensors:
  - name: drone/IMU_MAIN
    type: imu
    rate: 50
    gyroscope: {density: 0, bias_instability: 0, turn_on_bias: 0, deviation: 1.0e-3}
    accelerometer: none
    pose: {position: [0.5, 0, 0]}
  - {name: drone/MAG, type: magnetometer, noise: none}
  - {name: drone/BARO, type: barometer, noise: none, geoid_undulation: 0}
  - {name: drone/GPS, type: gps, horizontal: none, vertical: none, velocity: {deviation: 0.5}}
  - {name: drone/TRUTH, type: ground_truth, pose: {position: [0.5, 0, 0]}}
"""


@pytest.mark.usefixtures("ros_domain")
def test_each_sensor_is_received_on_its_topic(tmp_path: Path) -> None:
    path = tmp_path / "turntable.yaml"
    path.write_text(WORLD)
    command = sim_node("run", path, "--ros-args", "-p", "frame_prefix:=lab/", "-r", "__ns:=/site")
    with program(command) as node, listener() as ears:
        names = {
            "imu_main/data_raw": Imu,
            "mag/mag": MagneticField,
            "baro/pressure": FluidPressure,
            "gps/fix": NavSatFix,
            "gps/fix_velocity": TwistWithCovarianceStamped,
            "truth/odom": Odometry,
        }
        got = {name: ears.subscribe(kind, f"/site/lab/drone/{name}", SENSOR_DATA) for name, kind in names.items()}
        enough = {"imu_main/data_raw": 100, "gps/fix": 5}
        ears.spin_until(lambda: all(len(got[name]) >= enough.get(name, 20) for name in got), what=node.output)
        infos = {name: ears.node.get_publishers_info_by_topic(f"/site/lab/drone/{name}") for name in names}
        assert node.stop() == 0

    messages = {name: [message for _, message in received] for name, received in got.items()}
    for name, (info,) in infos.items():
        assert info.qos_profile.reliability == ros_qos.ReliabilityPolicy.BEST_EFFORT, name
    frames = {name: {message.header.frame_id for message in received} for name, received in messages.items()}
    assert frames == {
        "imu_main/data_raw": {"lab/drone/IMU_MAIN"},
        "mag/mag": {"lab/drone/MAG"},
        "baro/pressure": {"lab/drone/BARO"},
        "gps/fix": {"lab/drone/GPS"},
        "gps/fix_velocity": {"map"},
        "truth/odom": {"map"},
    }
    stamps = [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages["imu_main/data_raw"]]
    assert {stamp % 20_000_000 for stamp in stamps} == {0}, "the rate is 50 Hz"
    assert sorted(set(stamps)) == stamps

    turn = math.pi / 2
    for message in messages["imu_main/data_raw"]:
        force = message.linear_acceleration
        np.testing.assert_allclose([force.x, force.y, force.z], [-(turn**2) / 2, 0, 9.80665], atol=3e-6)
        assert message.angular_velocity.z == pytest.approx(turn, abs=6e-3)
        np.testing.assert_allclose(message.angular_velocity_covariance, np.diag([1e-6] * 3).ravel(), rtol=1e-12)
    for message in messages["gps/fix"]:
        assert message.latitude == pytest.approx(47.397742, abs=1e-12)
        assert message.altitude == pytest.approx(488.0, abs=1e-6)
    assert {message.twist.covariance[0] for message in messages["gps/fix_velocity"]} == {0.25}
    # The barometric formula of ISO 2533.
    isa = 101325.0 * (1 - 0.0065 * (488.0 * 6356766.0 / (6356766.0 + 488.0)) / 288.15) ** 5.255880
    for message in messages["baro/pressure"]:
        assert message.fluid_pressure == pytest.approx(isa, abs=0.01)
    for message in messages["truth/odom"]:
        assert message.child_frame_id == "lab/drone/TRUTH"
        at, moving = message.pose.pose.position, message.twist.twist
        assert math.hypot(at.x, at.y) == pytest.approx(0.5)
        np.testing.assert_allclose([moving.linear.x, moving.linear.y], [0.0, turn / 2], atol=1e-6)
    for message in messages["mag/mag"]:
        field = message.magnetic_field
        assert math.hypot(field.x, field.y, field.z) == pytest.approx(48.6e-6, abs=0.5e-6)
        assert field.z < 0, "into the ground, in the north"


SCENE = """
world: scene
time: {step: 0.01}
bodies:
  - name: hall
    geometry:
      - {plane: true}
      - {box: [0.2, 20, 6], pose: {position: [5.1, 0, 0]}, color: [1, 0, 0]}
  - name: cart/base_link
    pose: {position: [1, 0, 0.5]}
    joint: pz
    geometry: [{box: [0.4, 0.4, 0.2], mass: 2.0}]
physics: {gravity: [0, 0, 0]}
sensors:
  - {name: cart/RANGE, type: rangefinder, rate: 20, noise: none, field_of_view: 0}
  - {name: cart/LIDAR, type: lidar_2d, rate: 20, samples: 91, angle_min: -0.785398, angle_max: 0.785398, noise: none}
  - {name: cart/CLOUD, type: lidar_3d, rate: 10, rings: 4, samples: 100, noise: none}
  - {name: cart/CAM, type: camera, rate: 10, width: 160, height: 120}
  - {name: cart/DEPTH, type: depth_camera, rate: 10, width: 160, height: 120}
  - {name: cart/BUMPER, type: contact}
  - {name: cart/WRIST, type: force_torque}
"""


@pytest.mark.usefixtures("ros_domain")
def test_what_sensors_perceive_is_received_and_framed(tmp_path: Path) -> None:
    """A red wall 4 m ahead of a cart that floats; pictures are in the optical frame, which is on /tf_static."""
    path = tmp_path / "scene.yaml"
    path.write_text(SCENE)
    with program(sim_node("run", path)) as node, listener() as ears:
        kinds = {
            "range/range": Range,
            "lidar/scan": LaserScan,
            "cloud/points": PointCloud2,
            "bumper/wrench": WrenchStamped,
            "wrist/wrench": WrenchStamped,
            "cam/image_raw": Image,
            "cam/camera_info": CameraInfo,
            "depth/image_raw": Image,
            "depth/camera_info": CameraInfo,
        }
        got = {name: ears.subscribe(kind, f"/cart/{name}", SENSOR_DATA) for name, kind in kinds.items()}
        static = ears.subscribe(TFMessage, "/tf_static", STATIC)
        drawn = {name for name, kind in kinds.items() if kind in (Image, CameraInfo)}

        def received_all() -> bool:
            missing = {name for name in got if len(got[name]) < 3}
            return bool(static) and (not missing or (missing == drawn and "cameras see nothing" in node.output))

        ears.spin_until(received_all, what=node.output)
        assert node.stop() == 0

    last = {name: received[-1][1] for name, received in got.items() if received}
    assert last["range/range"].range == pytest.approx(4.0)
    scan = last["lidar/scan"]
    angles = scan.angle_min + scan.angle_increment * np.arange(91)
    np.testing.assert_allclose(scan.ranges, 4.0 / np.cos(angles), rtol=1e-5)
    assert (last["cloud/points"].height, last["cloud/points"].width) == (4, 100)
    assert last["bumper/wrench"].wrench.force.z == pytest.approx(0.0, abs=1e-9)
    names = {t.child_frame_id: t for _, message in static for t in message.transforms}
    turn = names["cart/CAM_optical"].transform.rotation
    assert [turn.x, turn.y, turn.z, turn.w] == [-0.5, 0.5, -0.5, 0.5]
    if not drawn & set(last):
        pytest.skip("no OpenGL here: nothing is drawn, the rest was heard")
    image, info = last["cam/image_raw"], last["cam/camera_info"]
    assert (image.header.frame_id, info.header.frame_id) == ("cart/CAM_optical", "cart/CAM_optical")
    middle = np.frombuffer(bytes(image.data), np.uint8).reshape(120, 160, 3)[60, 80]
    assert middle[0] > 100 > middle[1]
    assert info.k[0] == pytest.approx(80 / math.tan(0.6))
    depth = np.frombuffer(bytes(last["depth/image_raw"].data), np.float32).reshape(120, 160)
    assert depth[40, 80] == pytest.approx(4.0, rel=1e-4)
