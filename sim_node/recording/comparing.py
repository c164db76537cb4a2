"""Compare two bags topic by topic."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sim_node.recording.bag import Bag, BagError, BagMessage, BagTopic
from sim_node.recording.decoding import Decoder, leaves

# Maximum size of messages waiting for their counterpart, for topics with many more messages in one bag.
_MAX_HELD_BYTES = 64 << 20


class Difference(NamedTuple):
    """Location of a difference. time_ns: time of the first bag's message; number: its index within the topic."""

    number: int
    time_ns: int
    field: str
    one: str
    other: str


class LargestDifference(NamedTuple):
    """The largest difference between numbers."""

    amount: float
    time_ns: int
    field: str


@dataclass
class TopicDifference:
    """The comparison of a topic in two bags, pairing their k-th messages.

    Attributes:
        compared: Number of pairs compared.
        differing: Number of pairs beyond the tolerance.
        note: What could not be compared, and why.
    """

    name: str
    counts: tuple[int, int]
    compared: int = 0
    differing: int = 0
    first: Difference | None = None
    largest: LargestDifference | None = None
    note: str = ""

    @property
    def is_equal(self) -> bool:
        """Whether no difference was found."""
        return self.counts[0] == self.counts[1] and not self.differing and not self.note


def compare(
    one: Bag,
    other: Bag,
    topics: Collection[str],
    tolerance: float,
    messages: tuple[Iterator[BagMessage], Iterator[BagMessage]],
) -> list[TopicDifference]:
    """Compare the topics of two bags and return the results by name.

    Messages are compared as bytes first, and decoded only if these differ.

    Args:
        one: The first bag.
        other: The second bag.
        topics: Names of the topics.
        tolerance: Maximum difference between numbers.
        messages: The messages of both bags on these topics, in time order.

    Returns:
        One result per topic.
    """
    compared = {name: _Topic(name, _of(one, name), _of(other, name), tolerance) for name in sorted(topics)}
    names = [topic.name for topic in one.topics], [topic.name for topic in other.topics]
    is_open = [True, True]
    waiting = 0
    while any(is_open):
        # Read from the bag that is behind, to keep few messages waiting.
        side = 0 if (waiting <= 0 and is_open[0]) or not is_open[1] else 1
        message = next(messages[side], None)
        if message is None:
            is_open[side] = False
            continue
        waiting += compared[names[side][message.topic]].add(side, message)
    return [topic.difference for topic in compared.values()]


@dataclass
class _Topic:
    name: str
    one: BagTopic | None
    other: BagTopic | None
    tolerance: float
    held: deque[BagMessage] = field(default_factory=deque)
    held_side: int = 0
    held_bytes: int = 0
    decode: tuple[Decoder, Decoder] | None = None

    def __post_init__(self) -> None:
        one, other = self.one, self.other
        self.difference = TopicDifference(self.name, (0, 0))
        self.is_compared = one is not None and other is not None
        if one is not None and other is not None and one.type != other.type:
            self._stop(f"types differ: {one.type} and {other.type}")

    def add(self, side: int, message: BagMessage) -> int:
        """Compare or store a message. Return the change in the number of waiting messages of the first bag."""
        counts = self.difference.counts
        self.difference.counts = (counts[0] + (side == 0), counts[1] + (side == 1))
        if not self.is_compared:
            return 0
        if not self.held or self.held_side == side:
            self.held.append(message)
            self.held_side, self.held_bytes = side, self.held_bytes + len(message.data)
            if self.held_bytes > _MAX_HELD_BYTES:
                gone = len(self.held)
                self._stop(f"one bag has many more; compared up to message {self.difference.compared}")
                return gone - 1 if side else 1 - gone
            return 1 if side == 0 else -1
        counterpart = self.held.popleft()
        self.held_bytes -= len(counterpart.data)
        pair = (message, counterpart) if side == 0 else (counterpart, message)
        self._compare(*pair)
        self.difference.compared += 1
        return 1 if side == 0 else -1

    def _stop(self, note: str) -> None:
        self.is_compared = False
        self.held.clear()
        self.difference.note = note

    def _compare(self, one: BagMessage, other: BagMessage) -> None:
        if one.data == other.data:
            return
        assert self.one is not None
        assert self.other is not None
        try:
            self.decode = self.decode or (Decoder(self.one), Decoder(self.other))
            pair = dict(leaves(self.decode[0](one.data))), dict(leaves(self.decode[1](other.data)))
        except BagError as error:
            self._note_bytes(one, other, str(error))
            return
        different = _first_difference(*pair, self.tolerance)
        if different is not None:
            self._add(one, *different)
        for path, amount in _amounts(*pair):
            if self.difference.largest is None or amount > self.difference.largest.amount:
                self.difference.largest = LargestDifference(amount, one.time_ns, path)

    def _note_bytes(self, one: BagMessage, other: BagMessage, why: str) -> None:
        self.difference.note = f"compared as bytes: {why}"
        at = next((i for i, (a, b) in enumerate(zip(one.data, other.data, strict=False)) if a != b), None)
        if at is None:
            self._add(one, "length in bytes", str(len(one.data)), str(len(other.data)))
        else:
            self._add(one, f"byte {at}", f"0x{one.data[at]:02x}", f"0x{other.data[at]:02x}")

    def _add(self, message: BagMessage, path: str, one: str, other: str) -> None:
        self.difference.differing += 1
        if self.difference.first is None:
            self.difference.first = Difference(self.difference.compared, message.time_ns, path, one, other)


