"""Fleets divided into groups, each stepped as a separate MuJoCo model in its own thread, while nothing can touch.

The motion of a free-floating body that touches nothing depends on that body alone, so groups of any size give exactly
the same result as a single model. A group's model has no shapes, which makes it cheaper as well.
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

# Minimum size of a group: with fewer bodies, a thread costs more than it saves.
MIN_BODIES = 128
# Arrays that a group's model copies from the model of all bodies.
_NUMBERS = ("body_mass", "body_subtreemass", "body_inertia", "body_ipos", "body_iquat", "dof_armature")
# Arrays that select how MuJoCo computes the motion; they have to agree for results to be the same.
_METHODS = ("body_simple", "body_sameframe", "dof_simplenum")
# Features that no body of a group uses, disabled to save time.
_ABSENT = (
    mujoco.mjtDisableBit.mjDSBL_CONSTRAINT | mujoco.mjtDisableBit.mjDSBL_SPRING | mujoco.mjtDisableBit.mjDSBL_DAMPER
)


def body_ranges(model: mujoco.MjModel, physics: Physics) -> tuple[range, ...]:
    """Return the bodies of each group of a model; none if its bodies do not move independently of each other.

    Args:
        model: A model.
        physics: The world's physics, for the number of threads.
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
        physics: The world's physics, for the number of threads.
        force_elements: The force elements that act on the bodies, by name.
    """
    divisible = [each for each in force_elements.values() if isinstance(each, Divisible)]
    if len(divisible) < len(force_elements):
        return None
    groups = [BodyGroup(model, data, bodies) for bodies in body_ranges(model, physics)]
    divided = all(group.fits and all(map(group.divide, divisible)) for group in groups)
    return BodyGroups(data, groups, divisible) if groups and divided else None


class BodyGroups:
    """All bodies of a model, divided into groups.

    Args:
        data: The run's data.
        groups: The groups.
        divisible: The force elements that act on them.
    """

    def __init__(self, data: mujoco.MjData, groups: Sequence[BodyGroup], divisible: Sequence[Divisible]) -> None:
        self._data, self._groups = data, groups
        self._acted = [each.acted for each in divisible]

    def refresh(self) -> None:
        """Copy parameters of the model again, which may have changed."""
        for group in self._groups:
            group.refresh()

    def step(self) -> None:
        """Advance by a timestep. The force elements add to the external wrenches that xfrc_applied already holds."""
        first, *others = self._groups
        pending = [(each, _pool(len(others)).submit(each.step)) for each in others]
        try:
            first.step()
            for group, stepped in pending:
                if stepped.cancel():  # no thread has started it yet
                    group.step()
        finally:
            for _, stepped in pending:
                if not stepped.cancelled():
                    stepped.result()
        self._data.time = first.data.time
        for acted in self._acted:
            acted()


class BodyGroup:
    """Consecutive bodies of a model, stepped as a separate model.

    Args:
        model: The model of all bodies.
        data: Its data, which holds the state of the run.
        bodies: MuJoCo ids of the bodies.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, bodies: range) -> None:
        self._whole, self._now, self._bodies = model, data, bodies
        rows = slice(bodies.start, bodies.stop)
        first, last = model.body_dofadr[bodies[0]], model.body_dofadr[bodies[-1]] + 6
        velocities, positions = slice(first, last), slice(first // 6 * 7, last // 6 * 7)
        self._model = _model_of(model, bodies)
        self.data = mujoco.MjData(self._model)

        def pairs(names: tuple[str, ...]) -> list[tuple[np.ndarray, np.ndarray]]:
            """Return arrays of the group's model, each with the corresponding part of the whole model's."""
            own = [getattr(self._model, name)[1 if name.startswith("body") else 0 :] for name in names]
            places = [rows if name.startswith("body") else velocities for name in names]
            return [(part, getattr(model, name)[at]) for part, name, at in zip(own, names, places, strict=True)]

        self._numbers = pairs(_NUMBERS)
        # Whether MuJoCo computes the motion of the group in the same way as that of the whole.
        self.fits = all(np.array_equal(*each) for each in pairs(_METHODS))
        self.refresh()
        own = self.data
        # As bytes: a numpy copy takes three times as long.
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
        """Add a force element that acts on the group. Return whether it can."""
        act = element.part(self.data, self._bodies)
        self._acts += [act] if act is not None else []
        return act is not None

    def refresh(self) -> None:
        """Copy parameters of the model again, which may have changed."""
        for own, whole in self._numbers:
            own[:] = whole
        _set_options(self._model, self._whole)

    def step(self) -> None:
        """Advance these bodies by a timestep in the run's data. Its time is not changed."""
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
    """Convert wrenches (B, 6) on floating bodies to generalised forces, separately for forces and torques; clear them.

    MuJoCo does the same with a general Jacobian for each body, which takes a sixth of a timestep. Arrays have a row for
    the world and each body (B, ...), or for each degree of freedom (6 (B - 1), ...). `of_forces` is qfrc_passive, from
    which `mj_step2` subtracts qfrc_bias, and `of_torques` is qfrc_applied, which it then adds: this is MuJoCo's own
    order of summation, so results are the same to the bit.
    """
    for d in range(len(cdof)):
        b = 1 + d // 6
        x, y, z = cdof[d, 0], cdof[d, 1], cdof[d, 2]
        # cdof is about the tree's centre of mass, which is that of its only body up to rounding.
        ox, oy, oz = cross(
            x, y, z, xipos[b, 0] - subtree_com[b, 0], xipos[b, 1] - subtree_com[b, 1], xipos[b, 2] - subtree_com[b, 2]
        )
        w = wrenches[b]
        of_forces[d] = (cdof[d, 3] + ox) * w[0] + (cdof[d, 4] + oy) * w[1] + (cdof[d, 5] + oz) * w[2]
        of_torques[d] = x * w[3] + y * w[4] + z * w[5]
    wrenches[:] = 0.0


def _model_of(whole: mujoco.MjModel, bodies: range) -> mujoco.MjModel:
    """Return a model of free-floating bodies with the same inertial properties and without shapes."""
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
    """Return the thread pool that all runs of the process share."""
    return ThreadPoolExecutor(threads, "fleet")


# A forked child has none of its parent's threads.
os.register_at_fork(after_in_child=_pool.cache_clear)
