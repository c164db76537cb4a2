"""The effects of failures on the measurements of a sensor, as functions of a few parameters and the run's seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.scenario.effects import Lasting
from sim_node.randomness import stream
from sim_node.registry import Registry
from sim_node.simulation.columns import Array
from sim_node.simulation.sensors.alteration import Alteration
from sim_node.spatial.frames import Frame, Position

# The kind of effects that alter a sensor.
SENSOR = "sensor"


@dataclass(frozen=True)
class Failing:
    """A failure of a sensor at the time of a measurement.

    Attributes:
        sensor: The sensor.
        type: The failure.
        numbers: Its parameters by name.
        since: The step at which it began.
        step_ns: The time between two steps, ns.
        seed: The run's seed.
    """

    sensor: str
    type: str
    numbers: Mapping[str, Any]
    since: int
    step_ns: int
    seed: int

    def random(self, step: int) -> np.random.Generator:
        """Return the random generator of a step, which always gives the same numbers."""
        return stream(self.seed, self.sensor, f"{self.type} {step}")

    def seconds(self, step: int) -> float:
        """Return the time since it began, s."""
        return (step - self.since) * self.step_ns * 1e-9

    def steps(self, name: str) -> int:
        """Return a parameter in seconds as a whole number of steps."""
        return round(float(self.numbers[name]) * 1e9 / self.step_ns)

    def on_channels(self, measured: Array, altered: npt.ArrayLike) -> Array:
        """Return a measurement with the failing channels replaced, or all if none are given."""
        channels = self.numbers.get("channels")
        found = np.array(measured, np.float64)
        if channels is None:
            found[...] = altered
        else:
            found[channels] = np.broadcast_to(altered, found.shape)[channels]
        return found

    def vector(self, name: str) -> Array:
        """Return a parameter with one number for all channels of a measurement, or one for each."""
        numbers = np.asarray(self.numbers[name], np.float64)
        return np.asarray(numbers[0]) if numbers.size == 1 else numbers

    @cached_property
    def origin(self) -> tuple[float, float, float] | None:
        """The geodetic origin for errors of a GNSS receiver in metres; None for other sensors."""
        given = self.numbers.get("origin")
        return None if given is None else (given[0], given[1], given[2])

    def add(self, measured: Array, error: npt.ArrayLike) -> Array:
        """Add an error to a measurement, for a GNSS receiver in m east, north and up, and m/s."""
        numbers, found = np.asarray(error, np.float64), np.array(measured, np.float64)
        if self.origin is None:
            found[self.numbers.get("channels") or slice(None)] += numbers
            return found
        along = np.zeros(len(measured))  # east, north, up, and their velocities
        along[: numbers.size] = numbers
        if along[:3].any():
            place = Position(found[:3], Frame.LLA).to(Frame.ENU, self.origin).in_frame(Frame.ENU) + along[:3]
            found[:3] = Position(place, Frame.ENU, self.origin).to(Frame.LLA).in_frame(Frame.LLA)
        found[3:] += along[3:]
        return found


# Returns the additional delay of a measurement at a step, in steps; None if it is lost.
Later = Callable[[Failing, int], int | None]
# Returns the published measurement, given the step, the measurement and the previously published one.
Alter = Callable[[Failing, int, Array, Array | None], Array]


@dataclass(frozen=True)
class FailureType:
    """A type of failure of sensors. `about` describes it; `later` and `altered` are like those of an Alteration."""

    about: str
    later: Later = lambda failing, step: 0
    altered: Alter = lambda failing, step, measured, before: measured


FAILURE_TYPES: Registry[str, FailureType] = Registry(
    "type of failure", shipped=("sim_node.extensions.scenario.alterations",), group="sim_node.failures"
)


class Failures:
    """All failures of a sensor, in the order in which they began: an Alteration.

    Args:
        of: The failures.
    """

    def __init__(self, of: Sequence[Failing]) -> None:
        self.of = tuple(of)
        self.sound: Array | None = None

    def later(self, step: int) -> int | None:
        """Return the additional delay of a measurement, in steps; None if it is lost."""
        found = [FAILURE_TYPES[each.type].later(each, step) for each in self.of]
        return None if None in found else sum(each for each in found if each is not None)

    def altered(self, step: int, measured: Array, before: Array | None) -> Array:
        """Return the measurement as it is published."""
        self.sound = measured
        for each in self.of:
            measured = FAILURE_TYPES[each.type].altered(each, step, measured, before)
        return measured


def alteration_of(lasting: Sequence[Lasting], seed: int, step_ns: int) -> Alteration:
    """Return the alteration of a sensor's measurements by its effects."""
    return Failures(
        tuple(
            Failing(each.arguments["sensor"], each.arguments["type"], each.arguments, each.since, step_ns, seed)
            for each in lasting
        )
    )


