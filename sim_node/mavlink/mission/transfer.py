"""The mission protocol: upload, download and clear. https://mavlink.io/en/services/mission.html"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.mavlink.codec import MavlinkMessage, enum_name
from sim_node.mavlink.transaction import Outgoing, Transaction

SECOND = 1_000_000_000
# Requests are repeated after a pause that follows the delay of the link: each copy is answered, and costs time.
MIN_PAUSE_NS, MAX_PAUSE_NS = 3 * SECOND // 2, 6 * SECOND
GIVE_UP_NS = 30 * SECOND
# During an upload the autopilot requests items, and repeats its requests. A silence of this length means that it has
# given up.
SILENCE_NS = 8 * SECOND
# How long an autopilot may still request items after an error that does not end its upload.
AFTER_ERROR_NS = 3 * SECOND // 2
# Maximum number of uploads of a list, in general and if each ended with an error. The loss of an acknowledgement costs
# one upload.
MAX_UPLOADS, MAX_ERRORS = 8, 4
ACCEPTED, FAILED, INVALID_SEQUENCE, CANCELLED = 0, 1, 13, 15  # MAV_MISSION_RESULT
MISSION, FENCE, RALLY = 0, 1, 2  # MAV_MISSION_TYPE
# Maximum count that an autopilot may announce.
MAX_ITEMS = 5000


class Transfer(Transaction):
    """A transfer of a mission, one at a time. Requests are repeated until they are answered."""

    key = "mission"

    def __init__(self) -> None:
        self._since_ns = self._sent_ns = 0
        self._pause_ns = MIN_PAUSE_NS
        self._delay_ns = 0
        self._tries = 0
        self._last: list[Outgoing] = []

    def request(self, outgoing: Outgoing, now_ns: int) -> list[Outgoing]:
        """Return a message that must be answered, and repeat it until `answered`."""
        self._last, self._since_ns, self._sent_ns, self._tries = [outgoing], now_ns, now_ns, 1
        self._pause_ns = min(max(2 * self._delay_ns, MIN_PAUSE_NS), MAX_PAUSE_NS)
        return self._last

    def answered(self, now_ns: int) -> None:
        """Measure the delay of the link. If a request was repeated, this is an upper bound."""
        self._delay_ns = max(now_ns - self._since_ns, 0)

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Repeat the request, or give up."""
        if now_ns - self._sent_ns < self._pause_ns:
            return []
        if now_ns - self._since_ns >= GIVE_UP_NS:
            return self.end(False, f"no answer after {self._tries} attempts")
        self._tries, self._sent_ns = self._tries + 1, now_ns
        self._pause_ns = min(2 * self._pause_ns, MAX_PAUSE_NS)
        return self._last

    def refused(self, message: MavlinkMessage) -> bool:
        """Return whether a MISSION_ACK is a refusal. The result is set, unless it is about a single message."""
        if message.fields.type == ACCEPTED:
            return False
        # Sent for a repeated message, or one of an earlier transfer.
        if message.fields.type != INVALID_SEQUENCE:
            self.end(False, result_words(message.fields.type))
        return True


def result_words(result: int) -> str:
    """Return `no space` for MAV_MISSION_NO_SPACE."""
    return enum_name("MAV_MISSION_RESULT", result).removeprefix("MAV_MISSION_").lower().replace("_", " ")


# State of an upload.
_STATE = (
    *("since_ns", "sent_ns", "pause_ns", "delay_ns", "tries", "last"),
    *("lists", "count", "requested", "received_ns", "uploads", "error"),
)