def _of(bag: Bag, name: str) -> BagTopic | None:
    return next((topic for topic in bag.topics if topic.name == name), None)


def _first_difference(one: dict[str, Any], other: dict[str, Any], tolerance: float) -> tuple[str, str, str] | None:
    for path, value in one.items():
        if path not in other:
            return path, _shown(value), "missing"
        found = _unequal(value, other[path], tolerance)
        if found is not None:
            index, a, b = found
            return path + index, _shown(a), _shown(b)
    extra = next((path for path in other if path not in one), None)
    return None if extra is None else (extra, "missing", _shown(other[extra]))


def _unequal(one: Any, other: Any, tolerance: float) -> tuple[str, Any, Any] | None:
    """Return the index, if any, and the values of the first difference."""
    if not isinstance(one, np.ndarray | list):
        return None if _alike(one, other, tolerance) else ("", one, other)
    if isinstance(one, np.ndarray) and len(one) == len(other):
        differ = np.flatnonzero(~_alike_arrays(one, other, tolerance))
        return (f"[{differ[0]}]", one[differ[0]], other[differ[0]]) if len(differ) else None
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if not _alike(a, b, tolerance):
            return f"[{i}]", a, b
    return None if len(one) == len(other) else (" (length)", len(one), len(other))


def _alike(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, int) and isinstance(other, int):
        return abs(one - other) <= tolerance
    if isinstance(one, float) and isinstance(other, float):
        return bool(_alike_arrays(np.array([one]), np.array([other]), tolerance)[0])
    return bool(one == other)


def _alike_arrays(one: Any, other: Any, tolerance: float) -> Any:
    """Compare elementwise; NaN equals NaN, and infinity equals itself."""
    if one.dtype.kind == "b":
        return one == other
    with np.errstate(invalid="ignore"):
        a, b = one.astype(np.float64), other.astype(np.float64)
        return (one == other) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= tolerance)


def _amounts(one: dict[str, Any], other: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the size of each numeric difference."""
    for path, value in one.items():
        counterpart = other.get(path)
        if isinstance(value, np.ndarray) and isinstance(counterpart, np.ndarray) and len(value) == len(counterpart):
            with np.errstate(invalid="ignore"):
                amounts = np.nan_to_num(
                    np.abs(value.astype(np.float64) - counterpart.astype(np.float64)), posinf=np.inf
                )
            at = int(np.argmax(amounts)) if amounts.size else 0
            if amounts.size and amounts[at] > 0:
                yield f"{path}[{at}]", float(amounts[at])
        elif isinstance(value, int | float) and isinstance(counterpart, int | float) and value != counterpart:
            amount = float(abs(value - counterpart))
            if amount > 0:
                yield path, amount


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:37] + "...")
    if isinstance(value, np.ndarray | list):
        return f"{len(value)} values"
    return repr(value.item() if isinstance(value, np.generic) else value)
