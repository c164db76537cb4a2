"""MAVLink 2 signing: a secret key, increasing timestamps, and counters of refused frames.

A signature is 13 bytes behind the CRC: the link's id, a 48 bit timestamp (10 us since 2015-01-01) and the first six
bytes of SHA-256 over key, frame, id and timestamp. https://mavlink.io/en/guide/message_signing.html
"""

from __future__ import annotations

import hashlib
import hmac
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sim_node.mavlink.codec import SIGNATURE_SIZE, SIGNED, V2, MavlinkMessage

KEY_SIZE = 32
EPOCH_S = 1_420_070_400  # 2015-01-01 00:00:00 UTC
TICKS_PER_S = 100_000
# Maximum age of the first frame of a stream: one minute.
MAX_BEHIND = 60 * TICKS_PER_S
# Timestamps have 48 bits. A peer must not advance ours so far that less than a day would remain.
MAX_TIMESTAMP = 2**48 - 1
_MAX_ACCEPTED = MAX_TIMESTAMP - 86_400 * TICKS_PER_S
# The timestamps in the file are ahead by this much, so that it is not written with each frame. After a crash, frames
# that a peer signs within the second ahead are refused.
_AHEAD, _PEERS_AHEAD = 10 * TICKS_PER_S, TICKS_PER_S
MODES = ("required", "accept-unsigned")
MAX_STREAMS = 4096

# System, component, link id.
Stream = tuple[int, int, int]


class SigningFault(ValueError):
    """A key or a mode is invalid. The message states what is needed."""


@dataclass
class RefusedCounters:
    """Counters of refused frames by reason."""

    unsigned: int = 0
    wrong: int = 0
    replayed: int = 0


