"""A world to be served: what a client gets of it is known."""

from __future__ import annotations

# A camera and a lidar that look at a red wall 2 m to the left, and go along it at 1 m/s.
WORLD = """
world: served
time: {step: 0.01}
motions:
  - frame: cart/base_link
    keyframes: [{t: 0, position: [0, 0, 1]}, {t: 100, position: [100, 0, 1]}]
bodies:
  - {name: wall, pose: {position: [0, 2.5, 0]}, geometry: [{box: [400, 1, 40], color: [1, 0, 0]}]}
sensors:
  - {name: cart/CAM, type: camera, pose: &left {rpy_deg: [0, 0, 90]}, rate: 10, width: 32, height: 24}
  - {name: cart/LIDAR, type: lidar_3d, pose: *left, rate: 10, samples: 16, rings: 2, noise: {deviation: 0},
     angle_min: -0.2, angle_max: 0.2, vertical_min: -0.1, vertical_max: 0.1}
frames:
  - {name: dock, pose: {position: [1, 2, 3]}}
"""
