"""The built-in autopilot: a process of its own between a simulator link and a ground link, both MAVLink.

It gets VehicleParameters, is connected to its simulator as PX4 is (lockstep over TCP), and speaks MAVLink with ground
stations, like PX4 or like ArduCopter. What flies is `flight`, which knows neither sockets nor wall clocks: it steps
when the simulator sends.
"""
