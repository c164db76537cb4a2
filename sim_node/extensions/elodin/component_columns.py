"""Components of a world in Python as columns of a run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from sim_node.simulation.columns import Array, Column, Columns

if TYPE_CHECKING:
    from sim_node.extensions.elodin.live import Live


def declare_components(live: Live, columns: Columns) -> None:
    """Declare each component as the state column `component/NAME`, with one row for each of its entities.

    Args:
        live: The state of the program.
        columns: The columns of the run.
    """
    from sim_node.extensions.elodin.components import layout_of

    structure = live.program.structure
    for name, component in structure.components.items():
        layout = layout_of(component)
        names = tuple(structure.names[entity] for entity in structure.entities[name])
        column = Column(f"component/{name}", names, layout.shape, layout.dtype, meaning=f"the component {name}")
        columns.compute(column, partial(_get, live, name), partial(_put, live, name))


def _get(live: Live, name: str) -> Sequence[Array]:
    return (live.get(name),)


def _put(live: Live, name: str, kept: Sequence[Array]) -> None:
    live.put(name, kept[0])
