"""Commanders of a run, and the table of command topics: type, name, QoS, targets, conversion and action."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from rclpy.node import Node

from sim_node.messages.sensor_topics import topic_of
from sim_node.messages.signal_sink import signal_topic
from sim_node.messages.topic import SENSOR_DATA, Qos
from sim_node.ros.calls import Orders
from sim_node.ros.command_subscriptions import CommandSubscriptions
from sim_node.ros.newest_pair import NewestPair
from sim_node.ros.publishers import message_class
from sim_node.simulation import Loop, Sink
from sim_node.simulation.commander import Commander, checked_attitude, checked_thrust
from sim_node.simulation.joint_commander import JointCommander
from sim_node.simulation.joint_setpoints import JointSetpoint, setpoints_of
from sim_node.simulation.latest_commands import CommandRefused, LatestCommands, Trials, Undone
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import shown
from sim_node.world import FrameTable, JointCommands, World
from sim_node.world.bases import Base
from sim_node.world.bounds import fault
from sim_node.world.signals import NamedSignal


class Commanders:
    """Commanders of a run. Each kind is created when it is first needed.

    Args:
        prefix: Prefix of topics and frames.
        loop: The run.
        undone: Called with the target and the reason if a command is undone because the next step would have failed.

    Attributes:
        undone: As passed to the constructor.
        newest: The newest command of each base and each signal.
    """

    def __init__(self, prefix: str, loop: Loop, undone: Undone) -> None:
        self.prefix, self.loop, self.undone = prefix, loop, undone
        self.newest: LatestCommands[Callable[[], None]] = LatestCommands()
        self._pairs: dict[str, NewestPair[FloatArray, float]] = {}

    @cached_property
    def bodies(self) -> Commander:
        """The commander of bodies and multirotors. Raises WorldError."""
        commander = Commander(self.loop.simulation, self.undone)
        self.loop.simulation.connect(commander)
        return commander

    @cached_property
    def joints(self) -> JointCommander:
        """The commander of joints."""
        simulation = self.loop.simulation
        commander = JointCommander(simulation, simulation.world.joint_commands, self.undone)
        simulation.connect(commander)
        return commander

    @cached_property
    def trials(self) -> Trials:
        """Tries commands of bases and signals, and undoes those that fail."""
        return Trials(self.loop.simulation, self.undone)

    def pair_of(self, vehicle: str) -> NewestPair[FloatArray, float]:
        """Return the newest attitude and thrust of a vehicle."""
        if vehicle not in self._pairs:
            commands = next(each for each in self.loop.simulation.world.vehicle_commands if each.vehicle == vehicle)
            self._pairs[vehicle] = NewestPair(("attitude", "thrust"), commands.timeout)
        return self._pairs[vehicle]

    def of(self, world: World) -> tuple[JointCommander | Commander, ...]:
        """Return the commanders of a world's joints, bodies and vehicles. Raises WorldError."""
        return (
            *([self.joints] if world.joint_commands else []),
            *([self.bodies] if world.body_commands or world.vehicle_commands else []),
        )


# QoS for single commands, none of which may be lost, and for setpoint streams, whose publishers may be best effort.
ONE_BY_ONE, STREAM = Qos(), SENSOR_DATA


# A topic, its target as the functions of the row expect it, and how long a command is valid (s, 0 for no limit).
Target = tuple[str, Any, float]


class CommandTopic(NamedTuple):
    """A row of the table of command topics.

    Attributes:
        type: Message type, as package/msg/Name.
        qos: Quality of service of the subscription.
        targets: Yields the targets in a world.
        convert: Converts a message to a command for a target. Raises CommandRefused.
        act: Passes a command to a target. Raises CommandRefused.
    """

    type: str
    qos: Qos
    targets: Callable[[Commanders, World], Iterable[Target]]
    convert: Callable[[Commanders, Any, Any], Any]
    act: Callable[[Commanders, Any, Any], object]


def _joint_groups(to: Commanders, world: World) -> Iterator[Target]:
    for group in world.of(JointCommands):
        if "joint_state" in group.accept:
            yield (f"{to.prefix}{group.name}/joint_commands".lstrip("/"), group.name, group.timeout)


