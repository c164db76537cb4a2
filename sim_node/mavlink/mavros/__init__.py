"""MAVROS' names: its topics and services, as tables from and to MAVLink's fields.

The reference is the source of MAVROS 2.12: https://github.com/mavlink/mavros, mavros/src/plugins.
"""
