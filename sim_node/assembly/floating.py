"""Parts of an assembly that mates hold together and nothing holds in the world."""

from __future__ import annotations

from sim_node.assembly.table import AssemblyTable
from sim_node.world.systems import RigidBody


def floating_parts(table: AssemblyTable) -> int:
    """Return the number of groups of mated bodies that no mate connects with what is fixed."""
    group = list(range(len(table.names)))

    def find(row: int) -> int:
        while group[row] != row:
            group[row] = group[group[row]]
            row = group[row]
        return row

    mated: set[int] = set()
    for m, ends in enumerate(table.ends):
        if m in table.still or m in table.apart:
            continue
        bodies = [_moving(table, table.carriers[end]) for end in ends]
        for body in bodies:
            mated.add(find(body))
        group[find(bodies[0])] = find(bodies[1])
    return len({find(row) for row in mated} - {find(0)})


def _moving(table: AssemblyTable, carrier: int) -> int:
    """Return the row of a connector's body, or 0 if it is fixed in the world or moves by itself."""
    of = table.of[carrier] if carrier >= 0 else None
    return carrier if isinstance(of, RigidBody) and not of.held else 0
