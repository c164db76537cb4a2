"""Decode messages from CDR using the definitions in the bag, and access their numbers by path."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import BagError, BagMessage, BagTopic
from sim_node.recording.definitions import types_in
from sim_node.text import did_you_mean

if TYPE_CHECKING:
    from rosbags.typesys.store import Typestore

# A number, string or array in a message
Leaf = Any
# Maximum number of numbers, strings and arrays in a message. Each takes some hundred bytes as an object.
MAX_VALUES = 1_000_000
# Field that rosbags adds to messages without fields
PLACEHOLDER = "structure_needs_at_least_one_member"
_STEP = re.compile(r"\.?([A-Za-z]\w*)|\[(\d+)\]")


class UnreadableMessage(BagError):
    """The bytes are not a message of the topic's type."""


class Decoder:
    """Decodes a topic's messages to objects with fields: numbers, strings, numpy arrays, lists and other messages.

    Raises BagError if neither the bag nor rosbags knows the type, and UnreadableMessage for invalid bytes.
    """

    def __init__(self, topic: BagTopic) -> None:
        self.topic, self.store = topic, _typestore(topic)
        if topic.encoding != "cdr":
            raise BagError(f"{topic.name}: messages are encoded as {topic.encoding!r}; known: cdr")
        if topic.type not in self.store.fielddefs:
            named = topic.type or "its type"
            raise BagError(f"{topic.name}: the bag has no definition of {named}, which is required to decode it")
        self._check: Callable[[bytes, int], None] | None = None

    def __call__(self, data: bytes) -> Any:
        """Decode a message."""
        if len(data) > MAX_VALUES:
            self._check_values(data)
        try:
            return self.store.deserialize_cdr(data, self.topic.type)
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise UnreadableMessage(f"{len(data)} bytes are not a valid {self.topic.type}: {reason}") from None

    def _check_values(self, data: bytes) -> None:
        """Raise UnreadableMessage if a large message would take far more memory as objects than as CDR."""
        # Imported here because the import takes longer than most commands.
        from sim_node.recording.stamps import NoDefinition, TooManyValues, value_counter

        with suppress(NoDefinition, ValueError):  # invalid bytes are rejected when decoded
            if self._check is None:
                types = {name: fields for name, (_, fields) in self.store.fielddefs.items()}
                self._check = value_counter(self.topic.type, types)
            try:
                self._check(data, MAX_VALUES)
            except TooManyValues:
                name = self.topic.type
                raise UnreadableMessage(f"{len(data)} bytes of {name} have more than {MAX_VALUES} values") from None


def decoded(
    messages: Iterable[BagMessage], decoder_of: Callable[[int], Decoder], unreadable: Unreadable
) -> Iterator[tuple[BagMessage, Any]]:
    """Yield readable messages with their decoded content. decoder_of: returns the decoder for a topic's index."""
    for message in messages:
        decode = decoder_of(message.topic)
        try:
            content = decode(message.data)
        except UnreadableMessage as error:
            unreadable.count(decode.topic.name, error)
            continue
        yield message, content


# By type and definition, so that topics share types as long as one of their decoders exists.
_STORES: WeakValueDictionary[tuple[str, str], Typestore] = WeakValueDictionary()
# By message class. Each definition has its own classes, which are released with it.
_FIELD_NAMES: WeakKeyDictionary[type, tuple[str, ...]] = WeakKeyDictionary()


def field_names(message: Any) -> tuple[str, ...]:
    """Return the names of a message's fields."""
    kind: Any = type(message)
    names = _FIELD_NAMES.get(kind)
    if names is None:
        # In rosbags' classes, constants are the fields with a default.
        names = _FIELD_NAMES[kind] = tuple(field.name for field in fields(kind) if field.default is MISSING)
    return names


def leaves(message: Any, path: str = "") -> Iterator[tuple[str, Leaf]]:
    """Yield path and value of each number, string, numeric array and string list, in the order of the definition."""
    for name in field_names(message):
        value = getattr(message, name)
        yield from _leaves_of(value, f"{path}.{name}" if path else name)


def _leaves_of(value: Any, path: str) -> Iterator[tuple[str, Leaf]]:
    if hasattr(value, "__dataclass_fields__"):
        yield from leaves(value, path)
    elif isinstance(value, list) and value and hasattr(value[0], "__dataclass_fields__"):
        for i, each in enumerate(value):
            yield from leaves(each, f"{path}[{i}]")
    elif path.rpartition(".")[2] != PLACEHOLDER:
        yield path, value


def steps(path: str) -> list[str | int]:
    """Split `a.b[2].c` into names and indices. Raises BagError for an invalid path."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise BagError(f"{path!r} is not a field; fields look like pose.position.x or transforms[0].transform")
        found.append(step[1] if step[1] else int(step[2]))
        at = step.end()
    return found


def value_at(message: Any, path: Sequence[str | int]) -> float | None:
    """Return the number at a path; None if this message's sequence is shorter. Raises BagError for other values."""
    value, so_far = message, ""
    for step in path:
        if isinstance(step, int):
            if not isinstance(value, list | np.ndarray):
                raise BagError(f"{so_far} is not an array and has no [{step}]")
            if step >= len(value):
                return None
            value, so_far = value[step], f"{so_far}[{step}]"
            continue
        known = field_names(value) if is_message(value) else ()
        if step not in known:
            raise BagError(_no_field(so_far, step, value, known))
        value, so_far = getattr(value, step), f"{so_far}.{step}" if so_far else step
    if isinstance(value, bool | int | float | np.number | np.bool_):
        return float(value)
    numbers = [name for name, leaf in leaves(value, so_far) if _is_number(leaf)] if is_message(value) else []
    if numbers:
        raise BagError(f"{so_far} is not a number, but contains some: {', '.join(numbers[:8])}")
    if isinstance(value, list | np.ndarray):
        raise BagError(f"{so_far} is an array of {len(value)}; give an index, as in {so_far}[0]")
    raise BagError(f"{so_far} is not a number: {str(value)[:40]!r}")


def _no_field(so_far: str, step: str, value: Any, known: Sequence[str]) -> str:
    if isinstance(value, list | np.ndarray):
        return f"{so_far} is an array of {len(value)}; give an index, as in {so_far}[0].{step}"
    if not known:
        return f"{so_far} has no field {step}: it is a single value"
    return f"{so_far or 'the message'} has no field {step}{did_you_mean(step, known)} (known: {', '.join(known)})"


def is_message(value: Any) -> bool:
    """Return whether a value is a message rather than a number, string, array or list."""
    return hasattr(value, "__dataclass_fields__")


def plain(value: Any) -> Any:
    """Convert messages to dictionaries, also within lists. Other values are unchanged."""
    if is_message(value):
        return {name: plain(getattr(value, name)) for name in field_names(value)}
    return [plain(each) for each in value] if isinstance(value, list) else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number | np.bool_)


def _typestore(topic: BagTopic) -> Typestore:
    # Imported here because the import takes longer than most commands.
    from rosbags.typesys import Stores, get_typestore

    key = (topic.type if topic.definition else "", topic.definition)
    store = _STORES.get(key)
    if store is None:
        store = get_typestore(Stores.EMPTY if topic.definition else Stores.LATEST)
        try:
            store.register(types_in(topic.type, topic.definition) if topic.definition else {})
        except Exception as error:
            raise BagError(f"{topic.name}: the bag's definition of {topic.type} cannot be read: {error}") from None
        _STORES[key] = store
    return store
