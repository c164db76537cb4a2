"""External commands to joints while a run steps: setpoints that time out, and trajectories with tolerances."""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple

import numpy as np

from sim_node.simulation.columns import Columns
from sim_node.simulation.control.joint_trajectory import JointTrajectory
from sim_node.simulation.joint_setpoints import Code, JointSetpoint, types_of
from sim_node.simulation.latest_commands import Trials, Undone, warn_undone
from sim_node.simulation.simulation import Simulation
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joint_commands import JointCommands
from sim_node.world.problems import quoted


class TrajectoryOutcome(NamedTuple):
    """The outcome of a trajectory.

    Attributes:
        code: The result.
        message: The reason, as a message for the user.
        cancelled: Whether it was cancelled or replaced.
    """

    code: Code
    message: str = ""
    cancelled: bool = False


@dataclass(frozen=True)
class Tolerances:
    """Tolerances with which joints follow a trajectory; infinite for no limit.

    Attributes:
        path: Maximum errors (2, J) of positions (m or rad) and velocities (m/s or rad/s) before the end.
        goal: Maximum errors (2, J) at the end, likewise.
        goal_time: Time after the end within which the goal must be reached, s.
    """

    path: FloatArray
    goal: FloatArray
    goal_time: float = math.inf

    @classmethod
    def of(cls, group: JointCommands, count: int) -> Tolerances:
        """Return the tolerances of a group, for a number of joints."""
        path, goal = np.full((2, 2, count), math.inf)
        path[0], goal[0] = group.path_tolerance or math.inf, group.goal_tolerance or math.inf
        return cls(path, goal, group.goal_time or math.inf)


@dataclass(eq=False)
class Following:
    """A trajectory that joints follow.

    Attributes:
        joints: Names of the J joints.
        trajectory: The trajectory. Its times are relative to `start_ns`.
        tolerances: Limits on the errors.
        start_ns: Simulation time at which it starts, ns; None for the next step.
        ended: Called once, from the loop's thread, with the outcome.
        progress: Called from the loop's thread after each step with the time on the trajectory, s, and desired
            positions, desired velocities, actual positions and actual velocities (4, J).
    """

    joints: tuple[str, ...]
    trajectory: JointTrajectory
    tolerances: Tolerances
    start_ns: int | None = None
    ended: Callable[[TrajectoryOutcome], None] = lambda outcome: None
    progress: Callable[[float, FloatArray], None] = lambda time, states: None


