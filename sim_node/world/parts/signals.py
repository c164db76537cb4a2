"""Signals as parts of a world."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sim_node.world.model import World
from sim_node.world.part import Kind, Refer, Rename, part
from sim_node.world.problems import Problem
from sim_node.world.signals import NamedSignal, signal_problems


@part("signals", NamedSignal)
class Signals(Kind[NamedSignal]):
    """Numbers of joints and actuators that are topics."""

    def data(self, part: NamedSignal, refer: Refer) -> dict[str, Any]:
        """Return its fields; `input` only of inputs."""
        data = {"name": part.name, "of": part.of, "quantity": part.quantity}
        return {**data, **({"input": True} if part.input else {})}

    def problems(self, world: World) -> Iterator[Problem]:
        """Return every fault of names and quantities."""
        return signal_problems(world)

    def renamed(self, part: NamedSignal, rename: Rename) -> NamedSignal:
        """Return it of the same joint or actuator."""
        return replace(part, name=rename.under(part.name), of=rename.under(part.of))
