"""Signals of predefined expectations: landed, touching, finite, present, and the age of measurements."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.extensions.scenario.formula_error import FormulaError
from sim_node.extensions.scenario.signals import Probe, SignalReading, pose_source, signal_kind, twist_source
from sim_node.extensions.scenario.zones import Zone
from sim_node.simulation.columns import Array
from sim_node.simulation.run_view import RunView
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean

# Time between two checks, as a fraction of the shortest contact time constant, about the shortest contact duration.
LOOK_SHARE = 0.5
_NONE = np.empty((0, 2), dtype=np.int32)


class ContactObserver:
    """Periodically checks which bodies MuJoCo found in contact, for all probes of a run.

    MuJoCo finds contacts at the beginning of a timestep, so one is seen a timestep later than it begins.

    Args:
        run: The run.
    """

    def __init__(self, run: Any) -> None:
        self._engine = run.engines["rigid_bodies"]
        self._data, self._owners = self._engine.data, self._engine.model.geom_bodyid
        self._probes: list[ContactProbe] = []
        self._last: tuple[bytes, list[bool]] = b"", []
        self._pairs = _NONE
        self._every = looks_every(self._engine.model)

    def add(self, probe: ContactProbe) -> None:
        """Start reporting contacts to a probe."""
        self._probes.append(probe)
        self._engine.observe_timesteps(_NAME, self._look, self._every)

    def remove(self, probe: ContactProbe) -> None:
        """Stop reporting contacts to a probe."""
        self._probes = [each for each in self._probes if each is not probe]
        if not self._probes:
            self._engine.observe_timesteps(_NAME, None)

    def pairs(self) -> npt.NDArray[np.int32]:
        """Return the pairs (K, 2) of bodies that are in contact now."""
        if not self._data.ncon:
            return _NONE
        contact = self._data.contact
        # For a few contacts, plain floats are faster than numpy.
        shapes, apart = contact.geom, [distance > 0.0 for distance in contact.dist.tolist()]
        # Bodies at rest have the same contacts in every timestep, so the result is cached.
        key = shapes.tobytes(), apart
        if key != self._last:
            self._last, self._pairs = key, self._owners[shapes[np.logical_not(apart)]]
        return self._pairs

    def _look(self, timestep: int) -> None:
        if self._data.ncon:
            pairs = self.pairs()
            for probe in self._probes:
                probe.see(pairs)


_NAME = "contacts of scenarios"
# The observer of each run, with the columns of its current generation.
_OBSERVERS: weakref.WeakKeyDictionary[Any, tuple[Any, ContactObserver]] = weakref.WeakKeyDictionary()


def observer_of(run: Any) -> ContactObserver:
    """Return the contact observer of a run for its current world."""
    found = _OBSERVERS.get(run)
    if found is None or found[0] is not run.columns:
        found = _OBSERVERS[run] = run.columns, ContactObserver(run)
    return found[1]


def looks_every(model: Any) -> int:
    """Return the number of timesteps between two checks with which every contact of a model is seen.

    MuJoCo's contact springs separate bodies within about their time constant, 0.02 s by default, and never within less
    than two timesteps. For solref with negative stiffness and damping, the time constant is 2 / damping.
    """
    solref = np.concatenate([model.geom_solref, model.pair_solref])
    first, second = solref[:, 0], solref[:, 1]
    constants = np.where(first > 0.0, first, 2.0 / np.maximum(-second, 1e-9))
    return max(1, int(LOOK_SHARE * constants.min(initial=np.inf) / model.opt.timestep + 1e-9))


class ContactProbe(Probe):
    """Whether some bodies have touched others since the last sample.

    Args:
        run: The run.
        bodies: The MuJoCo ids of the bodies.
        others: The bodies with which contacts count; None for all other bodies.
        but: Bodies with which contacts do not count.

    Attributes:
        touched: Whether there was a contact.
    """

    within = True

    def __init__(
        self, run: Any, bodies: Sequence[int], others: Sequence[int] | None = None, but: Sequence[int] = ()
    ) -> None:
        self._one, self._other = (np.zeros(run.engines["rigid_bodies"].model.nbody, dtype=bool) for _ in range(2))
        self._one[list(bodies)] = True
        self._other[...] = ~self._one if others is None else False
        self._other[list(others or ())], self._other[list(but)] = True, False
        self.touched, self._seen, self._touches = False, _NONE, False
        self._observer, self._data = observer_of(run), run.engines["rigid_bodies"].data
        self._observer.add(self)

    def see(self, pairs: npt.NDArray[np.int32]) -> None:
        """Receive the pairs (K, 2) of bodies in contact."""
        if self.touched or not len(pairs):
            return
        if pairs is not self._seen:
            first, second = pairs[:, 0], pairs[:, 1]
            found = (self._one[first] & self._other[second]) | (self._one[second] & self._other[first])
            self._seen, self._touches = pairs, bool(found.any())
        self.touched = self._touches

    def sample(self) -> float:
        """Return whether there was a contact since the last call, or is one now."""
        if self._data.ncon:  # most samples of a flight have no contact
            self.see(self._observer.pairs())
        touched, self.touched = self.touched, False
        return touched

    def reset(self) -> None:
        """Discard the contacts so far."""
        self.touched = False

    def close(self) -> None:
        """Stop observing."""
        self._observer.remove(self)


@signal_kind(
    "touching(BODY, BODY)", "whether two bodies touch; with one, whether it touches anything", "", most=2, truth=True
)
def touching(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of contacts of bodies, or of all bodies of vehicles, bases and models."""
    return SignalReading((ContactProbe(run, *(bodies_of(run, name) for name in names)),))


