"""Connectors and mates in world files: those of systems, and the `mate` of a frame or a sensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import BAD, keys_of, read
from sim_node.world.joint_fields import Limits, read_limits
from sim_node.world.joint_motion import Stop
from sim_node.world.joints import JOINTS
from sim_node.world.mate_types import MATES, MateType
from sim_node.world.readers.keys import Form, Keys, either, flag, listing, number, text, vector
from sim_node.world.readers.yaml_nodes import Mapping, Scalar, Sequence
from sim_node.world.readers.yaml_section import Context
from sim_node.world.readers.yaml_values import Table, Value, boolean
from sim_node.world.systems import Attachment, Mate, MateConnector, RedirectedMateConnector, axes_fault

CONNECTOR_KEYS = Keys(
    {
        "position": vector("Position in the body or system, m.", 3, MAX_DISTANCE),
        "main_axis": vector("The axis that mates align.", 3),
        "normal": vector("An axis across the main axis.", 3),
        "body": text("The body that the connector stands for."),
        "adaptive": flag("Whether it moves to where its mate is met, after the other mates have placed the bodies."),
    },
    about="A point and axes that a mate connects.",
    define="connector",
)
_PER_VALUE = either("", number(""), listing("", number("")))


def value_names() -> tuple[str, ...]:
    """Return the names of initial values of all types of mates."""
    return tuple(dict.fromkeys(name for mate in MATES.values() for name in mate.values))


def _initial_values() -> dict[str, Form]:
    about = "Initial value of the free motion, m or rad."
    return {name: number(about, -MAX_DISTANCE, MAX_DISTANCE) for name in value_names()}


def mate_keys() -> Keys:
    """Return the keys of a mate between two connectors."""
    ends = listing("Two connectors.", text(""), 2, 2)
    return Keys(
        {
            **dict.fromkeys(MATES, ends),
            **_initial_values(),
            "near": {**_PER_VALUE, "description": "The initial values that a solution is to be near."},
            "speed": {**_PER_VALUE, "description": "Initial speeds of the free motions, m/s or rad/s."},
            "damping": number("Damping of the free motions, N s/m or N m s/rad.", 0.0),
            "limits": Limits().form("[low, high], m or rad, or one for each free motion."),
            "stop": keys_of(Stop),
            "friction_loss": {**_PER_VALUE, "description": "Dry friction of the free motions, N or N m."},
            "enabled": flag("Whether it is there."),
            "snap": flag("Whether it moves parts when the world is assembled."),
            "target": number("The distance that a distance mate takes in motion, m.", 0.0, MAX_DISTANCE),
            "name": text("The name of the mate."),
        },
        exactly_one=(tuple(MATES),),
        about="What connects two connectors.",
        define="mate",
    )


def attachment_keys() -> Keys:
    """Return the keys of the mate of a frame. A distance mate cannot determine a pose."""
    kinds = tuple(kind for kind in MATES if not MATES[kind].distance)
    return Keys(
        {
            **dict.fromkeys(kinds, text("The connector it is mounted on: SYSTEM/CONNECTOR.")),
            **_initial_values(),
            "connector": CONNECTOR_KEYS,
        },
        exactly_one=(kinds,),
        about="The connector that a frame is mounted on, instead of a pose.",
        define="attachment",
    )


def read_connector(name: str, value: Value) -> MateConnector | None:
    """Read a connector. Return None with the fault recorded."""
    errors = len(value.report.errors)
    if "/" in name:
        value.error(f"the name {name!r} has a slash, which is not allowed for connectors")
    table = value.table(CONNECTOR_KEYS)
    position, axis, normal, body = (table.get(key) for key in ("position", "main_axis", "normal", "body"))
    at = None if position is None else position.vector(3, limit=MAX_DISTANCE)
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
        "adaptive": boolean(table, "adaptive", default=False),
    }
    return MateConnector(name, **vectors) if body is None else RedirectedMateConnector(name, **vectors, body=reference)


def read_mate(entry: Value, index: int) -> Mate | None:
    """Read the mate at an index of a system's list. Return None with the fault recorded."""
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
        **_motion(table, mate),
        "enabled": boolean(table, "enabled", default=True),
        "snap": boolean(table, "snap", default=True),
        "target": _target(table, mate),
    }
    called = f"mates[{index}]" if name is None else name.text()
    if len(entry.report.errors) > errors:
        return None
    (first, at_first), (second, at_second) = ends
    return Mate(called, mate.name, (first, second), place=entry.place, connector_places=(at_first, at_second), **fields)


def _motion(table: Table, mate: MateType) -> dict[str, Any]:
    """Read limits, stop and friction, which only mates with a value for each free motion have."""
    limits, stop, friction = (table.get(key) for key in ("limits", "stop", "friction_loss"))
    if mate.distance or len(mate.values) != len(mate.parts) or not mate.parts:
        for each in (limits, stop, friction):
            if each is not None:
                each.error(f"a {mate.name} mate has neither limits nor friction")
        return {}
    pairs = None if limits is None else read_limits(limits, JOINTS[mate.joint])
    if stop is not None and limits is None:
        stop.error("a mate without limits has no stops; give it limits: [low, high]")
    losses = _per_value(friction, mate)
    if friction is not None and losses is not None and min(losses) < 0.0:
        friction.error(f"{list(losses)} must be zero or more")
    return {
        "limits": None if pairs is None or pairs is BAD else tuple((low, high) for low, high in pairs.tolist()),
        "stop": None if stop is None else read(Stop, stop),
        "friction_loss": losses,
    }


def read_attachment(value: Value | None, frame: str, context: Context) -> None:
    """Read the `mate` of a frame or a sensor, which determines its pose: {lock: SYSTEM/CONNECTOR}."""
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
        attached = Mate("mate", mate.name, both, values, place=value.place, connector_places=places)
        context.add(Attachment(frame, connector, attached, value.place))


def _kind(table: Table, keys: Keys) -> tuple[MateType, Value] | None:
    """Return the type of mate that a mapping gives, and the value under it. Return None with the fault recorded."""
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
    """Read the initial values that are given. Names that the type does not have are faults."""
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


def _target(table: Table, mate: MateType) -> float | None:
    """Read the distance that a mate takes in motion; None if none is given."""
    target = table.get("target")
    if target is None:
        return None
    if not mate.distance:
        target.error(f"a {mate.name} mate has no target; an actuator can move it")
        return None
    return target.number(0.0, MAX_DISTANCE)


def _per_value(value: Value | None, mate: MateType) -> tuple[float, ...] | None:
    """Read one number if a mate has one value, else a list."""
    if value is None:
        return None
    if not mate.values:
        value.error(f"a {mate.name} mate has no initial values")
        return None
    if len(mate.values) == 1 and isinstance(value.node, Scalar):
        return (value.number(),)
    numbers = value.vector(len(mate.values))
    return None if numbers is None else tuple(numbers)
