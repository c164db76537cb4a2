"""Which MAVLink a peer is spoken to in, over real sockets; pymavlink's own tables of either version are the peers."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from claims import free_port
from pymavlink.dialects.v10 import ardupilotmega as first
from pymavlink.dialects.v20 import ardupilotmega as second
from waiting import PATIENCE, until

from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import endpoint_of

ARM = {"target_system": 1, "target_component": 1, "command": 400, "param1": 1.0}
BEAT = {"type": 6, "autopilot": 8, "mavlink_version": 3}
V1, V2 = 0xFE, 0xFD


@pytest.fixture
def ends() -> Iterator[tuple[Connection, socket.socket]]:
    """A connection that listens, and a socket that sends to it."""
    port = free_port()
    connection = Connection(endpoint_of(f"udpin:127.0.0.1:{port}"), Identity())
    connection.keep_up(time.monotonic_ns())
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as peer:
        peer.connect(("127.0.0.1", port))
        peer.settimeout(PATIENCE)
        yield connection, peer
    connection.link.close()


def speak(ends: tuple[Connection, socket.socket], dialect: Any) -> Any:
    """A heartbeat from the peer, heard; returns where it is."""
    connection, peer = ends
    beat = dialect.MAVLink_heartbeat_message(2, 3, 0, 0, 4, 3)
    peer.send(beat.pack(dialect.MAVLink(None, 1, 1)))
    [(message, address)] = until(lambda: list(connection.receive(time.monotonic_ns())))
    assert message.name == "HEARTBEAT"
    return address


def heard(peer: socket.socket, count: int) -> list[bytes]:
    """So many frames, and no more."""
    frames = [peer.recv(300) for _ in range(count)]
    peer.setblocking(False)
    with pytest.raises(BlockingIOError):
        peer.recv(300)
    peer.settimeout(PATIENCE)
    return frames


def test_who_speaks_mavlink_1_is_spoken_to_in_it(ends: tuple[Connection, socket.socket]) -> None:
    connection, peer = ends
    address = speak(ends, first)
    now_ns = time.monotonic_ns()
    connection.send("COMMAND_LONG", ARM, address, now_ns)
    [frame] = heard(peer, 1)
    assert frame[0] == V1
    command = first.MAVLink(None).decode(bytearray(frame))
    assert (command.get_type(), command.command, command.param1, command.get_srcSystem()) == (
        "COMMAND_LONG",
        400,
        1.0,
        255,
    )
    connection.send_to_all("HEARTBEAT", BEAT, now_ns)
    assert sorted(frame[0] for frame in heard(peer, 2)) == [V2, V1], "so that PX4 goes over to MAVLink 2"
    connection.send("ODOMETRY", {}, address, now_ns)
    assert [frame[0] for frame in heard(peer, 1)] == [V2], "MAVLink 1 has none"


def test_who_goes_over_to_mavlink_2_hears_no_other(ends: tuple[Connection, socket.socket]) -> None:
    connection, peer = ends
    speak(ends, first)
    address = speak(ends, second)
    speak(ends, first)  # one frame more that was on its way
    now_ns = time.monotonic_ns()
    connection.send("COMMAND_LONG", ARM, address, now_ns)
    connection.send_to_all("HEARTBEAT", BEAT, now_ns)
    assert [frame[0] for frame in heard(peer, 2)] == [V2, V2]
