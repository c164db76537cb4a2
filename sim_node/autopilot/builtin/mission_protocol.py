"""The autopilot's side of the mission protocol: uploads, downloads, clearing. https://mavlink.io/en/services/mission.html"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.autopilot.builtin.flight import NOTICE, WARNING, Refused
from sim_node.autopilot.builtin.mission import MAX_ITEMS, Mission, fault
from sim_node.autopilot.builtin.modes import Mode
from sim_node.autopilot.codec import Message
from sim_node.autopilot.links import Address

if TYPE_CHECKING:
    from sim_node.autopilot.builtin.autopilot import BuiltinAutopilot
    from sim_node.autopilot.connection import Connection

RETRY_NS, MAX_TRIES = 1_000_000_000, 5
# MAV_MISSION_RESULT
_ACCEPTED, _ERROR, _UNSUPPORTED, _NO_SPACE, _INVALID, _WRONG_SEQUENCE, _CANCELLED = 0, 1, 3, 4, 5, 13, 15
_MISSION = 0  # MAV_MISSION_TYPE
_KEPT = ("frame", "command", "autocontinue", "param1", "param2", "param3", "param4", "x", "y", "z")
# MISSION_ITEM carries places as floats, in the frame that MISSION_ITEM_INT has another number for.
_SCALE_DEGREES, _SCALE_METRES = 1e7, 1e4


class _Peer(NamedTuple):
    system: int
    component: int
    connection: Connection
    address: Address


class MissionProtocol:
    """One upload at a time; downloads need no memory."""

    def __init__(self, autopilot: BuiltinAutopilot) -> None:
        self._autopilot = autopilot
        self._peer: _Peer | None = None
        self._count = 0
        self._items: list[dict[str, Any]] = []
        self._asked_ns = self._tries = 0

    def take(self, message: Message, connection: Connection, address: Address, now_ns: int) -> None:
        """A message of the protocol, to us."""
        peer = _Peer(message.system, message.component, connection, address)
        handle = _HANDLERS[message.name]
        kind = getattr(message.fields, "mission_type", _MISSION)
        if kind != _MISSION:
            # There are no fences or rally points here, and so none of them.
            if message.name == "MISSION_REQUEST_LIST":
                self._answer(peer, "MISSION_COUNT", {"count": 0, "mission_type": kind})
            elif message.name != "MISSION_ACK":
                self._answer(peer, "MISSION_ACK", {"type": _UNSUPPORTED, "mission_type": kind})
            return
        handle(self, peer, message.fields, now_ns)

    def tick(self, now_ns: int) -> None:
        """Asks for an item again, or gives the upload up."""
        if self._peer is None or now_ns - self._asked_ns < RETRY_NS:
            return
        if self._tries >= MAX_TRIES:
            self._autopilot.say(WARNING, f"mission upload given up at item {len(self._items)} of {self._count}")
            self._acknowledge(self._peer, _CANCELLED)
            self._peer = None
        else:
            self._ask(now_ns)

    def _list(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        self._answer(peer, "MISSION_COUNT", {"count": len(self._autopilot.flight.mission.items)})

    def _request(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        items = self._autopilot.flight.mission.items
        if not 0 <= fields.seq < len(items):
            self._acknowledge(peer, _WRONG_SEQUENCE)
            return
        place = {"seq": fields.seq, "current": int(fields.seq == self._autopilot.flight.mission.current)}
        self._answer(peer, "MISSION_ITEM_INT", {**items[fields.seq], **place})

    def _begin(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        if self._peer is not None and self._peer != peer:
            self._acknowledge(peer, _ERROR)  # another upload is under way
        elif fields.count > MAX_ITEMS:
            self._acknowledge(peer, _NO_SPACE)
        elif fields.count == 0:
            self._clear(peer, fields, now_ns)
        else:
            self._peer, self._count, self._items = peer, fields.count, []
            self._tries = 0
            self._ask(now_ns)

    def _item(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        if self._peer != peer or fields.seq != len(self._items):
            return  # said twice: the answer to the first is on its way
        item = {key: getattr(fields, key) for key in _KEPT}
        if isinstance(item["x"], float):
            scale = _SCALE_METRES if item["frame"] == 1 else _SCALE_DEGREES
            item["x"], item["y"] = round(item["x"] * scale), round(item["y"] * scale)
        wrong = fault(item, self._count, self._autopilot.flight)
        if wrong:
            self._autopilot.say(WARNING, f"mission item {fields.seq}: {wrong}")
            self._acknowledge(peer, _UNSUPPORTED if "here" in wrong else _INVALID)
            self._peer = None
            return
        self._items.append(item)
        self._tries = 0
        if len(self._items) < self._count:
            self._ask(now_ns)
            return
        self._peer = None
        self._replace(Mission(self._items))
        self._acknowledge(peer, _ACCEPTED)

    def _clear(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        self._replace(Mission())
        self._acknowledge(peer, _ACCEPTED)

    def _set_current(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        try:
            self._autopilot.flight.fly_item(fields.seq)
        except Refused as refusal:
            self._autopilot.say(WARNING, str(refusal))
        self._autopilot.tell_all("MISSION_CURRENT")

    def _done(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        """The other side has what it asked for, or gives its upload up."""
        if self._peer == peer and fields.type != _ACCEPTED:
            self._peer = None

    def _replace(self, mission: Mission) -> None:
        flight = self._autopilot.flight
        flight.mission = mission
        flight.reached = -1
        if flight.mode is Mode.AUTO:
            self._autopilot.say(NOTICE, "another mission: holding")
            flight.set_mode(Mode.HOLD)
        flight.changed()

    def _ask(self, now_ns: int) -> None:
        assert self._peer is not None
        self._asked_ns, self._tries = now_ns, self._tries + 1
        self._answer(self._peer, "MISSION_REQUEST_INT", {"seq": len(self._items)})

    def _acknowledge(self, peer: _Peer, result: int) -> None:
        self._answer(peer, "MISSION_ACK", {"type": result})

    def _answer(self, peer: _Peer, name: str, fields: dict[str, Any]) -> None:
        to = {"target_system": peer.system, "target_component": peer.component}
        self._autopilot.answer(name, fields | to, peer.connection, peer.address)


_HANDLERS = {
    "MISSION_REQUEST_LIST": MissionProtocol._list,
    "MISSION_REQUEST_INT": MissionProtocol._request,
    "MISSION_REQUEST": MissionProtocol._request,
    "MISSION_COUNT": MissionProtocol._begin,
    "MISSION_ITEM_INT": MissionProtocol._item,
    "MISSION_ITEM": MissionProtocol._item,
    "MISSION_CLEAR_ALL": MissionProtocol._clear,
    "MISSION_SET_CURRENT": MissionProtocol._set_current,
    "MISSION_ACK": MissionProtocol._done,
}
NAMES = frozenset(_HANDLERS)
