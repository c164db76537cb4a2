"""Numbers that are written into a compiled model, so that worlds with the same structure are compiled once.

These numbers are found by experiment: a number is written in place if compiling the world with other values of it
changes only copies of the number and quantities that MuJoCo derives from them in mj_setConst.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.simulation import Simulation
from sim_node.world import World, WorldError

# Sections whose numbers only the rigid-body engine and its force elements read; there must be no force elements.
SECTIONS = ("bodies", "actuators", "joints", "ground")
# Arrays of the initial state, besides those of the model.
STATE = ("qpos", "qvel", "ctrl", "act")
_PLACES = ("links", "mounts", "carriers", "offsets", "solids")
Arrays = Mapping[str, npt.NDArray[Any]]
# Array, flat index and sign: for example, actuators also have the negated stiffness.
Slot = tuple[str, int, int]


@dataclass(frozen=True)
class InPlace:
    """The locations of the numbers of some paths in a compiled model.

    Attributes:
        slots: For each path, the array, the flat index and the sign of each copy of its number.
        derives: Whether mj_setConst must be called afterwards.
        masses: For each path that is the mass of a shape, its body and the index of the shape among the body's.
    """

    slots: Mapping[str, tuple[Slot, ...]]
    derives: bool
    masses: Mapping[str, tuple[str, int]] = field(default_factory=dict)


class Writer:
    """Writes the numbers of cases into a simulation.

    Args:
        simulation: A simulation of the world without sensors.
        where: Where the numbers are in its model.
    """

    def __init__(self, simulation: Simulation, where: InPlace) -> None:
        import mujoco

        engine: Any = simulation.engines["rigid_bodies"]
        arrays = _arrays(engine)
        self._model, self._derives = engine.model, where.derives
        # Scratch data for mj_setConst, which computes at the reference positions.
        self._scratch = mujoco.MjData(self._model)
        self._reset, self._set_const = mujoco.mj_resetData, mujoco.mj_setConst
        flat = {name: arrays[name].reshape(-1) for slots in where.slots.values() for name, _, _ in slots}
        self._targets = [
            (path, [(flat[name], at, sign) for name, at, sign in slots]) for path, slots in where.slots.items()
        ]
        names = dict.fromkeys(body for body, _ in where.masses.values())
        self._shaped = {name: _Shaped(engine.compiled.spec, self._model, name) for name in names}
        self._masses = where.masses
        self._weighs = bool(where.masses) or any(name == "model.body_mass" for name in flat)
        # MuJoCo's compiler computes statistics before `compile_model` sets the armature of joints.
        self._armature = engine.compiled.spec.compile().dof_armature if self._weighs else None

    def write(self, values: Mapping[str, float]) -> None:
        """Write numbers. They apply from the next reset on.

        Args:
            values: A number for each path.
        """
        for path, targets in self._targets:
            value = values[path]
            for array, at, sign in targets:
                array[at] = value if sign > 0 else -value
        for path, (body, index) in self._masses.items():
            self._shaped[body].geoms[index].mass = values[path]
        for shaped in self._shaped.values():
            shaped.write()
        if self._weighs:
            self._write_statistics()
        if self._derives:
            self._derive()

    def _derive(self) -> None:
        self._reset(self._model, self._scratch)
        self._set_const(self._model, self._scratch)

    def _write_statistics(self) -> None:
        """Write the mean mass and inertia, with which the solver scales its tolerance, like MuJoCo's compiler."""
        model = self._model
        present = model.dof_armature.copy()
        model.dof_armature[:] = self._armature
        self._derive()
        model.stat.meaninertia = max(_MIN, sum(model.dof_M0.tolist()) / max(model.nv, 1))
        model.stat.meanmass = max(_MIN, sum(model.body_mass.tolist()) / max(model.nbody - 1, 1))
        model.dof_armature[:] = present


class _Shaped:
    """A body whose mass and inertia follow from its shapes; MuJoCo's compiler computes them for this body alone."""

    def __init__(self, spec: Any, model: Any, name: str) -> None:
        import mujoco

        self._spec = mujoco.MjSpec()
        body = self._spec.worldbody.add_body()
        self.geoms = [
            body.add_geom(type=geom.type, size=geom.size, pos=geom.pos, quat=geom.quat, mass=geom.mass)
            for geom in spec.body(name).geoms
        ]
        row = model.body(name).id
        self._targets = [(part, getattr(model, part)[row : row + 1]) for part in _INERTIAL]

    def write(self) -> None:
        model = self._spec.compile()
        for part, target in self._targets:
            target[:] = getattr(model, part)[1]


# mjMINVAL
_MIN = 1e-15
_INERTIAL = ("body_mass", "body_inertia", "body_ipos", "body_iquat")


def find_in_place(world: World, samples: Mapping[str, Sequence[float]]) -> InPlace | None:
    """Find where numbers of a world are in its compiled model.

    The world is compiled for several values of each path. The result is compared, bit for bit, with models that are
    compiled for the values of all paths together.

    Args:
        world: The world.
        samples: For each path, some of the values to be written, including the smallest and the largest.

    Returns:
        Their locations; None if any of them has an effect that cannot be written in place, so that the world must be
        compiled for each case.
    """
    if not samples or any(path.partition("[")[0].partition(".")[0] not in SECTIONS for path in samples):
        return None
    simulation = Simulation(world, sensors=False)
    if not _is_plain(simulation):
        return None
    base = _arrays(simulation.engines["rigid_bodies"])
    slots: dict[str, tuple[Slot, ...]] = {}
    masses: dict[str, tuple[str, int]] = {}
    for path, values in samples.items():
        if (shape := _shape_of(world, path, values)) is not None:
            masses[path] = shape
        elif found := _slots(world, base, path, values):
            slots[path] = found
        else:
            return None
    each = [(name, at) for found in slots.values() for name, at, _ in found]
    if len(set(each)) < len(each):
        return None
    for derives in (True,) if masses else (False, True):
        where = InPlace(slots, derives, masses)
        if all(_agrees(world, where, values) for values in _together(samples)):
            return where
    return None


