"""The built-in autopilot, between a simulator link and its ground links, all of them MAVLink.

It flies a vehicle described by `VehicleParameters`. It connects to its simulator like PX4, over TCP in lockstep, and
talks to ground stations like PX4 or ArduPilot. Flight logic is in `flight`, which uses neither sockets nor wall clocks:
each message from the simulator advances it by one step.
"""
