"""The signal touching(BODY, BODY): whether bodies have touched since the last sample, looked at after each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sim_node.extensions.scenario.formulas import FormulaError
from sim_node.extensions.scenario.signals import Reading, signal_kind
from sim_node.extensions.scenario.zones import Zone
from sim_node.simulation.run_view import RunView
from sim_node.text import did_you_mean


class ContactProbe:
    """Observes at each step which bodies MuJoCo found in contact: a co-simulator.

    MuJoCo finds contacts at the beginning of a timestep, so one is seen a timestep later than it begins.

    Args:
        run: The run.
        bodies: MuJoCo's numbers of the bodies.
        others: Those that they may touch.
    """

    def __init__(self, run: Any, bodies: Sequence[int], others: Sequence[int]) -> None:
        self.rate = Fraction(10**9, run.world.time.step_ns)
        engine = run.engines["rigid_bodies"]
        self._data, self._owners = engine.data, engine.model.geom_bodyid
        self._one, self._other = (np.zeros(engine.model.nbody, dtype=bool) for _ in range(2))
        self._one[list(bodies)], self._other[list(others)] = True, True
        self._touched = False
        run.connect(self)

    def sample(self) -> float:
        """Return 1 if they have touched since this was called last, else 0."""
        touched, self._touched = self._touched or bool(self._data.ncon and self._touching()), False
        return float(touched)

    def send(self, step: int, time_ns: int) -> None:
        """Look at the contacts of a step."""
        if step == 0:
            self._touched = False
        elif not self._touched and self._data.ncon:
            self._touched = self._touching()

    def adapt(self, columns: object) -> bool:
        """Stop: after a change of the world, bodies have other numbers, and another probe takes over."""
        return False

    def receive(self) -> None:
        """Do nothing: there is no answer."""

    def interrupt(self) -> None:
        """Do nothing: nothing waits."""

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _touching(self) -> bool:
        contact = self._data.contact
        bodies = self._owners[contact.geom[contact.dist <= 0.0]]
        first, second = bodies[:, 0], bodies[:, 1]
        one, other = self._one, self._other
        return bool(((one[first] & other[second]) | (one[second] & other[first])).any())


@signal_kind(
    "touching(BODY, BODY)", "whether two bodies touch; with one, whether it touches anything", "", most=2, truth=True
)
def touching(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> Reading:
    """Return how contacts of bodies, or of all bodies of vehicles, bases and models, are read."""
    bodies = bodies_of(run, names[0])
    engine: Any = run.engines["rigid_bodies"]
    others = bodies_of(run, names[1]) if len(names) > 1 else [*set(range(engine.model.nbody)) - set(bodies)]
    probe = ContactProbe(run, bodies, others)
    return Reading((probe,), lambda touched: np.asarray(touched, dtype=float))


def bodies_of(run: RunView, name: str) -> list[int]:
    """Return MuJoCo's numbers of a body, or of all bodies of a vehicle, a base or a model.

    Raises:
        FormulaError: There is none; the message names the nearest.
    """
    engine: Any = run.engines.get("rigid_bodies")
    if engine is None:
        raise FormulaError(f"world {run.world.name!r} has no bodies, which could touch")
    names = [engine.model.body(index).name for index in range(engine.model.nbody)]
    found = [index for index, body in enumerate(names) if body == name or body.startswith(f"{name}/")]
    if not found and name in run.frames.names:
        found = [int(engine.compiled.solids[run.frames.index(name)])]
    if not found:
        raise FormulaError(f"no body {name!r}{did_you_mean(name, names)}")
    return found
