"""How bodies of a World are simulated: the setting `physics`, and whether its timestep suits the world."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_MASS
from sim_node.world.declared import Fault, declared, faults, given, place_of, places_of, rule
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted
from sim_node.world.quantities import Flag, Number, Plain, Time, Vector, Whole, Word
from sim_node.world.readers.keys import Form, Keys, flag
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.surfaces import CONES, FLAGS, SOLVERS, largest_timestep

# Engines that can simulate rigid bodies.
ENGINES = ("mujoco",)
INTEGRATORS = ("rk4", "implicitfast", "implicit", "euler")
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
MIN_TIMESTEP_NS, MAX_TIMESTEP_NS = 1_000, 1_000_000
MAX_GRAVITY = 1e4  # m/s^2
MAX_SUBSTEPS = 10_000
_MASS = Number(0.0, MAX_MASS)
FLAG_KEYS = Keys({name: flag(f"MuJoCo's {name}.") for name in FLAGS}, about="Parts of MuJoCo's pipeline, on or off.")


class Flags(Plain):
    """Flags: whether parts of MuJoCo's pipeline are on, by name."""

    def form(self, about: str) -> Form:
        """Return the form of a mapping of flags."""
        return FLAG_KEYS

    def read(self, value: Value, context: Any) -> dict[str, bool]:
        """Read a mapping of flags."""
        table = value.table(FLAG_KEYS)
        return {name: Flag().read(each, context) for name in FLAGS if (each := table.get(name)) is not None}

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield flags that do not exist in MuJoCo."""
        for name in found:
            if name not in FLAGS:
                yield "", f"no flag {quoted(name)}; allowed: {', '.join(FLAGS)}{did_you_mean(name, FLAGS)}"


@declared
class Physics:
    """How bodies are simulated.

    Without a timestep, the world's step is divided into equal parts of at most 1 ms. Without a cone it is elliptic,
    with impratio 10, where a shape gives friction or restitution, else pyramidal with impratio 1.

    Raises:
        ValueError: `gravity` has the wrong shape.
    """

    timestep_ns: int | None = given(Time(MIN_TIMESTEP_NS), "Timestep", "s", default=None, key="timestep")
    integrator: str = given(Word(INTEGRATORS), "How their motion is integrated", default="rk4")
    gravity: FloatArray = given(Vector(3, MAX_GRAVITY), "Gravity in the fixed frame", "m/s^2", default=STANDARD_GRAVITY)
    contact: bool = given(Flag(), "Whether shapes make contact", default=True)
    armature: float = given(_MASS, "Inertia added to every degree of freedom", "kg or kg m^2", default=0.0)
    engine: str = given(Word(ENGINES), "What simulates bodies", default="mujoco")
    cone: str | None = given(Word(CONES), "Shape of friction cones", default=None)
    impratio: float | None = given(Number(1e-3, 1e6), "Frictional over normal constraint impedance", default=None)
    # If not given, MuJoCo's defaults: newton and 100.
    solver: str | None = given(Word(SOLVERS), "What solves the constraints of contacts", default=None)
    iterations: int | None = given(Whole(1, 100_000), "Maximum number of iterations of the solver", default=None)
    threads: int = given(Whole(1, 1024), "Maximum number of threads that step a fleet", default=1)
    # If not given, MuJoCo's defaults.
    flags: Mapping[str, bool] = given(Flags(), "Parts of MuJoCo's pipeline, on or off", default_factory=dict, omit=True)
    # Set by an MJCF file that is run by itself.
    options: Mapping[str, Any] = given(None, "Further options of MuJoCo by its names", default_factory=dict)
    place: Place = place_of(default=NO_PLACE)
    places: Mapping[str, Place] = places_of()

    @rule
    def sleeps_with_its_integrator(self) -> Iterator[Fault]:
        """Yield a fault if bodies cannot sleep with the integrator."""
        if self.flags.get("sleep") and self.integrator == "rk4":
            yield "flags.sleep", "bodies do not sleep with the integrator rk4; allowed: implicitfast, implicit, euler"

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Set the location of faults of the timestep: that of its own value, or else that of the mapping."""
        timestep = table.get("timestep")
        found["place"] = Place((timestep or table.value).where, table.value.path)

    def substeps(self, step_ns: int) -> int:
        """Return the number of timesteps in a step of the world.

        Args:
            step_ns: The world's step (ns).

        Returns:
            The number, rounded down.
        """
        return step_ns // self.timestep_ns if self.timestep_ns else -(-step_ns // MAX_TIMESTEP_NS)


def physics_problems(physics: Physics, step_ns: int, source: str) -> Iterator[Problem]:
    """Yield the problems of the physics of a world with a given step, ns, read from the file `source`."""
    place = physics.place if physics.place != NO_PLACE else Place(Where(source), "physics")

    def problem(key: str, message: str) -> Problem:
        return Problem(place.where, f"{place.key}.{key}", message)

    yield from (problem(key, message) for key, message in faults(replace(physics, timestep_ns=None)))
    timestep_ns = physics.timestep_ns
    if timestep_ns is not None:
        if not MIN_TIMESTEP_NS <= timestep_ns <= step_ns:
            allowed = f"{MIN_TIMESTEP_NS / 1e9:g} to the world's step, {step_ns / 1e9:.10g}"
            yield problem("timestep", f"{timestep_ns / 1e9:.10g} s is out of range; allowed: {allowed} s")
            return
        if step_ns % timestep_ns:
            near = step_ns / round(step_ns / timestep_ns) / 1e9
            message = f"the world's step of {step_ns / 1e9:.10g} s is not a multiple of {timestep_ns / 1e9:.10g} s"
            yield problem("timestep", f"{message}; did you mean {near:.10g}?")
            return
    if physics.substeps(step_ns) > MAX_SUBSTEPS:
        message = f"the world's step takes {physics.substeps(step_ns)} timesteps; allowed: up to {MAX_SUBSTEPS}"
        yield problem("timestep", message)


def timestep_fault(physics: Physics, step_ns: int, restitution: float | None, contact_time: float) -> str:
    """Return a message if the timestep is too large for a restitution, with the largest one that works; else empty.

    Args:
        physics: The physics of the world.
        step_ns: Its step, ns.
        restitution: Coefficient of restitution, or None.
        contact_time: Duration of a bounce, s.
    """
    substeps = physics.substeps(step_ns)
    if restitution is None or not contact_time > 0.0 or substeps < 1 or not physics.contact:
        return ""
    largest_ns = 1e9 * largest_timestep(restitution, contact_time, physics.integrator)
    if step_ns / substeps <= largest_ns * (1.0 + 1e-9):
        return ""
    least = math.ceil(step_ns / largest_ns)
    parts = next((n for n in range(least, 100 * least) if step_ns % n == 0), least)
    return (
        f"{restitution:g} needs timesteps of at most {largest_ns / 1e9:.3g} s with {physics.integrator}, found "
        f"{step_ns / substeps / 1e9:.3g} s; the largest that divides the world's step is "
        f"physics.timestep: {step_ns // parts / 1e9:.10g}"
    )
