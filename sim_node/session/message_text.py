"""Messages of bags and runs as text: YAML, as `ros2 topic echo` has it, with short lists on one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import yaml

from sim_node.recording.bag import BagError, BagTopic
from sim_node.recording.decoding import PLACEHOLDER, Decoder, field_names

# Elements of an array and characters of a text, at most.
MAX_ELEMENTS, MAX_LETTERS = 36, 200
_CUT = "..."


class MessageReader:
    """Reads the messages of one topic at a time; the bytes of the newest one are decoded when its text is asked for."""

    def __init__(self) -> None:
        self._decoder: Decoder | None = None
        self._fault = ""
        self._data: bytes | None = None

    def choose(self, topic: BagTopic | None) -> None:
        """Read the messages of a topic from now on, or of none."""
        self._decoder, self._data, self._fault = None, None, ""
        if topic is not None:
            try:
                self._decoder = Decoder(topic)
            except BagError as fault:
                self._fault = str(fault)

    def receive(self, data: bytes) -> None:
        """Take the newest message."""
        self._data = bytes(data)

    def text(self) -> str | None:
        """Return the newest message, or why it cannot be read; None before the first one."""
        decoder, data = self._decoder, self._data
        if self._fault or decoder is None or data is None:
            return self._fault or None
        try:
            return as_text(decoder(data))
        except BagError as fault:
            return str(fault)


def as_text(message: Any) -> str:
    """Return a message of a bag as YAML; long arrays and texts are cut."""
    return str(yaml.safe_dump(_plain(message), allow_unicode=True, sort_keys=False, default_flow_style=None, width=60))


def _plain(value: Any) -> Any:
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in field_names(value) if name != PLACEHOLDER}
    if isinstance(value, np.ndarray):
        few = value[:MAX_ELEMENTS].tolist()
        return [*few, *[_CUT] * (len(value) > len(few))]
    if isinstance(value, (list, tuple)):
        return [*(_plain(each) for each in value[:MAX_ELEMENTS]), *[_CUT] * (len(value) > MAX_ELEMENTS)]
    if isinstance(value, str):
        return value if len(value) <= MAX_LETTERS else value[:MAX_LETTERS] + _CUT
    return value.item() if isinstance(value, np.generic) else value
