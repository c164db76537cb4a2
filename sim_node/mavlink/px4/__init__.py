"""PX4's ROS 2 names: /fmu/out and /fmu/in in NED and FRD, as tables from MAVLink's fields and to them.

The references are PX4's sources: https://github.com/PX4/PX4-Autopilot, src/modules/uxrce_dds_client and msg.
"""
