"""The decoded messages of one topic of a bag as columns of numpy, and as a DataFrame of polars."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from sim_node.packages import how_to_install
from sim_node.recording.bag import Bag, BagError, DecodedMessage
from sim_node.recording.decoding import Decoder, plain
from sim_node.recording.message_fields import (
    TIME,
    ColumnTypes,
    Described,
    column_name,
    column_type,
    leaves_of,
    row_type,
    table_type,
)

if TYPE_CHECKING:
    import polars


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
        for steps, column in zip(found, values, strict=True):
            column.append(reduce(getattr, steps, message))
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
