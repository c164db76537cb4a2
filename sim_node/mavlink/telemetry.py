"""State of a vehicle from its telemetry, and the messages published from it."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.pose_stream import PoseStream
from sim_node.mavlink.status_texts import StatusTexts
from sim_node.mavlink.timesync import BootClock
from sim_node.mavlink.topics import Deviations, FrameNames, VehicleTopic
from sim_node.messages.encoding import encode
from sim_node.messages.layout import Pack
from sim_node.spatial.frames import AttitudeEnu, Flu, InvalidCoordinates, Ned, geoid_undulation

GENERIC, ARDUPILOT, PX4 = 0, 3, 12  # MAV_AUTOPILOT

# A better source of the same quantity suppresses the others for this long.
SOURCE_TIMEOUT_NS = 2_000_000_000
# A message is late if a message of its kind that is newer, but by less than this, was received before; otherwise the
# clock was set back.
MAX_LATE_MS = 1000
# Maximum number of reasons for dropped messages, since peers can cause some of them. Further ones are counted together.
MAX_REASONS = 128
OTHER_REASONS = "messages", "other reasons"
# The geoid undulation changes by centimetres over this much latitude or longitude (degrees).
_UNDULATION_CELL = 0.002

Send = Callable[[VehicleTopic, bytes], None]


@dataclass(frozen=True)
class Home:
    """The vehicle's home.

    Attributes:
        latitude: Latitude, degrees.
        longitude: Longitude, degrees.
        altitude_msl: Altitude above mean sea level, m.
        ned: Position in local NED, m; None if unknown.
    """

    latitude: float
    longitude: float
    altitude_msl: float
    ned: Ned | None


@dataclass
class Heartbeat:
    """Latest heartbeat of the autopilot, in MAVLink's own numbers."""

    autopilot: int = 0
    type: int = 0
    base_mode: int = 0
    custom_mode: int = 0
    system_status: int = 0


@dataclass(slots=True)
class _Source:
    """A source of a quantity: its rank, its last message (ns), and the last one of the source before (ns)."""

    rank: int
    received_ns: int
    floor_ns: int


