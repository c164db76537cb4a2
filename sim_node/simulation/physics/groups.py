"""Fleets in groups, each a MuJoCo model of its own in a thread of its own, while nothing can touch.

MuJoCo moves bodies that float freely and touch nothing each by its own numbers alone: groups of them have the same
bytes as all of them in one model, however many there are. A group's model has no shapes, so that it costs less, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import mujoco
import numpy as np

from sim_node.simulation.physics.force_elements import Divisible, ForceElement
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.spatial.geometry.kernel import kernel
from sim_node.spatial.geometry.pose_kernels import cross
from sim_node.world.physics import Physics

# Of a group: with fewer, a thread costs more than it saves.
MIN_BODIES = 128
# What a group's model takes over from that of the whole.
_NUMBERS = ("body_mass", "body_subtreemass", "body_inertia", "body_ipos", "body_iquat", "dof_armature")
# By these MuJoCo decides how it computes the same motion.
_METHODS = ("body_simple", "body_sameframe", "dof_simplenum")
# What no body of a group has: MuJoCo need not look for it.
_ABSENT = (
    mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
)


def body_ranges(model: mujoco.MjModel, physics: Physics) -> tuple[range, ...]:
    """Return the bodies of each group of a model; none if its bodies do not move each by its own numbers alone.

    Args:
        model: A model.
        physics: How many threads step it.
    """
    bodies, option = model.jnt_bodyid, model.opt
    others = (model.neq, model.ntendon, model.nu, model.nplugin, model.nmocap, model.nflex, option.enableflags)
    resisted = (model.dof_damping, model.dof_frictionloss, model.jnt_stiffness, model.body_gravcomp, model.jnt_limited)
    alone = model.njnt and (model.jnt_type == mujoco.mjtJoint.mjJNT_FREE).all() and (np.diff(bodies) == 1).all()
    if not alone or any(others) or any(each.any() for each in resisted) or option.density or option.viscosity:
        return ()
    if not np.array_equal(model.body_subtreemass[bodies], model.body_mass[bodies]):
        return ()
    count = min(physics.threads, max(len(bodies) // MIN_BODIES, 1))
    bounds = [int(bodies[0]) + len(bodies) * k // count for k in range(count + 1)]
    return tuple(map(range, bounds, bounds[1:]))


def groups_of(
    model: mujoco.MjModel, data: mujoco.MjData, physics: Physics, force_elements: Mapping[str, ForceElement]
) -> BodyGroups | None:
    """Return the groups of a fleet; None if its bodies, or the forces on them, cannot be divided.

    Args:
        model: The model of all bodies.
        data: The run's data.
        physics: How many threads step it.
        force_elements: What acts on the bodies, by name.
    """
    divisible = [each for each in force_elements.values() if isinstance(each, Divisible)]
    if len(divisible) < len(force_elements):
        return None
    groups = [BodyGroup(model, data, bodies) for bodies in body_ranges(model, physics)]
    divided = all(group.fits and all(map(group.divide, divisible)) for group in groups)
    return BodyGroups(data, groups, divisible) if groups and divided else None


class BodyGroups:
    """All bodies of a model, in groups.

    Args:
        data: The run's data.
        groups: The groups.
        divisible: The force elements that act on them.
    """

    def __init__(self, data: mujoco.MjData, groups: Sequence[BodyGroup], divisible: Sequence[Divisible]) -> None:
        self._data, self._groups = data, groups
        self._acted = [each.acted for each in divisible]

    def refresh(self) -> None:
        """Take over numbers of the model that have changed."""
        for group in self._groups:
            group.refresh()

    def step(self) -> None:
        """Advance by a timestep. xfrc_applied holds what else acts, and afterwards the forces of the elements, too."""
        first, *others = self._groups
        pending = [(each, _pool(len(others)).submit(each.step)) for each in others]
        try:
            first.step()
            for group, stepped in pending:
                if stepped.cancel():  # no core was free for its thread
                    group.step()
        finally:
            for _, stepped in pending:
                if not stepped.cancelled():
                    stepped.result()
        self._data.time = first.data.time
        for acted in self._acted:
            acted()


class BodyGroup:
    """Neighbouring bodies of a model, as a model of their own.

    Args:
        model: The model of all bodies.
        data: Its data, whose state is that of the run.
        bodies: The bodies.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, bodies: range) -> None:
        self._whole, self._now, self._bodies = model, data, bodies
        rows = slice(bodies.start, bodies.stop)
        first, last = model.body_dofadr[bodies[0]], model.body_dofadr[bodies[-1]] + 6
        velocities, positions = slice(first, last), slice(first // 6 * 7, last // 6 * 7)
        self._model = _model_of(model, bodies)
        self.data = mujoco.MjData(self._model)

        def pairs(names: tuple[str, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
            """Return arrays of the group's model, and what they correspond to in the whole."""
            own = [getattr(self._model, name)[1 if name.startswith("body") else 0 :] for name in names]
            places = [rows if name.startswith("body") else velocities for name in names]
            return [(part, getattr(model, name)[at]) for part, name, at in zip(own, names, places, strict=True)]

        self._numbers = pairs(_NUMBERS)
        # Whether MuJoCo computes their motion in the same way.
        self.fits = all(np.array_equal(*each) for each in pairs(_METHODS))
        self.refresh()
        own = self.data
        # As bytes: numpy's own copy would take three times as long.
        state = [
            (_bytes(own.qpos), _bytes(data.qpos[positions])),
            (_bytes(own.qvel), _bytes(data.qvel[velocities])),
        ]
        self._wrenches = _bytes(own.xfrc_applied[1:]), _bytes(data.xfrc_applied[rows])
        self._taken = [*state, self._wrenches]
        self._given = [*state, (_bytes(own.qacc_warmstart), _bytes(data.qacc_warmstart[velocities]))]
        self._moved = own.cdof, own.xipos, own.subtree_com, own.xfrc_applied, own.qfrc_passive, own.qfrc_applied
        self._acts: list[Callable[[], None]] = []

    def divide(self, element: Divisible) -> bool:
        """Let a force element act on the group; return whether it can."""
        act = element.part(self.data, self._bodies)
        self._acts += [act] if act is not None else []
        return act is not None

    def refresh(self) -> None:
        """Take over numbers of the model that have changed."""
        for own, whole in self._numbers:
            own[:] = whole
        _set_options(self._model, self._whole)

    def step(self) -> None:
        """Advance the run's state of these bodies by a timestep. Time stays."""
        for own, run in self._taken:
            own[:] = run
        self.data.time = self._now.time
        mujoco.mj_step1(self._model, self.data)
        for act in self._acts:
            act()
        own, run = self._wrenches
        run[:] = own
        move_to_joints(*self._moved)
        mujoco.mj_step2(self._model, self.data)
        for own, run in self._given:
            run[:] = own


@kernel(nogil=True)
def move_to_joints(
    cdof: FloatArray,
    xipos: FloatArray,
    subtree_com: FloatArray,
    wrenches: FloatArray,
    of_forces: FloatArray,
    of_torques: FloatArray,
) -> None:
    """Write what wrenches (B, 6) of floating bodies do to their joints, of forces and torques apart, and clear them.

    MuJoCo does the same for each body by a general Jacobian, which takes a sixth of a timestep. Its arrays are of the
    world and the bodies (B, ...), or of the degrees of freedom (6 (B - 1), ...). `mj_step2` subtracts qfrc_bias from
    qfrc_passive, where of_forces stands, and then adds qfrc_applied, where of_torques stands: in its own order, with
    the same bytes.
    """
    for d in range(len(cdof)):
        b = 1 + d // 6
        x, y, z = cdof[d, 0], cdof[d, 1], cdof[d, 2]
        # About the centre of mass of the tree, which is the body alone; rounding may set the two apart.
        ox, oy, oz = cross(
            x, y, z, xipos[b, 0] - subtree_com[b, 0], xipos[b, 1] - subtree_com[b, 1], xipos[b, 2] - subtree_com[b, 2]
        )
        w = wrenches[b]
        of_forces[d] = (cdof[d, 3] + ox) * w[0] + (cdof[d, 4] + oy) * w[1] + (cdof[d, 5] + oz) * w[2]
        of_torques[d] = x * w[3] + y * w[4] + z * w[5]
    wrenches[:] = 0.0


def _model_of(whole: mujoco.MjModel, bodies: range) -> mujoco.MjModel:
    """Return a model of bodies that float freely, with their masses and without their shapes."""
    spec = mujoco.MjSpec()
    for body in bodies:
        node = spec.worldbody.add_body(explicitinertial=True, mass=whole.body_mass[body])
        node.inertia, node.ipos, node.iquat = (getattr(whole, f"body_{n}")[body] for n in ("inertia", "ipos", "iquat"))
        node.add_freejoint()
    return spec.compile()


def _set_options(model: mujoco.MjModel, whole: mujoco.MjModel) -> None:
    for name in dir(whole.opt):
        if not name.startswith("_"):
            setattr(model.opt, name, getattr(whole.opt, name))
    model.opt.disableflags |= _ABSENT


def _bytes(array: np.ndarray) -> memoryview:
    return memoryview(array.data).cast("B")


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Return threads that all runs of the process share."""
    return ThreadPoolExecutor(threads, "fleet")


# A child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
