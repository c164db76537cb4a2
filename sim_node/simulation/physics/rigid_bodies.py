"""Rigid bodies: joints, masses and contacts, integrated by MuJoCo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sim_node.simulation.columns import Columns
from sim_node.simulation.physics.engine import Engine, engine
from sim_node.simulation.physics.force_elements import (
    FORCE_ELEMENTS,
    Flown,
    ForceElement,
    Settling,
    Solved,
    force_elements_for,
)
from sim_node.simulation.physics.handles import BaseRecord, BodyRecord, VehicleRecord
from sim_node.simulation.physics.joint_handles import JointRecord
from sim_node.simulation.physics.mocap_bodies import MocapBodies, place_mocap
from sim_node.simulation.physics.wind import WindField
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.world.layout import Layout
from sim_node.world.model import World
from sim_node.world.mujoco_source import need_mujoco
from sim_node.world.problems import Diverged, Problem, Where, WorldError, quoted

if TYPE_CHECKING:
    from mujoco import MjData, MjModel

    from sim_node.simulation.physics.compiled import Compiled
    from sim_node.simulation.physics.environment import BodyEnvironment
    from sim_node.simulation.physics.signal_handles import SignalRecord
    from sim_node.simulation.sensors.context import Environment
    from sim_node.simulation.sensors.truth import FrameState


# Maximum number of timesteps between checks for a pending signal and for a finite state.
IN_ONE_GO = 1000
# A velocity counts as diverging if, in the timestep before, it was at least this fraction of the largest one.
DIVERGING = 1e-3
# Maximum number of diverging bodies that a message names.
MAX_NAMED = 5
# Timesteps between checks whether all bodies that can sleep are asleep.
UNTIL_REST = 20
# Minimum number of joints from which `Clearance` is used to skip collision detection; below it, nothing is gained.
MIN_BODIES = 32
# A state: the time, the state of the bodies, and the state of wrenches and force elements.
_State = tuple[float, list[bytes], list[bytes]]


@engine("rigid_bodies")
def open_rigid_bodies(world: World, layout: Layout, columns: Columns) -> RigidBodyEngine | None:
    """Return the engine for a world's bodies. Raises WorldError if MuJoCo is missing or rejects the world."""
    shaped = world.ground is not None or any(body.type.parts or body.geometry for body in world.bodies)
    if world.wind is None and not shaped and not world.models:
        return None
    need_mujoco(world.source)
    # Imported here: worlds without bodies do not need it.
    from sim_node.simulation.physics.actuators import with_speeds_of_models
    from sim_node.simulation.physics.mujoco_model import compile_model
    from sim_node.simulation.physics.standing import standing

    world = with_speeds_of_models(world)
    try:
        compiled = compile_model(world, layout)
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise WorldError([Problem(Where(world.source), "bodies", f"MuJoCo refuses them: {reason}")]) from None
    return RigidBodyEngine(replace(compiled, qpos=standing(compiled, world)), world, layout, columns)