def bodies_of(run: RunView, name: str) -> list[int]:
    """Return the MuJoCo ids of a body, or of all bodies of a vehicle, a base or a model.

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


# Maximum speed of a landed body, m/s: half of the slowest descent of the shipped pilots.
STANDS = 0.1


@signal_kind("landed(FRAME)", f"whether it touches something and is slower than {STANDS} m/s", "", truth=True)
def landed(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of whether a vehicle or body stands on something."""
    probe = ContactProbe(run, bodies_of(run, names[0]))
    source, twist = twist_source(run, names[0])

    def compute(touched: Array, rows: Array) -> FloatArray:
        stands = np.linalg.norm(twist(rows)[:, :3], axis=1) < STANDS
        return np.asarray((touched != 0.0) & stands, dtype=float)

    return SignalReading((probe, source), compute)


@signal_kind("colliding(BODY, BODY...)", "whether a body touches anything but the others", "", most=50, truth=True)
def colliding(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of contacts of a body with all but some others."""
    first, *others = (bodies_of(run, name) for name in names)
    return SignalReading((ContactProbe(run, first, but=[each for some in others for each in some]),))


@signal_kind("present(FRAME)", "whether a frame is in the tree, with a pose", "", truth=True, gone=0.0)
def present(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of whether a frame has a finite pose in the fixed frame."""
    source, _ = pose_source(run, names[0])
    return SignalReading((source,), _finite)


@signal_kind("finite()", "whether all poses and velocities are finite numbers", "", least=0, most=0, truth=True)
def finite(run: RunView, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of whether poses and velocities are free of NaN and infinity."""
    found = [name for name in ("qpos", "qvel") if name in run.columns] or ["pose"]
    every = [(name, tuple(range(len(run.columns[name])))) for name in found]

    return SignalReading(tuple(every), _finite)


def _finite(*columns: Array) -> FloatArray:
    """Return a mask (T,) of the samples at which all columns (T, rows, ...) are finite."""
    each = [np.isfinite(rows.reshape(len(rows), -1)).all(axis=1) for rows in columns]
    return np.asarray(np.all(each, axis=0), dtype=float)


class AgeProbe(Probe):
    """The time since the last sample at which a sensor had published; before the first, since the start of the run.

    Measurements before the creation of the probe are not seen, so reset a run that has already started.
    """

    def __init__(self, run: Any, sensor: str) -> None:
        self._run, self._subscription = run, run.subscribe(sensor)
        self._newest_ns = run.time_ns

    def sample(self) -> float:
        """Return the age at the current step, s."""
        now = self._run.time_ns
        if self._subscription.latest(self._run.steps) is not None or now < self._newest_ns:
            self._newest_ns = now
        return float((now - self._newest_ns) * 1e-9)

    def reset(self) -> None:
        """Restart from the start of the run."""
        self._newest_ns = self._run.time_ns


@signal_kind("age(SENSOR)", "time since it published last, as of the samples", "s", sensors=True)
def age(run: Any, names: Sequence[str], zones: Mapping[str, Zone]) -> SignalReading:
    """Return the reading of the time since a sensor published."""
    if names[0] not in run.sensors:
        raise FormulaError(f"no sensor {names[0]!r}{did_you_mean(names[0], run.sensors)}")
    return SignalReading((AgeProbe(run, names[0]),))
