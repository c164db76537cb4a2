"""Whole frames with any payload at all, through everything that reads them: nothing raises, nothing is half-told."""

from __future__ import annotations

import random
import struct

import pytest
from nightly import only
from pymavlink.dialects.v20 import all as dialect
from rclpy.serialization import deserialize_message

from sim_node.mavlink.commands import CommandLong
from sim_node.mavlink.links import Address
from sim_node.mavlink.mission import Clear, Download, Upload
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.telemetry import ARDUPILOT, PX4, Heartbeat, Telemetry
from sim_node.mavlink.topics import FrameNames
from sim_node.mavlink.transaction import Transaction
from sim_node.mavlink.translation import TRANSLATIONS
from sim_node.mavlink.vehicle import BridgeSettings, Vehicle
from sim_node.ros.publishers import message_class

ARRIVAL = 1_700_000_000_000_000_000
EXTREMES = (b"\0", b"\xff", b"\x7f", b"\x80", b"\x00\x00\xc0\x7f", b"\x00\x00\x80\x7f")
# So often all exchanges are begun.
ROUNDS = 40


def payload(chance: random.Random, size: int) -> bytes:
    """Random bytes, or a pattern that makes the largest, the smallest, infinite or no numbers."""
    if chance.random() < 0.3:
        pattern = chance.choice(EXTREMES)
        return (pattern * (size // len(pattern) + 1))[:size]
    return chance.randbytes(size)


def framed(number: int, body: bytes, sequence: int) -> bytes:
    head = struct.pack("<BBBBBBHB", len(body), 0, 0, sequence, 1, 1, number & 0xFFFF, number >> 16)
    crc = dialect.x25crc(head + body + bytes([dialect.mavlink_map[number].crc_extra])).crc
    return b"\xfd" + head + body + struct.pack("<H", crc)


NUMBERS = {str(table.msgname): number for number, table in dialect.mavlink_map.items()}


class Nowhere:
    accepts_commands = True
    name = "nowhere"

    def lost(self, system: int) -> int:
        return 0

    def send(self, name: str, fields: object, to: Address, now_ns: int) -> None:
        pass


# Few messages are read otherwise where ArduPilot has sent them.
@pytest.mark.parametrize("autopilot", only([ARDUPILOT, PX4], 1))
@pytest.mark.parametrize("name", sorted(TRANSLATIONS))
def test_any_payload_of_a_message_that_is_translated(name: str, autopilot: int) -> None:
    """And what comes out of it is a message that rclpy reads."""
    chance, parser, sent = random.Random(name), Parser(datagrams=True), []
    vehicle = Telemetry(1, FrameNames(), lambda topic, data: sent.append((topic, data)))
    vehicle.heartbeat = Heartbeat(autopilot=autopilot)
    size = dialect.mavlink_map[NUMBERS[name]].unpacker.size
    for number in range(300):
        vehicle.arrival_ns = ARRIVAL + number * 20_000_000
        [message] = parser.feed(framed(NUMBERS[name], payload(chance, size), number & 0xFF))
        TRANSLATIONS[name](message.fields, vehicle)
        for topic, data in sent[:3]:
            deserialize_message(data, message_class(topic.type))
        sent.clear()


# Takes seconds: make test has any payload of each message.
@pytest.mark.nightly
def test_any_message_while_all_exchanges_are_under_way() -> None:
    chance, parser = random.Random(5), Parser(datagrams=True)
    for _ in range(ROUNDS):
        telemetry = Telemetry(1, FrameNames(), lambda topic, data: None)
        vehicle = Vehicle(telemetry, 1, Nowhere(), None, BridgeSettings())
        transactions: list[Transaction] = [
            CommandLong("arm", 400, 1.0),
            Upload([{"seq": 0}, {"seq": 1}]),
            Download(),
            Clear(),
        ]
        for transaction in transactions:
            vehicle.begin(transaction, lambda transaction, result: None, 1)
        for step in range(500):
            number = chance.choice(list(dialect.mavlink_map))
            [message] = parser.feed(framed(number, payload(chance, chance.randint(1, 255)), step & 0xFF))
            vehicle.receive(message, step * 10_000_000, ARRIVAL + step * 10_000_000)
            vehicle.tick(step * 10_000_000, ARRIVAL + step * 10_000_000)
