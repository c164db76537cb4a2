"""Loop closures as MuJoCo equality constraints between sites on bodies. A new kind is one `@loop_closure` entry."""

from __future__ import annotations

import math
from collections.abc import Callable

import mujoco
import numpy as np
from mujoco import MjData, MjModel

from sim_node.registry import Registry
from sim_node.simulation.columns import Column, Columns
from sim_node.simulation.physics import loop_kernels as kernels
from sim_node.simulation.physics.compiled import Compiled
from sim_node.simulation.physics.force_elements import force_element
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.layout import Layout
from sim_node.world.loops import LoopClosure
from sim_node.world.model import World
from sim_node.world.problems import Problem, WorldError, quoted

# Distance between the two points on the axis that constrain a hinge, m.
HINGE_LENGTH = 0.1
# Time constant of constraint errors, in timesteps, and impedance: as stiff as MuJoCo allows.
TIMESTEPS, MET = 2.0, 0.9999
# A body whose inverse weight is larger than the other's by more than this factor is a slider.
SLIDER = 1e3
DRIFT = "loop_drift"
# Number of rows of each type of equality constraint that LoopDrift handles. Welds are left out: they hold sliders,
# which have almost no mass and slide without opening them.
_ROWS = {"CONNECT": 3, "TENDON": 1}

Nodes = dict[int, mujoco.MjsBody]
Offsets = dict[int, tuple[int, FloatArray]]
Pair = tuple[mujoco.MjsBody, mujoco.MjsBody]
Adder = Callable[[mujoco.MjSpec, LoopClosure, Pair, FloatArray], None]
LOOP_CLOSURES: Registry[str, Adder] = Registry(
    "loop closure", shipped=("sim_node.simulation.physics.loop_closures",), group="sim_node.loop_closures"
)
# Decorator that registers a function for a kind. Its arguments include the two bodies and the poses (2, 7) of the ends
# in them.
loop_closure = LOOP_CLOSURES.add


def add_loop_closures(spec: mujoco.MjSpec, world: World, layout: Layout, nodes: Nodes, offsets: Offsets) -> None:
    """Add a world's loop closures to its model. Raises WorldError for a kind that is not registered."""
    if world.loop_closures and spec.option.integrator != mujoco.mjtIntegrator.mjINT_RK4:
        # With islands, MuJoCo would solve copies of the rows that LoopDrift writes.
        spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ISLAND
        # Like the implicit integrators, implicit damping sums the forces on sliders again; see integrator_of.
        if has_sliders(world):
            spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    for held in world.loop_closures:
        rows = [layout.frames.index(name) for name in held.frames]
        if any(row not in offsets for row in rows):
            raise _fault(held, f"keyframes carry one of {', '.join(held.frames)}; loop closures are between bodies")
        ends = np.array([poses.compose(offsets[row][1], end) for row, end in zip(rows, held.poses, strict=True)])
        if held.kind not in LOOP_CLOSURES:
            raise _fault(held, f"no loop closure {quoted(held.kind)}; allowed: {', '.join(LOOP_CLOSURES)}")
        LOOP_CLOSURES[held.kind](spec, held, (nodes[offsets[rows[0]][0]], nodes[offsets[rows[1]][0]]), ends)


def _fault(held: LoopClosure, message: str) -> WorldError:
    return WorldError([Problem(held.place.where, held.place.key or held.name, message)])


def has_sliders(world: World) -> bool:
    """Return whether loop closures hold sliders, which have almost no mass; see `assembly.motion`."""
    return any(held.kind == "lock" for held in world.loop_closures)


def set_distances(model: mujoco.MjModel, world: World) -> None:
    """Set the lengths of distance constraints: MuJoCo measures a tendon's length relative to its reference state."""
    for held in world.loop_closures:
        if held.kind == "distance":
            tendon = model.tendon(held.name).id
            model.equality(held.name).data[0] = held.distance - model.tendon_length0[tendon]


def set_weights(model: mujoco.MjModel, world: World) -> None:
    """Make the constraints of sliders, which have almost no mass, as stiff as those of the bodies they are locked to.

    MuJoCo softens a constraint in proportion to the mean inverse weight of its bodies.
    """
    for held in world.loop_closures:
        if held.kind == "lock":
            first, second = _bodies_of(model, held)
            weights = model.body_invweight0[[first, second]]
            light = int(np.argmax(weights[:, 0]))
            if weights[light, 0] > SLIDER * weights[1 - light, 0]:
                model.body_invweight0[(first, second)[light]] = weights[1 - light]


def _bodies_of(model: mujoco.MjModel, held: LoopClosure) -> tuple[int, int]:
    first, second = (model.site(f"{held.name}#{end}").bodyid[0] for end in ("first", "second"))
    return int(first), int(second)


@loop_closure("lock")
def _weld(spec: mujoco.MjSpec, held: LoopClosure, bodies: Pair, ends: FloatArray) -> None:
    equate(spec, mujoco.mjtEq.mjEQ_WELD, held.name, _sites(held.name, bodies, ends))


@loop_closure("ball")
def _connect(spec: mujoco.MjSpec, held: LoopClosure, bodies: Pair, ends: FloatArray) -> None:
    equate(spec, mujoco.mjtEq.mjEQ_CONNECT, held.name, _sites(held.name, bodies, ends))


