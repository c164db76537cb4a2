"""PX4's ROS 2 names: /fmu/out and /fmu/in in NED and FRD, as tables from and to MAVLink's fields.

The references are PX4's sources: https://github.com/PX4/PX4-Autopilot, src/modules/uxrce_dds_client and msg.
"""