def _off(failing: Failing, step: int) -> int | None:
    """Lose all measurements, unless only some channels are off, which then measure zero."""
    return None if failing.numbers.get("channels") is None else 0


def _garbage(failing: Failing, step: int, measured: Array, before: Array | None) -> Array:
    """Return random numbers of up to twice the largest measurement; for receivers, anywhere on Earth."""
    drawn = failing.random(step).uniform(-1.0, 1.0, measured.shape)
    if failing.origin is not None:
        return np.asarray(drawn * np.resize([90.0, 180.0, 1e4, 100.0, 100.0, 100.0], measured.shape))
    if measured.dtype == np.uint8:
        return np.asarray(255.0 * np.abs(drawn))
    return failing.on_channels(measured, drawn * 2.0 * max(float(np.abs(np.nan_to_num(measured)).max()), 1.0))


def _wrong(failing: Failing, step: int, measured: Array, before: Array | None) -> Array:
    """Multiply by the factor. For a receiver, this scales the position relative to the origin of the world."""
    factor = float(failing.numbers["gain"])
    if failing.origin is None:
        return failing.on_channels(measured, factor * np.asarray(measured, np.float64))
    place = Position(np.asarray(measured[:3]), Frame.LLA).to(Frame.ENU, failing.origin).in_frame(Frame.ENU)
    return failing.add(measured, np.concatenate([(factor - 1.0) * place, (factor - 1.0) * measured[3:]]))


def _stuck(failing: Failing, step: int, measured: Array, before: Array | None) -> Array:
    """Repeat the previously published measurement."""
    if before is None:
        return measured
    return before if failing.numbers.get("channels") is None else failing.on_channels(measured, before)


def _slow(failing: Failing, step: int) -> int | None:
    """Lose all measurements except the first in each period."""
    period = max(failing.steps("period"), 1)
    rate = max(round(1e9 / (float(failing.numbers["rate"]) * failing.step_ns)), 1)
    return 0 if (step - failing.since) % period < rate else None


def _noise(failing: Failing, step: int, measured: Array, before: Array | None) -> Array:
    deviation = failing.vector("noise")
    return failing.add(measured, deviation * failing.random(step).standard_normal(deviation.shape or measured.shape))


def _intermittent(failing: Failing, step: int) -> int | None:
    return None if failing.random(step).random() < float(failing.numbers["share"]) else 0


for _name, _type in {
    "off": FailureType(
        "it measures nothing any more", _off, lambda failing, step, measured, before: failing.on_channels(measured, 0.0)
    ),
    "stuck": FailureType("it repeats its last measurement", altered=_stuck),
    "garbage": FailureType("it measures random numbers", altered=_garbage),
    "wrong": FailureType("what it measures is multiplied by a factor", altered=_wrong),
    "slow": FailureType("it measures less often", _slow),
    "delayed": FailureType("its measurements come later", lambda failing, step: failing.steps("delay")),
    "intermittent": FailureType("some of its measurements are lost", _intermittent),
    "bias": FailureType(
        "a constant is added", altered=lambda f, step, measured, before: f.add(measured, f.vector("bias"))
    ),
    "drift": FailureType(
        "what is added grows with time",
        altered=lambda f, step, measured, before: f.add(measured, f.vector("drift") * f.seconds(step)),
    ),
    "noise": FailureType("white noise is added", altered=_noise),
}.items():
    FAILURE_TYPES.add(_name)(_type)
