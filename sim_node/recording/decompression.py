"""Decompression with bounded memory, regardless of the sizes declared in the compressed data."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import IO

# Default limit of a chunk or of an individually compressed message; rosbag2 writes chunks of 0.8 MB.
MAX_BYTES = 256 * 1024 * 1024
# A file compressed as a whole is decompressed to disk, with a limit that is larger by this factor.
FILE_FACTOR = 32
# Disk space to leave free.
SPARE_BYTES = 256 * 1024 * 1024
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
HINT = "--chunk-limit MB allows more"
_STEP = 1 << 20
_INPUT_STEP = 1 << 16
# Maximum window of a zstd frame: the library's default, which only --ultra and --long exceed.
_MAX_WINDOW = 1 << 27


class BrokenContent(ValueError):
    """Compressed data cannot be read or exceeds the limit. The message gives the reason."""


def content_of(compression: str, data: memoryview, stated: int, limit: int) -> bytes:
    """Return the content, which must have exactly the stated size. Raises BrokenContent."""
    if stated > limit:
        raise BrokenContent(f"it has {stated} bytes, more than the limit of {limit}; {HINT}")
    content = BytesIO()
    for part in pieces(compression, data):
        if content.tell() + len(part) > stated:
            raise BrokenContent(f"it has more than the {stated} bytes stated in its header")
        content.write(part)
    if content.tell() != stated:
        raise BrokenContent(f"it has {content.tell()} bytes, its header states {stated}")
    return content.getvalue()


def beginning_of(compression: str, data: memoryview, limit: int) -> bytes:
    """Return the decompressible beginning of truncated data, up to a limit."""
    content = BytesIO()
    try:
        for part in pieces(compression, data):
            content.write(part[: limit - content.tell()])
            if content.tell() >= limit:
                break
    except BrokenContent:
        pass
    return content.getvalue()


def message_of(data: bytes, limit: int) -> bytes:
    """Decompress an individually compressed message (zstd). Raises BrokenContent."""
    content = BytesIO()
    for part in pieces("zstd", memoryview(data)):
        content.write(part)
        if content.tell() > limit:
            raise BrokenContent(f"a message has more than the limit of {limit} bytes; {HINT}")
    return content.getvalue()


def decompress_file(packed: Path, plain: Path, limit: int) -> None:
    """Decompress a zstd file to another file. Raises BrokenContent, OSError."""
    free = shutil.disk_usage(plain.parent).free - SPARE_BYTES
    written = 0
    with packed.open("rb") as source, plain.open("wb") as target:
        for part in _zstd(source):
            written += len(part)
            if written > limit * FILE_FACTOR:
                raise BrokenContent(f"it has more than {limit * FILE_FACTOR} bytes, {FILE_FACTOR} limits; {HINT}")
            if written > free:
                raise BrokenContent(f"{plain.parent} has no room for it: {max(free, 0) // 1_000_000} MB may be used")
            target.write(part)


def pieces(compression: str, data: memoryview) -> Iterator[bytes | memoryview]:
    """Yield the content in pieces of bounded size. Raises BrokenContent."""
    if compression == "":
        yield data
    elif compression == "zstd":
        yield from _zstd(BytesIO(data))
    elif compression == "lz4":
        yield from _lz4(data)
    else:
        raise BrokenContent(f"its compression is {compression!r}; known: none, zstd, lz4")


def _zstd(source: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of all frames in a source."""
    # Imported here because worlds, and bags without compression, do not need it.
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    try:
        with decompressor.stream_reader(source, read_across_frames=True) as stream:
            while part := stream.read(_STEP):
                yield part
    except (zstandard.ZstdError, MemoryError):
        raise BrokenContent("its compressed content is damaged (zstd)") from None


def _lz4(data: memoryview) -> Iterator[bytes]:
    # Imported here for the same reason.
    from lz4 import frame

    decompressor = frame.LZ4FrameDecompressor()
    try:
        # In small steps, because each copies the unconsumed input.
        for at in range(0, len(data), _INPUT_STEP):
            step = data[at : at + _INPUT_STEP]
            while not decompressor.eof:
                part = decompressor.decompress(step, max_length=_STEP)
                step = memoryview(b"")
                if part:
                    yield part
                elif decompressor.needs_input:
                    break
            if decompressor.eof:
                return
    except (RuntimeError, MemoryError, ValueError, EOFError):
        raise BrokenContent("its compressed content is damaged (lz4)") from None
