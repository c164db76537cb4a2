"""Signals from messages: fields of the topics of a run, of MAVLink messages of its autopilots, and of batteries."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.ground_station import Ordered, autopilot_of, dialect_of
from sim_node.extensions.scenario.signals import SIGNALS, TOPICS, Probe, SignalKind, SignalReading, signal_kind
from sim_node.extensions.scenario.zones import Zone
from sim_node.messages.odometry import OdometrySink
from sim_node.messages.sensor_topics import Write, sensor_messages, writer
from sim_node.messages.signal_sink import SignalSink
from sim_node.messages.topic import Send, Topic, absolute
from sim_node.recording.bag import BagError
from sim_node.recording.decoding import Decoder, value_at
from sim_node.recording.definitions import bag_topic
from sim_node.recording.message_fields import numbers_in
from sim_node.simulation import Sink, Snapshot
from sim_node.simulation.columns import Array
from sim_node.simulation.run_view import RunView
from sim_node.simulation.sensors import SENSORS
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.autopilots import autopiloted
from sim_node.world.vehicles import BUILTIN

# Conversion of MAVLink units: the unit here, and the factor.
_UNITS: Mapping[str, tuple[str, float]] = {
    **{"m": ("m", 1.0), "dm": ("m", 0.1), "cm": ("m", 1e-2), "mm": ("m", 1e-3), "dam": ("m", 10.0)},
    **{"m/s": ("m/s", 1.0), "dm/s": ("m/s", 0.1), "cm/s": ("m/s", 1e-2), "mm/s": ("m/s", 1e-3)},
    **{"m/s/s": ("m/s^2", 1.0), "mG": ("m/s^2", 9.80665e-3)},
    **{"rad": ("rad", 1.0), "deg": ("rad", math.pi / 180.0), "cdeg": ("rad", math.pi / 18_000.0)},
    **{"deg/2": ("rad", math.pi / 90.0), "degE5": ("rad", math.pi / 180e5), "degE7": ("rad", math.pi / 180e7)},
    **{"rad/s": ("rad/s", 1.0), "mrad/s": ("rad/s", 1e-3)},
    **{"deg/s": ("rad/s", math.pi / 180.0), "ddeg/s": ("rad/s", math.pi / 1800.0)},
    **{"s": ("s", 1.0), "ds": ("s", 0.1), "cs": ("s", 1e-2), "ms": ("s", 1e-3), "us": ("s", 1e-6), "ns": ("s", 1e-9)},
    **{"V": ("V", 1.0), "cV": ("V", 1e-2), "mV": ("V", 1e-3), "A": ("A", 1.0), "cA": ("A", 1e-2), "mA": ("A", 1e-3)},
    **{"%": ("1", 1e-2), "d%": ("1", 1e-3), "c%": ("1", 1e-4), "Hz": ("Hz", 1.0), "kg": ("kg", 1.0), "g": ("kg", 1e-3)},
}
_FIELD = re.compile(r"([A-Z][A-Z0-9_]*)\.(\w+)(?:\[(\d+)\])?")
_NO_VOLTAGE = 65_534  # of BATTERY_STATUS; values from here on mean that there is no cell


def held(samples: Array) -> FloatArray:
    """Return the samples (T,) of a message, with those before the first message set to the value of the first."""
    values = np.array(samples, dtype=float)
    known = np.flatnonzero(~np.isnan(values))
    if len(known):
        values[: known[0]] = values[known[0]]
    return values


class _Captured:
    """An outlet that keeps the latest message of one topic."""

    def __init__(self, wanted: str) -> None:
        self._wanted, self.newest = wanted, b""

    def advertise(self, topic: Topic) -> Send:
        """Return a function that keeps a message of the topic."""
        if absolute(topic.name) != self._wanted:
            return lambda time_ns, data: None

        def keep(time_ns: int, data: Any) -> None:
            self.newest = bytes(data)

        return keep


class TopicProbe(Probe):
    """A number in the latest message of a topic.

    Args:
        decode: Returns the number in a message.
    """

    def __init__(self, decode: Callable[[bytes], float]) -> None:
        self._decode, self._value = decode, math.nan

    def sample(self) -> float:
        """Return it at the present step."""
        data = self.newest()
        if data:
            self._value = self._decode(data)
        return self._value

    def newest(self) -> bytes:
        """Return the latest message; empty if there is no new one since the last call."""
        raise NotImplementedError

    def reset(self) -> None:
        """Discard the last message."""
        self._value = math.nan


class _SensorField(TopicProbe):
    """A field of the messages of a sensor."""

    def __init__(self, run: RunView, sensor: str, write: Write, decode: Callable[[bytes], float]) -> None:
        super().__init__(decode)
        self._run, self._write, self._subscription = run, write, run.subscribe(sensor)

    def newest(self) -> bytes:
        """Encode the message of the latest measurement."""
        found = self._subscription.latest(self._run.steps)
        return b"" if found is None else self._write(self._run.time_ns, found)


class _TickField(TopicProbe):
    """A field of messages that are published at each tick: odometry of bases, and outputs."""

    def __init__(self, run: RunView, sink: Sink, outlet: _Captured, decode: Callable[[bytes], float]) -> None:
        super().__init__(decode)
        self._run, self._sink, self._outlet = run, sink, outlet
        sink.open(run.world, run.frames)

    def newest(self) -> bytes:
        """Encode the message of the current step."""
        self._sink.write(Snapshot(self._run.time_ns, np.empty((0, 7)), columns=self._run.columns))
        return self._outlet.newest


class _Topics:
    """The topics of a run that can be signals, with their types, and the creation of probes on them."""

    def __init__(self, run: RunView) -> None:
        self.types: dict[str, str] = {}
        self._sensors = {absolute(each.topic.name): each for each in sensor_messages(run.world)}
        self.types |= {name: each.topic.type for name, each in self._sensors.items()}
        self._ticks: dict[str, Callable[[_Captured], Sink]] = {}
        self._run = run
        for made in (OdometrySink, SignalSink):
            names = _Names()
            made(names).open(run.world, run.frames)
            self.types |= names.types
            self._ticks |= dict.fromkeys(names.types, made)

    def probe(self, name: str, decode: Callable[[bytes], float]) -> Probe:
        """Return a probe on a topic. Raises FormulaError if its sensor does not measure."""
        if name in self._ticks:
            outlet = _Captured(name)
            return _TickField(self._run, self._ticks[name](outlet), outlet, decode)
        of = self._sensors[name]
        handles: Any = self._run
        if of.sensor not in handles.sensors:
            raise FormulaError(f"{name}: the sensors of this run do not measure")
        sensor = handles.sensors[of.sensor]
        if sensor.type in ("camera", "depth_camera"):
            raise FormulaError(f"{name}: the pictures of cameras are no signals")
        with SENSORS.blaming(sensor.type):
            return _SensorField(self._run, of.sensor, writer(of.message, sensor.sensor.shape(), of.sensor), decode)


class _Names:
    """An outlet that records the types of topics."""

    def __init__(self) -> None:
        self.types: dict[str, str] = {}

    def advertise(self, topic: Topic) -> Send:
        """Record a topic."""
        self.types[absolute(topic.name)] = topic.type
        return lambda time_ns, data: None


def topic_field(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of a field of a topic, such as /drone/gps/fix.altitude."""
    text = names[0]
    name, _, field = text.partition(".")
    topics = _Topics(run)
    if name not in topics.types:
        known = ", ".join(topics.types) or "none"
        raise FormulaError(f"no topic {name!r} of this run{did_you_mean(name, topics.types)} (known: {known})")
    if field.startswith("header."):
        raise FormulaError(f"{text}: stamps are no signals; age(SENSOR) is the time since it published")
    decoder = Decoder(bag_topic(name, topics.types[name]))
    try:
        found = numbers_in(decoder, field)
    except BagError as error:
        raise FormulaError(f"{name}: {error}") from None
    if len(found.paths) != 1:
        labels = ", ".join(f"{field}.{label}" for label in found.paths)
        raise FormulaError(f"{text} is {found.type}: choose one of {labels}")
    path = next(iter(found.paths.values()))

    def decode(data: bytes) -> float:
        value = value_at(decoder(data), path)
        return math.nan if value is None else float(value)

    return SignalReading((topics.probe(name, decode),), held)


