"""The built-in autopilot: a process of its own between a simulator link and a ground link, both MAVLink.

It is given a Craft, is told of its vehicle as PX4 is (lockstep over TCP), and is spoken to as any autopilot. What
flies is `flight`, which knows neither sockets nor wall clocks: it steps when the simulator says so.
"""
