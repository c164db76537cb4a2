"""Carrying the state of a run over to its next generation: by the names of entities."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping

import numpy as np

from sim_node.columns import Array, Columns


def carry(old: Columns, new: Columns, *, without: Container[str] = (), renewed: Collection[str] = ()) -> None:
    """Set the state of a run to that of its last generation, row by row: what has the same name keeps its state.

    A row is carried if the column still has the same numbers per row. A column whose number of rows changes, as in a
    queue, is carried whole.

    Args:
        old: The columns of the last generation.
        new: The columns of the next one, at the start of its world.
        without: Columns to leave as they are.
        renewed: Entities that start as the world gives them although they have the name of earlier ones.
    """
    before, after = old.state(without), new.state(without)
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
            _carry_rows(before[name], rows_of(last.entities), start, rows_of(column.entities), renewed)
    new.restore(after)


def _carry_rows(
    before: Array,
    old: Mapping[tuple[str, int], int],
    after: Array,
    new: Mapping[tuple[str, int], int],
    renewed: Collection[str],
) -> None:
    kept = [
        (row, old[key]) for key, row in new.items() if key in old and not (renewed and _is_renewed(key[0], renewed))
    ]
    if kept:
        rows, places = np.array(kept).T
        after[rows] = before[places]


def _is_renewed(entity: str, renewed: Collection[str]) -> bool:
    """Return whether a row belongs to a body that starts anew: body, body.qw or body#1."""
    return any(name in renewed for name in (entity, entity.rpartition(".")[0], entity.rpartition("#")[0]))


def rows_of(entities: Iterable[str]) -> dict[tuple[str, int], int]:
    """Return the row of each entity; those that have several rows are numbered."""
    seen: Counter[str] = Counter()
    rows = {}
    for row, entity in enumerate(entities):
        rows[entity, seen[entity]] = row
        seen[entity] += 1
    return rows
