"""The registry of sensor types in world files, to which sim_node.simulation.sensors and plug-ins add."""

from __future__ import annotations

from typing import Any

from sim_node.registry import Registry

# The registry is in this package, below the sensors, because a type determines which frames a world has.
SENSOR_TYPES: Registry[str, Any] = Registry(
    "sensor",
    shipped=tuple(
        f"sim_node.simulation.sensors.{name}"
        for name in (
            *("air_data", "camera", "wrenches", "gps", "odometry", "imu", "joint_states", "lidar", "magnetometer"),
            *("optical_flow", "rangefinder", "altimeter", "battery", "dvl", "logical_camera", "touch"),
        )
    ),
    group="sim_node.sensors",
)


def is_optical(type: str) -> bool:
    """Return whether sensors of a type have an additional optical frame; False for unknown types."""
    kind = SENSOR_TYPES.get(type) if type else None
    return kind is not None and bool(kind.optical)


def naming(type: str) -> tuple[str, ...]:
    """Return the parameters of a type whose values are names in the world; none for unknown types."""
    kind = SENSOR_TYPES.get(type) if type else None
    return () if kind is None else tuple(kind.naming())
