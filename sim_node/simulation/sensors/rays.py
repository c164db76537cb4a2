"""Rays: their directions, casting, ranges as in REP 117, and the noise of ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.context import Echoes, SensorContext
from sim_node.simulation.sensors.noise import philox, set_philox
from sim_node.simulation.sensors.parameters import parameter
from sim_node.simulation.sensors.registry import Report
from sim_node.simulation.sensors.truth import FrameState
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

# Returns the current hits of S sensors' rays, arrays (S, R).
Cast = Callable[[FrameState], Echoes]


def directions(azimuths: npt.ArrayLike, elevations: npt.ArrayLike) -> FloatArray:
    """Return unit vectors (..., 3) in FLU axes: azimuth from x (forward) to y (left), elevation towards z (up), rad."""
    level = np.cos(elevations)
    parts = np.broadcast_arrays(level * np.cos(azimuths), level * np.sin(azimuths), np.sin(elevations))
    return np.stack(parts, axis=-1)


def caster(fans: FloatArray, sensors: Sequence[Any], context: SensorContext) -> Cast:
    """Return the function that casts rays in directions (S, R, 3) along the sensors' own axes, up to their range."""
    # Imported here so that describing sensors does not require numba.
    from sim_node.simulation.sensors.kernels import turn_rays

    turned, reach = np.empty(fans.shape), max(each.range_max for each in sensors)
    fans = np.ascontiguousarray(fans)

    def cast(state: FrameState) -> Echoes:
        turn_rays(state.pose, fans, turned)
        return context.environment.cast(context.frames, state.pose[:, :3], turned, reach)

    return cast


def limits(sensors: Sequence[Any]) -> tuple[FloatArray, FloatArray]:
    """Return the minimum and maximum ranges (S, 1) of sensors, m."""
    nearest, farthest = (np.array([[getattr(each, key)] for each in sensors]) for key in ("range_min", "range_max"))
    return nearest, farthest


def classifier(sensors: Sequence[Any]) -> Report:
    """Return the function that replaces distances outside of the sensors' ranges by -inf and inf."""
    nearest, farthest = limits(sensors)
    return lambda measured: classified(measured, nearest, farthest)


def classified(distances: FloatArray, nearest: FloatArray, farthest: FloatArray) -> FloatArray:
    """Return ranges as in REP 117: -inf for too near, inf for too far."""
    ranges = np.where(distances < nearest, -np.inf, distances)
    ranges[ranges > farthest] = np.inf
    return ranges


@declared
class RangeNoise:
    """Noise of ranges, independent for each ray. All zero is noise-free."""

    deviation: float = parameter(0.0, "m", "white noise, as the standard deviation of a range", low=0.0)
    turn_on_bias: float = parameter(0.0, "m", "standard deviation of a bias of all ranges, drawn once per run", low=0.0)
    resolution: float = parameter(0.0, "m", "quantisation step", low=0.0)
    dropout: float = parameter(0.0, "1", "fraction of ranges that are NaN", low=0.0, high=1.0)


class RangeNoiseBank:
    """The noise of S sensors with R rays each, drawn from a stream for each sensor; a Disturb of the registry."""

    def __init__(self, noises: Sequence[RangeNoise], streams: Sequence[np.random.Generator], rays: int) -> None:
        self._noises, self._streams, self._rays = noises, streams, rays
        self._biases = [
            noise.turn_on_bias * stream.standard_normal() for noise, stream in zip(noises, streams, strict=True)
        ]

    def __call__(self, measured: FloatArray, /) -> FloatArray:
        """Add noise in place to the first R columns of measurements (S, C), which are distances."""
        for ranges, noise, bias, stream in zip(
            measured[:, : self._rays], self._noises, self._biases, self._streams, strict=True
        ):
            ranges += bias
            if noise.deviation:
                ranges += noise.deviation * stream.standard_normal(self._rays)
            if noise.resolution:
                ranges[:] = np.round(ranges / noise.resolution) * noise.resolution
            if noise.dropout:
                ranges[stream.random(self._rays) < noise.dropout] = np.nan
        return measured

    def state(self) -> dict[str, Array]:
        """Return the positions of the streams; the biases follow from the seed."""
        return {"stream": np.array([philox(stream) for stream in self._streams])}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a state."""
        for stream, its in zip(self._streams, state["stream"], strict=True):
            set_philox(stream, its)
