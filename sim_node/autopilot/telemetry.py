"""What is known of one vehicle from its telemetry, and what goes out of it as messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim_node.autopilot.axes import Quaternion, Vector
from sim_node.autopilot.pose_stream import PoseStream
from sim_node.autopilot.timesync import BootClock
from sim_node.autopilot.topics import FrameNames, Topic
from sim_node.frames import GeoidUnavailable, InvalidCoordinates, geoid_undulation
from sim_node.wire.encoding import encode
from sim_node.wire.layout import Pack

GENERIC, ARDUPILOT, PX4 = 0, 3, 12  # MAV_AUTOPILOT

# A better source of the same quantity silences the others for so long.
SOURCE_HOLDS_NS = 2_000_000_000
# Undulation of the geoid changes by centimetres over this much of latitude or longitude (degrees).
_UNDULATION_CELL = 0.002

Send = Callable[[Topic, bytes], None]


@dataclass(frozen=True)
class Home:
    """Where the vehicle's home is: latitude and longitude in degrees, metres above mean sea level, local NED (m)."""

    latitude: float
    longitude: float
    altitude_msl: float
    ned: Vector


@dataclass
class Heartbeat:
    """The newest heartbeat of the autopilot, in MAVLink's own numbers."""

    autopilot: int = 0
    type: int = 0
    base_mode: int = 0
    custom_mode: int = 0
    system_status: int = 0


class Telemetry:
    """One vehicle: frames, clock, the latest of what several messages need, and where messages go.

    send: takes a topic and its message's CDR. arrival_ns: when the message that is being translated came in.
    Attitude, rates and force are ENU/FLU; None until they are known.
    """

    def __init__(self, system: int, frames: FrameNames, send: Send) -> None:
        self.system, self.frames, self.send = system, frames, send
        self.clock = BootClock()
        self.poses = PoseStream()
        self.heartbeat: Heartbeat | None = None
        self.arrival_ns = 0
        self.attitude: Quaternion | None = None
        self.rates: Vector = (0.0, 0.0, 0.0)
        self.force: Vector = (0.0, 0.0, 0.0)
        self.home: Home | None = None
        self.origin: tuple[float, float, float] | None = None
        self.geoid_missing = False
        self.texts: dict[int, list[str]] = {}
        self._gps_undulation: float | None = None
        self._undulations: dict[tuple[int, int], float] = {}
        self._writers: dict[Topic | tuple[Topic | str | int, ...], Pack] = {}
        self._sources: dict[str, tuple[int, int]] = {}

    @property
    def autopilot(self) -> int:
        """MAV_AUTOPILOT of the last heartbeat, 0 before."""
        return self.heartbeat.autopilot if self.heartbeat else 0

    def pack(self, topic: Topic, stamp_ns: int, values: Sequence[float], *variant: str | int) -> None:
        """Send a message of a topic that has a layout. variant: what the layout takes beside the vehicle's frames."""
        key: Topic | tuple[Topic | str | int, ...] = (topic, *variant) if variant else topic
        write = self._writers.get(key)
        if write is None:
            assert topic.layout is not None
            write = self._writers[key] = topic.layout(self.frames, *variant)
        self.send(topic, write(stamp_ns, values))

    def encode(self, topic: Topic, fields: Mapping[str, Any]) -> None:
        """Send a message of a topic, given by the names of its fields; see sim_node.wire.layout.Layout."""
        self.send(topic, encode(topic.type.replace("/", "/msg/"), fields))

    def best_source(self, quantity: str, rank: int, stamp_ns: int) -> bool:
        """Whether this source of a quantity is the best that spoke lately; rank 0 is best."""
        best, heard = self._sources.get(quantity, (rank, stamp_ns))
        if rank > best and 0 <= stamp_ns - heard < SOURCE_HOLDS_NS:
            return False
        self._sources[quantity] = rank, stamp_ns
        return True

    def learn_undulation(self, altitude_msl: float, altitude_ellipsoid: float) -> None:
        """A receiver told both altitudes: what lies between them holds where no geoid grid is installed."""
        self._gps_undulation = altitude_ellipsoid - altitude_msl

    def ellipsoid_altitude(self, altitude_msl: float, latitude: float, longitude: float) -> float:
        """Metres above the WGS84 ellipsoid, NaN where neither a geoid grid nor the receiver tells the difference."""
        cell = round(latitude / _UNDULATION_CELL), round(longitude / _UNDULATION_CELL)
        undulation = self._undulations.get(cell)
        if undulation is None:
            undulation = self._undulation(latitude, longitude)
            if len(self._undulations) > 1000:
                self._undulations.clear()
            if not self.geoid_missing:
                self._undulations[cell] = undulation
        return altitude_msl + undulation

    def _undulation(self, latitude: float, longitude: float) -> float:
        if not self.geoid_missing:
            try:
                return float(geoid_undulation(latitude, longitude))
            except GeoidUnavailable:
                self.geoid_missing = True
            except InvalidCoordinates:
                return float("nan")
        return float("nan") if self._gps_undulation is None else self._gps_undulation
