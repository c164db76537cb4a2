"""What a bag has on disk while it is still written."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

from mcap.exceptions import McapError
from mcap.records import Message
from mcap.stream_reader import StreamReader


def on_disk(folder: Path) -> list[bytes]:
    """Its messages, in order, as far as a streaming reader comes."""
    found: list[bytes] = []
    for path in sorted(folder.glob("*.mcap")):
        # mcap tells of an unfinished end in either way.
        with path.open("rb") as stream, suppress(McapError, struct.error):
            found.extend(each.data for each in StreamReader(stream).records if isinstance(each, Message))
    return found
