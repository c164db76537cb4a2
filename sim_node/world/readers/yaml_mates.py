"""Connectors and mates in world files: those of systems, and the `mate` of a frame or a sensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.world.mate_types import MATES, MateType
from sim_node.world.model import MAX_DISTANCE
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value, boolean
from sim_node.world.systems import Attachment, Mate, MateConnector, RedirectedMateConnector, axes_fault

CONNECTOR_KEYS = ("position", "main_axis", "normal", "body")


def value_names() -> tuple[str, ...]:
    """Return what initial values are called, over all types of mates."""
    return tuple(dict.fromkeys(name for mate in MATES.values() for name in mate.values))


def mate_keys() -> tuple[str, ...]:
    """Return the keys of a mate between two connectors."""
    return (*MATES, *value_names(), "near", "speed", "damping", "enabled", "snap", "name")


def attachment_keys() -> tuple[str, ...]:
    """Return the keys of the mate of a frame; a distance places nothing."""
    return (*(kind for kind in MATES if not MATES[kind].distance), *value_names(), "connector")


def read_connector(name: str, value: Value) -> MateConnector | None:
    """A connector; None with the fault recorded."""
    errors = len(value.report.errors)
    if "/" in name:
        value.error(f"the name {name!r} has a slash; a connector's has one part")
    table = value.table(CONNECTOR_KEYS)
    position, axis, normal, body = (table.get(key) for key in CONNECTOR_KEYS)
    at = None if position is None else position.vector(3, largest=MAX_DISTANCE)
    main = [0.0, 0.0, 1.0] if axis is None else axis.vector(3)
    across = None if normal is None else normal.vector(3)
    fault = None if main is None else axes_fault(main, across)
    if fault:
        (axis if normal is None or fault.startswith("main_axis") else normal).error(fault)  # type: ignore[union-attr]
    reference = "" if body is None else body.text()
    if len(value.report.errors) > errors or main is None:
        return None
    vectors: dict[str, Any] = {
        "position": np.array(at or (0.0, 0.0, 0.0)),
        "main_axis": np.array(main),
        "normal": None if across is None else np.array(across),
        "place": value.place,
    }
    return MateConnector(name, **vectors) if body is None else RedirectedMateConnector(name, **vectors, body=reference)


def read_mate(entry: Value, index: int) -> Mate | None:
    """The mate at an index of a system's list; None with the fault recorded."""
    keys = mate_keys()
    table = entry.table(keys)
    found = _kind(table, keys)
    if found is None:
        return None
    mate, value = found
    errors = len(entry.report.errors)
    ends = [(item.text(), item.place) for item in value.items()]
    if isinstance(value.node, Sequence) and len(ends) != 2:
        value.error(f"two connectors are needed, found {value.found()}")
    name, near, speed, damping = (table.get(key) for key in ("name", "near", "speed", "damping"))
    fields: dict[str, Any] = {
        "values": _values(table, mate),
        "near": _per_value(near, mate),
        "speeds": _per_value(speed, mate),
        "damping": 0.0 if damping is None else damping.number(0.0),
        "enabled": boolean(table, "enabled", default=True),
        "snap": boolean(table, "snap", default=True),
    }
    called = f"mates[{index}]" if name is None else name.text()
    if len(entry.report.errors) > errors:
        return None
    (first, at_first), (second, at_second) = ends
    return Mate(called, mate.name, (first, second), place=entry.place, connector_places=(at_first, at_second), **fields)


def read_attachment(value: Value | None, frame: str, context: Context) -> None:
    """The `mate` of a frame or a sensor, which gives its pose: {lock: SYSTEM/CONNECTOR}."""
    if value is None or not frame:
        return
    keys = attachment_keys()
    table = value.table(keys)
    found = _kind(table, keys)
    if found is None:
        return
    mate, target = found
    own = table.get("connector")
    connector = MateConnector("connector") if own is None else read_connector("connector", own)
    errors = len(value.report.errors)
    reference = target.text()
    values = _values(table, mate)
    if connector is not None and len(value.report.errors) == errors:
        both = (reference, f"{frame}/{connector.name}")
        places = (target.place, connector.place)
        said = Mate("mate", mate.name, both, values, place=value.place, connector_places=places)
        context.add(Attachment(frame, connector, said, value.place))


def _kind(table: Table, keys: tuple[str, ...]) -> tuple[MateType, Value] | None:
    """The one type of mate that a mapping names, and what stands under it; None with the fault recorded."""
    given = [kind for kind in MATES if kind in keys and kind in table]
    if len(given) == 1:
        value = table.get(given[0])
        assert value is not None
        return MATES[given[0]], value
    if isinstance(table.value.node, Mapping):
        found = f"found {' and '.join(given)}" if given else "found none"
        table.value.error(f"one mate is needed ({', '.join(k for k in MATES if k in keys)}), {found}")
    return None


def _values(table: Table, mate: MateType) -> tuple[float | None, ...] | None:
    """The initial values that are given; one that the type has not is a fault."""
    values: list[float | None] = []
    for key in value_names():
        value = table.get(key)
        if value is not None and key not in mate.values:
            allowed = f"it has {', '.join(mate.values)}" if mate.values else "it has no initial values"
            value.error(f"a {mate.name} mate has no {key}; {allowed}")
    for key in mate.values:
        value = table.get(key)
        values.append(None if value is None else value.number(-MAX_DISTANCE, MAX_DISTANCE))
    return tuple(values) if any(value is not None for value in values) else None


def _per_value(value: Value | None, mate: MateType) -> tuple[float, ...] | None:
    """One number where a mate has one value, a list of them where it has more."""
    if value is None:
        return None
    if not mate.values:
        value.error(f"a {mate.name} mate has no initial values")
        return None
    if len(mate.values) == 1 and isinstance(value.node, Scalar):
        return (value.number(),)
    numbers = value.vector(len(mate.values))
    return None if numbers is None else tuple(numbers)