class Telemetry:
    """A vehicle: its frames, its clock, the latest values that several messages need, and a sink for messages.

    Attitude, rates and force are ENU/FLU, and None if unknown.

    Args:
        system: MAVLink system id.
        frames: Names of the vehicle's frames.
        send: Called with a topic and its message as CDR.
        static_frame: Called with the name of a frame that is fixed to the vehicle's, and its orientation in that [x, y,
            z, w], when it becomes known and when it changes.
        deviations: Standard deviations of what its sensors measured.

    Attributes:
        component: MAVLink component whose messages are translated; 0 for the vehicle's autopilot.
        arrival_ns: Time of reception of the message that is being translated (ns, graph's clock).
        publishes: Whether messages are sent; otherwise the state is only kept for other names.
        signal_qualities: Signal quality (%) of distance sensors by frame: sensor_msgs/Range has no field for it.
    """

    def __init__(
        self,
        system: int,
        frames: FrameNames,
        send: Send,
        static_frame: Callable[[str, Quaternion], None] = lambda child, rotation: None,
        deviations: Deviations | None = None,
    ) -> None:
        self.system, self.frames, self.send = system, frames, send
        self.deviations = deviations or Deviations()
        self.component = 0
        self.publishes = True
        self._dropped: Counter[tuple[str, str]] = Counter()
        self.signal_qualities: dict[str, int] = {}
        self._static_frame = static_frame
        self._static: dict[str, Quaternion] = {}
        self.clock = BootClock()
        self.poses = PoseStream()
        self.heartbeat: Heartbeat | None = None
        self.arrival_ns = 0
        self.attitude: AttitudeEnu | None = None
        self.rates: Flu | None = None
        # Specific force, and its time (ns).
        self.force: tuple[Flu, int] | None = None
        # Whether the first battery sends its own messages.
        self.has_battery_status = False
        self.home: Home | None = None
        self.origin: tuple[float, float, float] | None = None
        self.texts = StatusTexts()
        # Mission item that is being flown, and the one that was reached last.
        self.mission_item: int | None = None
        self.reached_item: int | None = None
        # Messages for /diagnostics by name, with their times of arrival (ns); see translation/health.py.
        self.reported: dict[str, tuple[int, Any]] = {}
        # Progress (%) of each compass calibration.
        self.calibrated: dict[int, int] = {}
        # Latitude and longitude of the autopilot's target, and the origin with which they were published.
        self.goal: tuple[float, float, tuple[float, float, float]] | None = None
        self._newest: dict[tuple[type, int], int] = {}
        self._undulations: dict[tuple[int, int], float] = {}
        self._writers: dict[VehicleTopic, Pack] = {}
        self._variants: dict[tuple[Hashable, ...], Pack] = {}
        self._encoded: dict[VehicleTopic, tuple[Mapping[str, Any], bytes]] = {}
        self._sources: dict[str, _Source] = {}

    @property
    def autopilot(self) -> int:
        """MAV_AUTOPILOT of the last heartbeat; 0 before the first one."""
        return self.heartbeat.autopilot if self.heartbeat else 0

    def of_component(self, component: int) -> Telemetry:
        """Return the telemetry of another component of the system, which has its own clock and shares all else.

        Args:
            component: MAVLink component id.

        Returns:
            The telemetry, to translate its messages with.
        """
        other = copy.copy(self)
        other.component, other.clock, other._newest = component, BootClock(), {}
        return other

    def drop(self, fields: Any, reason: str) -> None:
        """Count a message, or a part of one, that is not published.

        Args:
            fields: The message's fields.
            reason: Reason, in a few words.
        """
        self.count_dropped(type(fields).__name__, reason)

    def count_dropped(self, what: str, reason: str) -> None:
        """Count an item that is not published.

        Args:
            what: Description of the item.
            reason: Reason, in a few words.
        """
        key = what, reason
        known = key in self._dropped or len(self._dropped) < MAX_REASONS
        self._dropped[key if known else OTHER_REASONS] += 1

    @property
    def dropped(self) -> dict[str, int]:
        """Number of messages, or parts of them, that were not published, by message and reason. Any thread may ask."""
        return {f"{what}: {reason}": count for (what, reason), count in self._dropped.copy().items()}

    def stamp_of(self, fields: Any) -> int:
        """Return the stamp of a message: by the time that it contains, else by its arrival.

        Args:
            fields: The message's fields.

        Returns:
            The stamp (ns).
        """
        time_ms = getattr(fields, "time_boot_ms", 0)
        if time_ms:
            return self.clock.stamp_ms(time_ms, self.arrival_ns)
        return self.clock.stamp_us(getattr(fields, "time_usec", 0), self.arrival_ns)

    def is_late(self, fields: Any) -> bool:
        """Return whether a newer message of the same kind and sensor was received before, and count it then.

        Args:
            fields: The message's fields.

        Returns:
            Whether publishing it would turn back time.
        """
        time_ms = getattr(fields, "time_boot_ms", None)
        if time_ms is None:
            time_ms = getattr(fields, "time_usec", 0) // 1000
        if not time_ms:
            return False
        key = type(fields), getattr(fields, "id", 0)
        behind = self._newest.get(key, 0) - time_ms
        if 0 < behind < MAX_LATE_MS:
            self.drop(fields, "late")
            return True
        self._newest[key] = time_ms
        return False

    def has_published(self, topic: VehicleTopic) -> bool:
        """Return whether a message of a topic with one layout was sent.

        Args:
            topic: The topic.

        Returns:
            Whether it was.
        """
        return topic in self._writers

    def pack(self, topic: VehicleTopic, stamp_ns: int, values: Sequence[float]) -> None:
        """Send a message of a topic with a layout.

        Args:
            topic: The topic.
            stamp_ns: Stamp of the message (ns).
            values: The numbers that the layout expects.
        """
        write = self._writers.get(topic)
        if write is None:
            write = self._writers[topic] = topic.packer(self.frames)
        if self.publishes:
            self.send(topic, write(stamp_ns, values))

    def pack_variant(self, topic: VehicleTopic, stamp_ns: int, values: Sequence[float], *variant: Hashable) -> None:
        """Send a message of a topic whose layout depends on more than the vehicle's frames.

        Args:
            topic: The topic.
            stamp_ns: Stamp of the message (ns).
            values: The numbers that the layout expects.
            variant: Further arguments of the layout, such as deviations or the frame of a sensor.
        """
        if not self.publishes:
            return
        key = topic, *variant
        write = self._variants.get(key)
        if write is None:
            write = self._variants[key] = topic.packer(self.frames, *variant)
        self.send(topic, write(stamp_ns, values))

    def fix_frame(self, child: str, rotation: Quaternion) -> None:
        """Announce a frame that is fixed to the vehicle's, unless it is known.

        Args:
            child: The name of the frame.
            rotation: Its orientation in the vehicle's frame (FLU), [x, y, z, w].
        """
        if self._static.get(child) != rotation:
            self._static[child] = rotation
            self._static_frame(child, rotation)

    def encode(self, topic: VehicleTopic, fields: Mapping[str, Any]) -> None:
        """Send a message of a topic.

        Args:
            topic: The topic.
            fields: The fields by name; see sim_node.messages.layout.Layout.
        """
        if not self.publishes:
            return
        encoded = self._encoded.get(topic)
        if encoded is None or encoded[0] != fields:  # states are repeated
            encoded = self._encoded[topic] = fields, encode(topic.type.replace("/", "/msg/"), fields)
        self.send(topic, encoded[1])

    def best_source(self, quantity: str, rank: int, stamp_ns: int) -> bool:
        """Return whether to publish a message of a source of a quantity: the best recent one, and forward in time.

        Messages of different sources have different delays in an autopilot. One that is older than the last message of
        another source is not published, so that stamps do not go back when sources change.

        Args:
            quantity: The quantity.
            rank: Rank of the source; 0 is best.
            stamp_ns: Time of the message (ns).

        Returns:
            Whether to publish it.
        """
        source = self._sources.get(quantity)
        if source is None or stamp_ns <= source.received_ns - SOURCE_TIMEOUT_NS:  # the clock was set back
            self._sources[quantity] = _Source(rank, stamp_ns, stamp_ns)
            return True
        if rank != source.rank:
            if rank > source.rank and stamp_ns - source.received_ns < SOURCE_TIMEOUT_NS:
                return False
            source.rank, source.floor_ns = rank, max(source.floor_ns, source.received_ns)
        source.received_ns = stamp_ns
        return stamp_ns >= source.floor_ns

    def accepts(self, fields: Any, quantity: str, rank: int, stamp_ns: int) -> bool:
        """Return whether to publish a message by `best_source`, and count it if not.

        Args:
            fields: The message's fields.
            quantity: The quantity.
            rank: The rank of the source; 0 is best.
            stamp_ns: The time of the message (ns).

        Returns:
            Whether to publish it.
        """
        if self.best_source(quantity, rank, stamp_ns):
            return True
        self.drop(fields, "another source is better")
        return False

    def ellipsoid_altitude(self, altitude_msl: float, latitude: float, longitude: float) -> float:
        """Convert an altitude above mean sea level to one above the WGS84 ellipsoid.

        Args:
            altitude_msl: Altitude above mean sea level, m.
            latitude: Latitude, degrees.
            longitude: Longitude, degrees.

        Returns:
            Altitude above the ellipsoid, m; NaN if latitude or longitude is invalid.
        """
        cell = round(latitude / _UNDULATION_CELL), round(longitude / _UNDULATION_CELL)
        undulation = self._undulations.get(cell)
        if undulation is None:
            try:
                undulation = float(geoid_undulation(latitude, longitude))
            except InvalidCoordinates:
                return math.nan
            if len(self._undulations) > 1000:
                self._undulations.clear()
            self._undulations[cell] = undulation
        return altitude_msl + undulation