def _joints(kind: str, name: str, to: Commanders, world: World) -> Iterator[Target]:
    for group in world.of(JointCommands):
        for joint, kinds in to.joints.groups.get(group.name, {}).items() if "float64" in group.accept else ():
            if kind in kinds:
                yield (topic_of(to.prefix + joint, name), (group.name, joint, kind), group.timeout)


def _bodies(kind: str, to: Commanders, world: World) -> Iterator[Target]:
    for each in world.body_commands:
        if kind in each.accept:
            yield (topic_of(to.prefix + each.body, kind), each.body, each.duration if kind == "wrench" else 0.0)


def _multirotors(kind: str, name: str, to: Commanders, world: World) -> Iterator[Target]:
    for each in world.vehicle_commands:
        if kind in each.accept:
            yield (topic_of(to.prefix + each.vehicle, name), each.vehicle, each.timeout)


def _bases(kind: str, name: str, to: Commanders, world: World) -> Iterator[Target]:
    for base in world.of(Base):
        if base.cmd_vel == kind:
            yield (topic_of(to.prefix + base.name, name), base, base.timeout)


def _inputs(to: Commanders, world: World) -> Iterator[Target]:
    for signal in world.of(NamedSignal):
        if signal.input:
            yield (signal_topic(signal, to.prefix), signal.name, 0.0)


def _data(to: Commanders, part: Any, message: Any) -> Any:
    return message.data


def _joint_state(to: Commanders, group: str, message: Any) -> list[JointSetpoint]:
    given = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
    passive = to.loop.simulation.joints.scalar
    return setpoints_of(to.joints.groups.get(group, {}), message.name, given, passive)


def _setpoint(to: Commanders, part: tuple[str, str, str], message: Any) -> list[JointSetpoint]:
    group, joint, kind = part
    if np.isnan(message.data):
        raise CommandRefused("nan is no target")
    return setpoints_of(to.joints.groups.get(group, {}), [joint], {kind: [message.data]})


def _wrench(to: Commanders, body: str, message: Any) -> tuple[str, FloatArray]:
    force, torque = message.wrench.force, message.wrench.torque
    return _frame(to, message), np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])


def _body_twist(to: Commanders, body: str, message: Any) -> tuple[str, FloatArray]:
    linear, angular = message.twist.linear, message.twist.angular
    twist = np.array([linear.x, linear.y, linear.z, angular.x, angular.y, angular.z])
    if wrong := fault("twist", twist):
        raise CommandRefused(f"the twist {twist.tolist()} {wrong}")
    frame = _frame(to, message)
    if frame and frame not in to.loop.simulation.frames.names:
        raise CommandRefused(f"the frame is {shown(frame)}; a twist is along the axes of a frame of the world")
    return frame, twist


def _attitude(to: Commanders, vehicle: str, message: Any) -> FloatArray:
    frame, fixed = _frame(to, message), to.loop.simulation.world.fixed_frame
    if frame not in ("", fixed):
        raise CommandRefused(f"the frame is {shown(frame)}; an attitude is in the fixed frame {fixed}")
    q = message.pose.orientation
    return checked_attitude(np.array([q.x, q.y, q.z, q.w]))


def _frame(to: Commanders, message: Any) -> str:
    """Return the name of a message's frame in the world."""
    name: str = message.header.frame_id
    return name if name in to.loop.simulation.frames.names else name.removeprefix(to.prefix)


def _twist(to: Commanders, base: Base, message: Any) -> tuple[float, float, float]:
    command = message.linear.x, message.linear.y, message.angular.z
    if wrong := fault("cmd_vel", command):
        raise CommandRefused(f"the twist {list(command)} {wrong}")
    return command


def _stamped_twist(to: Commanders, base: Base, message: Any) -> tuple[float, float, float]:
    frame, allowed = message.header.frame_id, ("", base.body, to.prefix + base.body)
    if frame not in allowed:
        raise CommandRefused(f"the frame is {shown(frame)}; a twist is along the axes of {allowed[-1]}")
    return _twist(to, base, message.twist)


def _post(to: Commanders, part: Any, setpoints: list[JointSetpoint]) -> None:
    to.joints.post(setpoints)


