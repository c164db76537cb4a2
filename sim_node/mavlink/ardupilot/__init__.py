"""ArduPilot's DDS names, as its library AP_DDS has them: topics, types, frames and unknown values.

https://github.com/ArduPilot/ardupilot/tree/master/libraries/AP_DDS
"""
