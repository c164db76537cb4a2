"""Signing beside pymavlink's own, and what an attacker may try."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from claims import free_port
from hypothesis import given
from hypothesis import strategies as st
from peer import peer
from pymavlink.dialects.v20 import ardupilotmega as mavlink
from running import running

from sim_node.mavlink import commands
from sim_node.mavlink.codec import MavlinkMessage, frame_bytes
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.signing import EPOCH_S, Signing, SigningFault, read_key

KEY = bytes(range(32))
NOW = 1_800_000_000.0


def theirs(timestamp: int, *, key: bytes = KEY, system: int = 1, link: int = 0) -> mavlink.MAVLink:
    sender = mavlink.MAVLink(None, system, 1)
    sender.signing.secret_key, sender.signing.sign_outgoing = key, True
    sender.signing.link_id, sender.signing.timestamp = link, timestamp
    return sender


def ticks(unix: float) -> int:
    return int((unix - EPOCH_S) * 100_000)


def message(sender: mavlink.MAVLink, sequence: int = 0) -> MavlinkMessage:
    sender.seq = sequence
    [parsed] = Parser(datagrams=True).feed(sender.system_time_encode(1, 2).pack(sender))
    return parsed


def signing(**what: Any) -> Signing:
    return Signing(KEY, **{"clock": lambda: NOW, **what})


@given(st.integers(0, 255), st.integers(0, 255), st.binary(min_size=32, max_size=32))
def test_pymavlink_accepts_our_signature(link: int, sequence: int, key: bytes) -> None:
    ours = Signing(key, link_id=link, clock=lambda: NOW)
    frame = ours.signed(frame_bytes("SYSTEM_TIME", {"time_boot_ms": 5}, 255, 191, sequence, signed=True))
    receiver = mavlink.MAVLink(None)
    receiver.signing.secret_key = key
    received = receiver.decode(bytearray(frame))
    assert received.get_signed()
    assert received.get_link_id() == link
    timestamp = int.from_bytes(frame[-12:-6], "little")
    assert timestamp == pytest.approx(ticks(NOW), abs=2), "10 us since 2015-01-01"


def test_pymavlinks_signature_is_accepted_once() -> None:
    ours, sender = signing(), theirs(ticks(NOW))
    first, second = message(sender), message(sender)
    assert ours.accepts(first)
    assert ours.accepts(second)
    assert not ours.accepts(second)
    assert not ours.accepts(first)
    assert ours.refused.replayed == 2


def test_each_stream_has_timestamps_of_its_own() -> None:
    ours, now = signing(), ticks(NOW)
    assert ours.accepts(message(theirs(now + 1000)))
    assert ours.accepts(message(theirs(now, link=1)))
    assert ours.accepts(message(theirs(now, system=2)))


def test_a_new_stream_may_be_a_minute_behind_and_no_more() -> None:
    ours, now = signing(), ticks(NOW)
    assert ours.accepts(message(theirs(now - 59 * 100_000)))
    assert not ours.accepts(message(theirs(now - 61 * 100_000, system=2)))
    assert ours.refused.replayed == 1


def test_without_the_key_nobody_moves_the_clock() -> None:
    """A forged frame from the far future must not make the right ones look old."""
    ours, now = signing(), ticks(NOW)
    assert ours.accepts(message(theirs(now)))
    assert not ours.accepts(message(theirs(now + 10**9, key=bytes(32))))
    assert ours.refused.wrong == 1
    assert ours.accepts(message(theirs(now + 5)))


@given(st.integers(0, 1000), st.integers(1, 255))
def test_a_frame_that_was_changed_is_refused(place: int, flip: int) -> None:
    parsed = message(theirs(ticks(NOW)))
    raw = bytearray(parsed.raw)
    # Not the magic byte and the flags: the parser takes care of those.
    at = 3 + place % (len(raw) - 3)
    raw[at] ^= flip
    assert not signing().accepts(parsed._replace(raw=bytes(raw)))


def test_unsigned_frames() -> None:
    sender = mavlink.MAVLink(None, 1, 1)
    plain = message(sender)
    radio = Parser(datagrams=True).feed(sender.radio_status_encode(1, 1, 1, 1, 1, 1, 1).pack(sender))[0]
    required, lenient = signing(), signing(mode="accept-unsigned")
    assert not required.accepts(plain)
    assert required.refused.unsigned == 1
    assert required.accepts(radio), "a modem has no key"
    assert lenient.accepts(plain)
    assert not lenient.accepts(message(theirs(ticks(NOW), key=bytes(32))))


def test_timestamps_rise_over_restarts_even_when_the_clock_went_back(tmp_path: Path) -> None:
    kept = tmp_path / "key.timestamp"
    frame = frame_bytes("SYSTEM_TIME", {}, 255, 191, 0, signed=True)
    before = signing(file=kept).signed(frame)
    after = Signing(KEY, file=kept, clock=lambda: NOW - 86_400.0).signed(frame)
    stamps = [int.from_bytes(signed[-12:-6], "little") for signed in (before, after)]
    assert stamps[1] > stamps[0]


def test_nothing_that_was_accepted_is_accepted_again_after_a_restart(tmp_path: Path) -> None:
    """Seconds later, as a supervisor restarts a bridge, and whether it ended well or was killed."""
    kept, now = tmp_path / "key.timestamp", ticks(NOW)
    for is_killed in (False, True):
        frames = [message(theirs(now + step), step) for step in range(3)]
        ours = signing(file=kept)
        assert all(map(ours.accepts, frames))
        if not is_killed:
            ours.close()
        again = signing(file=kept, clock=lambda: NOW + 2.0)
        assert not any(map(again.accepts, frames))
        assert again.refused.replayed == 3
        later = now + 2 * 100_000
        assert again.accepts(message(theirs(later))), "its peer goes on"
        assert again.accepts(message(theirs(now, system=2 + is_killed))), "another peer begins a minute behind as ever"
        again.close()
        now = later + 100_000


def test_a_restart_that_ended_well_loses_no_frame(tmp_path: Path) -> None:
    kept, now = tmp_path / "key.timestamp", ticks(NOW)
    ours = signing(file=kept)
    assert ours.accepts(message(theirs(now)))
    ours.close()
    assert signing(file=kept).accepts(message(theirs(now + 1)))


@pytest.mark.parametrize("text", ["", "now\n", "1\n1 2 3\n"])
def test_a_file_of_timestamps_that_is_none_is_a_fault(text: str, tmp_path: Path) -> None:
    kept = tmp_path / "key.timestamp"
    kept.write_text(text)
    with pytest.raises(SigningFault, match=r"the file is invalid.*delete it to continue"):
        signing(file=kept)


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    kept = tmp_path / "key.timestamp"
    kept.write_text(f"{ticks(NOW) + 12345}\n")
    frame = frame_bytes("SYSTEM_TIME", {}, 255, 191, 0, signed=True)
    assert int.from_bytes(signing(file=kept).signed(frame)[-12:-6], "little") > ticks(NOW) + 12345


@pytest.mark.parametrize("timestamp", [2**48 - 1, 2**48 - 2, 2**48 - 1000])
def test_a_timestamp_at_the_end_of_its_bits_is_refused(timestamp: int) -> None:
    """It would leave us none to sign with: 48 bits, as MAVLink 2 has it."""
    ours = signing()
    assert not ours.accepts(message(theirs(timestamp)))
    frame = frame_bytes("SYSTEM_TIME", {}, 255, 191, 0, signed=True)
    for _ in range(3):
        signed = ours.signed(frame)
        assert int.from_bytes(signed[-12:-6], "little") == pytest.approx(ticks(NOW), abs=10)


def test_a_clock_beyond_the_end_of_timestamps_ends_nothing() -> None:
    frame = frame_bytes("SYSTEM_TIME", {}, 255, 191, 0, signed=True)
    assert signing(clock=lambda: 1e11).signed(frame)


def test_timestamps_that_cannot_be_kept_are_a_fault_at_once(tmp_path: Path) -> None:
    with pytest.raises(SigningFault, match="No such file"):
        signing(file=tmp_path / "nowhere" / "key.timestamp")


def test_a_key_file_is_checked(tmp_path: Path) -> None:
    key = tmp_path / "key"
    with pytest.raises(SigningFault, match="No such file"):
        read_key(key)
    key.write_text(KEY.hex() + "\n")
    key.chmod(0o644)
    with pytest.raises(SigningFault, match="other users can read it"):
        read_key(key)
    key.chmod(0o600)
    assert read_key(key) == KEY
    key.write_bytes(KEY)
    assert read_key(key) == KEY
    key.write_text("secret")
    with pytest.raises(SigningFault, match="needs 32 bytes or 64 hexadecimal digits"):
        read_key(key)
    with pytest.raises(SigningFault, match="allowed: required, accept-unsigned"):
        Signing(KEY, mode="off")


def test_over_a_real_link() -> None:
    port, key = free_port(), os.urandom(32)
    with running(f"udpin:127.0.0.1:{port}", signing=Signing(key)) as bridge:
        with peer(port, system=3):
            signing = bridge.bridge.connections[0].signing
            assert signing is not None
            bridge.wait_for(lambda: signing.refused.unsigned > 50)
            assert not bridge.bridge.vehicles
        with peer(port, system=4) as autopilot:
            autopilot.mav.signing.secret_key = key
            autopilot.mav.signing.timestamp = Signing(key)._timestamp
            autopilot.mav.signing.sign_outgoing = True
            bridge.vehicle(4)
            assert bridge.ask(lambda vehicle: commands.arm(True), system=4).ok, "its own parser wants signatures too"
            assert autopilot.armed
