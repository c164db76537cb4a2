"""Status texts of an autopilot, joined from the chunks of STATUSTEXT, 50 bytes each."""

from __future__ import annotations

from typing import Any, NamedTuple

CHUNK = 50
MAX_CHUNKS = 6
MAX_OPEN = 8
# Time after which a missing chunk counts as lost: the chunks of a text are sent one after the other.
PATIENCE_NS = 1_000_000_000
_LOST = "..."


class StatusText(NamedTuple):
    """A text, with its MAV_SEVERITY."""

    severity: int
    text: str


class _Open:
    """A text whose last chunk has not arrived."""

    def __init__(self, severity: int, now_ns: int) -> None:
        self.severity, self.since_ns = severity, now_ns
        self.parts: list[str] = []
        self.next = 0


class StatusTexts:
    """Joins chunks by the id of their text. A text ends with the first chunk that is not full.

    Lost chunks become "..."; repeated ones are ignored.
    """

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}

    def add(self, fields: Any, now_ns: int) -> list[StatusText]:
        """Add the fields of a STATUSTEXT.

        Args:
            fields: The fields; an id of 0 means that the text is not chunked.
            now_ns: Time of reception (ns).

        Returns:
            The texts that are complete now, in order; usually one or none.
        """
        if not fields.id:
            return [StatusText(fields.severity, _tidy(fields.text))]
        found = self._open.get(fields.id)
        if found is None:
            found = self._open[fields.id] = _Open(fields.severity, now_ns)
        if fields.chunk_seq < found.next:
            return []
        if fields.chunk_seq > found.next:
            found.parts.append(_LOST)
        found.parts.append(fields.text)
        found.next = fields.chunk_seq + 1
        if len(fields.text.encode()) < CHUNK or len(found.parts) >= MAX_CHUNKS:
            return [self._end(fields.id)]
        return [self._end(next(iter(self._open)), _LOST)] if len(self._open) > MAX_OPEN else []

    def overdue(self, now_ns: int) -> list[StatusText]:
        """End the texts whose chunks have stopped arriving.

        Args:
            now_ns: Time (ns) on the clock of `add`.

        Returns:
            These texts.
        """
        if not self._open:
            return []
        late = [key for key, text in self._open.items() if not 0 <= now_ns - text.since_ns < PATIENCE_NS]
        return [self._end(key, _LOST) for key in late]

    def _end(self, key: int, rest: str = "") -> StatusText:
        found = self._open.pop(key)
        return StatusText(found.severity, _tidy("".join([*found.parts, rest])))


def _tidy(text: str) -> str:
    """Return a text without a trailing tab, with which PX4 marks texts that it also sends as events."""
    return text.rstrip("\t")
