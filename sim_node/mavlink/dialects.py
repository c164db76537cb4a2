"""Common parts of the names of MAVROS, PX4 and ArduPilot: compiled tables of topics, and vehicles with these names."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import compress
from typing import Any, NamedTuple

from sim_node.mavlink.codec import kind_named
from sim_node.mavlink.contents import SI, Unit, is_on_earth
from sim_node.mavlink.parameters import MAX_PARAMETERS, ParamValue, decoded
from sim_node.mavlink.setpoints import SetpointLimits, check_message
from sim_node.mavlink.telemetry import ARDUPILOT, Send, Telemetry
from sim_node.mavlink.topics import FrameNames, Profile, VehicleTopic
from sim_node.mavlink.transaction import Outgoing
from sim_node.messages.definitions import fields_of
from sim_node.messages.encoding import encode
from sim_node.messages.layout import MessageLayout, Pack
from sim_node.spatial.frames import AttitudeEnu, Enu

# Larger times are Unix time, as in timesync.py.
_UNIX_US = 1_000_000_000_000_000
NOTHING = (0.0, 0.0, 0.0)
UNCHANGED = AttitudeEnu((0.0, 0.0, 0.0, 1.0))
Numbers = tuple[float, ...]
# A number of a message: a sign, and a path such as pose.position.x or covariance[9].
_NUMBER = re.compile(r"(-?)([a-z]\w*(?:\.\w+)*(?:\[\d+\])?)")


class Unknown(ValueError):
    """A quantity is unknown, so its message is not sent. The text says which one, in a few words."""


# Publishes a MAVLink message. Called with its fields and the vehicle.
Read = Callable[[Any, Any], None]
# Functions that publish a message, by its name.
Readers = Mapping[str, Sequence[Read]]


class VehicleNames:
    """A vehicle under names of other software. Belongs to the bridge's thread.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        send: Called with a topic and its message as CDR.
        readers: Functions that publish messages.
        frames: Names of frames in these messages.

    Attributes:
        last: Latest fields, by name, of the messages read since the vehicle was connected.
        parameters: The autopilot's parameters received so far, by name.
        row_stamp_ns: Stamp of the row that is being published (ns).
    """

    def __init__(self, vehicle: Telemetry, send: Send, readers: Readers, frames: FrameNames) -> None:
        self.vehicle, self._send, self._readers, self.frames = vehicle, send, readers, frames
        self.last: dict[str, Any] = {}
        self.parameters: dict[str, ParamValue] = {}
        self.row_stamp_ns = 0
        self._packs: dict[tuple[VehicleTopic, str], Pack] = {}
        self._due_ns: dict[str, int] = {}

    def reads(self, name: str) -> bool:
        """Return whether messages of a name are read.

        Args:
            name: Name of the message.

        Returns:
            Whether they are.
        """
        return name in self._readers

    def receive(self, name: str, fields: Any) -> None:
        """Publish the topics of a message.

        Args:
            name: Name of the message.
            fields: Its fields.
        """
        self.last[name] = fields
        for read in self._readers[name]:
            read(fields, self)

    def disconnected(self) -> None:
        """Forget which messages the vehicle sends."""
        self.last.clear()

    def send(self, topic: VehicleTopic, data: bytes) -> None:
        """Send a message of a topic."""
        self._send(topic, data)

    def pack(
        self, topic: VehicleTopic, source: str, make: Callable[[Any], Pack], stamp_ns: int, values: Sequence[Any]
    ) -> None:
        """Send a message of a topic from a source, with the layout that `make` returns once."""
        key = topic, source
        pack = self._packs.get(key)
        if pack is None:
            pack = self._packs[key] = make(self)
        self.send(topic, pack(stamp_ns, values))

    def encode(self, topic: VehicleTopic, fields: Mapping[str, Any]) -> None:
        """Send a message from its fields by name. Fields that the installed definition lacks are left out."""
        type = topic.type.replace("/", "/msg/")
        self.send(topic, encode(type, known(type, fields)))

    def is_due(self, what: str, period_ns: int) -> bool:
        """Return whether a periodic action is due; if so, begin the next period."""
        now_ns = self.vehicle.arrival_ns
        due_ns = self._due_ns.get(what, now_ns)
        if 0 < due_ns - now_ns <= period_ns:
            return False
        on_time = 0 <= now_ns - due_ns < period_ns
        self._due_ns[what] = (due_ns if on_time else now_ns) + period_ns
        return True

    def keep_parameter(self, fields: Any) -> ParamValue | None:
        """Keep the parameter of a PARAM_VALUE, and return it; None if there are too many."""
        name = fields.param_id
        if name not in self.parameters and len(self.parameters) >= MAX_PARAMETERS:
            self.vehicle.count_dropped("PARAM_VALUE", "too many parameters")
            return None
        found = self.parameters[name] = decoded(fields, self.vehicle.autopilot)
        return found

    def stamp_of(self, fields: Any) -> int:
        """Return the stamp of a message (ns), without learning the offset of the clock from it."""
        clock, arrival_ns = self.vehicle.clock, self.vehicle.arrival_ns
        if milliseconds := getattr(fields, "time_boot_ms", 0):
            return clock.stamp_of_old(milliseconds * 1_000_000, arrival_ns, of_ms=True)
        microseconds = getattr(fields, "time_usec", 0)
        if microseconds > _UNIX_US:
            return clock.stamp_us(microseconds, arrival_ns)
        return clock.stamp_of_old(microseconds * 1000, arrival_ns)

    def above_sea(self, lat: int, lon: int, millimetres: int) -> tuple[float, float, float]:
        """Return latitude, longitude (degrees) and altitude above mean sea level (m). Raises Unknown if invalid."""
        place = lat * 1e-7, lon * 1e-7, millimetres * 1e-3
        if not is_on_earth(*place[:2]):
            raise Unknown("position is not on Earth")
        return place


class EnuNames(VehicleNames):
    """A vehicle under names whose frames are ENU and FLU. Unknown values are 0, unknown orientations 0 0 0 1."""

    # Methods for rows

    def orientation(self) -> Numbers:
        """Return the orientation of base_link in the map [x, y, z, w]."""
        q = self.vehicle.attitude
        return UNCHANGED.xyzw if q is None else q.xyzw

    def rates(self) -> Numbers:
        """Return the angular rates in base_link (rad/s)."""
        return tuple(self.vehicle.rates or NOTHING)

    def body(self, east: float, north: float, up: float) -> Numbers:
        """Convert a vector from the map to base_link."""
        return tuple((self.vehicle.attitude or UNCHANGED).to_body(Enu((east, north, up))))

    def raw_force(self, x: float, y: float, z: float) -> Numbers:
        """Convert RAW_IMU's force in FLU to m/s²: mG from ArduPilot, mm/s² from others."""
        factor = 9.80665e-3 if self.vehicle.autopilot == ARDUPILOT else 1e-3
        return factor * x, factor * y, factor * z