class JointCommander:
    """Applies commands to joints of a run at its steps. Attach it to the simulation as a co-simulator.

    `post`, `follow` and `cancel` may be called from any thread. They take effect at the next step, or earlier if
    `drain` is called from the loop's thread.

    Args:
        simulation: The run.
        groups: The groups of joints that are commanded.
        undone: Called with a target and a reason when a command is undone because the next step would diverge.

    Attributes:
        groups: The joints of each group by its name, with the types of commands that each joint accepts.
        simulation: The run.
    """

    def __init__(self, simulation: Simulation, groups: Sequence[JointCommands], undone: Undone = warn_undone) -> None:
        self._trials = Trials(simulation, undone)
        self.simulation, self._described = simulation, tuple(groups)
        self.groups: dict[str, dict[str, frozenset[str]]] = {group.name: {} for group in groups}
        step_ns = simulation.world.time.step_ns
        self.rate = Fraction(10**9, step_ns)
        self._step = step_ns * 1e-9
        self._timeouts: dict[str, int] = {}
        self._find_joints()
        # Queue of calls, and of setpoints by joint and type: of consecutive setpoints, only the latest are kept.
        self._waiting: deque[Callable[[], None] | dict[tuple[str, str], JointSetpoint]] = deque()
        self._lock = threading.Lock()
        # Time at which a velocity or effort target expires and becomes 0, ns, by joint and type.
        self._expires: dict[tuple[str, str], int] = {}
        self._following: list[Following] = []
        self._last_step = -1

    # For any thread

    def post(self, setpoints: Sequence[JointSetpoint]) -> None:
        """Apply setpoints at the next step. Trajectories of the same joints end."""
        newest = {(each.joint, each.type): each for each in setpoints}
        with self._lock:
            if self._waiting and isinstance(self._waiting[-1], dict):
                self._waiting[-1].update(newest)
            else:
                self._waiting.append(newest)

    def follow(self, following: Following) -> None:
        """Follow a trajectory from the next step on. Other trajectories of the same joints end."""
        self._enqueue(lambda: self._begin(following))

    def cancel(self, following: Following) -> None:
        """End a trajectory, unless it has ended already. Its joints hold their positions."""
        self._enqueue(lambda: self._abort(following, TrajectoryOutcome(Code.SUCCESSFUL, "cancelled", cancelled=True)))

    # For the loop's thread

    def adapt(self, columns: Columns) -> bool:
        """Find the joints of the groups again after a change of the world. Trajectories of removed joints end."""
        self._described = self.simulation.world.of(JointCommands)
        self.groups, self._timeouts = {group.name: {} for group in self._described}, {}
        self._find_joints()
        known = self.simulation.joints
        self._expires = {key: expiry_ns for key, expiry_ns in self._expires.items() if key[0] in known}
        self._cancel(lambda each: not all(joint in known for joint in each.joints), "a joint was removed")
        return True

    def _find_joints(self) -> None:
        joints = self.simulation.joints
        for group in self._described:
            found = self.groups[group.name]
            found.clear()
            for name in joints.scalar:
                if group.covers(name) and (group.joints or joints[name].targets):
                    found[name] = types_of(joints[name])
                    if group.timeout:
                        self._timeouts[name] = round(group.timeout * 1e9)

    def drain(self) -> None:
        """Apply all commands received."""
        while True:
            with self._lock:
                if not self._waiting:
                    return
                received = self._waiting.popleft()
            if isinstance(received, dict):
                self._apply(received.values())
            else:
                received()

    def send(self, step: int, time_ns: int) -> None:
        """Apply the commands received, expire setpoints that have timed out, and advance trajectories."""
        if step < self._last_step:
            self._expires.clear()
            self._cancel(lambda each: True, "the run went back in time")
        self._last_step = step
        self.drain()
        now_ns = self.simulation.time_ns
        for (joint, kind), expiry_ns in list(self._expires.items()):
            if now_ns >= expiry_ns:
                del self._expires[joint, kind]
                self._set(joint, kind, 0.0)
        for following in list(self._following):
            self._advance(following, now_ns)

    def receive(self) -> None:
        """Do nothing: commands are applied by `send`."""

    def interrupt(self) -> None:
        """Do nothing: it never waits."""

    def close(self) -> None:
        """End all trajectories: the run is over."""
        self._cancel(lambda each: True, "the run has ended")

    def _enqueue(self, act: Callable[[], None]) -> None:
        with self._lock:
            self._waiting.append(act)

    def _apply(self, setpoints: Collection[JointSetpoint]) -> None:
        setpoints = [setpoint for setpoint in setpoints if setpoint.joint in self.simulation.joints]
        joints = {setpoint.joint for setpoint in setpoints}
        self._cancel(lambda each: not joints.isdisjoint(each.joints), "another command came", Code.SUCCESSFUL)
        for setpoint in setpoints:
            target = f"the {setpoint.type} of {quoted(setpoint.joint)}"
            if self._trials.apply(target, abs(setpoint.value), partial(self._set, *setpoint)):
                continue
            timeout_ns = self._timeouts.get(setpoint.joint)
            if timeout_ns and setpoint.type != "position":
                self._expires[setpoint.joint, setpoint.type] = self.simulation.time_ns + timeout_ns

    def _set(self, joint: str, kind: str, value: float) -> None:
        handle = self.simulation.joints[joint]
        if kind == "effort":
            handle.effort = value
        else:
            handle.set_targets(**{kind: value})

    def _begin(self, following: Following) -> None:
        if not all(joint in self.simulation.joints for joint in following.joints):
            following.ended(TrajectoryOutcome(Code.INVALID_GOAL, "a joint was removed", cancelled=True))
            return
        own = set(following.joints)
        self._cancel(lambda each: not own.isdisjoint(each.joints), "replaced by another trajectory", Code.SUCCESSFUL)
        now_ns = self.simulation.time_ns
        if following.start_ns is None:
            following.start_ns = now_ns
        for joint in following.joints:
            self._expires.pop((joint, "velocity"), None)
        since = (now_ns - following.start_ns) * 1e-9
        following.trajectory = following.trajectory.starting_at(since, *self._states(following.joints))
        self._following.append(following)
        self._advance(following, now_ns)

    def _advance(self, following: Following, now_ns: int) -> None:
        """Check the errors at the current step, and set the targets for the next one."""
        assert following.start_ns is not None
        time, trajectory, limits = (now_ns - following.start_ns) * 1e-9, following.trajectory, following.tolerances
        wanted, actual = trajectory.at(time), self._states(following.joints)
        following.progress(time, np.array([*wanted, *actual]))
        errors = np.abs(np.subtract(wanted, actual))
        if time < trajectory.end - 0.5e-9:
            if (errors > limits.path).any():
                self._abort(
                    following, TrajectoryOutcome(Code.PATH_TOLERANCE_VIOLATED, _worst(following, errors, limits.path))
                )
                return
        elif (errors <= limits.goal).all():
            self._target(following.joints, trajectory.positions[-1])
            self._end(following, TrajectoryOutcome(Code.SUCCESSFUL))
            return
        elif time > trajectory.end + limits.goal_time:
            self._abort(
                following, TrajectoryOutcome(Code.GOAL_TOLERANCE_VIOLATED, _worst(following, errors, limits.goal))
            )
            return
        # Targets are held for a step. Those at its midpoint avoid a lag.
        wanted = trajectory.at(time + 0.5 * self._step)
        target, size = f"a trajectory of {', '.join(following.joints)}", float(np.abs(wanted).max())
        if reason := self._trials.apply(target, size, lambda: self._target(following.joints, *wanted)):
            self._abort(following, TrajectoryOutcome(Code.INVALID_GOAL, reason))

    def _cancel(self, which: Callable[[Following], bool], why: str, code: Code = Code.INVALID_GOAL) -> None:
        """End some of the trajectories."""
        for following in list(filter(which, self._following)):
            self._end(following, TrajectoryOutcome(code, why, cancelled=True))

    def _abort(self, following: Following, outcome: TrajectoryOutcome) -> None:
        """End a trajectory, and hold its joints at their current positions."""
        if following in self._following:
            self._target(following.joints, self._states(following.joints)[0])
        self._end(following, outcome)

    def _end(self, following: Following, outcome: TrajectoryOutcome) -> None:
        if following in self._following:
            self._following.remove(following)
            following.ended(outcome)

    def _target(self, joints: tuple[str, ...], positions: FloatArray, velocities: FloatArray | None = None) -> None:
        for index, joint in enumerate(joints):
            handle = self.simulation.joints[joint]
            handle.set_targets(position=positions[index])
            if "velocity" in handle.targets:
                handle.set_targets(velocity=0.0 if velocities is None else velocities[index])

    def _states(self, joints: tuple[str, ...]) -> tuple[FloatArray, FloatArray]:
        handles = [self.simulation.joints[joint] for joint in joints]
        return np.array([each.position[0] for each in handles]), np.array([each.velocity[0] for each in handles])


def _worst(following: Following, errors: FloatArray, limits: FloatArray) -> str:
    """Return a message about the error (2, J) that exceeds its limit the most."""
    rate, joint = divmod(int(np.argmax(errors - limits)), len(following.joints))
    what = "the velocity of " if rate else ""
    return (
        f"{what}{quoted(following.joints[joint])} is {errors[rate, joint]:.4g} off; allowed: {limits[rate, joint]:.4g}"
    )