def same_model(one: Simulation, other: Simulation) -> bool:
    """Return whether two simulations have the same compiled model and initial state, bit for bit."""
    engines: list[Any] = [each.engines["rigid_bodies"] for each in (one, other)]
    first, second = map(_arrays, engines)
    return (
        first.keys() == second.keys()
        and all(_same(first[name], second[name]) for name in first)
        and all(_same(getattr(engines[0].compiled, name), getattr(engines[1].compiled, name)) for name in _PLACES)
        and bool(np.array_equal(one.frames.parents, other.frames.parents))
        and one.frames.names == other.frames.names
        and _poses(one) == _poses(other)
    )


def _is_plain(simulation: Simulation) -> bool:
    """Return whether MuJoCo's model and keyframes alone determine the motion of a world."""
    engine: Any = simulation.engines.get("rigid_bodies")
    plain = set(simulation.engines) <= {"rigid_bodies", "keyframes"}
    return engine is not None and plain and not engine.forced and not simulation.world.vehicles


def _slots(world: World, base: Arrays, path: str, values: Sequence[float]) -> tuple[Slot, ...]:
    """Return the array elements that follow the value of a path."""
    least, largest = float(min(values)), float(max(values))
    # Values that no other element is likely to have.
    probes = [least + (largest - least) * part for part in (0.0, 1.0, 0.381966011, 0.7236067977)]
    candidates: set[Slot] | None = None
    for probe in dict.fromkeys(probes):
        arrays = _arrays(Simulation(world.with_values({path: probe}), sensors=False).engines["rigid_bodies"])
        if arrays.keys() != base.keys() or any(arrays[name].shape != base[name].shape for name in base):
            return ()
        equal = {
            (name, int(at), sign)
            for name, array in arrays.items()
            if array.dtype == np.float64
            for sign in (1, -1)
            for at in np.flatnonzero(array == sign * probe)
        }
        candidates = equal if candidates is None else candidates & equal
    if least == largest:
        return ()  # its copies cannot be distinguished from other numbers
    return tuple(sorted(candidates or ()))


def _shape_of(world: World, path: str, values: Sequence[float]) -> tuple[str, int] | None:
    """Return the body and the index of the shape whose mass a path denotes; None for any other path."""
    if not path.endswith(".mass") or ".geometry[" not in path:
        return None
    import mujoco

    # Find the shape by a mass that no other shape has.
    probe = 0.5123456789 * (min(values) + max(values))
    engine: Any = Simulation(world.with_values({path: probe}), sensors=False).engines["rigid_bodies"]
    found = []
    for body in engine.compiled.spec.bodies:
        if any(geom.type == mujoco.mjtGeom.mjGEOM_MESH for geom in body.geoms) or body.explicitinertial:
            continue
        found += [(body.name, index) for index, geom in enumerate(body.geoms) if geom.mass == probe]
    return found[0] if len(found) == 1 else None


def _together(samples: Mapping[str, Sequence[float]]) -> Iterator[dict[str, float]]:
    """Yield values for all paths: the first of each, the last, the smallest, the largest, and values in between."""
    for choose in (lambda v: v[0], lambda v: v[-1], min, max, lambda v: 0.4 * min(v) + 0.6 * max(v)):
        yield {path: float(choose(values)) for path, values in samples.items()}


def _agrees(world: World, where: InPlace, values: Mapping[str, float]) -> bool:
    import mujoco

    try:
        compiled = Simulation(world.with_values(values), sensors=False)
        written = Simulation(world, sensors=False)
        Writer(written, where).write(values)
    except (WorldError, mujoco.FatalError):  # for example, if a body's inertia is no longer along its axes
        return False
    return _is_plain(compiled) and same_model(compiled, written)


def _arrays(engine: Any) -> dict[str, npt.NDArray[Any]]:
    """Return views of the numeric arrays of a model and of its initial state, by name."""
    import mujoco

    model = engine.model
    arrays: dict[str, npt.NDArray[Any]] = {name: getattr(engine.compiled, name) for name in STATE}
    for name in _names_of(mujoco.MjModel):
        value = getattr(model, name)
        if isinstance(value, np.ndarray):
            arrays[f"model.{name}"] = value
    for group in ("opt", "stat"):
        part = getattr(model, group)
        for name in _names_of(type(part)):
            value = getattr(part, name)
            if isinstance(value, (int, float, np.ndarray)):
                arrays[f"{group}.{name}"] = np.asarray(value)
    return arrays


def _names_of(of: type) -> list[str]:
    return [name for name in dir(of) if not name.startswith("_") and isinstance(getattr(of, name), property)]


def _poses(simulation: Simulation) -> bytes:
    simulation.reset()
    return simulation.present().poses.tobytes()


def _same(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes()
