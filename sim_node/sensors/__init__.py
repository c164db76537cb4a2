"""Sensors: what is read of a moving world, when, and with what noise. One file for each type."""

from sim_node.sensors.airspeed import Airspeed
from sim_node.sensors.banks import Group
from sim_node.sensors.barometer import Barometer
from sim_node.sensors.camera import Camera, DepthCamera
from sim_node.sensors.contact import Contact
from sim_node.sensors.context import SensorContext
from sim_node.sensors.force_torque import ForceTorque
from sim_node.sensors.gps import Gps
from sim_node.sensors.ground_truth import GroundTruth
from sim_node.sensors.imu import Imu
from sim_node.sensors.joint_states import JointStates
from sim_node.sensors.lidar import Lidar2d, Lidar3d
from sim_node.sensors.magnetometer import Magnetometer
from sim_node.sensors.measurements import NO_MEASUREMENTS, Batch, Measurement, Measurements
from sim_node.sensors.message import Channels, Message, channels
from sim_node.sensors.noise import Noise, NoiseBank, Quantities
from sim_node.sensors.odometry import Odometry
from sim_node.sensors.rangefinder import Rangefinder
from sim_node.sensors.rays import RangeNoise
from sim_node.sensors.registry import SENSORS, Measure, Report, SensorType, sensor
from sim_node.sensors.suite import Suite, groups_of
from sim_node.sensors.truth import FrameState

__all__ = [
    "NO_MEASUREMENTS",
    "SENSORS",
    "Airspeed",
    "Barometer",
    "Batch",
    "Camera",
    "Channels",
    "Contact",
    "DepthCamera",
    "ForceTorque",
    "FrameState",
    "Gps",
    "GroundTruth",
    "Group",
    "Imu",
    "JointStates",
    "Lidar2d",
    "Lidar3d",
    "Magnetometer",
    "Measure",
    "Measurement",
    "Measurements",
    "Message",
    "Noise",
    "NoiseBank",
    "Odometry",
    "Quantities",
    "RangeNoise",
    "Rangefinder",
    "Report",
    "SensorContext",
    "SensorType",
    "Suite",
    "channels",
    "groups_of",
    "sensor",
]
