"""Sensors: their measurements of a moving world, their rates, latencies and noise. One file per type."""

from sim_node.sensors.air_data import Airspeed, Barometer
from sim_node.sensors.banks import Group
from sim_node.sensors.camera import Camera, DepthCamera
from sim_node.sensors.context import Environment, SensorContext
from sim_node.sensors.gps import Gps
from sim_node.sensors.imu import Imu
from sim_node.sensors.joint_states import JointStates
from sim_node.sensors.lidar import Lidar2d, Lidar3d
from sim_node.sensors.magnetometer import Magnetometer
from sim_node.sensors.measurements import NO_MEASUREMENTS, Batch, Measurement, Measurements
from sim_node.sensors.noise import Noise, NoiseBank, Quantities
from sim_node.sensors.odometry import GroundTruth, Odometry
from sim_node.sensors.optical_flow import OpticalFlow
from sim_node.sensors.parameters import group, parameter
from sim_node.sensors.rangefinder import Rangefinder
from sim_node.sensors.rays import RangeNoise
from sim_node.sensors.registry import SENSORS, Channels, Measure, Message, Report, SensorType, channels, sensor
from sim_node.sensors.suite import Suite, groups_of
from sim_node.sensors.truth import FrameState
from sim_node.sensors.wrenches import Contact, ForceTorque

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
    "Environment",
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
    "OpticalFlow",
    "Quantities",
    "RangeNoise",
    "Rangefinder",
    "Report",
    "SensorContext",
    "SensorType",
    "Suite",
    "channels",
    "group",
    "groups_of",
    "parameter",
    "sensor",
]
