"""Losses by sequence numbers, against what a sender has really sent."""

from __future__ import annotations

import random
import time

import pytest
from claims import free_port
from hypothesis import given
from hypothesis import strategies as st
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from waiting import until

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.connection import Connection, Identity
from sim_node.mavlink.links import endpoint_of
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.sequences import WINDOW, Sequences
from sim_node.mavlink.signing import Signing

HERE = ("127.0.0.1", 14540)


class Sender:
    """Sends ATTITUDE and heartbeats in turn, `rate` a second of its own time since boot."""

    def __init__(self, rate: float = 400.0, uptime_ms: int = 10_000) -> None:
        self.mav = mavlink.MAVLink(None, 3, 1)
        self.period_ms, self.boot_ms = 1000.0 / rate, float(uptime_ms)
        self.sent = 0

    def frame(self) -> bytes:
        attitude = self.mav.attitude_encode(int(self.boot_ms) % 2**32, 0.1, 0.2, 0.3, 0, 0, 0)
        message = self.mav.heartbeat_encode(2, 3, 1, 4, 4) if self.sent % 8 == 0 else attitude
        data: bytes = message.pack(self.mav)
        self.lose(1)
        return data

    def lose(self, count: int) -> None:
        """Send messages that nobody gets."""
        self.mav.seq = (self.mav.seq + count) % 256
        self.boot_ms += count * self.period_ms
        self.sent += count

    def messages(self, count: int) -> list[MavlinkMessage]:
        return Parser(datagrams=True).feed(b"".join(self.frame() for _ in range(count)))


def test_gaps_are_counted() -> None:
    sender, sequences = mavlink.MAVLink(None, 3, 1), Sequences()
    for number in (250, 251, 254, 255, 0, 4):
        sender.seq = number
        [message] = Parser(datagrams=True).feed(sender.system_time_encode(0, number).pack(sender))
        sequences.note(message, HERE)
    assert sequences.losses.lost == 2 + 3


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, WINDOW // 2)), min_size=1, max_size=150))
def test_drops_duplicates_and_reordering_are_told_apart(fates: list[tuple[bool, bool, int]]) -> None:
    """Each message is lost, or sent twice, or delayed behind others; the first and the last arrive in order."""
    sent = Sender().messages(len(fates) + 2)
    arrivals = [(0, sent[0])]
    for at, ((dropped, twice, delay), message) in enumerate(zip(fates, sent[1:-1], strict=True), start=1):
        if not dropped:
            arrivals += [(at + delay, message)] * (1 + twice)
    arrivals.append((len(sent) + WINDOW, sent[-1]))
    arrivals.sort(key=lambda arrival: arrival[0])
    sequences = Sequences()
    for _, message in arrivals:
        sequences.note(message, HERE)
    assert sequences.losses.lost == sum(dropped for dropped, _, _ in fates)
    assert sequences.losses.repeated == sum(twice and not dropped for dropped, twice, _ in fates)


def test_duplicates_are_no_losses() -> None:
    """100 of them counted as 25,500 lost messages."""
    sequences = Sequences()
    for message in Sender().messages(100):
        sequences.note(message, HERE)
        sequences.note(message, HERE)
    assert (sequences.losses.lost, sequences.losses.repeated) == (0, 100)


def test_a_sender_that_does_not_count_loses_nothing() -> None:
    sender, sequences = Sender(), Sequences()
    for _ in range(50):
        sender.mav.seq = 0
        [message] = sender.messages(1)
        sequences.note(message, HERE)
    assert sequences.losses.lost == 0


def test_outages_are_counted_with_the_wraps_of_the_numbers() -> None:
    """161,200 lost messages in fifteen outages counted as 1,987."""
    sender, sequences, chance, lost = Sender(), Sequences(), random.Random(7), 0
    sizes = [chance.randrange(2_000, 20_000) for _ in range(14)]
    for outage in [*sizes, 161_200 - sum(sizes)]:
        for message in sender.messages(chance.randrange(1500, 3000)):
            sequences.note(message, HERE)
        sender.lose(outage)
        lost += outage
    for message in sender.messages(20):
        sequences.note(message, HERE)
    assert lost == 161_200
    assert sequences.losses.lost == pytest.approx(lost, rel=0.01)


def test_a_sender_that_was_silent_or_slower_has_lost_nothing() -> None:
    """A simulation is paused, or a stream is slowed down: the numbers go on where they were."""
    sender, sequences = Sender(), Sequences()
    for pause_ms in (0.0, 5_000.0, 60_000.0):
        sender.boot_ms += pause_ms
        for message in sender.messages(1000):
            sequences.note(message, HERE)
    sender.period_ms = 1500.0
    for message in sender.messages(100):
        sequences.note(message, HERE)
    assert sequences.losses.lost == 0


@pytest.mark.parametrize("uptime_ms", [10_000, 26 * 86_400_000, 2**32 - 1000])
def test_a_reboot_is_no_loss(uptime_ms: int) -> None:
    """It counts from 0 again, whatever it was at; so do the milliseconds of 49.7 days."""
    sequences = Sequences()
    for message in Sender(uptime_ms=uptime_ms).messages(4000):
        sequences.note(message, HERE)
    for message in Sender(uptime_ms=3_000).messages(1000):
        sequences.note(message, HERE)
    assert sequences.losses.lost == 0


def test_senders_are_told_apart_by_their_addresses() -> None:
    """Two autopilots with one system id, each with numbers of its own."""
    sequences = Sequences()
    for one, two in zip(Sender().messages(600), Sender().messages(700)[100:], strict=True):
        sequences.note(one, HERE)
        sequences.note(two, ("127.0.0.1", 14541))
    assert sequences.losses.lost == 0


def test_refused_frames_do_not_drive_the_counter() -> None:
    """Somebody without the key sends frames with any numbers."""
    sender = mavlink.MAVLink(None, 3, 1)
    sender.signing.secret_key, sender.signing.sign_outgoing = bytes(32), True
    sender.signing.timestamp = int((time.time() - 1_420_070_400) * 1e5)
    forger = mavlink.MAVLink(None, 3, 1)
    port = free_port()
    connection = Connection(endpoint_of(f"udpin:127.0.0.1:{port}"), Identity(), Signing(bytes(32)))
    peer = endpoint_of(f"udpout:127.0.0.1:{port}")
    connection.keep_up(0)
    peer.open()
    try:
        for number in range(100):
            sender.seq, forger.seq = number, (number * 37) & 0xFF
            for mav in (sender, forger):
                peer.write(bytes(mav.attitude_encode(1000 + number, 0, 0, 0, 0, 0, 0).pack(mav)), None)
        accepted: list[MavlinkMessage] = []

        def is_received() -> bool:
            accepted.extend(message for message, _ in connection.receive(0))
            return len(accepted) >= 100

        until(is_received)
    finally:
        peer.close()
        connection.close()
    assert connection.signing is not None
    assert connection.signing.refused.unsigned == 100
    assert connection.losses.lost == 0
