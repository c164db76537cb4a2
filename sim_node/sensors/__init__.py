"""Sensors: their measurements of a moving world, their rates, latencies and noise. One file per type."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.sensors.air_data import Airspeed as Airspeed
    from sim_node.sensors.air_data import Barometer as Barometer
    from sim_node.sensors.banks import Group as Group
    from sim_node.sensors.camera import Camera as Camera
    from sim_node.sensors.camera import DepthCamera as DepthCamera
    from sim_node.sensors.context import Environment as Environment
    from sim_node.sensors.context import SensorContext as SensorContext
    from sim_node.sensors.gps import Gps as Gps
    from sim_node.sensors.imu import Imu as Imu
    from sim_node.sensors.joint_states import JointStates as JointStates
    from sim_node.sensors.lidar import Lidar2d as Lidar2d
    from sim_node.sensors.lidar import Lidar3d as Lidar3d
    from sim_node.sensors.magnetometer import Magnetometer as Magnetometer
    from sim_node.sensors.measurements import NO_MEASUREMENTS as NO_MEASUREMENTS
    from sim_node.sensors.measurements import Batch as Batch
    from sim_node.sensors.measurements import Measurement as Measurement
    from sim_node.sensors.measurements import Measurements as Measurements
    from sim_node.sensors.noise import Noise as Noise
    from sim_node.sensors.noise import NoiseBank as NoiseBank
    from sim_node.sensors.noise import Quantities as Quantities
    from sim_node.sensors.odometry import GroundTruth as GroundTruth
    from sim_node.sensors.odometry import Odometry as Odometry
    from sim_node.sensors.optical_flow import OpticalFlow as OpticalFlow
    from sim_node.sensors.parameters import group as group
    from sim_node.sensors.parameters import parameter as parameter
    from sim_node.sensors.rangefinder import Rangefinder as Rangefinder
    from sim_node.sensors.rays import RangeNoise as RangeNoise
    from sim_node.sensors.registry import SENSORS as SENSORS
    from sim_node.sensors.registry import Channels as Channels
    from sim_node.sensors.registry import Measure as Measure
    from sim_node.sensors.registry import Message as Message
    from sim_node.sensors.registry import Report as Report
    from sim_node.sensors.registry import SensorType as SensorType
    from sim_node.sensors.registry import channels as channels
    from sim_node.sensors.registry import sensor as sensor
    from sim_node.sensors.suite import Suite as Suite
    from sim_node.sensors.suite import groups_of as groups_of
    from sim_node.sensors.truth import FrameState as FrameState
    from sim_node.sensors.wrenches import Contact as Contact
    from sim_node.sensors.wrenches import ForceTorque as ForceTorque