def _push(to: Commanders, body: str, command: tuple[str, FloatArray]) -> None:
    to.bodies.push(body, *command)


def _move(to: Commanders, body: str, command: tuple[str, FloatArray]) -> None:
    frame, twist = command

    def act() -> None:
        simulation = to.loop.simulation
        handle = simulation.bodies.get(body)
        if handle is None or (frame and frame not in simulation.frames.names):  # otherwise a change has removed it
            return
        fixed = simulation.world.fixed_frame
        turn = simulation.frames.lookup(simulation.present().poses, fixed, frame or fixed)[3:]
        along = quaternions.rotate(turn, twist.reshape(2, 3)).reshape(6)
        try:
            to.trials.apply(body, float(np.abs(twist).max()), lambda: setattr(handle, "twist", along))
        except ValueError as error:  # it does not float free
            to.undone(body, str(error))

    to.newest.put(f"twist {body}", act)


def _spin(to: Commanders, vehicle: str, speeds: Sequence[float]) -> None:
    to.bodies.spin(vehicle, np.array(speeds))


def _turn(to: Commanders, vehicle: str, attitude: FloatArray) -> None:
    to.pair_of(vehicle).put_first(attitude, to.loop.simulation.time_ns)
    _fly(to, vehicle)


def _lift(to: Commanders, vehicle: str, thrust: float) -> None:
    to.pair_of(vehicle).put_second(checked_thrust(thrust), to.loop.simulation.time_ns)
    _fly(to, vehicle)


def _fly(to: Commanders, vehicle: str) -> None:
    """Follow the newest attitude with the newest thrust. Raises CommandRefused."""
    try:
        attitude, thrust, age_s = to.pair_of(vehicle).complete(to.loop.simulation.time_ns)
    except ValueError as missing:
        raise CommandRefused(str(missing)) from None
    to.bodies.turn(vehicle, attitude, thrust, age_s)


def _drive(to: Commanders, base: Base, command: tuple[float, float, float]) -> None:
    def act() -> None:
        handle = to.loop.simulation.vehicles.get(base.name)
        if handle is not None:  # otherwise a change has removed it
            to.trials.apply(base.name, max(map(abs, command)), partial(handle.cmd_vel, *command))

    to.newest.put(f"base {base.name}", act)


def _set_signal(to: Commanders, name: str, value: float) -> None:
    handle = to.loop.simulation.signals.get(name)
    if handle is None:  # a change has removed it
        return
    if (wrong := handle.fault(value)) is not None:
        raise CommandRefused(wrong)

    def act() -> None:
        if (now := to.loop.simulation.signals.get(name)) is not None:
            try:
                to.trials.apply(f"the signal {name}", abs(value), lambda: setattr(now, "value", value))
            except ValueError as error:  # the body does not float free
                to.undone(f"the signal {name}", str(error))

    to.newest.put(f"signal {name}", act)


_FLOAT, _FLOATS = "std_msgs/msg/Float64", "std_msgs/msg/Float64MultiArray"
_POSE, _TWIST, _STAMPED = (f"geometry_msgs/msg/{name}" for name in ("PoseStamped", "Twist", "TwistStamped"))
COMMAND_TOPICS = (
    CommandTopic("sensor_msgs/msg/JointState", STREAM, _joint_groups, _joint_state, _post),
    CommandTopic(_FLOAT, ONE_BY_ONE, partial(_joints, "effort", "cmd_effort"), _setpoint, _post),
    CommandTopic(_FLOAT, ONE_BY_ONE, partial(_joints, "position", "cmd_pos"), _setpoint, _post),
    CommandTopic(_FLOAT, ONE_BY_ONE, partial(_joints, "velocity", "cmd_vel"), _setpoint, _post),
    CommandTopic("geometry_msgs/msg/WrenchStamped", ONE_BY_ONE, partial(_bodies, "wrench"), _wrench, _push),
    CommandTopic(_STAMPED, ONE_BY_ONE, partial(_bodies, "twist"), _body_twist, _move),
    CommandTopic(_FLOATS, STREAM, partial(_multirotors, "rotor_speeds", "command/motor_speed"), _data, _spin),
    CommandTopic(_POSE, STREAM, partial(_multirotors, "attitude", "setpoint_attitude/attitude"), _attitude, _turn),
    CommandTopic(_FLOAT, STREAM, partial(_multirotors, "attitude", "setpoint_attitude/thrust"), _data, _lift),
    # A base accepts both twist types, one of them as cmd_vel.
    CommandTopic(_TWIST, STREAM, partial(_bases, "twist", "cmd_vel"), _twist, _drive),
    CommandTopic(_STAMPED, STREAM, partial(_bases, "twist", "cmd_vel_stamped"), _stamped_twist, _drive),
    CommandTopic(_STAMPED, STREAM, partial(_bases, "twist_stamped", "cmd_vel"), _stamped_twist, _drive),
    CommandTopic(_TWIST, STREAM, partial(_bases, "twist_stamped", "cmd_vel_unstamped"), _twist, _drive),
    CommandTopic(_FLOAT, ONE_BY_ONE, _inputs, _data, _set_signal),
)


