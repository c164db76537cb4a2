"""Inputs that once broke a door, kept on disk: they are fed first in every run."""

from __future__ import annotations

import hashlib
import struct
from pathlib import Path

SEEDS = Path(__file__).parent / "seeds"
# A burst of several inputs: this, then the length and the bytes of each.
_BURST, _LENGTH = b"burst\n", struct.Struct("<I")


def kept(door: str, folder: Path = SEEDS) -> list[tuple[bytes, ...]]:
    """Return the kept bursts of a door, in the order of their names."""
    return [unpacked(path.read_bytes()) for path in sorted((folder / door).glob("*"))]


def keep(door: str, inputs: tuple[bytes, ...], folder: Path = SEEDS) -> Path:
    """Write a burst; returns the file, whose name is that of its contents."""
    data = packed(inputs)
    path = folder / door / hashlib.sha256(data).hexdigest()[:12]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def packed(inputs: tuple[bytes, ...]) -> bytes:
    """Return the bytes of a file: one input as it is, several with their lengths."""
    if len(inputs) == 1 and not inputs[0].startswith(_BURST):
        return inputs[0]
    return _BURST + b"".join(_LENGTH.pack(len(data)) + data for data in inputs)


def unpacked(data: bytes) -> tuple[bytes, ...]:
    """Return the burst of a file."""
    if not data.startswith(_BURST):
        return (data,)
    inputs, at = [], len(_BURST)
    while at < len(data):
        (length,) = _LENGTH.unpack_from(data, at)
        inputs.append(data[at + 4 : at + 4 + length])
        at += 4 + length
    return tuple(inputs)
