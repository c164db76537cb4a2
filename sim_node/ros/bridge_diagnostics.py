"""Status of links and vehicles, published on /diagnostics once per second."""

from __future__ import annotations

import time
from collections.abc import Iterator

from rclpy.node import Node

from sim_node.mavlink.bridge import Bridge
from sim_node.mavlink.connection import Connection
from sim_node.mavlink.modes import mode_name
from sim_node.mavlink.translation.health import reports
from sim_node.mavlink.vehicle import Vehicle
from sim_node.ros.statuses import ERROR, OK, WARN, Status, publish_statuses

# Fraction of lost messages in the last second above which the status is a warning.
MAX_LOSS = 0.02


class BridgeDiagnostics:
    """Publishes the status of each link, of each vehicle, and of each of its health reports."""

    def __init__(self, node: Node, bridge: Bridge) -> None:
        self._clock, self._bridge = node.get_clock(), bridge
        self._counts: dict[object, tuple[int, int]] = {}
        self._time = time.monotonic()
        publish_statuses(node, self._statuses, self._clock.now)

    def _statuses(self) -> Iterator[Status]:
        now = time.monotonic()
        elapsed, self._time = max(now - self._time, 1e-3), now
        for connection in self._bridge.connections:
            yield self._link(connection, elapsed)
        playback = self._bridge.playback
        if playback is not None:
            message = "ended" if playback.ended else "playing"
            yield Status(OK, playback.name, message, [("messages", playback.played)])
        for vehicle in list(self._bridge.vehicles.values()):
            yield self._vehicle(vehicle, elapsed)
            for what, (level, message, values) in reports(vehicle.telemetry, self._clock.now().nanoseconds):
                yield Status(level, f"vehicle {vehicle.system} {what}", message, values.items())

    def _link(self, connection: Connection, elapsed: float) -> Status:
        reception, losses = connection.reception, connection.losses
        received, lost = self._since(connection, reception.messages, losses.lost)
        level, message = OK, "up"
        if connection.state != "up":
            level = ERROR
            message = f"{connection.state}: {connection.why}" if connection.why else connection.state
        elif not received:
            level, message = WARN, "up, nothing comes in"
        elif lost > MAX_LOSS * max(1, received + lost):
            level, message = WARN, f"{100.0 * lost / (received + lost):.0f} % lost"
        values: list[tuple[str, object]] = [
            ("rate (messages/s)", f"{received / elapsed:.1f}"),
            ("messages", reception.messages),
            ("lost", losses.lost),
            ("late", losses.late),
            ("repeated", losses.repeated),
            ("dropped (datagrams)", connection.dropped),
            ("junk (bytes)", reception.junk),
            ("unknown messages", reception.unknown),
            ("times opened", connection.openings),
            ("peers", len(connection.peers)),
        ]
        if connection.signing is not None:
            refused = connection.signing.refused
            values += [
                ("unsigned", refused.unsigned),
                ("wrongly signed", refused.wrong),
                ("replayed", refused.replayed),
            ]
        return Status(level, connection.name, message, values)

    def _vehicle(self, vehicle: Vehicle, elapsed: float) -> Status:
        telemetry = vehicle.telemetry
        clock, heartbeat = telemetry.clock, telemetry.heartbeat
        all_lost = vehicle.route.lost(vehicle.system)
        received, lost = self._since(vehicle, vehicle.received, all_lost)
        mode = mode_name(heartbeat) if heartbeat else "unknown"
        level = OK if vehicle.connected else ERROR
        message = mode if vehicle.connected else "silent"
        if vehicle.connected and lost > MAX_LOSS * (received + lost):
            level, message = WARN, f"{mode}, {100.0 * lost / (received + lost):.0f} % lost"
        values: list[tuple[str, object]] = [
            ("rate (messages/s)", f"{received / elapsed:.1f}"),
            ("messages", vehicle.received),
            ("lost", all_lost),
            ("link", vehicle.route.name),
            ("mode", mode),
            ("streaming", vehicle.stream.owner or "nothing"),
            ("clock", "by TIMESYNC" if clock.synchronised else "by arrival"),
            ("clock offset (s)", "unknown" if clock.offset_ns is None else f"{clock.offset_ns / 1e9:.6f}"),
            ("round trip (ms)", "unknown" if clock.round_trip_ns is None else f"{clock.round_trip_ns / 1e6:.3f}"),
            ("slow round trips", clock.events.slow_round_trips),
            ("clock jumps", clock.events.jumps),
            ("reboots", clock.events.reboots),
            *(("also", what) for what in vehicle.others.listed.copy().values()),
            *((f"{frame} (% signal)", quality) for frame, quality in telemetry.signal_qualities.copy().items()),
            *((f"not published: {reason}", count) for reason, count in telemetry.dropped.items()),
        ]
        return Status(level, f"vehicle {vehicle.system}", message, values)

    def _since(self, key: object, received: int, lost: int) -> tuple[int, int]:
        """Return the counts since the last call."""
        before = self._counts.get(key, (0, 0))
        self._counts[key] = received, lost
        return received - before[0], lost - before[1]
