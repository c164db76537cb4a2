"""The autopilot's side of the mission protocol: uploads, downloads, clearing. https://mavlink.io/en/services/mission.html"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from sim_node.autopilots.builtin.answers import Answers, answer
from sim_node.autopilots.builtin.dialect import WARNING, Mode, OrderRefused
from sim_node.autopilots.builtin.fence import FENCE, RALLY, Fence, fence_fault, item_fault
from sim_node.autopilots.builtin.geo_reference import GLOBAL, LOCAL_NED, LOCAL_SCALE, UNUSED, position_of_ints
from sim_node.autopilots.builtin.mission import ITEMS, MAX_ITEMS, SKIPPED, fault
from sim_node.autopilots.builtin.telemetry import mission_current
from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.links import Address

if TYPE_CHECKING:
    from sim_node.autopilots.builtin.flight import Flight

RETRY_NS, MAX_TRIES = 1_000_000_000, 5
# MAV_MISSION_RESULT
_ACCEPTED, _ERROR, _UNSUPPORTED, _NO_SPACE, _INVALID, _WRONG_SEQUENCE, _CANCELLED = 0, 1, 3, 4, 5, 13, 15
_MISSION, _ALL = 0, 255  # MAV_MISSION_TYPE
_KEPT = ("frame", "command", "autocontinue", "param1", "param2", "param3", "param4", "x", "y", "z")
# Values of `current` in a MISSION_ITEM of ArduPilot that is a position or an altitude to fly to at once.
_GO_THERE, _CHANGE_ALTITUDE = 2, 3
_PARTIAL_READ = "MISSION_REQUEST_PARTIAL_LIST"


class _Peer(NamedTuple):
    system: int
    component: int
    connection: Answers
    address: Address


class MissionProtocol:
    """Uploads and downloads of missions, fences and rally points. One upload at a time; downloads are stateless.

    Args:
        flight: The flight that has them.
        send_to_all: Sends the message of a name on all links.
    """

    def __init__(self, flight: Flight, send_to_all: Callable[[str], None]) -> None:
        self.flight, self._send_to_all = flight, send_to_all
        self._peer: _Peer | None = None
        self._type = _MISSION
        # The items received so far, the index that is requested, and the final number of items. A partial write (not
        # `_whole`) starts from the stored items.
        self._count = self._next = 0
        self._items: list[dict[str, Any]] = []
        self._whole = True
        self._asked_ns = self._tries = 0
        # Whether the upload comes from a ground station in the simulation, so that retries follow simulation time.
        self._in_simulation = False

    def receive(self, message: MavlinkMessage, connection: Answers, address: Address, now_ns: int | None) -> None:
        """Handle a message of the mission protocol that is addressed to this autopilot.

        Args:
            message: The message.
            connection: Link for the answer.
            address: Peer for the answer.
            now_ns: Monotonic time, ns; None for a ground station in the simulation.
        """
        peer = _Peer(message.system, message.component, connection, address)
        kind = getattr(message.fields, "mission_type", _MISSION)
        if message.name == _PARTIAL_READ or (
            kind not in (_MISSION, FENCE, RALLY) and (kind, message.name) != (_ALL, "MISSION_CLEAR_ALL")
        ):
            if message.name != "MISSION_ACK":
                self._acknowledge(peer, _UNSUPPORTED, kind)
            return
        _HANDLERS[message.name](self, peer, message.fields, self._clock(now_ns))
        if self._peer == peer:
            self._in_simulation = now_ns is None

    def _clock(self, now_ns: int | None) -> int:
        return self.flight.time_us * 1000 if now_ns is None else now_ns

    def tick(self, time_ns: int | None) -> None:
        """Request an item again, or abort the upload, if an answer is overdue.

        Args:
            time_ns: Monotonic time, ns; None to check an upload from a ground station in the simulation.
        """
        now_ns = self._clock(time_ns)
        if self._peer is None or (time_ns is None) != self._in_simulation or now_ns - self._asked_ns < RETRY_NS:
            return
        if self._tries >= MAX_TRIES:
            self.flight.report(WARNING, f"mission upload given up at item {self._next} of {self._count}")
            self._acknowledge(self._peer, _CANCELLED, self._type)
            self._peer = None
        else:
            self._ask(now_ns)

    def _stored(self, kind: int) -> list[dict[str, Any]]:
        """Return the items that a download gets."""
        flight = self.flight
        if kind != _MISSION:
            return [dict(item) for item in (flight.fence.items if kind == FENCE else flight.rally)]
        items = [dict(item) for item in flight.mission.items]
        if flight.dialect.home_first:
            items[:1] = [self._home()]
        return items

    def _home(self) -> dict[str, Any]:
        """Return home as item 0 of a mission."""
        places = self.flight.places
        latitude, longitude, altitude = places.ellipsoid(places.home or (0.0, 0.0, 0.0))
        place = {"x": round(latitude * 1e7), "y": round(longitude * 1e7), "z": places.sea_level(altitude)}
        return {"frame": GLOBAL[0], "command": 16, "autocontinue": 1} | place

    def _list(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        kind = fields.mission_type
        self._answer(peer, "MISSION_COUNT", {"count": len(self._stored(kind)), "mission_type": kind})

    def _request(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        item = self._requested(peer, fields)
        if item is not None:
            self._answer(peer, "MISSION_ITEM_INT", item)

    def _request_float(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        """Answer with a MISSION_ITEM, with latitude and longitude as floats and a frame without _INT."""
        item = self._requested(peer, fields)
        if item is not None:
            scale = LOCAL_SCALE if item["frame"] == LOCAL_NED else 1e-7
            frame = {5: 0, 6: 3, 11: 10}.get(item["frame"], item["frame"])
            place = {"x": item["x"] * scale, "y": item["y"] * scale, "frame": frame}
            self._answer(peer, "MISSION_ITEM", item | place)

    def _requested(self, peer: _Peer, fields: Any) -> dict[str, Any] | None:
        kind, items = fields.mission_type, self._stored(fields.mission_type)
        if not 0 <= fields.seq < len(items):
            self._acknowledge(peer, _WRONG_SEQUENCE, kind)
            return None
        current = kind == _MISSION and fields.seq == self.flight.mission.current
        return {**items[fields.seq], "seq": fields.seq, "current": int(current), "mission_type": kind}

    def _begin(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        if self._peer is not None and self._peer != peer:
            self._acknowledge(peer, _ERROR, fields.mission_type)  # another upload is in progress
        elif fields.count > MAX_ITEMS:
            self._acknowledge(peer, _NO_SPACE, fields.mission_type)
        elif fields.count == 0:
            self._clear(peer, fields, now_ns)
        else:
            self._receive(peer, fields.mission_type, 0, fields.count, now_ns, whole=True)

    def _begin_part(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        """Replace some items of a list, or append one. ArduPilot only: PX4 does not support it."""
        kind, first, last = fields.mission_type, fields.start_index, fields.end_index
        count = len(self._stored(kind))
        if not self.flight.dialect.goto_items:
            self._acknowledge(peer, _UNSUPPORTED, kind)
        elif self._peer is not None or not 0 <= first <= last <= min(count, MAX_ITEMS - 1):
            why = "another upload is under way" if self._peer is not None else f"items {first} to {last} of {count}"
            self.flight.report(WARNING, f"mission update rejected: {why}")
            self._acknowledge(peer, _ERROR, kind)
        else:
            # MAVProxy's range ends one item too late, and it does not send the item that it does not have.
            self._receive(peer, kind, first, min(last + 1, max(count, first + 1)), now_ns, whole=False)

    def _receive(self, peer: _Peer, kind: int, first: int, end: int, now_ns: int, *, whole: bool) -> None:
        self._peer, self._type, self._whole, self._tries = peer, kind, whole, 0
        self._items = [] if whole else self._stored(kind)
        self._next, self._count = first, end
        self._ask(now_ns)

    def _item(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        item = {key: getattr(fields, key) for key in _KEPT}
        if isinstance(item["x"], float):
            scale = LOCAL_SCALE if item["frame"] == LOCAL_NED else 1e-7
            item["x"], item["y"] = _scaled(item["x"], scale), _scaled(item["y"], scale)
        if fields.current in (_GO_THERE, _CHANGE_ALTITUDE):
            self._fly_to(peer, item, fields.current)
            return
        if self._peer != peer or fields.seq != self._next or fields.mission_type != self._type:
            return  # a duplicate: the answer to the first one is on its way
        wrong = self._fault(item)
        if wrong:
            self.flight.report(WARNING, f"mission item {fields.seq}: {wrong}")
            known = self._type != _MISSION or item["command"] in {*ITEMS, *SKIPPED}
            self._acknowledge(peer, _INVALID if known and "not supported" not in wrong else _UNSUPPORTED, self._type)
            self._peer = None
            return
        self._items[self._next : self._next + 1] = [item]
        self._next, self._tries = self._next + 1, 0
        if self._next < self._count:
            self._ask(now_ns)
            return
        self._peer = None
        wrong = fence_fault(self._items) if self._type == FENCE else ""
        if wrong:
            self.flight.report(WARNING, f"geofence: {wrong}")
            self._acknowledge(peer, _INVALID, self._type)
            return
        self._replace(self._items, self._type, whole=self._whole)
        self._acknowledge(peer, _ACCEPTED, self._type)

    def _fault(self, item: dict[str, Any]) -> str:
        flight = self.flight
        if self._type != _MISSION:
            return item_fault(item, self._type)
        if flight.dialect.home_first and not self._next:
            return ""  # home, which the vehicle sets itself
        return fault(item, max(self._count, len(self._items)), flight)

    def _fly_to(self, peer: _Peer, item: dict[str, Any], how: int) -> None:
        """Fly to the position of an item at once, in guided mode."""
        flight = self.flight
        position = position_of_ints(item["frame"], item["x"], item["y"], item["z"])
        if not flight.dialect.goto_items:
            text = f"MISSION_ITEM with current = {how}: PX4 has no such items; send MAV_CMD_DO_REPOSITION"
            self.flight.report(WARNING, text)
            self._acknowledge(peer, _UNSUPPORTED, _MISSION)
            return
        try:
            if flight.mode is not Mode.GUIDED:
                raise OrderRefused(f"the mode is not {flight.dialect.modes[Mode.GUIDED].name}")
            if how == _CHANGE_ALTITUDE:
                position = position._replace(x=float("nan"))
            flight.go_to(flight.places.locate(position, flight.position))
        except OrderRefused as refusal:
            self.flight.report(WARNING, f"go to: {refusal}")
            self._acknowledge(peer, _ERROR, _MISSION)
        else:
            self._acknowledge(peer, _ACCEPTED, _MISSION)

    def _clear(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        kinds = (_MISSION, FENCE, RALLY) if fields.mission_type == _ALL else (fields.mission_type,)
        for kind in kinds:
            self._replace([], kind)
        self._acknowledge(peer, _ACCEPTED, fields.mission_type)

    def _set_current(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        flight = self.flight
        try:
            flight.fly_item(fields.seq)
        except OrderRefused as refusal:
            self.flight.report(WARNING, str(refusal))
        else:
            # Clients of ArduPilot treat the number they sent as the acknowledgement, even that of home.
            if fields.seq < flight.mission.first:
                current = {**(mission_current(self.flight) or {}), "seq": fields.seq}
                answer("MISSION_CURRENT", current, peer.connection, peer.address)
        self._send_to_all("MISSION_CURRENT")

    def _done(self, peer: _Peer, fields: Any, now_ns: int) -> None:
        """Note that the peer has completed a download, or aborts its upload."""
        if self._peer == peer and fields.type != _ACCEPTED:
            self._peer = None

    def _replace(self, items: list[dict[str, Any]], kind: int, *, whole: bool = True) -> None:
        flight = self.flight
        if kind == _MISSION:
            (flight.replace_mission if whole else flight.rewrite_mission)(items)
        elif kind == FENCE:
            flight.fence = Fence(items, flight.places)
        else:
            flight.rally = tuple(items)
        flight.changed()

    def _ask(self, now_ns: int) -> None:
        assert self._peer is not None
        self._asked_ns, self._tries = now_ns, self._tries + 1
        name = "MISSION_REQUEST" if self.flight.dialect.floats_first else "MISSION_REQUEST_INT"
        self._answer(self._peer, name, {"seq": self._next, "mission_type": self._type})

    def _acknowledge(self, peer: _Peer, result: int, kind: int) -> None:
        self._answer(peer, "MISSION_ACK", {"type": result, "mission_type": kind})

    def _answer(self, peer: _Peer, name: str, fields: dict[str, Any]) -> None:
        to = {"target_system": peer.system, "target_component": peer.component}
        answer(name, fields | to, peer.connection, peer.address)


def _scaled(value: float, scale: float) -> int:
    """Return a float latitude, longitude or coordinate as in MISSION_ITEM_INT; UNUSED if it does not fit."""
    scaled = value / scale
    return round(scaled) if abs(scaled) < UNUSED else UNUSED


_HANDLERS = {
    "MISSION_REQUEST_LIST": MissionProtocol._list,
    "MISSION_REQUEST_INT": MissionProtocol._request,
    "MISSION_REQUEST": MissionProtocol._request_float,
    "MISSION_COUNT": MissionProtocol._begin,
    "MISSION_WRITE_PARTIAL_LIST": MissionProtocol._begin_part,
    "MISSION_ITEM_INT": MissionProtocol._item,
    "MISSION_ITEM": MissionProtocol._item,
    "MISSION_CLEAR_ALL": MissionProtocol._clear,
    "MISSION_SET_CURRENT": MissionProtocol._set_current,
    "MISSION_ACK": MissionProtocol._done,
}
NAMES = frozenset({*_HANDLERS, _PARTIAL_READ})