class Signing:
    """Signs outgoing frames of a link and checks incoming ones.

    Args:
        key: Secret key, 32 bytes.
        mode: One of MODES.
        link_id: Link id in signatures.
        file: Keeps the last timestamps, our own and those of each received stream, so that after a restart no timestamp
            is signed or accepted twice. None to keep nothing.
        clock: Returns Unix time (s).

    Raises:
        SigningFault: The key, the mode or the file is invalid.
    """

    def __init__(
        self,
        key: bytes,
        *,
        mode: str = "required",
        link_id: int = 0,
        file: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if len(key) != KEY_SIZE:
            raise SigningFault(f"signing key: has {len(key)} bytes, needs {KEY_SIZE}")
        if mode not in MODES:
            raise SigningFault(f"signing mode: found {mode!r}; allowed: {', '.join(MODES)}")
        self.refused = RefusedCounters()
        self._key, self._mode, self._link_id = key, mode, link_id
        self._clock, self._file = clock, file
        # Latest timestamp of each stream.
        self._timestamp, self._streams = _load(file)
        self._timestamp = max(self._timestamp, _ticks(clock()))
        # Timestamps in the file, from which a restart continues.
        self._written, self._written_streams = 0, dict(self._streams)
        if file is not None:
            try:
                self._write(_AHEAD, 0)
            except OSError as error:
                raise SigningFault(f"signing timestamps {str(file)!r}: {error.strerror}") from None

    def accepts(self, message: MavlinkMessage) -> bool:
        """Return whether a frame is accepted, and count it if it is not."""
        raw = message.raw
        if raw[0] != V2 or not raw[2] & SIGNED:
            # RADIO_STATUS is sent by the modem itself, which has no key.
            if self._mode == "accept-unsigned" or message.name == "RADIO_STATUS":
                return True
            self.refused.unsigned += 1
            return False
        expected = hashlib.sha256(self._key + raw[:-6]).digest()[:6]
        # Check before using the timestamp: a sender without the key must not advance it.
        if not hmac.compare_digest(expected, raw[-6:]):
            self.refused.wrong += 1
            return False
        link_id, timestamp = raw[-SIGNATURE_SIZE], int.from_bytes(raw[-12:-6], "little")
        stream = (message.system, message.component, link_id)
        last = self._streams.get(stream)
        oldest = self._now() - MAX_BEHIND if last is None else last
        if not oldest < timestamp <= _MAX_ACCEPTED:
            self.refused.replayed += 1
            return False
        if last is None and len(self._streams) >= MAX_STREAMS:
            self.refused.replayed += 1
            return False
        self._streams[stream] = timestamp
        self._timestamp = max(self._timestamp, timestamp)
        self._save_if_due(stream)
        return True

    def signed(self, frame: bytes) -> bytes:
        """Append the signature to a frame whose flags announce it."""
        self._timestamp = min(max(self._timestamp + 1, _ticks(self._clock())), MAX_TIMESTAMP)
        self._save_if_due()
        head = frame + bytes([self._link_id]) + self._timestamp.to_bytes(6, "little")
        return head + hashlib.sha256(self._key + head).digest()[:6]

    def _now(self) -> int:
        self._timestamp = max(self._timestamp, _ticks(self._clock()))
        return self._timestamp

    def close(self) -> None:
        """Write the exact timestamps, so that a restart continues with the next frame."""
        if self._file is not None:
            with suppress(OSError):
                self._write(0, 0)

    def _save_if_due(self, stream: Stream | None = None) -> None:
        """Write the file if our timestamp, or that of a stream, has reached the one in the file."""
        is_behind = self._timestamp >= self._written
        if stream is not None:
            is_behind = is_behind or self._streams[stream] >= self._written_streams.get(stream, 0)
        if self._file is not None and is_behind:
            # The file was writable at the start. A full disk must not end a flight.
            with suppress(OSError):
                self._write(_AHEAD, _PEERS_AHEAD)

    def _write(self, ahead: int, peers_ahead: int) -> None:
        """Write our own timestamp on the first line, then a line for each stream."""
        assert self._file is not None
        self._written = self._timestamp + ahead
        self._written_streams = {stream: newest + peers_ahead for stream, newest in self._streams.items()}
        lines = [str(self._written), *(f"{_spaced(stream)} {at}" for stream, at in self._written_streams.items())]
        beside = self._file.with_suffix(self._file.suffix + ".new")
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        os.replace(beside, self._file)


def signing_of(key: Path, mode: str, link_id: int, owner: str = "") -> Signing:
    """Return the signing of one of several links, with timestamps in a file beside that of the key.

    Args:
        key: File with the key.
        mode: One of MODES.
        link_id: Number of the link.
        owner: Distinguishes the timestamps of programs that use the same key.

    Raises:
        SigningFault: The key, the mode or the timestamps are invalid.
    """
    file = key.with_name(".".join(part for part in (key.name, owner, f"timestamp{link_id}") if part))
    return Signing(read_key(key), mode=mode, link_id=link_id & 0xFF, file=file)


def owner_of(instance: int) -> str:
    """Return the owner of a built-in autopilot's timestamps: a bridge and other autopilots may use the same key."""
    return f"autopilot{instance}"


def read_key(path: Path) -> bytes:
    """Return the key in a file: 32 bytes, or 64 hexadecimal digits. Raises SigningFault."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise SigningFault(f"signing key {str(path)!r}: {error.strerror}") from None
    if path.stat().st_mode & 0o077:
        raise SigningFault(f"signing key {str(path)!r}: other users can read it; run chmod 600 on it")
    if len(data) == KEY_SIZE:
        return data
    try:
        key = bytes.fromhex(data.decode("ascii").strip())
    except (UnicodeDecodeError, ValueError):
        key = b""
    if len(key) != KEY_SIZE:
        raise SigningFault(f"signing key {str(path)!r}: needs {KEY_SIZE} bytes or {2 * KEY_SIZE} hexadecimal digits")
    return key


def _ticks(unix_s: float) -> int:
    return min(max(0, int((unix_s - EPOCH_S) * TICKS_PER_S)), MAX_TIMESTAMP)


def _spaced(stream: Stream) -> str:
    return " ".join(map(str, stream))


def _load(file: Path | None) -> tuple[int, dict[Stream, int]]:
    """Return the timestamps in a file: our own, and those of streams. Raises SigningFault."""
    if file is None:
        return 0, {}
    try:
        own, *others = file.read_text(encoding="ascii").splitlines()
        rows = [tuple(map(int, line.split())) for line in others]
        streams = {(system, component, link_id): at for system, component, link_id, at in rows}
        return min(int(own), _MAX_ACCEPTED), streams
    except FileNotFoundError:
        return 0, {}
    except OSError as error:
        raise SigningFault(f"signing timestamps {str(file)!r}: {error.strerror}") from None
    except ValueError:
        raise SigningFault(
            f"signing timestamps {str(file)!r}: the file is invalid, so recorded frames might be accepted again; "
            "delete it to continue"
        ) from None