class ValueSource(NamedTuple):
    """Source of the numbers of a field.

    Attributes:
        fields: Fields of the other message, separated by spaces, in order, each with its sign: `y x -z` for NED as ENU.
        unit: Their unit.
        unknown: Number that means that a field is unknown, which becomes NaN.
        by: Name of a method that converts these numbers to those of the field; empty for none.
    """

    fields: str = ""
    unit: Unit = SI
    unknown: float | None = None
    by: str = ""


def by(method: str, fields: str = "", unit: Unit = SI) -> ValueSource:
    """Return the source of a method's result for these fields."""
    return ValueSource(fields, unit, by=method)


def compiled(
    sources: Collection[ValueSource], arrays: Mapping[str, bool] | None, owner: type
) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Compile a function of a message and an owner of methods that returns all numbers in a row.

    Args:
        sources: Sources of the numbers.
        arrays: Names of the message's fields, and whether each is an array; None for a message whose fields are not
            known here.
        owner: Class that has the methods.

    Returns:
        The function, as fast as code written by hand.

    Raises:
        ValueError: A source has a field or a method that does not exist.
    """
    expressions: list[str] = []
    for fields, unit, unknown, method in sources:
        numbers = []
        for word in fields.split():
            found = _NUMBER.fullmatch(word)
            name = found and re.split(r"[.\[]", found[2])[0]
            if found is None or (arrays is not None and name not in arrays):
                raise ValueError(f"no field {word!r}")
            number = f"{found[1]}message.{found[2]}" + ("" if unit is SI else f" * {unit.factor!r}")
            if unknown is not None:
                number = f"nan if message.{found[2]} == {unknown!r} else {number}"
            elif arrays is not None and arrays[str(name)] and "[" not in word:
                number = f"*message.{found[2]}"
            numbers.append(number)
        if method and not callable(getattr(owner, method, None)):
            raise ValueError(f"{owner.__name__} has no method {method!r}")
        expressions += [f"*owner.{method}({', '.join(numbers)})"] if method else numbers
    made: Callable[[Any, Any], tuple[Any, ...]] = eval(
        f"lambda message, owner: ({''.join(f'{each}, ' for each in expressions)})", {"nan": float("nan")}
    )
    return made


@dataclass(frozen=True)
class TopicRow:
    """A topic, or one of several sources of one.

    Attributes:
        name: Name below the namespace.
        type: package/Name.
        message: MAVLink message.
        frames: Names of frames: that of the header, and that of the child if there is one. Empty for none.
        fields: Sources of the fields. A key may be several paths. Fields that the installed definition lacks are left
            out.
        profile: QoS.
        is_now: Whether the stamp is the time of arrival instead of that of the message.
        unless: Messages that are preferred to this one while they are received.
        constants: Further fields, or a function that returns them for the vehicle.
        when: Returns whether a message contains the quantity; None if all do.
        period_ns: Minimum period of the topic (ns); 0 to publish every message.
    """

    name: str
    type: str
    message: str
    frames: str
    fields: Mapping[str, ValueSource]
    profile: Profile = Profile.SENSOR
    is_now: bool = False
    unless: tuple[str, ...] = ()
    constants: Mapping[str, Any] | Callable[[Any], Mapping[str, Any]] = field(default_factory=dict)
    when: Callable[[Any], bool] | None = None
    period_ns: int = 0


class TopicFunction(NamedTuple):
    """A function that publishes MAVLink messages for which a row is not enough.

    Attributes:
        messages: Names of the messages.
        topics: Topics that it publishes, each listed by one function only.
        read: Publishes them.
    """

    messages: tuple[str, ...]
    topics: tuple[VehicleTopic, ...]
    read: Read


def row_topics(rows: Sequence[TopicRow], functions: Sequence[TopicFunction]) -> dict[str, VehicleTopic]:
    """Return the topics of a table by their names."""
    found: dict[str, VehicleTopic] = {}
    for row in rows:
        if row.name not in found:
            found[row.name] = VehicleTopic(row.name, row.type, row.frames, profile=row.profile)
    return found | {topic.name: topic for each in functions for topic in each.topics}


def row_readers(rows: Sequence[TopicRow], functions: Sequence[TopicFunction], owner: type[VehicleNames]) -> Readers:
    """Compile a table.

    Args:
        rows: Rows of the table.
        functions: Functions of the table.
        owner: Class that has the methods of rows.

    Returns:
        The functions that publish a message, by its name.

    Raises:
        UnknownMessage: The package of a message is not installed.
        ValueError: A row has a field or a method that does not exist.
    """
    topics = row_topics(rows, functions)
    found: dict[str, list[Read]] = {}
    for row in rows:
        found.setdefault(row.message, []).append(_reader(row, topics[row.name], owner))
    for each in functions:
        for message in each.messages:
            found.setdefault(message, []).append(each.read)
    return found


@cache
def field_names(type: str) -> frozenset[str]:
    """Return the names of the fields of the installed definition of package/msg/Name."""
    return frozenset(each.name for each in fields_of(type))


def known(type: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields, by their paths, that the installed definition of package/msg/Name has."""
    names = field_names(type)
    return {path: value for path, value in fields.items() if path.partition(".")[0] in names}


