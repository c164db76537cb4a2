"""A table of frames from what is known of a tree that others made."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from sim_node.world import FrameTable


def table_of(parents: Mapping[str, str], dynamic: Collection[str]) -> FrameTable:
    """Parents first, siblings as they came; of several roots the one of the most frames is the fixed one.

    parents: of each frame that has one; dynamic: those that move. Raises ValueError where no frame is a root.
    """
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    orders = [_below(root, children) for root in dict.fromkeys(parents.values()) if root not in parents]
    if not orders:
        raise ValueError("they go round in a circle, no frame is a root")
    orders.sort(key=len, reverse=True)
    names = tuple(name for order in orders for name in order)
    rows = {name: row for row, name in enumerate(names)}
    above = np.array([rows[parents[name]] if name in parents else -1 for name in names], dtype=np.int32)
    return FrameTable(names, above, np.array([name not in dynamic for name in names]))


def _below(root: str, children: dict[str, list[str]]) -> list[str]:
    order, stack = [], [root]
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(reversed(children.get(name, ())))
    return order