class RigidBodyEngine:
    """Integrates the bodies of a world with a fixed timestep. Its state is that of MuJoCo.

    Args:
        compiled: MuJoCo's model of the world, with the rows of its links and frames.
        world: The world, assembled.
        layout: The layout of its frames.
        columns: The columns of the run, in which the state is declared and the links' rows of `pose` are claimed.

    Attributes:
        compiled: MuJoCo's model of the world, the places of its frames, and the initial state.
        model: The `mujoco.MjModel`, for what this class does not offer.
        data: The `mujoco.MjData`. Its body poses are those of the last evaluation of the dynamics, not of the state.
        wind: The air around the bodies.
        bodies: Records of the bodies by name, for handles.
        joints: Records of the joints by name, for handles.
        vehicles: Records of the vehicles by name, for handles.
        signals: Records of the signals by name, for handles.
    """

    def __init__(self, compiled: Compiled, world: World, layout: Layout, columns: Columns) -> None:
        import mujoco

        from sim_node.simulation.physics.body_columns import declare_state
        from sim_node.simulation.physics.joint_states import declare_joint_states
        from sim_node.simulation.physics.kinematic_bodies import kinematic_dofs
        from sim_node.simulation.physics.kinematics import is_finite, write_link_poses
        from sim_node.simulation.physics.placing import bodies_of, joints_of
        from sim_node.simulation.physics.runge_kutta import whole_step
        from sim_node.simulation.physics.signals import signals_of
        from sim_node.spatial.geometry.kernel import bound

        self._mujoco = mujoco
        self.compiled = compiled
        self._frames = layout.frames
        self.model = compiled.model
        self.data = mujoco.MjData(self.model)
        # Scratch data for evaluating or integrating a copy of the state without changing the run's own.
        self._ahead = mujoco.MjData(self.model)
        placed = self._ahead.xpos, self._ahead.xquat
        # Bound to the poses that were written last, usually the run's own.
        self._bind_poses = partial(bound, write_link_poses, *placed, compiled.links, compiled.mounts)
        self._poses: FloatArray | None = None
        self._kinematics = partial(mujoco.mj_kinematics, self.model, self._ahead)
        # Positions as bytes: a numpy copy takes three times as long.
        parts = [part for part in ("qpos", "mocap_pos", "mocap_quat") if getattr(self.data, part).size]
        self._positions = [[memoryview(getattr(d, p)).cast("B") for d in (self._ahead, self.data)] for p in parts]
        self._substeps = world.physics.substeps(world.time.step_ns)
        self._full_state = int(mujoco.mjtState.mjSTATE_INTEGRATION)
        self._no_stage, self._velocity_stage = int(mujoco.mjtStage.mjSTAGE_NONE), int(mujoco.mjtStage.mjSTAGE_VEL)
        self._buffer = np.empty(mujoco.mj_stateSize(self.model, self._full_state))
        self._is_finite = bound(is_finite, self.data.qvel)
        columns.claim("pose", [layout.frames.names[row] for row in compiled.links[:, 0]])
        self.wind = WindField(world.wind, self.model.opt.timestep)
        self.wind.declare(columns)
        self._kinematic = kinematic_dofs(self.model, layout)
        # Without degrees of freedom, there is nothing to integrate and no force acts.
        self._moves = self.model.nv > 0
        self._force_elements: Mapping[str, ForceElement] = {}
        declared: list[str] = []
        if self._moves:
            self._force_elements, declared = force_elements_for(world, layout, compiled, self.data, self.wind, columns)
        self._solved = [element for element in self._force_elements.values() if isinstance(element, Solved)]
        self._act_all = FORCE_ELEMENTS.caller({name: each.act for name, each in self._force_elements.items()})
        # Called after each timestep.
        settling = {name: each.settle for name, each in self._force_elements.items() if isinstance(each, Settling)}
        self._settle_all = FORCE_ELEMENTS.caller(settling) if settling else None
        # Observers by name, each with its period in timesteps. They are not called in timesteps that will be undone.
        self._observers: dict[str, tuple[int, Callable[[int], None]]] = {}
        self.observed, self._next_look = True, 0
        wrench, parts = declare_state(columns, self.model, self.data, forced=bool(self._force_elements))
        # For a few bodies, this is several times as fast as MuJoCo's own functions for the state.
        self._motion = columns.checkpoint(parts)
        self._checkpoint = columns.checkpoint((*declared, "wrench") if self._force_elements else ())
        # Wrenches as bytes: a numpy copy between timesteps takes three times as long.
        self._applied, self._wrench = memoryview(self.data.xfrc_applied).cast("B"), memoryview(wrench.data).cast("B")
        self._mocap_bodies = MocapBodies(compiled.followed, world, layout, columns) if compiled.followed else None
        self._environment: BodyEnvironment | None = None
        self._in_two_halves = self.model.opt.integrator != self._mujoco.mjtIntegrator.mjINT_RK4
        self._step = mujoco.mj_step if self._in_two_halves else whole_step(self.model)
        self._can_sleep = bool(self.model.opt.enableflags & mujoco.mjtEnableBit.mjENBL_SLEEP)
        # The state, without the time, that timesteps do not change because all bodies are asleep.
        self._at_rest: list[bytes] | None = None
        self._clearance, self._groups = None, None
        if self._force_elements and self._in_two_halves and self.model.njnt >= MIN_BODIES:
            from sim_node.simulation.physics.clearance import clearance_of
            from sim_node.simulation.physics.groups import groups_of

            self._clearance = clearance_of(self.model, self.data)
            if self._clearance is not None:
                self._groups = groups_of(self.model, self.data, world.physics, self._force_elements)
        self.bodies: Mapping[str, BodyRecord] = bodies_of(compiled, layout, self.data, self._now, wrench)
        self.joints: Mapping[str, JointRecord] = joints_of(compiled, layout, self.data, self._evaluate, columns)
        self.signals: Mapping[str, SignalRecord] = signals_of(
            world, self.model, self.data, self._evaluate, columns, self.bodies
        )
        declare_joint_states(world, layout, self.model, self.data, self._evaluate, columns)
        flown = [element.vehicles for element in self._force_elements.values() if isinstance(element, Flown)]
        self.vehicles: Mapping[str, VehicleRecord | BaseRecord] = {
            name: each for some in flown for name, each in some.items()
        }

    def observe_timesteps(self, name: str, function: Callable[[int], None] | None, every: int = 1) -> None:
        """Call a function every few timesteps. It must not change the state.

        Functions that are due at the same timestep are called in the order of their names.

        Args:
            name: Name of the observer; an existing one with this name is replaced.
            function: Called with the number of timesteps since the start of the run; None removes the observer.
            every: Period in timesteps, counted from the start of the run.
        """
        self._observers.pop(name, None)
        if function is not None:
            self._observers = dict(sorted({**self._observers, name: (every, function)}.items()))

    @property
    def timesteps(self) -> int:
        """The number of timesteps since the start of the run."""
        return round(float(self.data.time / self.model.opt.timestep))

    @property
    def substeps(self) -> int:
        """The number of timesteps in a step of the world; 0 if there is nothing to integrate."""
        return self._substeps if self._moves else 0

    @property
    def forced(self) -> bool:
        """Whether force elements act on the bodies."""
        return bool(self._force_elements)

    def reset(self, seed: int) -> None:
        """Go back to the initial state. Wind and force elements draw their random numbers from `seed`."""
        # The state, including that of the force elements, for which `data` holds the motion and forces.
        self._evaluated: _State | None = None
        self._mujoco.mj_resetData(self.model, self.data)
        for part in ("qpos", "qvel", "ctrl", "act"):
            getattr(self.data, part)[:] = getattr(self.compiled, part)
        self._wrench[:] = bytes(self._wrench.nbytes)
        if self._groups is not None:
            self._groups.refresh()
        self._follow(0)
        self.wind.reset(seed)
        for name, force_element in self._force_elements.items():
            with FORCE_ELEMENTS.blaming(name):
                force_element.reset(seed)

    def resume(self, step: int) -> None:
        """Go to a step of the run and move keyframed bodies to their poses at that step.

        Args:
            step: Steps since the start of the run.
        """
        self.data.time = step * self._substeps * self.model.opt.timestep
        self._follow(step)

    def release(self, successors: Mapping[str, Engine]) -> None:
        """Hand over the render process, and break the reference cycles that keep the model alive.

        Args:
            successors: The engines of the next generation, by name.
        """
        successor = successors.get("rigid_bodies")
        if self._environment is not None:
            self._environment.release(successor._environment if isinstance(successor, RigidBodyEngine) else None)
        self._environment = None
        self.bodies, self.joints, self.vehicles, self.signals = {}, {}, {}, {}

    def merge(self, before: Engine, body: str) -> None:
        """Give a body that is now fixed to another one their common motion, conserving their momentum.

        Args:
            before: The engine of the previous generation, at the same instant.
            body: The body.
        """
        from sim_node.simulation.physics.merging import merged_velocities

        assert isinstance(before, RigidBodyEngine)
        found = merged_velocities(before.moving_now(), self.moving_now(), body)
        if found is not None:
            place, velocities = found
            self.data.qvel[place] = velocities

    def moving_now(self) -> tuple[MjModel, MjData]:
        """Return the model and a copy of the current state, with positions, inertia and velocities evaluated."""
        now = self._now()
        self._mujoco.mj_fwdPosition(self.model, now)
        self._mujoco.mj_comVel(self.model, now)
        return self.model, now

    def step(self, steps: int) -> None:
        """Advance by whole steps of the world. MuJoCo releases the GIL while it integrates.

        Raises:
            Diverged: The state is no longer finite. The run stays at the timestep at which that happened.
        """
        if not self._moves:
            self._evaluated = None
            self._pass(steps)
        elif self._mocap_bodies is None:
            self._advance(steps * self._substeps)
        else:
            for step in range(done := self._done(), done + steps):
                for poses in self._mocap_bodies.path(step, self._substeps):
                    self._advance(1)
                    place_mocap(self.data, poses)

    def write(self, poses: FloatArray, ahead_ns: int) -> None:
        """Write the pose of each link that joints move, in its parent frame, to its row of poses (N, 7).

        Between two steps, a copy of the state is integrated from the last step.

        Raises:
            Diverged: The state is not finite.
        """
        if not self._moves:
            return
        if ahead_ns:
            self._integrate_ahead(ahead_ns)
        else:
            for positions, present in self._positions:
                positions[:] = present
        self._kinematics()
        if poses is not self._poses:
            self._poses, self._write_poses = poses, self._bind_poses(poses)
        if not self._write_poses():
            raise self._diverged(~np.isfinite(self.data.qvel))

    @property
    def carried(self) -> IntArray:
        """The rows (K,) of the bodies and of the frames that are fixed to them."""
        return np.flatnonzero(self.compiled.carriers > 0)

    def observer(self, rows: IntArray, state: FrameState, places: IntArray) -> Callable[[], None]:
        """Return a function that evaluates the dynamics of the present step and writes the motion of frames.

        Args:
            rows: Rows (K,) of the frames, all of them in `carried`.
            state: The state to write to, in the fixed frame.
            places: The rows (K,) of `state` to write, in the order of `rows`.

        Returns:
            The function; it takes no arguments and writes pose, twist and acceleration.
        """
        from sim_node.simulation.physics.kinematics import write_frame_motion
        from sim_node.spatial.geometry.kernel import bound

        carriers = self.compiled.carriers[rows]
        roots = self.model.body_rootid[carriers].astype(np.int64)
        write = bound(
            write_frame_motion,
            *(self.data.xpos, self.data.xquat, self.data.cvel, self.data.cacc, self.data.subtree_com),
            *(np.array(self.model.opt.gravity), carriers, roots, self.compiled.offsets[rows], places),
            *(state.pose, state.twist, state.acceleration),
        )

        def observe() -> None:
            self._evaluate()
            write()

        return observe

    def environment(self) -> Environment:
        """Return the shapes, wind, contacts and joints that sensors perceive at the present step."""
        from sim_node.simulation.physics.environment import BodyEnvironment

        self._environment = BodyEnvironment(self.compiled, self.data, self._frames, self.wind, self._evaluate)
        return self._environment

    def energy(self) -> float:
        """Return the kinetic and potential energy of all bodies, including springs, J."""
        now = self._now()
        self._mujoco.mj_forward(self.model, now)
        self._mujoco.mj_energyPos(self.model, now)
        self._mujoco.mj_energyVel(self.model, now)
        # Subtract the energy of the armature that makes kinematic bodies heavy for the solver.
        heavy = self.model.dof_armature[self._kinematic] @ now.qvel[self._kinematic] ** 2 / 2.0
        return float(now.energy.sum() - heavy)

    def _advance(self, timesteps: int) -> None:
        while timesteps > 0:
            some = min(timesteps, IN_ONE_GO)
            before = self._state_now()
            self._advance_some(some, before)
            if not self._is_finite():
                raise self._diverged(self._go_to_divergence(before, some))
            timesteps -= some

    def _advance_some(self, timesteps: int, now: _State | None = None) -> None:
        """Advance. now: the current state as returned by `_state_now`, if known."""
        # If the state of the bodies has been evaluated, mj_step1 is done: commands and wrenches act in mj_step2.
        evaluated = self._evaluated
        is_half_done = now is not None and evaluated is not None and now[:2] == evaluated[:2]
        self._evaluated = None
        if self._force_elements:
            if self._in_two_halves:
                self._step_in_two_halves(timesteps, is_half_done=is_half_done)
            else:
                self._step_whole(timesteps)
            return
        self.wind.advance(timesteps)
        until_look = self._until_look()
        sleeps = self._can_sleep
        rests = sleeps and now is not None and not self.data.ntree_awake and now[1] == self._at_rest
        while timesteps > 0:  # without force elements, there is nothing to settle
            some = min(timesteps, until_look)
            if rests:
                self._let_pass(some)
            else:
                some = min(some, UNTIL_REST) if sleeps else some
                before = self._motion.save() if sleeps and not self.data.ntree_awake else None
                self._step(self.model, self.data, some)
                if before is not None:
                    rests = not self.data.ntree_awake and self._motion.save() == before
                    self._at_rest = before if rests else None
            timesteps -= some
            until_look -= some
            if not until_look:
                until_look = self._look()

    def _let_pass(self, timesteps: int) -> None:
        """Advance only the time, summed timestep by timestep as MuJoCo does."""
        now, timestep = self.data.time, self.model.opt.timestep
        for _ in range(timesteps):
            now += timestep
        self.data.time = now

    def _go_to_divergence(self, before: _State, timesteps: int) -> NDArray[np.bool_]:
        """Repeat the timesteps one at a time, up to the one at which the state is no longer finite.

        Returns:
            Mask (nv,) of the velocities that diverged. What touches them or is coupled with them often becomes
            non-finite at the same timestep, but was slower before.
        """
        self.data.time, motion, forces = before
        self._motion.restore(motion)
        self._checkpoint.restore(forces)
        speeds = np.zeros(self.model.nv)
        self.observed = False  # they were called the first time
        for _ in range(timesteps):
            speeds[:] = np.abs(self.data.qvel)
            self._advance_some(1)
            if not self._is_finite():
                break
        self.observed = True
        return np.asarray(~np.isfinite(self.data.qvel) & (speeds >= DIVERGING * speeds.max()))

    def _diverged(self, dofs: NDArray[np.bool_]) -> Diverged:
        """Return the error for a mask (nv,) of velocities that are no longer finite."""
        bodies = dict.fromkeys(self.model.dof_bodyid[dofs].tolist())
        names = dict.fromkeys(str(self.model.body(body).name).partition("#")[0] for body in bodies)
        first, more = list(names)[:MAX_NAMED], len(names) - MAX_NAMED
        which = ", ".join(map(quoted, first)) + (f" and {more} more" if more > 0 else "") or "the bodies' state"
        return Diverged(
            f"{which}: not finite any more after {self.data.time:g} s of the run; a shorter physics.timestep, or more "
            "damping, may help"
        )

    def _step_in_two_halves(self, timesteps: int, *, is_half_done: bool) -> None:
        """Apply force elements between mj_step1 and mj_step2, when positions and velocities are known."""
        step1, step2, model, data = self._mujoco.mj_step1, self._mujoco.mj_step2, self.model, self.data
        act, settle, gusts, until_look = self._act, self._settle_all, self.wind.gusts, self._until_look()
        clearance, groups = self._clearance, self._groups
        if until_look <= timesteps:  # observers need the data of all bodies
            groups = None
        for _ in range(timesteps):
            is_clear = not is_half_done and clearance is not None and clearance.holds()
            if is_clear and groups is not None:
                self._applied[:] = self._wrench
                groups.step()
            else:
                if not is_half_done:
                    (self._step_1_apart if is_clear else step1)(model, data)
                is_half_done = False
                act()
                step2(model, data)
            if settle is not None:
                settle()
            until_look -= 1
            if not until_look:
                until_look = self._look()
            if gusts is not None:
                self.wind.advance()

    def _step_1_apart(self, model: MjModel, data: MjData) -> None:
        """Evaluate positions and velocities without collision detection."""
        flags = model.opt.disableflags
        model.opt.disableflags = flags | self._mujoco.mjtDisableBit.mjDSBL_CONTACT
        try:
            self._mujoco.mj_step1(model, data)
        finally:
            model.opt.disableflags = flags

    def _step_whole(self, timesteps: int) -> None:
        """Apply force elements before each Runge-Kutta timestep, after evaluating positions and velocities."""
        model, data, until_look = self.model, self.data, self._until_look()
        for _ in range(timesteps):
            self._mujoco.mj_kinematics(model, data)
            self._mujoco.mj_comPos(model, data)
            self._mujoco.mj_comVel(model, data)
            self._act()
            self._step(model, data, 1)
            if self._settle_all is not None:
                self._settle_all()
            until_look -= 1
            if not until_look:
                until_look = self._look()
            self.wind.advance()

    def _until_look(self) -> int:
        """Return the number of timesteps until an observer is due."""
        if not (self._observers and self.observed):
            return IN_ONE_GO + 1
        done = self.timesteps
        until = min([every - done % every for every, _ in self._observers.values()])
        self._next_look = done + until
        return until

    def _look(self) -> int:
        """Call the observers that are due, and return the number of timesteps until the next one is."""
        done, until = self._next_look, IN_ONE_GO + 1  # `timesteps` would take as long as an observer
        for every, look in self._observers.values():
            if not (past := done % every):
                look(done)
            if every - past < until:
                until = every - past
        self._next_look = done + until
        return until

    def _pass(self, steps: int) -> None:
        """Advance time for bodies that are static or follow keyframes."""
        done = self._done() + steps
        self.wind.advance(steps * self._substeps)
        self.data.time = done * self._substeps * self.model.opt.timestep
        self._follow(done)

    def _done(self) -> int:
        """Return the number of steps of the world since the start of the run, computed from MuJoCo's time."""
        return round(float(self.data.time / (self.model.opt.timestep * self._substeps)))

    def _follow(self, step: int) -> None:
        if self._mocap_bodies is not None:
            place_mocap(self.data, self._mocap_bodies.at(step))

    def _act(self) -> None:
        """Apply all forces of the next timestep, computed from the positions and velocities in `data`."""
        self._applied[:] = self._wrench
        self._act_all()

    def _evaluate(self) -> None:
        """Compute all motion and forces of the current state, without affecting the next step.

        Sensors and autopilots call it at the same instant: it is computed once for each state, including commands.
        """
        model, data = self.model, self.data
        now = self._state_now()
        if now == self._evaluated:
            return
        self._evaluated = now
        done = self._no_stage
        if self._force_elements:
            self._mujoco.mj_step1(model, data)
            self._act()
            done = self._velocity_stage
            self._checkpoint.restore(now[2])
        self._mujoco.mj_forwardSkip(model, data, done, 1)
        for solved in self._solved:
            solved.add_efforts()
        self._mujoco.mj_rnePostConstraint(model, data)
        self._motion.restore(now[1])

    def _state_now(self) -> _State:
        return self.data.time, self._motion.save(), self._checkpoint.save()

    def _now(self) -> MjData:
        """Return a copy of the current state, which can be evaluated without affecting the next step."""
        self._mujoco.mj_getState(self.model, self.data, self._buffer, self._full_state)
        self._mujoco.mj_setState(self.model, self._ahead, self._buffer, self._full_state)
        return self._ahead

    def _integrate_ahead(self, ahead_ns: int) -> None:
        """Integrate the copy ahead: whole timesteps, and a shorter one for the rest."""
        now, timestep = self._now(), self.model.opt.timestep
        drives = self._checkpoint.save() if self._solved else None
        whole, rest = divmod(ahead_ns * 1e-9, timestep)
        self._step_ahead(now, int(whole))
        try:
            self.model.opt.timestep = rest
            self._step_ahead(now, int(rest > 0.0))
        finally:
            self.model.opt.timestep = timestep
            if drives is not None:
                self._checkpoint.restore(drives)

    def _step_ahead(self, data: MjData, timesteps: int) -> None:
        """Integrate a copy. Implicit drives act on it; other forces and wrenches are held constant."""
        if timesteps and not (self._solved and self._in_two_halves):
            self._step(self.model, data, timesteps)
            return
        for _ in range(timesteps):
            self._mujoco.mj_step1(self.model, data)
            for solved in self._solved:
                solved.act_on(data)
            self._mujoco.mj_step2(self.model, data)
