"""The noise of a sensor: white, drifting, scaled, misaligned, saturated and quantised, from its own random stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.parameters import parameter
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.declared import declared

# Number of measurements whose noise is drawn at once, to amortise the cost of numpy calls.
BLOCK = 256


@declared
class Noise:
    """Noise of a measured quantity, independent for each axis; "unit" is that of the quantity. All zero is noise-free.

    The terms are those of IEEE Std 952-1997, annex C. The Allan deviation of a long record is density / sqrt(t) for
    white noise, random_walk sqrt(t / 3) for the random walk, and at most 0.617 bias_instability for the Gauss-Markov
    bias, at t = 1.89 correlation_time.
    """

    density: float = parameter(0.0, "unit/√Hz", "white noise, as a density", low=0.0)
    deviation: float = parameter(0.0, "unit", "white noise, as the standard deviation of a measurement", low=0.0)
    random_walk: float = parameter(0.0, "unit/√s", "random walk of the bias", low=0.0)
    bias_instability: float = parameter(0.0, "unit", "standard deviation of a Gauss-Markov bias", low=0.0)
    correlation_time: float = parameter(300.0, "s", "correlation time of the Gauss-Markov bias", low=1e-3)
    turn_on_bias: float = parameter(0.0, "unit", "standard deviation of a bias drawn once per run", low=0.0)
    scale_error: float = parameter(
        0.0, "1", "standard deviation of a relative error drawn once per run", low=0.0, high=1.0
    )
    misalignment: float = parameter(
        0.0, "rad", "standard deviation of a rotation about each axis, drawn once per run", low=0.0, high=1.0
    )
    saturation: float = parameter(math.inf, "unit", "largest magnitude that can be measured", above=0.0)
    resolution: float = parameter(0.0, "unit", "quantisation step", low=0.0)

    def variance(self, rate: float) -> float:
        """Return the variance of a measurement about the truth, without random walk, scale error and misalignment.

        Args:
            rate: Measurements per second, Hz.

        Returns:
            The variance, unit².
        """
        white = self.density**2 * rate + self.deviation**2
        return white + self.bias_instability**2 + self.turn_on_bias**2 + self.resolution**2 / 12.0


# Variance of quantities that are not measured, for messages that cannot state that; understood by robot_localization.
UNKNOWN_VARIANCE = 1e6


def covariance(rate: float, *noises: Noise) -> FloatArray:
    """Return the covariance (K, K) of K quantities measured at `rate` (Hz), with independent noise."""
    return np.diag([noise.variance(rate) for noise in noises])


# The noise and the number of axes of each measured quantity. Misalignment applies to those with three axes.
Quantities = Sequence[tuple[Noise, int]]


class NoiseBank:
    """The noise of S sensors with the same C channels and the same rate; each has a row in every array.

    The noise of a sensor depends only on its own quantities and stream, not on the others in the bank. A NoiseBank is a
    Disturb: see registry.py.

    Args:
        sensors: The quantities of each sensor.
        generators: The random stream (Philox) of each sensor.
        rate: Measurements per second, Hz.
    """

    def __init__(self, sensors: Sequence[Quantities], generators: Sequence[np.random.Generator], rate: float) -> None:
        # Imported here so that describing sensors does not require numba.
        from sim_node.simulation.sensors.kernels import disturb, draw_errors
        from sim_node.spatial.geometry.kernel import bound

        self._draw_errors = draw_errors
        dt = 1.0 / rate
        self._generators = generators
        self._white = _table(sensors, lambda noise: math.hypot(noise.density * math.sqrt(rate), noise.deviation))
        self._walk = _table(sensors, lambda noise: noise.random_walk * math.sqrt(dt))
        # Exact discretisation: the variance of the bias is bias_instability² at any rate from the first measurement on.
        self._memory = _table(sensors, lambda noise: math.exp(-dt / noise.correlation_time))
        self._kick = _table(
            sensors, lambda noise: noise.bias_instability * math.sqrt(-math.expm1(-2.0 * dt / noise.correlation_time))
        )
        self._resolution = _table(sensors, lambda noise: noise.resolution)
        self._saturation = _table(sensors, lambda noise: noise.saturation)

        once = np.array([generator.standard_normal((4, self._white.shape[1])) for generator in generators])
        self._response = _response(sensors, once[:, 0], once[:, 1])
        # Biases (S, C): the random walk, which starts at the turn-on bias, and the Gauss-Markov process.
        self._bias = once[:, 2] * _table(sensors, lambda noise: noise.turn_on_bias)
        self._drift = once[:, 3] * _table(sensors, lambda noise: noise.bias_instability)
        self._errors = np.empty((BLOCK, *self._white.shape))
        self._next, reading = BLOCK, np.zeros(1, np.int64)
        self._truth, self._measured = np.empty((2, *self._white.shape))
        self._reading = reading.data  # a memoryview, without numpy's overhead
        tables = self._errors, reading, self._saturation, self._resolution
        self._disturb = bound(disturb, self._response, self._truth, *tables, self._measured)
        self._note_begin()

    @property
    def channels(self) -> int:
        """Number of measured values C of each sensor."""
        return len(self._white[0])

    def read(self, truth: FloatArray) -> FloatArray:
        """Return the next measurement.

        Args:
            truth: The true values (S, C).

        Returns:
            The measured values (S, C).
        """
        if self._next == BLOCK:
            self._draw()
        self._truth[:], self._reading[0] = truth, self._next
        self._next += 1
        self._disturb()
        measured: FloatArray = self._measured.copy()
        return measured

    __call__ = read

    def record(self, truth: FloatArray, measurements: int) -> FloatArray:
        """Return the next measurements of a constant truth.

        Args:
            truth: The true values (S, C).
            measurements: Number K of measurements.

        Returns:
            The measured values (K, S, C).
        """
        return np.array([self.read(truth) for _ in range(measurements)]).reshape(measurements, *self._white.shape)

    def state(self) -> dict[str, Array]:
        """Return everything that later measurements depend on besides the bank's arguments.

        That is the state at the start of the current block of errors, and the number of errors used.
        """
        if self._next == BLOCK:  # the next block has not been drawn yet
            self._note_begin()
        stream, bias, drift = self._begin
        return {"next": np.full(len(stream), self._next), "stream": stream, "bias": bias, "drift": drift}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue from a state, to the bit.

        Args:
            state: The state of a bank with the same arguments.
        """
        for generator, its in zip(self._generators, state["stream"], strict=True):
            set_philox(generator, its)
        self._bias, self._drift = np.array(state["bias"]), np.array(state["drift"])
        self._note_begin()
        self._next = int(state["next"][0])
        if (reading := self._next) < BLOCK:
            self._draw()
            self._next = reading

    def aligned(self) -> dict[str, Array]:
        """Return a state at the start of a block of errors, from which the same measurements follow.

        Rows of such states of several banks can be combined.
        """
        if (used := self._next) == BLOCK:
            return self.state()
        streams, bias, drift = (np.array(part) for part in self._begin)
        generator = np.random.Generator(np.random.Philox())
        drawn = np.empty((len(streams), used, 3, bias.shape[1]))
        for row, words in enumerate(streams):
            set_philox(generator, words)
            drawn[row] = generator.standard_normal(drawn.shape[1:])
            streams[row] = philox(generator)
        tables = self._white, self._walk, self._memory, self._kick
        self._draw_errors(drawn, bias, drift, *tables, np.empty((used, *bias.shape)))
        return {"next": np.full(len(streams), BLOCK), "stream": streams, "bias": bias, "drift": drift}

    def _note_begin(self) -> None:
        """Save the streams and the biases before the next block is drawn."""
        streams = np.array([philox(generator) for generator in self._generators])
        self._begin = streams, self._bias.copy(), self._drift.copy()

    def _draw(self) -> None:
        """Draw the errors of the next BLOCK measurements; every channel draws the same count, used or not."""
        self._note_begin()
        drawn = np.array([each.standard_normal((BLOCK, 3, self._white.shape[1])) for each in self._generators])
        self._draw_errors(
            drawn, self._bias, self._drift, self._white, self._walk, self._memory, self._kick, self._errors
        )
        self._next = 0


