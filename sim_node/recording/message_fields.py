"""The fields of message types, by their definitions: known before any message has come; and messages as tables."""

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


# A field as rosbags has it: its kind (BASE, NAME, ARRAY or SEQUENCE), and what it is of.
Described = Any
# The column of the recording time in tables of messages, ns.
TIME = "time_ns"


def column_name(path: str) -> str:
    """Return the column of a field in tables of messages: its path, unless that is the column of the recording time.

    No field of ROS 2 has a name that ends with an underscore, so that the column has no other's name.
    """
    return f"{path}_" if path == TIME else path


_TEXTS = ("string", "wstring")
# Types of ROS 2 that tables have under another name.
_TABLE_NAMES = {"octet": "uint8", "char": "uint8", "byte": "uint8", "wstring": "string", "float128": "float64"}


class NumericFields(NamedTuple):
    """type: of the field, package/msg/Name, or of a single number; paths: to its numbers, by their labels."""

    type: str
    paths: dict[str, list[str | int]]


def numbers_in(decoder: Decoder, field: str) -> NumericFields:
    """Return the numbers of a field such as `pose.pose.position`, or of a single one such as `ranges[3]`.

    Arrays inside of the field are left out.

    Args:
        decoder: The decoder of the topic.
        field: The field.

    Returns:
        Its numbers.

    Raises:
        BagError: There is no such field, or it has no numbers.
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
    """Yield the path and the description of each field that is no message: the columns of a table of messages."""
    for name, found in _fields(decoder, type_):
        if _kind(found) == "NAME":
            yield from (((name, *inner), leaf) for inner, leaf in leaves_of(decoder, found[1]))
        else:
            yield (name,), found


def table_type(found: Described) -> str | None:
    """Return the type of a number or text in tables, such as float64 or string; None for other fields."""
    return _TABLE_NAMES.get(found[1][0], found[1][0]) if _kind(found) == "BASE" else None


def row_type(found: Described) -> tuple[str, int] | None:
    """Return the type and the number of elements of an array of fixed length of numbers; None for other fields."""
    element = table_type(found[1][0]) if _kind(found) == "ARRAY" else None
    return None if element in (None, "string") else (element, found[1][1])


class ColumnTypes(NamedTuple):
    """How a library makes the types of columns: of a name like float64, of named types, and of a type of elements."""

    single: Callable[[str], Any]
    struct: Callable[[list[tuple[str, Any]]], Any]
    sequence: Callable[[Any], Any]


def column_type(decoder: Decoder, found: Described, types: ColumnTypes) -> Any:
    """Return the type of a column with values of a field."""
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
    """Return the times of recording and each field that is no message, under its path."""
    _, found, times, values = _table(bag, topic, messages)
    arrays = (_array(each, column) for each, column in zip(found.values(), values, strict=True))
    return {TIME: np.array(times, np.int64), **dict(zip(found, arrays, strict=True))}


def frame(bag: Bag, topic: str, messages: Iterable[DecodedMessage]) -> polars.DataFrame:
    """Return the columns as polars has them. Raises BagError without polars."""
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
        # Of numpy arrays, polars makes an Array or a List, whatever it is asked for.
        series.append(pl.Series(name, list(map(plain, column)), kind).cast(kind))
    return pl.DataFrame(series)


def _table(
    bag: Bag, topic: str, messages: Iterable[DecodedMessage]
) -> tuple[Decoder, dict[str, Described], list[int], list[list[Any]]]:
    """Return a decoder, the description of each column, the times of recording, and the values of each column."""
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
    """Return values of a field: (N,) numbers, (N, K) of arrays of fixed length, else (N,) objects."""
    single, row = table_type(found), row_type(found)
    if row is not None:
        return np.array(values, row[0]).reshape(-1, row[1])
    if single not in (None, "string"):
        return np.array(values, single)
    return np.fromiter(values, object, len(values))
