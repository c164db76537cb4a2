"""Free parameters: a mapping as plain values, for a room that knows their names, with the place of each."""

from __future__ import annotations

import math
from typing import Any

from sim_node.world.problems import KeyPlace, shown_key
from sim_node.world.readers.numbers import NON_FINITE, as_number
from sim_node.world.readers.yaml_nodes import Mapping, Node, Scalar
from sim_node.world.readers.yaml_values import FALSE, NULL, TRUE, Value


def read_parameters(value: Value, but: tuple[str, ...] = ()) -> tuple[dict[str, Any], dict[str, KeyPlace]]:
    """What a mapping holds, and where, by key path; keys in `but` are left out.

    Plain scalars become numbers, booleans and None where they are spelt so, texts otherwise.
    """
    places: dict[str, KeyPlace] = {}
    if not isinstance(value.node, Mapping):
        return {}, places
    return _mapping(value, value.node, "", places, but), places


def _mapping(
    value: Value, node: Mapping, prefix: str, places: dict[str, KeyPlace], but: tuple[str, ...] = ()
) -> dict[str, Any]:
    values = {}
    for name, (key, entry) in node.entries.items():
        if name not in but:
            at = Value(entry, value.report, shown_key(name), value)
            places[prefix + name] = KeyPlace(Value(key, value.report, shown_key(name), value).place, at.place)
            values[name] = (
                _mapping(at, entry, f"{prefix}{name}.", places) if isinstance(entry, Mapping) else _plain(entry)
            )
    return values


def _plain(node: Node) -> Any:
    if isinstance(node, Scalar):
        return _scalar(node)
    if isinstance(node, Mapping):
        return {name: _plain(entry) for name, (_, entry) in node.entries.items()}
    return [_plain(item) for item in node.items]


def _scalar(node: Scalar) -> Any:
    if not node.plain:
        return node.text
    if node.text in TRUE or node.text in FALSE:
        return node.text in TRUE
    if node.text in NULL:
        return None
    if node.text.lower() in NON_FINITE:
        return float(node.text.replace(".", ""))
    number = as_number(node.text)
    return node.text if math.isnan(number) else number
