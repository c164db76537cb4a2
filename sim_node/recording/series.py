"""Numbers of a bag over time, and plots with one panel per unit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import Bag, BagError, BagMessage, no_topic
from sim_node.recording.decoding import Decoder, decoded, steps, value_at
from sim_node.spatial.geometry.arrays import FloatArray

# Returns the messages of topics in a time range.
Read = Callable[[Collection[str]], Iterable[BagMessage]]


@dataclass(frozen=True)
class Signal:
    """A field of a topic: /imu/data.angular_velocity.x."""

    topic: str
    field: str

    def __str__(self) -> str:
        return f"{self.topic}.{self.field}"


@dataclass(frozen=True)
class Series:
    """times_s: recording times (N,), s; values: (N,)."""

    signal: Signal
    times_s: FloatArray
    values: FloatArray


def signals(bag: Bag, given: Sequence[str]) -> list[Signal]:
    """Parse signals such as /imu/data.angular_velocity.x; * and ? in topics are wildcards.

    Raises BagError for an unknown topic, with the nearest name.
    """
    names = [topic.name for topic in bag.topics]
    found: list[Signal] = []
    for text in given:
        topic, dot, field = text.partition(".")
        fitting = [name for name in names if fnmatchcase(name, topic)]
        if not fitting:
            raise no_topic(bag, topic)
        if not dot or not field:
            raise BagError(f"{text}: the field is missing; signals look like {topic}.pose.position.x")
        found += [Signal(name, field) for name in fitting]
    return list(dict.fromkeys(found))


def read_series(bag: Bag, wanted: Sequence[Signal], read: Read, unreadable: Unreadable) -> list[Series]:
    """Return one series per signal. unreadable: counts skipped messages.

    Raises BagError for fields that do not exist or are not numbers.
    """
    topics = {topic.name: topic for topic in bag.topics}
    decoders = {signal.topic: Decoder(topics[signal.topic]) for signal in wanted}
    of_topic: dict[int, list[tuple[int, list[str | int]]]] = defaultdict(list)
    for i, signal in enumerate(wanted):
        of_topic[bag.topics.index(topics[signal.topic])].append((i, steps(signal.field)))
    times: list[list[int]] = [[] for _ in wanted]
    values: list[list[float]] = [[] for _ in wanted]
    readable = decoded(read(decoders.keys()), lambda place: decoders[bag.topics[place].name], unreadable)
    for message, content in readable:
        for i, path in of_topic[message.topic]:
            try:
                value = value_at(content, path)
            except BagError as error:
                raise BagError(f"{wanted[i]}: {error}") from None
            if value is not None:
                times[i].append(message.time_ns)
                values[i].append(value)
    for signal, each in zip(wanted, times, strict=True):
        if not each:
            raise BagError(f"{signal}: no message in that time contains it")
    return [
        Series(signal, np.array(each_times) / 1e9, np.array(each_values))
        for signal, each_times, each_values in zip(wanted, times, values, strict=True)
    ]


def thinned(times_s: FloatArray, values: FloatArray, limit: int) -> tuple[FloatArray, FloatArray]:
    """Return at most about `limit` of the samples (N,): first, minimum, maximum and last of each interval.

    A line through them covers the same pixels as one through all samples if an interval is at most one pixel wide
    (Jugel and others, M4: a visualization-oriented time series data aggregation, VLDB 2014). Gaps (NaN) are kept.
    """
    count = len(values)
    if count <= limit:
        return times_s, values
    bounds = np.linspace(0, count, max(1, limit // 4) + 1).astype(np.int64)
    starts = bounds[:-1]
    lengths = np.diff(bounds)
    stretch = np.repeat(np.arange(len(starts)), lengths)
    # Sorted by value within each interval. NaN comes last, so the maximum is the last number.
    order = np.lexsort((values, stretch))
    numbers = np.add.reduceat(~np.isnan(values), starts)
    least = order[starts]
    greatest = order[starts + np.maximum(numbers - 1, 0)]
    gaps = np.flatnonzero(np.isnan(values) & ~np.isnan(np.roll(values, 1)))
    kept = np.unique(np.concatenate([starts, least, greatest, bounds[1:] - 1, gaps]))
    return times_s[kept], values[kept]


# Maximum number of samples of a line, about four per pixel.
_MAX_SAMPLES = 8000
_SIZE_INCHES = (11.0, 3.0)
_DOTS_PER_INCH = 110

# Units of fields in REP 103 messages (SI), by path suffix. The first match is used.
_UNITS = (
    (r"(linear_acceleration|accel\.linear)\.[xyz]", "m/s²"),
    (r"(angular_acceleration|accel\.angular)\.[xyz]", "rad/s²"),
    (r"(angular_velocity|angular|twist\.angular)\.[xyz]", "rad/s"),
    (r"(linear|velocity)\.[xyz]", "m/s"),
    (r"(position|translation|point|points\[\d+\])\.[xyz]", "m"),
    (r"(orientation|rotation)\.[xyzw]", "quaternion"),
    (r"magnetic_field\.[xyz]", "T"),
    (r"force\.[xyz]", "N"),
    (r"torque\.[xyz]", "N m"),
    (r"(latitude|longitude)", "deg"),
    (r"altitude", "m"),
    (r"fluid_pressure", "Pa"),
    (r"temperature", "°C"),
    (r"(range|ranges\[\d+\]|min_range|max_range)", "m"),
    (r"(sec|clock\.sec)", "s"),
    (r"nanosec", "ns"),
    (r"voltage", "V"),
    (r"current", "A"),
)


def unit(signal: Signal) -> str:
    """Return the unit of a field, from its name; empty if unknown."""
    return next((name for pattern, name in _UNITS if re.search(rf"(^|\.){pattern}$", signal.field)), "")


def draw(series: Sequence[Series], zero_s: float, path: Path) -> None:
    """Write a plot in the format of the path's suffix. zero_s: origin of the time axis. Raises BagError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: dict[str, list[Series]] = {}
    for each in series:
        panels.setdefault(unit(each.signal), []).append(each)
    width, height = _SIZE_INCHES
    figure, axes = pyplot.subplots(
        len(panels), figsize=(width, 0.6 + height * len(panels)), sharex=True, squeeze=False, layout="constrained"
    )
    try:
        for (name, members), axis in zip(panels.items(), axes[:, 0], strict=True):
            for each in members:
                times, values = thinned(each.times_s, each.values, _MAX_SAMPLES)
                marker = "." if len(times) < 60 else ""
                axis.plot(times - zero_s, values, linewidth=1.2, marker=marker, label=str(each.signal))
            axis.set_ylabel(f"[{name}]" if name else "")
            axis.grid(alpha=0.3)
            axis.margins(x=0.01)
            axis.ticklabel_format(axis="y", useOffset=False)
            axis.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, fontsize="small", frameon=False)
        axes[-1, 0].set_xlabel("time after the bag's first message [s]")
        figure.savefig(path, dpi=_DOTS_PER_INCH)
    except ValueError as error:
        raise BagError(f"{path}: {error}") from None
    except OSError as error:
        raise BagError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        pyplot.close(figure)