class Upload(Transfer):
    """Uploads a mission: sends items as the autopilot requests them.

    On a link with delays and losses, messages arrive twice and late, and autopilots answer each of them: ArduPilot
    starts again with each MISSION_COUNT and sends INVALID_SEQUENCE for a repeated item; PX4 sends MAV_MISSION_ERROR for
    both. None of this ends the upload, only silence does. Then the list is sent again: the last acknowledgement may
    have been lost.

    Args:
        items: Fields of the mission's MISSION_ITEM_INTs.
        others: Further lists by MAV_MISSION_TYPE, such as a geofence, sent after the mission.
    """

    name = "mission upload"

    def __init__(
        self, items: Sequence[Mapping[str, Any]], others: Mapping[int, Sequence[Mapping[str, Any]]] | None = None
    ) -> None:
        super().__init__()
        self._lists = [(MISSION, list(items)), *((kind, list(more)) for kind, more in (others or {}).items() if more)]
        self._count = sum(len(more) for _, more in self._lists)
        self._requested = -1
        self._received_ns = 0
        self._uploads = 0
        self._error: int | None = None

    def state(self) -> dict[str, Any]:
        """Return the state of an upload that has no result yet, for `put_state`.

        Returns:
            Numbers and lists by names, as JSON types.
        """
        return {name: getattr(self, f"_{name}") for name in _STATE}

    def put_state(self, state: Mapping[str, Any]) -> None:
        """Continue another upload.

        Args:
            state: Result of `state`.

        Raises:
            KeyError: A name is missing.
        """
        for name in _STATE:
            value = state[name]
            setattr(self, f"_{name}", list(value) if isinstance(value, list) else value)

    def start(self, now_ns: int) -> list[Outgoing]:
        """Announce the number of items.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        self._received_ns, self._requested, self._error = now_ns, -1, None
        self._uploads += 1
        kind, items = self._lists[0]
        return self.request(("MISSION_COUNT", {"count": len(items), "mission_type": kind}), now_ns)

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """Send the requested item, even if it was requested before. After an acknowledgement, send the next list.

        Args:
            message: A message from the autopilot.
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        kind, items = self._lists[0]
        if getattr(message.fields, "mission_type", MISSION) != kind:
            return []
        if message.name in ("MISSION_REQUEST_INT", "MISSION_REQUEST"):
            seq = message.fields.seq
            if not 0 <= seq < len(items):
                return []
            if self._requested < 0:
                self.answered(now_ns)
            self._received_ns, self._error = now_ns, None
            if seq > self._requested:
                self._requested = seq
                self.report(f"{seq + 1} of {len(items)} items")
            return [("MISSION_ITEM_INT", {"mission_type": kind, **items[seq]})]
        if message.name == "MISSION_ACK":
            return self._acknowledged(message, now_ns)
        return []

    def _acknowledged(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        result = message.fields.type
        if result in (FAILED, CANCELLED):
            self._error, self._received_ns = result, now_ns
        elif not self.refused(message) and self._requested == len(self._lists[0][1]) - 1:
            del self._lists[0]
            self._uploads = 0
            return self.start(now_ns) if self._lists else self.end(True, f"{self._count} items")
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Announce the items again until the first one is requested. From then on, the autopilot repeats its requests.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        silence_ns = SILENCE_NS if self._error is None else AFTER_ERROR_NS
        if self._requested < 0 and self._error is None:
            return super().tick(now_ns)
        if now_ns - self._received_ns <= max(silence_ns, 2 * self._delay_ns):
            return []
        if self._uploads < (MAX_ERRORS if self._error == FAILED else MAX_UPLOADS):
            return self.start(now_ns)
        if self._error is not None:
            return self.end(False, result_words(self._error))
        left = f"after item {self._requested + 1} of {len(self._lists[0][1])}"
        return self.end(False, f"the autopilot stopped asking {left}")


class Download(Transfer):
    """Downloads the mission, item by item. The value of its result is the fields of the MISSION_ITEM_INTs."""

    name = "mission download"

    def __init__(self) -> None:
        super().__init__()
        self._count = -1
        self._items: list[Any] = []

    def start(self, now_ns: int) -> list[Outgoing]:
        """Request the number of items.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        return self.request(("MISSION_REQUEST_LIST", {"mission_type": MISSION}), now_ns)

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """Request the first item after the count, and the next one after each item.

        Args:
            message: A message from the autopilot.
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        fields = message.fields
        if getattr(fields, "mission_type", MISSION) != MISSION:
            return []
        if message.name == "MISSION_COUNT" and self._count < 0:
            self.answered(now_ns)
            if fields.count > MAX_ITEMS:
                return self.end(False, f"the autopilot announces {fields.count} items; allowed: {MAX_ITEMS}")
            self._count = fields.count
            return self._next(now_ns)
        if message.name == "MISSION_ITEM_INT" and fields.seq == len(self._items) < self._count:
            self.answered(now_ns)
            self._items.append(fields)
            self.report(f"{len(self._items)} of {self._count} items")
            return self._next(now_ns)
        if message.name == "MISSION_ACK":
            self.refused(message)
        return []

    def _next(self, now_ns: int) -> list[Outgoing]:
        if len(self._items) < self._count:
            return self.request(("MISSION_REQUEST_INT", {"seq": len(self._items), "mission_type": MISSION}), now_ns)
        self.end(True, f"{self._count} items", self._items)
        return [("MISSION_ACK", {"type": ACCEPTED, "mission_type": MISSION})]


class SetCurrent(Transfer):
    """Sets the current item of the mission.

    Args:
        item: Its number, as the autopilot counts.
    """

    name = "mission item"

    def __init__(self, item: int) -> None:
        super().__init__()
        self._item = item

    def start(self, now_ns: int) -> list[Outgoing]:
        """Request the item.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        return self.request(("MISSION_SET_CURRENT", {"seq": self._item}), now_ns)

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """End when the autopilot reports that this item is the current one.

        Args:
            message: A message from the autopilot.
            now_ns: Monotonic time (ns).

        Returns:
            No messages.
        """
        if message.name == "MISSION_CURRENT" and message.fields.seq == self._item:
            self.end(True, f"item {self._item}")
        return []


class Clear(Transfer):
    """Deletes the autopilot's mission."""

    name = "mission clear"

    def start(self, now_ns: int) -> list[Outgoing]:
        """Request the deletion.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        return self.request(("MISSION_CLEAR_ALL", {"mission_type": MISSION}), now_ns)

    def receive(self, message: MavlinkMessage, now_ns: int) -> list[Outgoing]:
        """End when the deletion is acknowledged.

        Args:
            message: A message from the autopilot.
            now_ns: Monotonic time (ns).

        Returns:
            The messages to send.
        """
        if message.name == "MISSION_ACK" and message.fields.mission_type == MISSION and not self.refused(message):
            self.end(True, "cleared")
        return []
