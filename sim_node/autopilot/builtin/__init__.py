"""The built-in autopilot: a process of its own between a simulator link and a ground link, both MAVLink.

It gets VehicleParameters, hears of its vehicle as PX4 does (lockstep over TCP), and is spoken to as any autopilot. What
flies is `flight`, which knows neither sockets nor wall clocks: it steps when the simulator says so.
"""
