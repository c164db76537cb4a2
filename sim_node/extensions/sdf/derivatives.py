"""Derivatives by name, for forces on aircraft and on bodies in water."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from sim_node.text import did_you_mean
from sim_node.world.declared import Fault
from sim_node.world.problems import quoted
from sim_node.world.quantities import Other
from sim_node.world.readers.keys import Form, Keys, number
from sim_node.world.readers.yaml_values import Value


def derivatives_of(names: Sequence[str], about: str) -> Other:
    """Return the type of a field that holds numbers by some of these names. `about` describes each number."""

    def form(of_all: str) -> Form:
        return Keys({name: number(about) for name in names}, about=of_all)

    def faults(found: Mapping[str, float]) -> Iterator[Fault]:
        for name, value in found.items():
            if name not in names:
                yield name, f"no derivative {quoted(name)}{did_you_mean(name, names)}"
            elif not np.isfinite(value):
                yield name, f"{value:g} is not finite"

    return Other(form, _read, faults)


def _read(value: Value) -> dict[str, float]:
    return {name: each.number() for name, key, each in value.named()}
