"""The key paths of all numbers of a world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

from sim_node.world import World
from sim_node.world.problems import shown_key
from sim_node.world.values import Number
from sim_node.world.writers.yaml import Sections


def numbers_of(world: World) -> dict[str, Number]:
    """Every number of a world by its key path."""
    return {path: number for key, value in Sections.of(world).data.items() for path, number in _numbers(key, value)}


def _numbers(at: str, value: Any) -> Iterator[tuple[str, Number]]:
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _numbers(f"{at}[{key}]" if "." in key else f"{at}.{shown_key(key)}", each)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _numbers(f"{at}[{index}]", each)
    elif isinstance(value, Real | Decimal) and not isinstance(value, bool):
        yield at, value  # type: ignore[misc]
