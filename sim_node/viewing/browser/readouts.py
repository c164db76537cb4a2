"""The numbers of sensors that are not drawn in the scene: temperatures, pressures, rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from sim_node.geometry.arrays import FloatArray
from sim_node.sensors import SensorType, groups_of
from sim_node.world import World

# Numbers of a reading that are written out.
MAX_NUMBERS = 60


class Readouts:
    """A tab: choose a sensor, see the numbers of its last reading.

    labels: of the numbers of each sensor, by its name; one or more sensors.
    """

    def __init__(self, gui: Any, labels: Mapping[str, tuple[str, ...]]) -> None:
        self._labels = labels
        self._last: dict[str, npt.NDArray[Any]] = {}
        self._sensor = gui.add_dropdown("Sensor", tuple(labels))
        self._answer = gui.add_markdown("")
        self._told = ""

    def take(self, told: Mapping[str, tuple[npt.NDArray[Any], FloatArray]]) -> None:
        """Keeps the newest reading of each sensor."""
        self._last.update((name, values) for name, (values, _) in told.items() if name in self._labels)

    def show(self) -> None:
        """Writes the numbers of the chosen sensor out."""
        name = self._sensor.value
        text = table(self._labels[name], self._last[name]) if name in self._last else "no reading yet"
        if text != self._told:
            self._told = self._answer.content = text


def labels_of(world: World) -> dict[str, tuple[str, ...]]:
    """Return the labels of the numbers of all sensors whose readings are a row of a few numbers."""
    return {
        name: _labels(sensor)
        for group in groups_of(world)
        for name, sensor in zip(group.names, group.sensors, strict=True)
        if len(sensor.shape()) == 1 and sensor.shape()[0] <= MAX_NUMBERS
    }


def table(labels: tuple[str, ...], values: npt.NDArray[Any]) -> str:
    """Return a row for each number, with six digits."""
    rows = [f"| {label} | {value:.6g} |" for label, value in zip(labels, values.tolist(), strict=True)]
    return "\n".join(["| channel | value |", "|---|---|", *rows])


def _labels(sensor: SensorType) -> tuple[str, ...]:
    """The names of the channels; with numbers behind them where each stands for several."""
    (count,), names = sensor.shape(), sensor.channels
    if count == len(names):
        return names
    each = -(-count // max(1, len(names)))
    return tuple(f"{names[row // each] if names else 'number'} {row % each}" for row in range(count))
