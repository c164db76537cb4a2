"""Transfer of the state of a run to its next generation, by the names of entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from sim_node.simulation.columns import Array, Columns


def transfer_state(old: Columns, new: Columns, *, without: Container[str] = (), renewed: Collection[str] = ()) -> None:
    """Copy the state of a run to its next generation, row by row: entities with the same name keep their state.

    A row is copied if the shape of the column's rows is the same. A column whose number of rows varies, such as a
    queue, is copied as a whole.

    Args:
        old: The columns of the previous generation.
        new: The columns of the next generation, at the start of its world.
        without: Columns to leave unchanged.
        renewed: Entities that start as the world states, although there were earlier ones with the same name.
    """
    before, after = old.state(without), new.state(without)
    places: dict[tuple[int, int], Places] = {}  # many columns have the same rows
    for name, start in after.items():
        if name not in before:
            continue
        column, last = new.column(name), old.column(name)
        if column.shape != last.shape or start.dtype != before[name].dtype:
            continue
        if column.entities is None or last.entities is None:
            if column.entities is last.entities:
                after[name] = before[name]
        elif column.entities == last.entities and not renewed:
            after[name] = before[name]
        else:
            key = id(last.entities), id(column.entities)
            if key not in places:
                places[key] = _places(last.entities, column.entities, renewed)
            rows, sources = places[key]
            start[rows] = before[name][sources]
    new.restore(after)


# Rows of columns of state, by column and entity.
PartState = Mapping[str, Mapping[str, Array]]


def part_of(columns: Columns, name: str, *, without: Container[str] = ()) -> PartState:
    """Return a copy of the state of a part: that of the entity with this name and of all entities below its name.

    Args:
        columns: The columns of a run.
        name: The name, such as that of a vehicle.
        without: Columns to leave out.
    """
    below = tuple(f"{name}{mark}" for mark in "/.# ")
    found: dict[str, dict[str, Array]] = {}
    for column, array in columns.state(without).items():
        for entity, row in rows_of(columns.column(column).entities or ()).items():
            if entity == name or entity.startswith(below):
                found.setdefault(column, {})[entity] = array[row]
    return found


def put_part(part: PartState, columns: Columns, arrays: Mapping[str, Array]) -> None:
    """Write the state of a part to copies of the columns of a run, in which it may have other rows."""
    for column, kept in part.items():
        if column in arrays:
            rows = rows_of(columns.column(column).entities or ())
            for entity, values in kept.items():
                if entity in rows and arrays[column].shape[1:] == values.shape:
                    arrays[column][rows[entity]] = values


# The rows of a new column that are copied, and the rows of the old column that they are copied from.
Places = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]


def _places(old: Sequence[str], new: Sequence[str], renewed: Collection[str]) -> Places:
    rows, sources = rows_of(new), rows_of(old)
    kept = [key for key in rows if key in sources and not (renewed and _is_renewed(key, renewed))]
    return np.array([rows[key] for key in kept], np.int64), np.array([sources[key] for key in kept], np.int64)


def _is_renewed(entity: str, renewed: Collection[str]) -> bool:
    """Return whether a row, such as body, body.qw or body#1, belongs to a renewed body."""
    return any(name in renewed for name in (entity, entity.rpartition(".")[0], entity.rpartition("#")[0]))


def rows_of(entities: Sequence[str]) -> dict[str, int]:
    """Return the row of each entity; further rows of the same entity are named ENTITY 1, ENTITY 2, ..."""
    rows = dict(zip(entities, range(len(entities)), strict=True))
    if len(rows) == len(entities):
        return rows
    seen: Counter[str] = Counter()
    rows = {}
    for row, entity in enumerate(entities):
        rows[f"{entity} {seen[entity]}" if seen[entity] else entity] = row
        seen[entity] += 1
    return rows
