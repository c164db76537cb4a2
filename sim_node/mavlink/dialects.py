"""What the names of MAVROS and of PX4 share: rows of numbers with order, signs and unit, and a vehicle with them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sim_node.mavlink.contents import SI, Unit, is_on_earth
from sim_node.mavlink.telemetry import Send, Telemetry

# Larger times are Unix time, as in timesync.py.
_UNIX_US = 1_000_000_000_000_000
# Numbers of a message: a sign, and a path such as pose.position.x or covariance[9].
_NUMBER = re.compile(r"(-?)([a-z]\w*(?:\.\w+)*(?:\[\d+\])?)")


class Unknown(ValueError):
    """A quantity is not known, so that its message is not sent. The text says which, in a few words."""


# The functions that publish a message, by its name; called with its fields and the vehicle under these names.
Readers = Mapping[str, Sequence[Callable[[Any, Any], None]]]


class VehicleNames:
    """A vehicle under other names than ours. Belongs to the bridge's thread.

    Args:
        vehicle: The vehicle's telemetry, which has translated each message before.
        send: Called with a topic and its message as CDR.
        readers: What publishes its messages.

    Attributes:
        last: The newest fields of the messages that are read, by name, since the vehicle is connected.
    """

    def __init__(self, vehicle: Telemetry, send: Send, readers: Readers) -> None:
        self.vehicle, self._send, self._readers = vehicle, send, readers
        self.last: dict[str, Any] = {}

    def reads(self, name: str) -> bool:
        """Return whether a message by this name is read.

        Args:
            name: The name of the message.

        Returns:
            Whether it is.
        """
        return name in self._readers

    def receive(self, name: str, fields: Any) -> None:
        """Publish what is published of a message under these names.

        Args:
            name: The name of the message.
            fields: Its fields.
        """
        self.last[name] = fields
        for read in self._readers[name]:
            read(fields, self)

    def disconnected(self) -> None:
        """Forget which messages the vehicle sends."""
        self.last.clear()

    def stamp_of(self, fields: Any) -> int:
        """Return the stamp of a message (ns). The vehicle's own translations learn the clock; this does not."""
        clock, arrival_ns = self.vehicle.clock, self.vehicle.arrival_ns
        if milliseconds := getattr(fields, "time_boot_ms", 0):
            return clock.stamp_of_old(milliseconds * 1_000_000, arrival_ns, of_ms=True)
        microseconds = getattr(fields, "time_usec", 0)
        if microseconds > _UNIX_US:
            return clock.stamp_us(microseconds, arrival_ns)
        return clock.stamp_of_old(microseconds * 1000, arrival_ns)

    def above_sea(self, lat: int, lon: int, millimetres: int) -> tuple[float, float, float]:
        """Return degrees, and metres above mean sea level. Raises Unknown for a place that is not on Earth."""
        place = lat * 1e-7, lon * 1e-7, millimetres * 1e-3
        if not is_on_earth(*place[:2]):
            raise Unknown("position is not on Earth")
        return place


def by_message(reads: Iterable[tuple[str, Callable[[Any, Any], None]]]) -> Readers:
    """Return functions by the names of the messages that they publish."""
    found: dict[str, list[Callable[[Any, Any], None]]] = {}
    for message, read in reads:
        found.setdefault(message, []).append(read)
    return found


class ValueSource(NamedTuple):
    """Where the numbers of a field come from.

    Attributes:
        fields: Fields of the other message, separated by spaces, in order, each with its sign: `y x -z` for NED as ENU.
        unit: Their unit.
        unknown: The number that means that a field is not known: then it is NaN.
        by: The name of a method that is called with these numbers, and returns those of the field. Empty for none.
    """

    fields: str = ""
    unit: Unit = SI
    unknown: float | None = None
    by: str = ""


def by(method: str, fields: str = "", unit: Unit = SI) -> ValueSource:
    """Return the source of what a method returns for these fields."""
    return ValueSource(fields, unit, by=method)


def compiled(
    sources: Collection[ValueSource], arrays: Mapping[str, bool] | None, owner: type
) -> Callable[[Any, Any], tuple[Any, ...]]:
    """Compile a function of a message and an owner of methods that returns all numbers in a row.

    Args:
        sources: Where they come from.
        arrays: The names of the message's fields, and whether each is an array; None for a message whose fields are
            not known here.
        owner: The class that has the methods.

    Returns:
        The function: no more than the expressions that would be written by hand.

    Raises:
        ValueError: A source has a field or a method that does not exist.
    """
    expressions: list[str] = []
    for fields, unit, unknown, method in sources:
        numbers = []
        for word in fields.split():
            found = _NUMBER.fullmatch(word)
            name = found and re.split(r"[.\[]", found[2])[0]
            if found is None or (arrays is not None and name not in arrays):
                raise ValueError(f"no field {word!r}")
            number = f"{found[1]}message.{found[2]}" + ("" if unit is SI else f" * {unit.factor!r}")
            if unknown is not None:
                number = f"nan if message.{found[2]} == {unknown!r} else {number}"
            elif arrays is not None and arrays[str(name)] and "[" not in word:
                number = f"*message.{found[2]}"
            numbers.append(number)
        if method and not callable(getattr(owner, method, None)):
            raise ValueError(f"{owner.__name__} has no method {method!r}")
        expressions += [f"*owner.{method}({', '.join(numbers)})"] if method else numbers
    made: Callable[[Any, Any], tuple[Any, ...]] = eval(
        f"lambda message, owner: ({''.join(f'{each}, ' for each in expressions)})", {"nan": float("nan")}
    )
    return made