class CommandSink(Sink):
    """Subscribes to the commands of a world's joints, bodies, vehicles, bases and signals.

    It is a sink of the run in order to follow changes of the world.

    Args:
        node: The node that subscribes.
        prefix: Prefix of topics and frames.
        clock_ns: Returns the time that the run uses for message stamps, ns; None for simulation time.
    """

    def __init__(self, node: Node, prefix: str = "", clock_ns: Callable[[], int] | None = None) -> None:
        self._node, self._prefix, self._clock_ns, self._orders = node, prefix, clock_ns, Orders(node)
        self._is_open = False

    @property
    def topics(self) -> list[str]:
        """The names of the topics and actions."""
        return self._subscriptions.topics

    def begin(self, loop: Loop) -> None:
        """Subscribe to the commands of the run's first world. Call it in the executor's thread, or before that starts.

        Args:
            loop: The run.

        Raises:
            WorldError: A body cannot move, or the rotors of a vehicle cannot follow attitudes.
        """
        now_ns = self._clock_ns or (lambda: loop.simulation.time_ns)
        self._subscriptions = CommandSubscriptions(self._node, loop, self._drain, now_ns)
        self._commanders = Commanders(self._prefix, loop, self._subscriptions.undone)
        self._followed = self._commanders.of(loop.simulation.world)
        self._subscriptions.renew(lambda: self._subscribe(loop.simulation.world))

    def open(self, world: World, frames: FrameTable) -> None:
        """Follow a change of the world. Called in the executor's thread."""
        if self._is_open:
            self._followed = self._commanders.of(world)
            self._orders.add(lambda: self._follow(world))
        self._is_open = True

    def _drain(self) -> None:
        """Apply the received commands. Called in the loop's thread."""
        for commander in self._followed:
            commander.drain()
        for act in self._commanders.newest.take().values():
            act()

    def _follow(self, world: World) -> None:
        """Update the topics without blocking the executor's thread."""
        try:
            self._subscriptions.renew(lambda: self._subscribe(world))
        except Exception as error:
            self._node.get_logger().error(f"commands do not follow the change of the world: {error}")

    def _subscribe(self, world: World) -> None:
        for row in COMMAND_TOPICS:
            for topic, part, holds_s in row.targets(self._commanders, world):
                kind, act = message_class(row.type), partial(self._receive, row, part)
                self._subscriptions.subscribe(kind, topic, act, row.qos, holds_s)
        for group in world.of(JointCommands):
            if "trajectory" in group.accept:
                # Imported here because few worlds have trajectories.
                from sim_node.ros.joint_trajectories import serve_trajectories

                namespace = f"{self._prefix}{group.name}/".lstrip("/")
                serve_trajectories(
                    self._node, self._commanders.joints, group, namespace, self._subscriptions, self._run_time_ns
                )

    def _receive(self, row: CommandTopic, part: Any, message: Any) -> None:
        row.act(self._commanders, part, row.convert(self._commanders, part, message))

    def _run_time_ns(self, stamp_ns: int) -> int:
        """Return the simulation time of a stamp."""
        wall_ns = self._clock_ns
        return stamp_ns if wall_ns is None else self._commanders.loop.simulation.time_ns + stamp_ns - wall_ns()
