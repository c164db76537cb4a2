"""ArduPilot's DDS names, as in its library AP_DDS: topics, types, frames and unknown values.

https://github.com/ArduPilot/ardupilot/tree/master/libraries/AP_DDS
"""
