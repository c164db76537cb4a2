"""Rules common to all CDR messages: encapsulation header, byte order, alignment, strings, stamps."""

from __future__ import annotations

import struct

# Plain CDR, little endian, no options (OMG DDSI-RTPS 2.5, section 10.2).
ENCAPSULATION = b"\x00\x01\x00\x00"
# A builtin_interfaces/Time, little endian.
STAMP = struct.Struct("<iI")


def aligned(body: bytearray, size: int) -> None:
    """Pad `body`, which begins after the encapsulation header, to a multiple of `size` bytes."""
    body += bytes(-len(body) % size)


def cdr_string(text: str) -> bytes:
    """Return a string in CDR: length with the terminating zero as uint32, UTF-8, zero.

    Zero bytes within the text are removed, because readers would end the string there.
    """
    data = text.replace("\0", "").encode()
    return (len(data) + 1).to_bytes(4, "little") + data + b"\0"


def stamp(time_ns: int) -> tuple[int, int]:
    """Return the seconds and nanoseconds of a Time. Raises OverflowError if they do not fit into 32 bits."""
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    if not -(2**31) <= seconds < 2**31:
        raise OverflowError(f"stamp of {seconds} s: seconds must fit into 32 bits, {-(2**31)} to {2**31 - 1}")
    return seconds, nanoseconds


def byte_order(data: bytes | memoryview) -> str:
    """Return the byte order of a message, in struct's and numpy's notation. Raises ValueError for other encodings."""
    if len(data) < 4 or data[0] or data[1] > 1:
        raise ValueError(f"encapsulation is 0x{bytes(data[:2]).hex()}, expected plain CDR: 0x0000 or 0x0001")
    return "<" if data[1] else ">"


def first_stamp(data: bytes | memoryview) -> int:
    """Return the stamp (ns) at the beginning of a message: that of its Header, or the time of a Clock.

    Raises ValueError if the bytes end inside the stamp or are not plain CDR.
    """
    order = byte_order(data)
    if len(data) < 12:
        raise ValueError(f"ends at byte {len(data)}, inside its stamp")
    seconds, nanoseconds = struct.unpack_from(order + "iI", data, 4)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