def _reader(row: TopicRow, topic: VehicleTopic, owner: type[VehicleNames]) -> Read:
    """Return the function that publishes a row, as far as the installed definition has its fields."""
    type = row.type.replace("/", "/msg/")
    held = {key: source for key, source in row.fields.items() if known(type, dict.fromkeys(key.split()))}
    of_keys = [path for key in held for path in key.split()]
    paths = list(known(type, dict.fromkeys(of_keys)))
    sizes = MessageLayout(type, {}) if len(paths) < len(of_keys) else None
    kept = None
    if sizes is not None:
        kept = [path in paths for path in of_keys for _ in range(sizes.place(path).size if path in paths else 1)]
    read = compiled(held.values(), kind_named(row.message).arrays, owner)

    def make(names: VehicleNames) -> Pack:
        keys = ("header.frame_id", "child_frame_id")
        frames = dict(zip(keys, map(names.frames.named, row.frames.split()), strict=False))
        constants = row.constants(names) if callable(row.constants) else row.constants
        return MessageLayout(type, known(type, {**frames, **constants})).packer(*paths)

    def publish(fields: Any, names: VehicleNames) -> None:
        if row.unless and not names.last.keys().isdisjoint(row.unless):
            return
        if row.when is not None and not row.when(fields):
            return
        if row.period_ns and not names.is_due(row.name, row.period_ns):
            return
        vehicle = names.vehicle
        names.row_stamp_ns = stamp_ns = vehicle.arrival_ns if row.is_now else names.stamp_of(fields)
        try:
            values = read(fields, names)
        except Unknown as unknown:
            vehicle.count_dropped(f"{row.message} as {row.name}", str(unknown))
            return
        names.pack(topic, row.message, make, stamp_ns, values if kept is None else tuple(compress(values, kept)))

    return publish


# Returns the messages to send for a received message. Raises SetpointRefused.
Convert = Callable[[Any, Telemetry], Sequence[Outgoing]]


class Input(NamedTuple):
    """A topic that is subscribed to.

    Attributes:
        name: Name below the prefix.
        type: Type of the message.
        convert: Returns the MAVLink messages.
        moves: Whether these move the vehicle, so that they end a goto, and a setpoint stream under our own names.
        needs: Fields of PX4's OffboardControlMode, one of which must be set in a message at most a second old. Empty
            for none.
        lost: Returns parts of a message that MAVLink cannot carry; empty for none.
    """

    name: str
    type: str
    convert: Convert
    moves: bool = False
    needs: tuple[str, ...] = ()
    lost: Callable[[Any], str] = lambda message: ""


def checked(messages: Sequence[Outgoing], vehicle: Telemetry, limits: SetpointLimits) -> Sequence[Outgoing]:
    """Return messages that are within the limits of setpoints and can be sent.

    Args:
        messages: Names and fields.
        vehicle: The vehicle's telemetry.
        limits: The limits.

    Returns:
        The same messages.

    Raises:
        SetpointRefused: A number is not finite, is beyond a limit or does not fit into its field.
    """
    for name, fields in messages:
        check_message(name, fields, limits, vehicle.home)
    return messages
