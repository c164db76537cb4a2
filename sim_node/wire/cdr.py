"""What all CDR messages share: the encapsulation header, alignment, strings, stamps."""

from __future__ import annotations

# Plain CDR, little endian, no options (OMG DDSI-RTPS 2.5, section 10.2).
ENCAPSULATION = b"\x00\x01\x00\x00"


def aligned(body: bytearray, size: int) -> None:
    """Pads `body`, which begins after the encapsulation header, to a multiple of `size`."""
    body += bytes(-len(body) % size)


def cdr_string(text: str) -> bytes:
    """A string as CDR has it: length with the terminating zero as uint32, UTF-8, zero."""
    data = text.encode() + b"\0"
    return len(data).to_bytes(4, "little") + data


def stamp(time_ns: int) -> tuple[int, int]:
    """Seconds and nanoseconds of a builtin_interfaces/Time. Raises OverflowError where 32 bits do not hold them."""
    seconds, nanoseconds = divmod(time_ns, 1_000_000_000)
    if not -(2**31) <= seconds < 2**31:
        raise OverflowError(f"stamp of {seconds} s: seconds are 32 bits wide, {-(2**31)} to {2**31 - 1}")
    return seconds, nanoseconds
