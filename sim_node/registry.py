"""One entry per name: what registers readers, sections, engines and sensors, and refuses a name given twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def registering(table: dict[str, Any], noun: str, *names: str) -> Callable[[T], T]:
    """A decorator that enters what it decorates in `table` under `names`.

    It raises ValueError for a name that is there already, and names the modules of both.
    """

    def register(entry: T) -> T:
        for name in names:
            if name in table:
                raise ValueError(f"{noun} {name!r}: both {table[name].__module__} and {entry.__module__}")
            table[name] = entry
        return entry

    return register
