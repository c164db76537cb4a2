"""Sensors: their measurements of a moving world, their rates, latencies and noise. One file per type."""

from sim_node.lazy import public

with public(__name__):
    from sim_node.simulation.sensors.air_data import Airspeed as Airspeed
    from sim_node.simulation.sensors.air_data import Barometer as Barometer
    from sim_node.simulation.sensors.altimeter import Altimeter as Altimeter
    from sim_node.simulation.sensors.banks import Group as Group
    from sim_node.simulation.sensors.battery import Battery as Battery
    from sim_node.simulation.sensors.camera import Camera as Camera
    from sim_node.simulation.sensors.camera import DepthCamera as DepthCamera
    from sim_node.simulation.sensors.context import Environment as Environment
    from sim_node.simulation.sensors.context import SensorContext as SensorContext
    from sim_node.simulation.sensors.dvl import Dvl as Dvl
    from sim_node.simulation.sensors.gps import Gps as Gps
    from sim_node.simulation.sensors.imu import Imu as Imu
    from sim_node.simulation.sensors.joint_states import JointStates as JointStates
    from sim_node.simulation.sensors.lidar import Lidar2d as Lidar2d
    from sim_node.simulation.sensors.lidar import Lidar3d as Lidar3d
    from sim_node.simulation.sensors.logical_camera import LogicalCamera as LogicalCamera
    from sim_node.simulation.sensors.magnetometer import Magnetometer as Magnetometer
    from sim_node.simulation.sensors.measurements import NO_MEASUREMENTS as NO_MEASUREMENTS
    from sim_node.simulation.sensors.measurements import Batch as Batch
    from sim_node.simulation.sensors.measurements import Measurement as Measurement
    from sim_node.simulation.sensors.measurements import Measurements as Measurements
    from sim_node.simulation.sensors.noise import Noise as Noise
    from sim_node.simulation.sensors.noise import NoiseBank as NoiseBank
    from sim_node.simulation.sensors.noise import Quantities as Quantities
    from sim_node.simulation.sensors.odometry import GroundTruth as GroundTruth
    from sim_node.simulation.sensors.odometry import Odometry as Odometry
    from sim_node.simulation.sensors.optical_flow import OpticalFlow as OpticalFlow
    from sim_node.simulation.sensors.parameters import group as group
    from sim_node.simulation.sensors.parameters import parameter as parameter
    from sim_node.simulation.sensors.rangefinder import Rangefinder as Rangefinder
    from sim_node.simulation.sensors.rays import RangeNoise as RangeNoise
    from sim_node.simulation.sensors.registry import SENSORS as SENSORS
    from sim_node.simulation.sensors.registry import Channels as Channels
    from sim_node.simulation.sensors.registry import Encoded as Encoded
    from sim_node.simulation.sensors.registry import Measure as Measure
    from sim_node.simulation.sensors.registry import Message as Message
    from sim_node.simulation.sensors.registry import Report as Report
    from sim_node.simulation.sensors.registry import SensorType as SensorType
    from sim_node.simulation.sensors.registry import channels as channels
    from sim_node.simulation.sensors.registry import sensor as sensor
    from sim_node.simulation.sensors.suite import Suite as Suite
    from sim_node.simulation.sensors.suite import groups_of as groups_of
    from sim_node.simulation.sensors.touch import Touch as Touch
    from sim_node.simulation.sensors.truth import FrameState as FrameState
    from sim_node.simulation.sensors.wrenches import Contact as Contact
    from sim_node.simulation.sensors.wrenches import ForceTorque as ForceTorque
