"""A link that is kept open: it is reopened after growing pauses, parsed into messages, and written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sim_node.mavlink.codec import V1, MavlinkMessage, first_frame_bytes, frame_bytes
from sim_node.mavlink.links import Address, Endpoint
from sim_node.mavlink.links.endpoint import DropCounter
from sim_node.mavlink.parser import Parser
from sim_node.mavlink.ports import is_in_use
from sim_node.mavlink.sequences import Sequences
from sim_node.mavlink.signing import Signing

FIRST_PAUSE_NS, MAX_PAUSE_NS = 100_000_000, 5_000_000_000
# A udpin link stops sending to peers that were silent for this long.
PEER_TIMEOUT_NS = 10_000_000_000
MAX_PEERS = 256


@dataclass(frozen=True)
class Identity:
    """The MAVLink system and component id of the bridge.

    Attributes:
        system: System id.
        component: Component id.
    """

    system: int = 255
    component: int = 191  # MAV_COMP_ID_ONBOARD_COMPUTER


class Connection:
    """A link, its state and its counters. Times are monotonic nanoseconds from the caller.

    A peer that sends only MAVLink 1 receives MAVLink 1, except for messages that MAVLink 1 does not have. It receives
    heartbeats in both versions: PX4 starts with MAVLink 1 and changes to MAVLink 2 once it receives it.

    Args:
        link: The link.
        identity: System and component id to send with.
        signing: Checks and adds signatures, or None.

    Attributes:
        state: down, connecting or up.
        why: Reason why it last went down.
        is_in_use: Whether it is down because its port is in use.
        openings: How often it was opened.
        failures: How often it went down, or could not be opened.
        peers: When (ns) each peer was last received.
        reception: Counters of received data.
        losses: Counters of accepted messages that were lost, late or repeated.
        signing: The argument `signing`.
    """

    accepts_commands = True

    def __init__(self, link: Endpoint, identity: Identity, signing: Signing | None = None) -> None:
        self.link, self.state, self.why = link, "down", ""
        # Whether it is down because its port is in use.
        self.is_in_use = False
        self.openings = self.failures = 0
        self.peers: dict[Address, int] = {}
        # The peers that have sent MAVLink 1 and never MAVLink 2.
        self._first: set[Address] = set()
        self._identity, self.signing = identity, signing
        self._parser, self._sequences = Parser(datagrams=link.datagrams), Sequences()
        self.reception, self.losses = self._parser.reception, self._sequences.losses
        self._sequence = 0
        self._pause_ns = FIRST_PAUSE_NS
        self._next_try_ns = 0

    @property
    def name(self) -> str:
        """The link's URL."""
        return self.link.url

    @property
    def dropped(self) -> int:
        """How many datagrams the system dropped because they were not read in time. Any thread may ask."""
        return self.link.dropped if isinstance(self.link, DropCounter) else 0

    @property
    def unheard(self) -> bool:
        """Whether the last datagram was refused because nothing listens there, as far as the system reports it."""
        return getattr(self.link, "unheard", False)

    def lost(self, system: int) -> int:
        """Return how many messages of a system were lost.

        Args:
            system: System id.

        Returns:
            The number of messages.
        """
        return self._sequences.lost[system]

    def keep_up(self, now_ns: int) -> bool:
        """Open the link if it is down and its pause is over.

        Args:
            now_ns: Monotonic time (ns).

        Returns:
            Whether its file descriptor is new.
        """
        if self.state != "down" or now_ns < self._next_try_ns:
            return False
        try:
            self.link.open()
        except OSError as error:
            self.went_down(error, now_ns)
            return False
        # If the other end hangs up at once, the pause continues to grow. Received bytes reset it.
        self.state = "connecting" if self.link.connecting else "up"
        self.openings += 1
        return True

    def connected(self, now_ns: int) -> None:
        """Handle that the link can be written to for the first time.

        Args:
            now_ns: Monotonic time (ns).
        """
        try:
            self.link.finish()
        except OSError as error:
            self.went_down(error, now_ns)
        else:
            self.state = "up"

    def close(self) -> None:
        """Close the link for good."""
        self.link.close()
        if self.signing is not None:
            self.signing.close()

    def went_down(self, error: OSError, now_ns: int) -> None:
        """Close the link. It is opened again after a pause.

        Args:
            error: The reason.
            now_ns: Monotonic time (ns).
        """
        self.link.close()
        self.state, self.why = "down", error.strerror or str(error)
        self.failures += 1
        self.is_in_use = is_in_use(error)
        self.peers.clear()
        self._first.clear()
        self._next_try_ns = now_ns + self._pause_ns
        self._pause_ns = min(2 * self._pause_ns, MAX_PAUSE_NS)
        # An incomplete frame does not belong to the next connection.
        self._parser.restart()
        self._sequences.restart()

    def receive(self, now_ns: int) -> Iterator[tuple[MavlinkMessage, Address]]:
        """Iterate over the received messages that are accepted. Each packet is parsed on demand.

        Args:
            now_ns: Monotonic time (ns).

        Yields:
            Each message and the address of its sender.
        """
        try:
            chunks = self.link.read()
        except OSError as error:
            self.went_down(error, now_ns)
            return
        for data, address in chunks:
            self._pause_ns = FIRST_PAUSE_NS
            signing = self.signing
            messages = [m for m in self._parser.feed(data) if signing is None or signing.accepts(m)]
            if messages and (address in self.peers or len(self.peers) < MAX_PEERS):
                self._learn_version(address, messages)
                self.peers[address] = now_ns
            for message in messages:
                self._sequences.note(message, address)
                yield message, address

    def send(self, name: str, fields: Mapping[str, Any], to: Address, now_ns: int) -> None:
        """Send a message to a peer.

        Args:
            name: The name of the message.
            fields: Its fields by name; missing ones are zero.
            to: The address of the peer.
            now_ns: Monotonic time (ns).
        """
        if self.state != "up":
            return
        try:
            for frame in self._frames(name, fields, to):
                self.link.write(frame, to)
        except OSError as error:
            self.went_down(error, now_ns)

    def send_to_all(self, name: str, fields: Mapping[str, Any], now_ns: int) -> None:
        """Send a message to every active peer, or to the other end.

        Args:
            name: The name of the message.
            fields: Its fields by name; missing ones are zero.
            now_ns: Monotonic time (ns).
        """
        for address in [peer for peer, last_ns in self.peers.items() if now_ns - last_ns > PEER_TIMEOUT_NS]:
            del self.peers[address]
            self._first.discard(address)
        for address in list(self.peers) or [None]:
            self.send(name, fields, address, now_ns)

    def _frames(self, name: str, fields: Mapping[str, Any], to: Address) -> Iterator[bytes]:
        """Encode a message in the MAVLink versions for a peer."""
        us, signing = self._identity, self.signing
        old = None
        if signing is None and to in self._first:
            old = first_frame_bytes(name, fields, us.system, us.component, self._sequence)
        if old is not None:
            self._sequence = (self._sequence + 1) & 0xFF
            yield old
        if old is None or name == "HEARTBEAT":
            frame = frame_bytes(name, fields, us.system, us.component, self._sequence, signed=signing is not None)
            self._sequence = (self._sequence + 1) & 0xFF
            yield frame if signing is None else signing.signed(frame)

    def _learn_version(self, address: Address, messages: list[MavlinkMessage]) -> None:
        new = messages[-1].raw[0] != V1
        if new:
            self._first.discard(address)
        elif address not in self.peers:
            self._first.add(address)
