"""Gimbals, flow sensors, rangefinders and offsets of maps: a row for each topic."""

from __future__ import annotations

from sim_node.mavlink.axes import quaternion_from_rpy
from sim_node.mavlink.contents import CENTI, DEGREE, FRD, AxisMapping, Quantity, Unit
from sim_node.mavlink.topics import Profile, VehicleTopic, topic
from sim_node.mavlink.translation.onboard import INFRARED, ULTRASOUND, orientation
from sim_node.mavlink.translation.rows import Row, table
from sim_node.messages import telemetry_messages as wire
from sim_node.spatial.frames import AttitudeFrd, AttitudeNed, Enu

_DOWNWARDS = 25  # MAV_SENSOR_ROTATION_PITCH_270
# Limits of MAVROS' rangefinder (m): the messages do not contain those of the sensor.
_MIN_RANGE, _MAX_RANGE = 0.0, 1000.0
_CENTIDEGREE = Unit(DEGREE.factor / 100.0, DEGREE.per * 100.0)
_, _DOWN = orientation(_DOWNWARDS)

# Position and orientation of a NED frame in another, and a gimbal's orientation.
_OFFSET = AxisMapping(
    lambda x, y, z, *angles: (*Enu.of_ned(x, y, z), *AttitudeNed(quaternion_from_rpy(*angles)).to_enu())
)
_GIMBAL = AxisMapping(lambda *rpy: AttitudeFrd(quaternion_from_rpy(*rpy)).to_flu())
# Numbers of a Range. Field of view and variance are unknown, as is a negative distance.
_ULTRASOUND, _INFRARED = (
    AxisMapping(lambda metres, kind=kind: (kind, 0.0, _MIN_RANGE, _MAX_RANGE, metres, 0.0) if metres >= 0.0 else None)
    for kind in (ULTRASOUND, INFRARED)
)


def _down(name: str) -> VehicleTopic:
    """Return the topic of a downward distance (m)."""
    frame = "base_link_distance_down"
    return topic(name, "sensor_msgs/Range", frame, wire.distance, profile=Profile.RELIABLE, measured=True)


_MOUNT = topic("mount_control/orientation", "geometry_msgs/Quaternion", profile=Profile.RELIABLE)
_ANGLES = topic("mount_control/status", "geometry_msgs/Vector3Stamped", "base_link", profile=Profile.RELIABLE)
_FLOW_TEMPERATURE = topic(
    "px4flow/temperature", "sensor_msgs/Temperature", "base_link", profile=Profile.RELIABLE, measured=True
)
_MAP_OFFSET = topic("global_position/gp_lp_offset", "geometry_msgs/PoseStamped", "earth")
_FLOW, _FLOW_RAD = _down("optical_flow/ground_distance"), _down("px4flow/ground_distance")
_RANGEFINDER = _down("rangefinder/rangefinder")
_POINTING = "pointing_b pointing_a pointing_c"
table(
    Row("LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET", _MAP_OFFSET, Quantity("x y z roll pitch yaw", _OFFSET)),
    Row("MOUNT_ORIENTATION", _MOUNT, Quantity("roll pitch yaw", _GIMBAL, DEGREE)),
    Row("MOUNT_STATUS", _MOUNT, Quantity(_POINTING, _GIMBAL, _CENTIDEGREE)),
    Row("MOUNT_STATUS", _ANGLES, Quantity(_POINTING, FRD, _CENTIDEGREE)),
    Row("OPTICAL_FLOW", _FLOW, Quantity("ground_distance", _ULTRASOUND), _DOWN),
    Row("OPTICAL_FLOW_RAD", _FLOW_RAD, Quantity("distance", _ULTRASOUND), _DOWN),
    Row("OPTICAL_FLOW_RAD", _FLOW_TEMPERATURE, Quantity("temperature", unit=CENTI, unknown=0)),
    Row("RANGEFINDER", _RANGEFINDER, Quantity("distance", _INFRARED), _DOWN),
)
