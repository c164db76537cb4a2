"""The mission protocol: upload, download and clear. https://mavlink.io/en/services/mission.html"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim_node.autopilot.codec import Message, enum_name
from sim_node.autopilot.transaction import Outgoing, Transaction

RETRY_NS = 1_500_000_000
MAX_TRIES = 5
# The autopilot requests items; if none is requested for this long, the upload has failed.
SILENCE_NS = 8_000_000_000
ACCEPTED = 0  # MAV_MISSION_RESULT
MISSION, FENCE, RALLY = 0, 1, 2  # MAV_MISSION_TYPE
# A limit on the count that an autopilot announces.
MAX_ITEMS = 5000


class Transfer(Transaction):
    """A mission transfer, one at a time: requests are repeated, and a MISSION_ACK with an error ends it."""

    key = "mission"

    def __init__(self) -> None:
        self._received_ns = self._sent_ns = 0
        self._tries = 0
        self._last: list[Outgoing] = []

    def request(self, outgoing: Outgoing, now_ns: int) -> list[Outgoing]:
        """Send a message that must be answered."""
        self._last, self._sent_ns, self._tries = [outgoing], now_ns, 1
        return self._last

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Repeat the request, or give up."""
        if now_ns - self._sent_ns < RETRY_NS:
            return []
        if self._tries >= MAX_TRIES:
            return self.end(False, f"no answer after {MAX_TRIES} tries")
        self._tries, self._sent_ns = self._tries + 1, now_ns
        return self._last

    def refused(self, message: Message) -> bool:
        """Return whether the autopilot refused, and set the result if so."""
        if message.fields.type == ACCEPTED:
            return False
        why = enum_name("MAV_MISSION_RESULT", message.fields.type).removeprefix("MAV_MISSION_").lower()
        self.end(False, why.replace("_", " "))
        return True


class Upload(Transfer):
    """Uploads a mission: sends items as the autopilot requests them.

    Args:
        items: The mission: the fields of its MISSION_ITEM_INTs.
        others: Further lists by their MAV_MISSION_TYPE, such as a geofence, sent after the mission.
    """

    name = "mission upload"

    def __init__(
        self, items: Sequence[Mapping[str, Any]], others: Mapping[int, Sequence[Mapping[str, Any]]] | None = None
    ) -> None:
        super().__init__()
        self._lists = [(MISSION, list(items)), *((kind, list(more)) for kind, more in (others or {}).items() if more)]
        self._count = sum(len(more) for _, more in self._lists)
        self._asked = -1

    def start(self, now_ns: int) -> list[Outgoing]:
        """Announce the number of items.

        Args:
            now_ns: The time, monotonic, ns.

        Returns:
            The messages to send.
        """
        self._received_ns, self._asked = now_ns, -1
        kind, items = self._lists[0]
        return self.request(("MISSION_COUNT", {"count": len(items), "mission_type": kind}), now_ns)

    def receive(self, message: Message, now_ns: int) -> list[Outgoing]:
        """Send the requested item, again if it is requested again; after an acknowledgement, the next list.

        Args:
            message: A message from the autopilot.
            now_ns: The time, monotonic, ns.

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
            self._received_ns = now_ns
            if seq > self._asked:
                self._asked = seq
                self.report(f"{seq + 1} of {len(items)} items")
            return [("MISSION_ITEM_INT", {"mission_type": kind, **items[seq]})]
        if message.name == "MISSION_ACK" and not self.refused(message) and self._asked == len(items) - 1:
            del self._lists[0]
            return self.start(now_ns) if self._lists else self.end(True, f"{self._count} items")
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        """Repeat the announcement until the first item is requested; from then on the autopilot repeats its requests.

        Args:
            now_ns: The time, monotonic, ns.

        Returns:
            The messages to send.
        """
        if self._asked < 0:
            return super().tick(now_ns)
        if now_ns - self._received_ns > SILENCE_NS:
            left = f"after item {self._asked + 1} of {len(self._lists[0][1])}"
            return self.end(False, f"the autopilot stopped asking {left}")
        return []


class Download(Transfer):
    """Downloads the mission, item by item. The value of its result: the fields of the MISSION_ITEM_INTs."""

    name = "mission download"

    def __init__(self) -> None:
        super().__init__()
        self._count = -1
        self._items: list[Any] = []

    def start(self, now_ns: int) -> list[Outgoing]:
        """Request the number of items.

        Args:
            now_ns: The time, monotonic, ns.

        Returns:
            The messages to send.
        """
        return self.request(("MISSION_REQUEST_LIST", {"mission_type": MISSION}), now_ns)

    def receive(self, message: Message, now_ns: int) -> list[Outgoing]:
        """Request the first item after the count, and the next one after each item.

        Args:
            message: A message from the autopilot.
            now_ns: The time, monotonic, ns.

        Returns:
            The messages to send.
        """
        fields = message.fields
        if message.name == "MISSION_COUNT" and fields.mission_type == MISSION and self._count < 0:
            if fields.count > MAX_ITEMS:
                return self.end(False, f"the autopilot announces {fields.count} items; allowed: {MAX_ITEMS}")
            self._count = fields.count
            return self._next(now_ns)
        if message.name == "MISSION_ITEM_INT" and fields.seq == len(self._items) < self._count:
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


class Clear(Transfer):
    """Deletes the autopilot's mission."""

    name = "mission clear"

    def start(self, now_ns: int) -> list[Outgoing]:
        """Request the deletion.

        Args:
            now_ns: The time, monotonic, ns.

        Returns:
            The messages to send.
        """
        return self.request(("MISSION_CLEAR_ALL", {"mission_type": MISSION}), now_ns)

    def receive(self, message: Message, now_ns: int) -> list[Outgoing]:
        """End when the deletion is acknowledged.

        Args:
            message: A message from the autopilot.
            now_ns: The time, monotonic, ns.

        Returns:
            The messages to send.
        """
        if message.name == "MISSION_ACK" and not self.refused(message):
            self.end(True, "cleared")
        return []
