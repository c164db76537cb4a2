"""Effects: what lasts in a run, such as a gust or a failure. A new kind is an entry of EFFECTS.

An effect is applied before every step that it lasts for, so that it needs no state but its arguments.
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
        of: What it is an effect on; a second one of its kind on the same thing replaces it.
        since: The step at which it began.
        until: The step at which it ends; None for never.
        arguments: Numbers and texts by name, and lists of them.
    """

    kind: str
    of: str
    since: int
    until: int | None
    arguments: Mapping[str, Any]


class Effect:
    """A kind of effect. By default it acts by itself as long as it lasts, such as an alteration of a sensor."""

    def apply(self, run: Simulation, lasting: Lasting) -> None:
        """Let it act on the next step. Called before each; raises ValueError or KeyError if it cannot."""

    def end(self, run: Simulation, lasting: Lasting) -> None:
        """Undo what `apply` has left."""


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
