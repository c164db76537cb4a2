"""A world in the states that changes of a run bring about: bodies and sensors come, go and hang together."""

from __future__ import annotations

from sim_node.world import World
from sim_node.world.load import loads

BODIES = {
    "floor": "{name: floor, geometry: [{plane: true}]}",
    "ball": "{name: ball, joint: free, pose: {position: [0, 0, 50]}, inertial: {mass: 1, inertia: [0.1, 0.1, 0.1]}, "
    "geometry: [{sphere: 0.2, color: [1, 0, 1]}]}",
    # Welded to the ball, then free, then on the floor.
    "load on the ball": "{name: load, parent: ball, pose: {position: [0, 0, -0.3]}, "
    "inertial: {mass: 0.1, inertia: [0.1, 0.1, 0.1]}, geometry: [{box: [0.1, 0.1, 0.1], color: [0, 1, 1]}]}",
    "free load": "{name: load, joint: free, pose: {position: [0, 5, 20]}, "
    "inertial: {mass: 0.1, inertia: [0.1, 0.1, 0.1]}, geometry: [{box: [0.1, 0.1, 0.1], color: [0, 1, 1]}]}",
    "load on the floor": "{name: load, pose: {position: [0, 5, 0.05]}, "
    "geometry: [{box: [0.1, 0.1, 0.1], color: [0, 1, 1]}]}",
    "table": "{name: table, pose: {position: [3, 0, 0.5]}, geometry: [{box: [1, 1, 1], color: [1, 1, 0]}]}",
    "arm": "{name: arm, pose: {position: [0, 3, 2]}, joint: {type: hinge, axis: [0, 1, 0]}, "
    "inertial: {mass: 1, inertia: [0.1, 0.1, 0.1]}, geometry: [{box: [0.1, 0.1, 1]}]}",
}
SENSORS = {
    "ball/IMU": "{name: ball/IMU, parent: ball, type: imu, rate: 100}",
    "table/IMU": "{name: table/IMU, parent: table, type: imu, rate: 50}",
}


def yard(*parts: str, more: str = "") -> World:
    """The world of some bodies and sensors, which always has the floor, the ball and the sensor on it.

    more: further sections.
    """
    bodies = [BODIES[name] for name in ("floor", "ball", *parts) if name in BODIES]
    sensors = [SENSORS[name] for name in ("ball/IMU", *parts) if name in SENSORS]
    lines = ["world: yard", "time: {step: 0.01}", "bodies:", *(f"  - {each}" for each in bodies)]
    return loads("\n".join([*lines, "sensors:", *(f"  - {each}" for each in sensors), more]))
