"""MAVROS' names: its topics and services, as tables from MAVLink's fields and to them.

The reference are the sources of MAVROS 2.12: https://github.com/mavlink/mavros, mavros/src/plugins.
"""
