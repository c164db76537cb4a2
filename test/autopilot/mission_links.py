"""A link with delay, losses and copies, in simulated time, and how real autopilots receive missions over one."""

from __future__ import annotations

import heapq
import itertools
import random
from types import SimpleNamespace
from typing import Any

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.transaction import Outgoing, Transaction

ACCEPTED, ERROR, INVALID_SEQUENCE, CANCELLED = 0, 1, 13, 15
SECOND = 1_000_000_000
TICK_NS = SECOND // 50


class ArduPilotUpload:
    """Receives a mission as ArduPilot does (libraries/GCS_MAVLink/MissionItemProtocol.cpp).

    It begins anew with each MISSION_COUNT, answers an item that it has not requested with INVALID_SEQUENCE, requests
    again after a second, and cancels after eight seconds without the item.
    """

    def __init__(self) -> None:
        self.mission: list[int] | None = None
        self._receiving = False
        self._items: list[int] = []
        self._count = 0
        self._received_ns = self._requested_ns = 0

    def receive(self, name: str, fields: Any, now_ns: int) -> list[Outgoing]:
        if name == "MISSION_COUNT":
            self._receiving, self._items, self._count, self._received_ns = True, [], fields["count"], now_ns
            return self._request(now_ns)
        if name != "MISSION_ITEM_INT":
            return []
        if not self._receiving:
            return [ack(ERROR)]
        if fields["seq"] != len(self._items):
            return [ack(INVALID_SEQUENCE)]
        self._items.append(fields["x"])
        self._received_ns = now_ns
        if len(self._items) < self._count:
            return self._request(now_ns)
        self.mission, self._receiving = self._items, False
        return [ack(ACCEPTED)]

    def tick(self, now_ns: int) -> list[Outgoing]:
        if not self._receiving:
            return []
        if now_ns - self._received_ns > 8 * SECOND:
            self._receiving = False
            return [ack(CANCELLED)]
        return self._request(now_ns) if now_ns - self._requested_ns > SECOND else []

    def _request(self, now_ns: int) -> list[Outgoing]:
        self._requested_ns = now_ns
        return [("MISSION_REQUEST", {"seq": len(self._items), "mission_type": 0})]


class Px4Upload:
    """Receives a mission as PX4 does (src/modules/mavlink/mavlink_mission.cpp).

    A MISSION_COUNT in the middle, and an item without an upload, give MAV_MISSION_ERROR and change nothing; a copy of
    the last item is acknowledged again. It requests again after 250 ms, and gives up after five seconds.
    """

    def __init__(self) -> None:
        self.mission: list[int] | None = None
        self._receiving = False
        self._items: list[int] = []
        self._count = 0
        self._received_ns = self._requested_ns = 0

    def receive(self, name: str, fields: Any, now_ns: int) -> list[Outgoing]:
        if name == "MISSION_COUNT":
            self._received_ns = now_ns
            if self._receiving and self._items:
                return [ack(ERROR)]
            self._receiving, self._items, self._count = True, [], fields["count"]
            return self._request(now_ns)
        if name != "MISSION_ITEM_INT":
            return []
        if not self._receiving:
            return [ack(ACCEPTED if fields["seq"] + 1 == len(self._items) else ERROR)]
        self._received_ns = now_ns
        if fields["seq"] != len(self._items):
            return []
        self._items.append(fields["x"])
        if len(self._items) < self._count:
            return self._request(now_ns)
        self.mission, self._receiving = list(self._items), False
        return [ack(ACCEPTED)]

    def tick(self, now_ns: int) -> list[Outgoing]:
        if not self._receiving:
            return []
        if now_ns - self._received_ns > 5 * SECOND:
            self._receiving, self._items = False, []
            return []
        return self._request(now_ns) if now_ns - self._requested_ns > SECOND // 4 else []

    def _request(self, now_ns: int) -> list[Outgoing]:
        self._requested_ns = now_ns
        return [("MISSION_REQUEST_INT", {"seq": len(self._items), "mission_type": 0})]


class Holder:
    """Sends its mission to who requests it, as both autopilots do."""

    def __init__(self, mission: list[int]) -> None:
        self._mission = mission
        self.requests: list[str] = []

    def receive(self, name: str, fields: Any, now_ns: int) -> list[Outgoing]:
        if "REQUEST" in name:
            self.requests.append(name)
        if name == "MISSION_REQUEST_LIST":
            return [("MISSION_COUNT", {"count": len(self._mission), "mission_type": 0})]
        if name == "MISSION_REQUEST_INT":
            item = {"seq": fields["seq"], "x": self._mission[fields["seq"]], "mission_type": 0}
            return [("MISSION_ITEM_INT", item)]
        return []

    def tick(self, now_ns: int) -> list[Outgoing]:
        return []


def ack(result: int) -> Outgoing:
    return "MISSION_ACK", {"type": result, "mission_type": 0}


class DelayedLink:
    """Both directions: round_trip in seconds; loss and copies as probabilities, drawn from a seed."""

    def __init__(self, round_trip: float, loss: float = 0.0, copies: float = 0.0, seed: int = 0) -> None:
        self._delay_ns = round(round_trip * SECOND / 2)
        self._loss, self._copies = loss, copies
        self._random = random.Random(seed)
        self._under_way: list[tuple[int, int, bool, Outgoing]] = []
        self._numbers = itertools.count()

    def run(self, transaction: Transaction, autopilot: Any, limit: float) -> float:
        """Until the transaction has ended: the simulated seconds that it took. Fails at the limit."""
        now_ns = 0
        self._send(transaction.start(0), 0, to_autopilot=True)
        while transaction.result is None:
            now_ns += TICK_NS
            assert now_ns < limit * SECOND, "no end"
            while self._under_way and self._under_way[0][0] <= now_ns:
                _, _, to_autopilot, (name, fields) = heapq.heappop(self._under_way)
                if to_autopilot:
                    self._send(autopilot.receive(name, fields, now_ns), now_ns, to_autopilot=False)
                elif transaction.result is None:
                    message = MavlinkMessage(1, 1, 0, name, SimpleNamespace(**fields), b"")
                    self._send(transaction.receive(message, now_ns), now_ns, to_autopilot=True)
            self._send(autopilot.tick(now_ns), now_ns, to_autopilot=False)
            if transaction.result is None:
                self._send(transaction.tick(now_ns), now_ns, to_autopilot=True)
        return now_ns / SECOND

    def _send(self, messages: list[Outgoing], now_ns: int, *, to_autopilot: bool) -> None:
        for message in messages:
            for _ in range(1 + (self._random.random() < self._copies)):
                if self._random.random() >= self._loss:
                    at_ns = now_ns + self._delay_ns
                    heapq.heappush(self._under_way, (at_ns, next(self._numbers), to_autopilot, message))
