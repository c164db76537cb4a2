"""Effects that last for some time in a run, such as a gust or a failure. To add a kind, register it with `effect`.

An effect is applied before every step of its duration, so that it needs no state except its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sim_node.registry import Registry
from sim_node.simulation import Simulation


@dataclass(frozen=True)
class Lasting:
    """An effect in force.

    Attributes:
        kind: Its entry in EFFECTS.
        of: Its target. A second effect of the same kind on the same target replaces it.
        since: The step at which it began.
        until: The step at which it ends; None for never.
        arguments: Numbers, strings, and lists of them, by name.
    """

    kind: str
    of: str
    since: int
    until: int | None
    arguments: Mapping[str, Any]


class Effect:
    """A kind of effect. By default it does nothing itself, like an alteration of a sensor."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Apply it to the next step. Called before each step; raises ValueError or KeyError if it cannot be applied."""

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Undo the changes of `apply`."""


EFFECTS: Registry[str, Effect] = Registry(
    "effect",
    shipped=(
        *(f"sim_node.extensions.scenario.actions.{name}" for name in ("sensors", "air", "actuators", "bodies")),
        "sim_node.extensions.scenario.ground_station",
        "sim_node.extensions.scenario.actions.vehicles",
    ),
    group="sim_node.effects",
)


def effect(*kinds: str) -> Any:
    """Return a decorator that registers a class of effects under one or more names."""

    def enter(made: type[Effect]) -> type[Effect]:
        EFFECTS.add(*kinds, module=made.__module__)(made())
        return made

    return enter
