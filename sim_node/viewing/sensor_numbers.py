"""Labels and units of the numbers that a world's sensors measure."""

from __future__ import annotations

from sim_node.simulation.sensors import SensorType, groups_of
from sim_node.world import World

# Maximum number of values in a displayed measurement.
MAX_NUMBERS = 60


def labels_of(world: World) -> dict[str, tuple[str, ...]]:
    """Return the labels of the numbers of all sensors with short measurements."""
    return {
        name: _labels(sensor)
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
        if len(sensor.shape()) == 1 and sensor.shape()[0] <= MAX_NUMBERS
    }


def units_of(world: World) -> dict[str, dict[str, str]]:
    """Return the units of sensors' numbers, by sensor and label, for sensors whose labels are channels."""
    return {
        name: dict(zip(sensor.channels, sensor.channel_units(), strict=True))
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
        if sensor.shape() == (len(sensor.channels),)
    }


def _labels(sensor: SensorType) -> tuple[str, ...]:
    """Return the names of the channels, numbered if a channel has several values."""
    (count,), names = sensor.shape(), sensor.channels
    if count == len(names):
        return names
    each = -(-count // max(1, len(names)))
    return tuple(f"{names[row // each] if names else 'number'} {row % each}" for row in range(count))
