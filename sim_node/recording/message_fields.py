"""Fields of message types, from their definitions alone, and messages as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.packages import how_to_install
from sim_node.recording.bag import Bag, BagError, DecodedMessage
from sim_node.recording.decoding import PLACEHOLDER, Decoder, plain, steps
from sim_node.text import did_you_mean

if TYPE_CHECKING:
    import polars


# A field in rosbags' representation: its kind (BASE, NAME, ARRAY or SEQUENCE) and its details.
Described = Any
# The table column of the recording time, ns.
TIME = "time_ns"


def column_name(path: str) -> str:
    """Return the table column of a field: its path, unless that is the column of the recording time.

    No ROS 2 field name ends with an underscore, so the column name is unique.
    """
    return f"{path}_" if path == TIME else path


_TEXTS = ("string", "wstring")
# ROS 2 types with another name in tables
_TABLE_NAMES = {"octet": "uint8", "char": "uint8", "byte": "uint8", "wstring": "string", "float128": "float64"}


class NumericFields(NamedTuple):
    """type: type of the field, package/msg/Name, or of a single number; paths: paths of its numbers, by label."""

    type: str
    paths: dict[str, list[str | int]]


def numbers_in(decoder: Decoder, field: str) -> NumericFields:
    """Return the numbers of a field such as `pose.pose.position`, or of a single one such as `ranges[3]`.

    Arrays within the field are left out.

    Args:
        decoder: The decoder of the topic.
        field: The field.

    Returns:
        Its numbers.

    Raises:
        BagError: The field does not exist or has no numbers.
    """
    path = steps(field)
    found: Described = ("NAME", decoder.topic.type)
    so_far = ""
    for step in path:
        found = _of(decoder, found, step, so_far)
        so_far += f"[{step}]" if isinstance(step, int) else f".{step}" if so_far else step
    kind, of = _kind(found), found[1]
    if kind in ("ARRAY", "SEQUENCE"):
        raise BagError(f"{so_far} is an array; give an index, as in {so_far}[0]")
    if kind == "NAME":
        numbers = (inner for inner, leaf in leaves_of(decoder, of) if table_type(leaf) not in (None, "string"))
        labelled = {".".join(inner): [*path, *inner] for inner in numbers}
        if not labelled:
            raise BagError(f"{so_far} has no numbers")
        return NumericFields(of, labelled)
    if of[0] in _TEXTS:
        raise BagError(f"{so_far} is not a number, but a text")
    return NumericFields(of[0], {so_far.rpartition(".")[2]: path})


def _of(decoder: Decoder, whole: Described, step: str | int, so_far: str) -> Described:
    kind, of = _kind(whole), whole[1]
    if isinstance(step, int):
        if kind not in ("ARRAY", "SEQUENCE"):
            raise BagError(f"{so_far or 'the message'} is not an array and has no [{step}]")
        if kind == "ARRAY" and step >= of[1]:
            raise BagError(f"{so_far} has {of[1]} elements and no [{step}]")
        return of[0]
    if kind in ("ARRAY", "SEQUENCE"):
        raise BagError(f"{so_far} is an array; give an index, as in {so_far}[0].{step}")
    if kind == "BASE":
        raise BagError(f"{so_far} has no field {step}: it is a single value")
    known = dict(_fields(decoder, of))
    if step not in known:
        hint = did_you_mean(step, known)
        raise BagError(f"{so_far or 'the message'} has no field {step}{hint} (known: {', '.join(known)})")
    return known[step]


def leaves_of(decoder: Decoder, type_: str) -> Iterator[tuple[tuple[str, ...], Described]]:
    """Yield the path and the description of each field that is not a message: the columns of a table."""
    for name, found in _fields(decoder, type_):
        if _kind(found) == "NAME":
            yield from (((name, *inner), leaf) for inner, leaf in leaves_of(decoder, found[1]))
        else:
            yield (name,), found


def table_type(found: Described) -> str | None:
    """Return the table type of a number or string, such as float64 or string; None for other fields."""
    return _TABLE_NAMES.get(found[1][0], found[1][0]) if _kind(found) == "BASE" else None


def row_type(found: Described) -> tuple[str, int] | None:
    """Return the element type and the length of a fixed-length numeric array; None for other fields."""
    element = table_type(found[1][0]) if _kind(found) == "ARRAY" else None
    return None if element in (None, "string") else (element, found[1][1])


class ColumnTypes(NamedTuple):
    """How a library creates column types: from a name such as float64, from named types, and from an element type."""

    single: Callable[[str], Any]
    struct: Callable[[list[tuple[str, Any]]], Any]
    sequence: Callable[[Any], Any]


def column_type(decoder: Decoder, found: Described, types: ColumnTypes) -> Any:
    """Return the type of a column for the values of a field."""
    name = table_type(found)
    if name is not None:
        return types.single(name)
    if _kind(found) == "NAME":
        fields = [(name, column_type(decoder, each, types)) for name, each in _fields(decoder, found[1])]
        return types.struct(fields)
    return types.sequence(column_type(decoder, found[1][0], types))


def _fields(decoder: Decoder, type_: str) -> Iterator[tuple[str, Described]]:
    if type_ not in decoder.store.fielddefs:
        raise BagError(f"the definition of {type_} is not known")
    return (field for field in decoder.store.fielddefs[type_][1] if field[0] != PLACEHOLDER)


def _kind(found: Described) -> str:
    kind = found[0]
    return kind if isinstance(kind, str) else str(kind.name)


def columns(bag: Bag, topic: str, messages: Iterable[DecodedMessage]) -> dict[str, npt.NDArray[Any]]:
    """Return the recording times, and the values of each field that is not a message, by path."""
    _, found, times, values = _table(bag, topic, messages)
    arrays = (_array(each, column) for each, column in zip(found.values(), values, strict=True))
    return {TIME: np.array(times, np.int64), **dict(zip(found, arrays, strict=True))}


def frame(bag: Bag, topic: str, messages: Iterable[DecodedMessage]) -> polars.DataFrame:
    """Return the columns as a polars DataFrame. Raises BagError without polars."""
    try:
        import polars as pl
    except ImportError as error:
        raise BagError(f"frame() needs polars: {how_to_install(error)}; columns() does not") from None
    decoder, found, times, values = _table(bag, topic, messages)

    def single(name: str) -> Any:
        return pl.Boolean if name == "bool" else getattr(pl, name.capitalize().replace("Uint", "UInt"))

    types = ColumnTypes(single, lambda fields: pl.Struct([pl.Field(*field) for field in fields]), pl.List)
    series = [pl.Series(TIME, times, pl.Int64)]
    for (name, each), column in zip(found.items(), values, strict=True):
        kind = column_type(decoder, each, types)
        # From numpy arrays, polars would choose Array or List itself.
        series.append(pl.Series(name, list(map(plain, column)), kind).cast(kind))
    return pl.DataFrame(series)


def _table(
    bag: Bag, topic: str, messages: Iterable[DecodedMessage]
) -> tuple[Decoder, dict[str, Described], list[int], list[list[Any]]]:
    """Return a decoder, the description of each column, the recording times, and the values of each column."""
    types = {each.type: each for each in bag.topics if each.name == topic}
    if len(types) > 1:
        raise BagError(f"{topic}: has messages of several types ({', '.join(types)}); read() decodes them")
    decoder = Decoder(next(iter(types.values())))
    found = dict(leaves_of(decoder, decoder.topic.type))
    times: list[int] = []
    values: list[list[Any]] = [[] for _ in found]
    for time_ns, message in messages:
        times.append(time_ns)
        for path, column in zip(found, values, strict=True):
            column.append(reduce(getattr, path, message))
    named = {column_name(".".join(steps)): each for steps, each in found.items()}
    return decoder, named, times, values


def _array(found: Described, values: list[Any]) -> npt.NDArray[Any]:
    """Convert values of a field: numbers (N,), fixed-length numeric arrays (N, K), or else objects (N,)."""
    single, row = table_type(found), row_type(found)
    if row is not None:
        return np.array(values, row[0]).reshape(-1, row[1])
    if single not in (None, "string"):
        return np.array(values, single)
    return np.fromiter(values, object, len(values))