def philox(generator: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Return the position (11,) of a stream: counter, key, buffered words, and number of these that are used."""
    state: Any = generator.bit_generator.state
    inner = state["state"]
    return np.concatenate(
        [inner["counter"], inner["key"], state["buffer"], [np.uint64(state["buffer_pos"])]], dtype=np.uint64
    )


def set_philox(generator: np.random.Generator, words: npt.NDArray[np.uint64]) -> None:
    """Set a stream to the position of another. Normal variates use whole words, so no partial word is buffered."""
    generator.bit_generator.state = {
        "bit_generator": "Philox",
        "state": {"counter": words[:4], "key": words[4:6]},
        "buffer": words[6:10],
        "buffer_pos": int(words[10]),
        "has_uint32": 0,
        "uinteger": 0,
    }


def _table(sensors: Sequence[Quantities], value: Callable[[Noise], float]) -> FloatArray:
    """Return a parameter (S, C) of the noise of each channel."""
    return np.array([[value(noise) for noise, axes in quantities for _ in range(axes)] for quantities in sensors])


def _response(sensors: Sequence[Quantities], scales: FloatArray, turns: FloatArray) -> FloatArray:
    """Return the matrices (S, C, C) of misalignment and scale error, to multiply truth by, from normals (S, C)."""
    channels = scales.shape[1]
    response = np.zeros((len(sensors), channels, channels))
    for row, quantities in enumerate(sensors):
        at = 0
        for noise, axes in quantities:
            span = slice(at, at + axes)
            scale = np.diag(1.0 + scales[row, span] * noise.scale_error)
            if axes == 3:
                scale = scale @ quaternions.to_matrix(quaternions.exp(turns[row, span] * noise.misalignment))
            response[row, span, span] = scale
            at += axes
    return response
