"""Joint trajectories: the topic trajectory_msgs/JointTrajectory and the action FollowJointTrajectory."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rclpy.task import Future

from sim_node.messages.topic import Qos
from sim_node.ros.calls import settle
from sim_node.ros.command_subscriptions import CommandSubscriptions
from sim_node.ros.graph_clock import nanoseconds
from sim_node.ros.publishers import message_class
from sim_node.simulation.joint_commander import Following, JointCommander, Tolerances, TrajectoryOutcome
from sim_node.simulation.joint_setpoints import Code, JointCommandRefused, Point, trajectory_of
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world import JointCommands
from sim_node.world.problems import quoted

TOPIC, ACTION = "joint_trajectory", "follow_joint_trajectory"
# Maximum time until the start of a trajectory, s.
MAX_WAIT_S = 3600.0
# Minimum simulated time between feedback messages, s.
FEEDBACK_PERIOD = 0.05
# How long a closing action stays for clients that are about to request the result of a goal, s.
GRACE_S = 1.0


def serve_trajectories(
    node: Node,
    commander: JointCommander,
    group: JointCommands,
    namespace: str,
    subscriptions: CommandSubscriptions,
    run_time_ns: Callable[[int], int],
) -> None:
    """Offer the topic and the action of a group, if their message types are installed.

    Args:
        node: The node that offers them.
        commander: Follows the trajectories.
        group: The joints.
        namespace: Prefix of the names; empty, or with a trailing slash.
        subscriptions: The command subscriptions, which the topic and the action are added to.
        run_time_ns: Returns the simulation time of a stamp, ns.
    """
    try:
        kind = message_class("trajectory_msgs/msg/JointTrajectory")
    except ImportError:
        node.get_logger().warning(f"{namespace}{TOPIC}: trajectories need trajectory_msgs, which is not installed")
        return
    topic = namespace + TOPIC

    def follow(message: Any) -> None:
        def ended(outcome: TrajectoryOutcome) -> None:
            if outcome.code is not Code.SUCCESSFUL and not outcome.cancelled:
                node.get_logger().warning(f"{topic}: {outcome.code.name}: {outcome.message}")

        following = _following(message, commander, group, run_time_ns)
        following.ended = ended
        commander.follow(following)

    # A stamp gives the start time, not the time when the message was sent.
    subscriptions.subscribe(kind, topic, follow, Qos(), math.inf)
    try:
        action = importlib.import_module("control_msgs.action").FollowJointTrajectory
    except ImportError:
        return

    def serve() -> Callable[[], object]:
        server = FollowJointTrajectoryServer(
            node, commander, group, namespace + ACTION, action, subscriptions, run_time_ns
        )
        return server.close

    subscriptions.keep(namespace + ACTION, group, serve)


class FollowJointTrajectoryServer:
    """FollowJointTrajectory action of a group. One goal is active at a time; a new goal replaces it."""

    def __init__(
        self,
        node: Node,
        commander: JointCommander,
        group: JointCommands,
        name: str,
        action: Any,
        subscriptions: CommandSubscriptions,
        run_time_ns: Callable[[int], int],
    ) -> None:
        self._node, self._commander, self._group, self._name = node, commander, group, name
        self._action, self._subscriptions, self._run_time_ns = action, subscriptions, run_time_ns
        self._is_closing = False
        self._following: dict[bytes, Following] = {}
        self._server = ActionServer(
            node,
            action,
            name,
            execute_callback=self._execute,
            goal_callback=self._accept,
            cancel_callback=self._cancel,
        )

    def close(self) -> None:
        """Accept no further goals, and end the action once all goals have their results."""
        self._is_closing = True
        if self._following:
            self._timer = self._node.create_timer(GRACE_S, self._end, clock=Clock(clock_type=ClockType.STEADY_TIME))
        else:
            self._server.destroy()

    def _end(self) -> None:
        if not self._following:
            self._node.destroy_timer(self._timer)
            self._server.destroy()

    def _accept(self, goal: Any) -> GoalResponse:
        if self._is_closing:
            return GoalResponse.REJECT
        try:
            _following(goal.trajectory, self._commander, self._group, self._run_time_ns, goal)
        except JointCommandRefused as refusal:
            self._subscriptions.refuse(self._name, f"{refusal.code.name}: {refusal}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _cancel(self, handle: Any) -> CancelResponse:
        following = self._following.get(bytes(handle.goal_id.uuid))
        if following is not None:
            self._commander.cancel(following)
            self._subscriptions.wake()
        return CancelResponse.ACCEPT

    async def _execute(self, handle: Any) -> Any:
        """Follow the trajectory of an accepted goal, and return the result."""
        result = self._action.Result()
        key = bytes(handle.goal_id.uuid)
        try:
            request = handle.request
            following = _following(request.trajectory, self._commander, self._group, self._run_time_ns, request)
        except JointCommandRefused as refusal:  # its time has passed since it was accepted
            result.error_code, result.error_string = int(refusal.code), str(refusal)
            handle.abort()
            return result
        done = Future()

        def ended(outcome: TrajectoryOutcome) -> None:
            settle(self._node, done, lambda: outcome)

        following.ended = ended
        following.progress = self._feedback(handle, following)
        self._following[key] = following
        self._commander.follow(following)
        self._subscriptions.wake()
        outcome: TrajectoryOutcome = await done
        del self._following[key]
        result.error_code, result.error_string = int(outcome.code), outcome.message
        if outcome.cancelled and handle.is_cancel_requested:
            handle.canceled()
        elif outcome.cancelled or outcome.code is not Code.SUCCESSFUL:
            handle.abort()
        else:
            handle.succeed()
        return result

    def _feedback(self, handle: Any, following: Following) -> Callable[[float, FloatArray], None]:
        """Return a function that publishes desired and actual state and error, at most once per FEEDBACK_PERIOD."""
        last = -math.inf

        def progress(time: float, states: FloatArray) -> None:
            nonlocal last
            if time - last < FEEDBACK_PERIOD:
                return
            last = time
            feedback = self._action.Feedback(joint_names=list(following.joints))
            stamp = feedback.header.stamp
            stamp.sec, stamp.nanosec = divmod(self._commander.simulation.time_ns, 1_000_000_000)
            desired, actual = states[:2], states[2:]
            each = ((feedback.desired, desired), (feedback.actual, actual), (feedback.error, desired - actual))
            for point, (positions, velocities) in each:
                point.positions, point.velocities = positions.tolist(), velocities.tolist()
                whole = round(max(time, 0.0) * 1e9)
                point.time_from_start.sec, point.time_from_start.nanosec = divmod(whole, 1_000_000_000)
            handle.publish_feedback(feedback)

        return progress


def _following(
    message: Any,
    commander: JointCommander,
    group: JointCommands,
    run_time_ns: Callable[[int], int],
    goal: Any = None,
) -> Following:
    """Return the trajectory of a message, with the tolerances of a goal if there is one. Raises JointCommandRefused."""
    names = tuple(message.joint_names)
    for index, each in enumerate(message.points):
        if len(each.effort):
            raise JointCommandRefused(f"point {index} has efforts; allowed: positions, velocities, accelerations")
    points = [
        Point(nanoseconds(each.time_from_start) * 1e-9, each.positions, each.velocities, each.accelerations)
        for each in message.points
    ]
    trajectory = trajectory_of(commander.groups.get(group.name, {}), names, points)
    stamp_ns = nanoseconds(message.header.stamp)
    start_ns = run_time_ns(stamp_ns) if stamp_ns else None
    if start_ns is not None:
        wait_s = (start_ns - commander.simulation.time_ns) * 1e-9
        if wait_s + trajectory.end < 0.0:
            raise JointCommandRefused("it ends in the past", Code.OLD_HEADER_TIMESTAMP)
        if wait_s > MAX_WAIT_S:
            hint = "does the sender have use_sim_time?"
            raise JointCommandRefused(f"it starts in {wait_s:.3g} s; allowed: up to {MAX_WAIT_S:g} s; {hint}")
    tolerances = Tolerances.of(group, len(names))
    if goal is not None:
        # Fields of later versions of the action
        for field in ("multi_dof_trajectory.points", "component_path_tolerance", "component_goal_tolerance"):
            if _given(goal, field):
                raise JointCommandRefused(f"{field.partition('.')[0]} is not supported; a goal has joints only")
        tolerances = _tolerances(goal, names, tolerances)
    return Following(names, trajectory, tolerances, start_ns)


def _given(goal: Any, field: str) -> bool:
    """Return whether a goal has a field that is not empty."""
    for name in field.split("."):
        goal = getattr(goal, name, ())
    return len(goal) > 0


def _tolerances(goal: Any, names: tuple[str, ...], default: Tolerances) -> Tolerances:
    """Return the tolerances of a goal: 0 for the default, negative for none. Raises JointCommandRefused."""
    found: list[FloatArray] = []
    for given, own in ((goal.path_tolerance, default.path), (goal.goal_tolerance, default.goal)):
        limits = np.array(own)
        for each in given:
            if each.name not in names:
                raise JointCommandRefused(f"a tolerance of {quoted(each.name)}, which is not in the trajectory")
            if not (math.isfinite(each.position) and math.isfinite(each.velocity)):
                raise JointCommandRefused(f"the tolerance of {quoted(each.name)} is not finite")
            if not each.acceleration <= 0.0:
                message = f"a tolerance of the acceleration of {quoted(each.name)}; allowed: position, velocity"
                raise JointCommandRefused(message)
            for rate, limit in enumerate((each.position, each.velocity)):
                if limit:
                    limits[rate, names.index(each.name)] = limit if limit > 0.0 else math.inf
        found.append(limits)
    goal_time = nanoseconds(goal.goal_time_tolerance) * 1e-9
    goal_time = default.goal_time if goal_time == 0.0 else goal_time if goal_time > 0.0 else math.inf
    return Tolerances(found[0], found[1], goal_time)