SIGNALS.add(TOPICS)(
    SignalKind("/TOPIC.FIELD", "a number in the newest message of a topic", "", topic_field, sensors=True)
)


class MavlinkProbe(Probe):
    """A number in the latest message of an autopilot, which is requested at each sample.

    Args:
        run: The run.
        vehicle: The name of the vehicle.
        message: The name of the message.
        pick: Returns the number from the fields of the message.
    """

    def __init__(self, run: Any, vehicle: str, message: str, pick: Callable[[Any], float]) -> None:
        self._run, self._vehicle, self._message, self._pick = run, vehicle, message, pick

    def sample(self) -> float:
        """Return the number in the latest message; NaN before the first."""
        try:
            link = autopilot_of(self._run, self._vehicle).autopilot
        except ValueError:  # the autopilot is not connected yet
            return math.nan
        assert isinstance(link, Ordered)
        found = link.telemetry.get(self._message)
        link.request(self._message)
        return math.nan if found is None else self._pick(found.fields)

    def reset(self) -> None:
        """Forget the last message."""
        try:
            link = autopilot_of(self._run, self._vehicle).autopilot
        except ValueError:
            return
        assert isinstance(link, Ordered)
        link.telemetry.pop(self._message, None)


def _mavlink_field(text: str) -> tuple[str, str, int | None, str, float]:
    """Return the message, the field, its index, its unit here, and the factor to that unit. Raises FormulaError."""
    from sim_node.mavlink.codec import EncodeError, kind_named, unit_of_field

    found = _FIELD.fullmatch(text)
    if found is None:
        raise FormulaError(f"{text!r}: MESSAGE.FIELD or MESSAGE.FIELD[INDEX] is needed, as BATTERY_STATUS.voltages[0]")
    message, field, number = found.groups()
    try:
        kind = kind_named(message)
    except EncodeError as error:
        raise FormulaError(str(error)) from None
    if field not in kind.arrays:
        near = did_you_mean(field, kind.arrays)
        raise FormulaError(f"{message} has no number {field!r}{near} (known: {', '.join(kind.arrays)})")
    if kind.arrays[field] != (number is not None):
        wanted = f"{field}[0]" if kind.arrays[field] else field
        raise FormulaError(f"{message}.{field} is {'an array' if kind.arrays[field] else 'one number'}: write {wanted}")
    if number is not None and int(number) >= (size := kind.size_of(field)):
        raise FormulaError(f"{message}.{field} has {size} numbers, from [0] to [{size - 1}]")
    ours, factor = _UNITS.get(unit_of_field(message, field), ("", 1.0))
    return message, field, None if number is None else int(number), ours, factor


