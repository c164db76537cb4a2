"""Losses of a link, by the sequence numbers of the messages that it accepted.

A number has eight bits. Small steps back are messages that arrived late or twice; all others are steps forward, as in
RFC 3550, A.1. How often the number has wrapped during an outage follows from the sender's rate and its time since boot.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from sim_node.mavlink.codec import MavlinkMessage
from sim_node.mavlink.links import Address

# Maximum number of messages by which a message may be overtaken.
WINDOW = 64
# If there are more senders than this, all of them are forgotten.
MAX_SENDERS = 1024
# An outage is longer than this, in milliseconds of the sender's clock, and shorter than MAX_OUTAGE_MS.
_OUTAGE_MS, MAX_OUTAGE_MS = 1000, 3_600_000
# The rate is an average over about this many messages, and is valid after a tenth of them.
_AVERAGED = 1000


@dataclass
class LossCounters:
    """Counters of a link.

    Attributes:
        lost: Messages that were sent but have not arrived.
        late: Messages that were overtaken by others.
        repeated: Messages that had arrived before.
    """

    lost: int = 0
    late: int = 0
    repeated: int = 0


@dataclass(slots=True)
class _Sender:
    """Messages received from a sender.

    Attributes:
        first: First sequence number.
        number: Latest sequence number including wraps; its low byte is that of the message.
        frames: Numbers and hashes of the latest frames, by the low byte of the number.
        received: Number of messages.
        boot_ms: Latest time since boot, ms.
        boot_number: `number` at that time.
        boot_received: `received` at that time.
        numbers: Decaying sum of messages sent; the rate is its ratio to `span_ms`.
        span_ms: Decaying sum of times, ms.
    """

    first: int
    number: int
    frames: list[tuple[int, int]]
    received: int = 1
    boot_ms: int = 0
    boot_number: int = 0
    boot_received: int = 0
    numbers: float = 0.0
    span_ms: float = 0.0

    def time(self, boot_ms: int) -> int:
        """Note the time since boot of the latest message, and return the change of the number of losses."""
        span = ((boot_ms - self.boot_ms + 2**31) & 0xFFFFFFFF) - 2**31  # milliseconds wrap after 49.7 days
        steps, received = self.number - self.boot_number, self.received - self.boot_received
        change = 0
        if not self.boot_ms:
            pass
        elif span < -_OUTAGE_MS or span > MAX_OUTAGE_MS:
            # It has rebooted, and its sequence numbers start again.
            change, self.numbers, self.span_ms = received - steps, 0.0, 0.0
        elif span <= 0:
            return 0  # of another sensor
        elif span > _OUTAGE_MS:
            # Without losses, the sender itself was silent, as in a paused simulation.
            if steps > received and self.numbers > 0.1 * _AVERAGED:
                expected = self.numbers / self.span_ms * span
                change = max(0, round((expected - steps) / 256)) * 256
                self.number += change
        else:
            keep = 1.0 - 1.0 / _AVERAGED * min(steps, _AVERAGED)
            self.numbers, self.span_ms = keep * self.numbers + steps, keep * self.span_ms + span
        self.boot_ms, self.boot_number, self.boot_received = boot_ms, self.number, self.received
        return change


@dataclass
class Sequences:
    """Counts the losses of each sender of a link. Senders are distinguished by address, system and component.

    Attributes:
        losses: Counters of the link.
        lost: Number of lost messages by system id.
    """

    losses: LossCounters = field(default_factory=LossCounters)
    lost: Counter[int] = field(default_factory=Counter)
    _senders: dict[tuple[Address, int, int], _Sender] = field(default_factory=dict)

    def note(self, message: MavlinkMessage, address: Address) -> None:
        """Note an accepted message, in the order of arrival.

        Args:
            message: The message.
            address: Address of its sender.
        """
        before = self.losses.lost
        self._count(message, address)
        if change := self.losses.lost - before:
            self.lost[message.system] += change

    def _count(self, message: MavlinkMessage, address: Address) -> None:
        losses, sequence = self.losses, message.sequence
        key = address, message.system, message.component
        sender = self._senders.get(key)
        if sender is None:
            if len(self._senders) >= MAX_SENDERS:
                self._senders.clear()
            sender = self._senders[key] = _Sender(sequence, sequence, [(-1, 0)] * 256)
        else:
            behind = (sender.number - sequence) & 0xFF
            earlier = sender.number - behind
            if behind <= WINDOW:
                known, frame = sender.frames[sequence]
                if not behind or (known == earlier and frame == hash(message.raw)):
                    losses.repeated += 1
                    return
                if known != earlier:
                    losses.late += 1
                    losses.lost -= earlier > sender.first
                    sender.received += 1
                    sender.frames[sequence] = earlier, hash(message.raw)
                    return
            steps = 256 - behind
            sender.number += steps
            sender.received += 1
            losses.lost += steps - 1
        boot_ms = getattr(message.fields, "time_boot_ms", 0)
        if boot_ms:
            losses.lost += sender.time(boot_ms)
        sender.frames[sequence] = sender.number, hash(message.raw)

    def restart(self) -> None:
        """Forget all senders, because the link was closed. Counters are kept."""
        self._senders.clear()