@loop_closure("hinge")
def _pin(spec: mujoco.MjSpec, held: LoopClosure, bodies: Pair, ends: FloatArray) -> None:
    """Constrain two points on the axis."""
    for k, along in enumerate((-HINGE_LENGTH / 2.0, HINGE_LENGTH / 2.0)):
        name = f"{held.name}#{k}"
        points = poses.compose(ends, (0.0, 0.0, along, 0.0, 0.0, 0.0, 1.0))
        equate(spec, mujoco.mjtEq.mjEQ_CONNECT, name, _sites(name, bodies, points))


@loop_closure("distance")
def _rod(spec: mujoco.MjSpec, held: LoopClosure, bodies: Pair, ends: FloatArray) -> None:
    tendon = spec.add_tendon(name=held.name)
    for site in _sites(held.name, bodies, ends):
        tendon.wrap_site(site)
    equality = equate(spec, mujoco.mjtEq.mjEQ_TENDON, held.name, (held.name, ""), mujoco.mjtObj.mjOBJ_TENDON)
    if held.relaxation:  # an overdamped spring, whose slow time constant is twice solref's times the ratio squared
        shortest = TIMESTEPS * spec.option.timestep
        equality.solref = (shortest, max(math.sqrt(held.relaxation / (2.0 * shortest)), 1.0))


def _sites(name: str, bodies: Pair, ends: FloatArray) -> tuple[str, str]:
    names = (f"{name}#first", f"{name}#second")
    for body, end, site in zip(bodies, ends, names, strict=True):
        body.add_site(name=site, pos=end[:3], quat=end[[6, 3, 4, 5]])
    return names


def equate(
    spec: mujoco.MjSpec,
    kind: mujoco.mjtEq,
    name: str,
    ends: tuple[str, str],
    of: mujoco.mjtObj = mujoco.mjtObj.mjOBJ_SITE,
) -> mujoco.MjsEquality:
    """Add an equality constraint between two ends, as stiff as MuJoCo allows."""
    equality = spec.add_equality(name=name, type=kind, objtype=of, name1=ends[0], name2=ends[1])
    equality.solref = (TIMESTEPS * spec.option.timestep, 1.0)
    equality.solimp = impedance(MET)
    return equality


def impedance(value: float) -> FloatArray:
    """Return MuJoCo's solimp for a constant impedance."""
    return np.array((value, value, 0.001, 0.5, 2.0))


@force_element("loops")
def open_loops(
    world: World, layout: Layout, compiled: Compiled, data: MjData, wind: WindField, columns: Columns
) -> LoopDrift | None:
    """Return the force element that keeps the loops of a world closed; None if there are none, or with rk4."""
    if not world.loop_closures or compiled.model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
        return None
    if all(held.kind == "lock" for held in world.loop_closures):
        return None
    return LoopDrift(world, compiled.model, data, columns)


class LoopDrift:
    """Sets the reference accelerations of all loop closures, to keep loops closed with first-order integrators.

    MuJoCo's equality constraints neglect the change of the constraint's direction within a timestep h: a moving loop
    opens by about h^2 / 2 times the acceleration along the constraint, and MuJoCo's springs, whose time constant must
    be at least two timesteps, close it only to a multiple of that. Here, the reference acceleration corrects the error
    r within one timestep, and compensates in advance the error c that the next timestep will add, extrapolated from
    the errors that the last two added:

        aref = -v / h - (r + c) / h^2,    c = 2 c' - c''

    The remaining error is of fourth order in h. c is limited, so that a loop that cannot close does not build up a
    force. If a distance constraint has a relaxation time T, only a fraction h / T of its error is corrected within a
    timestep. Runge-Kutta needs no correction.

    The state is the error that each of the last timesteps added.
    """

    def __init__(self, world: World, model: MjModel, data: MjData, columns: Columns) -> None:
        self._data, self._timestep = data, float(model.opt.timestep)
        closures = {held.name for held in world.loop_closures}
        self._first = np.full(max(model.neq, 1), -1, dtype=np.int64)
        self._share = np.ones(max(model.neq, 1))
        slow = {held.name: held.relaxation for held in world.loop_closures if held.relaxation}
        rows: list[str] = []
        for equality in range(model.neq):
            name = model.equality(equality).name
            kind = mujoco.mjtEq(model.eq_type[equality]).name.rpartition("_")[2]
            if kind in _ROWS and (name in closures or name.rpartition("#")[0] in closures):
                self._first[equality] = len(rows)
                self._share[equality] = min(self._timestep / slow.get(name, self._timestep), 1.0)
                rows += [f"{name}/{k}" for k in range(_ROWS[kind])]
        meaning = (
            "of each row of a loop closure: what the last timestep and the one before added to its error, what was "
        )
        meaning += "taken away beforehand, and the time of that; NaN at the start"
        self._drift = columns.add(Column(DRIFT, tuple(rows), (4,), unit="m, rad, s", meaning=meaning))

    def reset(self, seed: int) -> None:
        """Forget the errors of the last timesteps."""
        self._drift[:] = np.nan

    def act(self) -> None:
        """Set the reference accelerations, once MuJoCo's constraint rows are known."""
        data = self._data
        kernels.close_loops(
            *(self._first, self._share, self._drift, self._timestep, data.time, data.ne),
            *(data.efc_id, data.efc_pos, data.efc_vel, data.efc_aref),
        )
