"""What vehicles send to the bridge, over a real socket and out of telemetry logs."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

from rclpy.serialization import deserialize_message

from sim_node.mavlink.ardupilot.names import ApNames
from sim_node.mavlink.ardupilot.telemetry import readers as ap_readers
from sim_node.mavlink.axes import Quaternion
from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.codec import frame_bytes
from sim_node.mavlink.commands import CommandLong
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.dialects import VehicleNames
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.mavros.names import MavrosNames
from sim_node.mavlink.mavros.telemetry import readers as mavros_readers
from sim_node.mavlink.mission import Clear, Download, Upload
from sim_node.mavlink.px4.names import Px4Names
from sim_node.mavlink.px4.telemetry import readers as px4_readers
from sim_node.mavlink.telemetry import Send, Telemetry
from sim_node.mavlink.tlog import TlogPlayback
from sim_node.mavlink.topics import FrameNames, VehicleTopic
from sim_node.mavlink.transaction import Result, Transaction
from sim_node.mavlink.vehicle import BridgeSettings, Vehicle
from sim_node.ros.publishers import message_class
from stress.door import Stateless
from stress.mavlink import FROM_VEHICLE, GROUND, anything
from stress.mutations import broken_bytes

# Names of others, by the package of their messages.
NAMES: Mapping[str, Callable[[Telemetry, Send], VehicleNames]] = {
    "mavros_msgs": lambda vehicle, send: MavrosNames(vehicle, FrameNames(), send, mavros_readers()),
    "px4_msgs": lambda vehicle, send: Px4Names(vehicle, send, px4_readers()),
    "ardupilot_msgs": lambda vehicle, send: ApNames(vehicle, FrameNames(), send, ap_readers()),
}
MAX_VEHICLES = 4
START_NS = 1_700_000_000_000_000_000
# A sound heartbeat is heard after so many turns of the bridge, of 10 ms each where nothing else comes.
TURNS = 1000
ARDUPILOT, PX4 = 3, 12
# Messages of a burst that are read again.
CHECKED = 40


class Listener:
    """What the bridge tells; some of its messages are read again, as a subscriber does."""

    def __init__(self) -> None:
        self.published = 0
        self.complaints = 0

    def vehicle_found(self, vehicle: Vehicle) -> None:
        """It has the names of others, too, whose messages are installed."""

        def send(topic: VehicleTopic, data: bytes) -> None:
            self.publish(vehicle.system, topic, data)

        for package, make in NAMES.items():
            if find_spec(package) is not None:
                vehicle.names.append(make(vehicle.telemetry, send))

    def static_frame(self, system: int, child: str, rotation: Quaternion) -> None:
        """Its name is that of an orientation, whatever was sent."""
        assert len(child) < 100, child

    def publish(self, system: int, topic: VehicleTopic, data: bytes) -> None:
        """It has to be a message of its type."""
        self.published += 1
        if self.published % CHECKED == 0:
            deserialize_message(data, message_class(topic.type))

    def warn(self, text: str) -> None:
        """One line."""
        self.complaints += 1
        assert text.isprintable(), f"not printable: {text!r}"

    def report(self, text: str) -> None:
        """One line."""
        assert text.isprintable(), f"not printable: {text!r}"


def heartbeat(autopilot: int, system: int = 1) -> bytes:
    """Return the heartbeat of a vehicle."""
    return frame_bytes("HEARTBEAT", {"type": 2, "autopilot": autopilot, "mavlink_version": 3}, system, 1, 0)


def hostile(rng: Random) -> bytes:
    """Return a frame of a vehicle: mostly one that is known, now and then any of the dialect; some are broken."""
    system = 1 if rng.random() < 0.9 else rng.randrange(256)
    if rng.random() < 0.05:
        whole = heartbeat(rng.choice((ARDUPILOT, PX4, 0, 8)), system)
    else:
        whole = anything(rng.choice(FROM_VEHICLE), rng, rng.randrange(256), system, GROUND, component=1)
    return whole if rng.random() < 0.8 else broken_bytes(whole, rng)


class Vehicles:
    """Datagrams for a bridge that has all its exchanges under way."""

    burst = 100

    def __init__(self, folder: Path) -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._now_ns = START_NS
        self._listener = Listener()
        connection = Connection(endpoint_of(f"udpin:127.0.0.1:{port}"), Identity())
        self._bridge = Bridge(
            [connection], self._listener, BridgeSettings(max_vehicles=MAX_VEHICLES), graph_ns=lambda: self._now_ns
        )
        self._peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._bridge.turn()
        self._peer.connect(("127.0.0.1", port))
        self._sent = 0

    def seeds(self) -> Sequence[bytes]:
        """Heartbeats."""
        return [heartbeat(ARDUPILOT), heartbeat(PX4)]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """Any message of a vehicle."""
        return hostile(rng)

    def feed(self, data: bytes) -> str:
        """It is sent."""
        self._peer.send(data)
        return "sent"

    def settle(self) -> None:
        """A sound heartbeat is heard, and the vehicles are no more than allowed."""
        self._now_ns += 20_000_000
        before = self._received()
        for _ in range(TURNS):
            self._peer.send(heartbeat(ARDUPILOT))
            self._bridge.turn()
            if self._received() > before:
                break
        else:
            raise AssertionError("a sound heartbeat is not heard")
        assert len(self._bridge.vehicles) <= MAX_VEHICLES
        self._peer.setblocking(False)
        try:
            while True:
                self._peer.recv(65536)
        except BlockingIOError:
            self._peer.setblocking(True)
        _begin_all(self._bridge)

    def close(self) -> None:
        """Closes both ends."""
        self._bridge.stop()
        self._bridge.run()
        self._peer.close()

    def _received(self) -> int:
        vehicle = self._bridge.vehicles.get(1)
        return vehicle.received if vehicle else 0


class TelemetryLogs(Stateless):
    """Logs of ground stations, played to the end."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "flight.tlog"

    def seeds(self) -> Sequence[bytes]:
        """Some sound frames."""
        frames = [heartbeat(PX4), heartbeat(PX4), frame_bytes("ATTITUDE", {"roll": 0.1}, 1, 1, 1)]
        return [b"".join(struct.pack(">Q", 10**15 + i * 10**5) + frame for i, frame in enumerate(frames * 3))]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """Hostile frames and stamps in any order, then broken as bytes or not."""
        parts = [seed]
        for _ in range(rng.randint(1, 20)):
            stamp = rng.choice((0, 10**15, 10**15 + rng.randrange(10**9), 2**63, 2**64 - 1))
            parts.append(struct.pack(">Q", stamp) + hostile(rng) + rng.choice((b"", b"", b"\xfd", b"\xfe\xff")))
        rng.shuffle(parts)
        data = b"".join(parts)
        return data if rng.random() < 0.5 else broken_bytes(data, rng, 8)

    def feed(self, data: bytes) -> str:
        """Each message goes to the vehicles."""
        self._path.write_bytes(data)
        listener = Listener()
        bridge = Bridge([], listener, BridgeSettings(max_vehicles=MAX_VEHICLES), playback=TlogPlayback(self._path, 0.0))
        try:
            for _ in range(TURNS):
                assert bridge.playback is not None
                if bridge.playback.ended:
                    break
                bridge.turn()
            else:
                raise AssertionError("the log is not played to its end")
        finally:
            bridge.stop()
            bridge.run()
        return f"{len(bridge.vehicles)} vehicles"


def _begin_all(bridge: Bridge) -> None:
    """Begins each exchange that is not under way."""

    def ended(transaction: Transaction, result: Result) -> None:
        assert result.text.isprintable(), f"not printable: {result.text!r}"

    exchanges: list[Any] = [CommandLong("arm", 400, 1.0), Upload([{"seq": 0}, {"seq": 1}]), Download(), Clear()]

    def begin(now_ns: int) -> None:
        for vehicle in list(bridge.vehicles.values()):
            for exchange in exchanges:
                vehicle.begin(exchange, ended, now_ns)

    bridge.post(begin)