def _check_sends(run: RunView, vehicle: str, message: str) -> None:
    """Check that a message can be requested from the autopilot of a vehicle. Raises FormulaError."""
    flown = {each.name: autopilot for each, autopilot in autopiloted(run.world)}
    if vehicle not in flown:
        near = did_you_mean(vehicle, flown)
        known = ", ".join(flown) or "none"
        raise FormulaError(f"no vehicle {vehicle!r} with an autopilot, which sends MAVLink{near} (known: {known})")
    if flown[vehicle].type == BUILTIN:
        sent: Any = _sent_in(dialect_of(run, vehicle).name)  # type: ignore[arg-type]
        if message not in sent:
            near = did_you_mean(message, sent)
            raise FormulaError(f"the built-in autopilot does not send {message}{near} (known: {', '.join(sent)})")
    elif not flown[vehicle].installed:
        started = f"`sim_node test --autopilot {flown[vehicle].type}` starts one that is heard"
        raise FormulaError(f"the autopilot of {vehicle!r} is started by hand, for stations of its own; {started}")


@cache
def _sent_in(dialect: str) -> tuple[str, ...]:
    from sim_node.autopilots.builtin.streams import MESSAGES

    return tuple(sorted(name for name, each in MESSAGES.items() if each.dialect in ("", dialect)))


def _mavlink_kind(kind: SignalKind, arguments: Sequence[str]) -> SignalKind:
    """Return the kind of a MAVLink field, with its unit. Raises FormulaError for an unknown field."""
    return replace(kind, unit=_mavlink_field(arguments[1])[3])


@signal_kind(
    "mavlink(VEHICLE, MESSAGE.FIELD)",
    "a number of the newest message of its autopilot, in SI units",
    "",
    least=2,
    most=2,
    specific=_mavlink_kind,
)
def mavlink(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of a field of the messages of an autopilot."""
    message, field, index, _, factor = _mavlink_field(names[1])
    _check_sends(run, names[0], message)

    def pick(fields: Any) -> float:
        value = getattr(fields, field)
        return float(value if index is None else value[index]) * factor

    return SignalReading((MavlinkProbe(run, names[0], message, pick),), held)


def _of_battery(usage: str, about: str, unit: str, pick: Callable[[Any], float]) -> None:
    """Register a signal of the battery of a vehicle, as its autopilot reports it by BATTERY_STATUS."""

    @signal_kind(usage, about, unit)
    def open_it(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
        _check_sends(run, names[0], "BATTERY_STATUS")
        return SignalReading((MavlinkProbe(run, names[0], "BATTERY_STATUS", pick),), held)


def _charge(fields: Any) -> float:
    return math.nan if fields.battery_remaining < 0 else fields.battery_remaining * 1e-2


def _voltage(fields: Any) -> float:
    cells = [each for each in fields.voltages if each < _NO_VOLTAGE]
    return sum(cells) * 1e-3 if cells else math.nan


def _current(fields: Any) -> float:
    return math.nan if fields.current_battery < 0 else fields.current_battery * 1e-2


_of_battery("battery(VEHICLE)", "charge of the battery, of 1, as its autopilot reports it", "1", _charge)
_of_battery("battery_voltage(VEHICLE)", "voltage of the battery", "V", _voltage)
_of_battery("battery_current(VEHICLE)", "current of the battery", "A", _current)
