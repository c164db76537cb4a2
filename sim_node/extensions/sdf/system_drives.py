"""Plug-ins of Gazebo that drive: rotor motors, joint actuators, and wheeled bases."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.sdf.elements import child
from sim_node.extensions.sdf.joints import Joint
from sim_node.extensions.sdf.mechanism import SdfLink, SdfMechanism
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault
from sim_node.messages.sensor_topics import topic_of
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.base_types.kinds import Ackermann, Differential, Mecanum, Skid
from sim_node.world.bases import LIMIT, Base, DriveBounds, DriveLimits
from sim_node.world.bodies import Body
from sim_node.world.bounds import MAX_RATE
from sim_node.world.commands import BodyCommands, VehicleCommands
from sim_node.world.declared import NONE, keys_of
from sim_node.world.joint_commands import JointCommands
from sim_node.world.joint_motion import RIGID, Actuator
from sim_node.world.problems import quoted
from sim_node.world.readers import numbers
from sim_node.world.shapes import Geometry, Inertial
from sim_node.world.surfaces import Surface, SurfaceVelocity
from sim_node.world.vehicles import Multirotor, Pilot, Rotor

# The gain of a servo that tracks its speed as closely as the solver allows, N m s/rad.
STIFF = 1e4
# The negligible mass of the virtual wheel that drives a track, kg.
_TRACK_MASS = 1e-3
Y = np.array([0.0, 1.0, 0.0])
# The fields that replace the joint of a rotor that is fixed to its arm.
FROZEN: Mapping[str, Any] = {
    **dict.fromkeys(("limits", "damping", "friction_loss", "spring_stiff", "spring_zero", "q", "mimic")),
    "joint": "frozen", "axes": np.zeros((0, 3)), "anchor": np.zeros(3),
}  # fmt: skip


@system(
    "MulticopterMotorModel",
    "a rotor of a vehicle",
    ignored="commandSubTopic motorSpeedPubTopic robotNamespace rotorVelocitySlowdownSim actuator_number",
)
def _motor(plugin: SdfPlugin) -> None:
    plugin.joint("jointName")
    rotor, found = plugin.link("linkName"), plugin.found
    kind = plugin.text("motorType", "velocity")
    if kind != "velocity":
        plugin.leave_out(f"a motor of the type {quoted(kind)} is not simulated; velocity is")
        return
    base = rotor.base
    carried = found.body(base.frame).joint
    if carried != "free":
        plugin.leave_out(f"a rotor needs a model that flies; {base.frame} is on a {carried} joint")
        return
    if plugin.number("rollingMomentCoefficient", 0.0):
        plugin.approximate("a rotor has no rolling moment here, and its joint does not turn")
    stop_turning(found, rotor.frame)
    pose = poses.relative(base.pose, rotor.pose)
    up, down = plugin.number("timeConstantUp", 1 / 80), plugin.number("timeConstantDown", 1 / 40)
    spin = plugin.text("turningDirection", "cw")
    if spin not in ("cw", "ccw"):
        raise ScopeFault(plugin.element, f"turningDirection {quoted(spin)}; allowed: cw, ccw")
    made = Rotor(
        position=pose[:3],
        spin=spin,
        thrust_coefficient=plugin.number("motorConstant", 8.54858e-06),
        moment_coefficient=plugin.number("momentConstant", 0.016),
        max_speed=plugin.number("maxRotVelocity", 838.0),
        axis=quaternions.rotate(pose[3:], np.array([0.0, 0.0, 1.0])),
        drag_coefficient=plugin.number("rotorDragCoefficient", 1e-4),
        time_constant_up=max(up, 0.0),
        time_constant_down=max(down, 0.0),
    )
    _fly(plugin, base, plugin.whole("motorNumber", 0), made)


def stop_turning(found: SdfMechanism, rotor: str) -> None:
    """Fix a link that a motor turns to its arm. The rotor is represented by its thrust, torque and mass.

    Args:
        found: The mechanism that contains it.
        rotor: The name of the link.
    """
    found.put(replace(found.body(rotor), **FROZEN))
    parts = found.parts
    parts["actuators"] = [each for each in parts.get("actuators", ()) if each.joint != rotor]
    groups = [
        replace(each, joints=tuple(joint for joint in each.joints if joint != rotor))
        for each in parts.get("joint_commands", ())
    ]
    parts["joint_commands"] = [each for each in groups if each.joints]


def _fly(plugin: SdfPlugin, base: SdfLink, index: int, rotor: Rotor) -> None:
    """Add a rotor to a body, with the topics that command it."""
    found, place = plugin.found, plugin.place(base.frame)
    vehicles: list[Multirotor] = found.parts.setdefault("vehicles", [])
    numbers = found.motors.setdefault(base.frame, [])
    at = sum(other < index for other in numbers)
    numbers.insert(at, index)
    for row, each in enumerate(vehicles):
        if each.body == base.frame:
            vehicles[row] = replace(each, rotors=(*each.rotors[:at], rotor, *each.rotors[at:]))
            return
    name = base.scope.unmerged.path or base.frame
    vehicles.append(Multirotor(name, base.frame, (rotor,), place=place))
    found.add("vehicle_commands", VehicleCommands(name, place=place))


def actuate(plugin: SdfPlugin, joint: Joint, **fields: Any) -> str | None:
    """Add an actuator to a joint, unless it already has one of the same type.

    Args:
        plugin: The plug-in that drives it.
        joint: The joint.
        fields: Fields of the actuator.

    Returns:
        The name of the joint, or None with a warning if it does not have one degree of freedom.
    """
    name = plugin.moved(joint)
    freedom = plugin.found.body(name).type.qd_size
    if freedom != 1:
        plugin.leave_out(f"only joints with one degree of freedom are driven; {name} has {freedom}")
        return None
    if joint.effort[0] < np.inf and fields.get("force") is None:
        fields["force"] = joint.effort[0]
    speed = plugin.reading.number(joint.limit[0], "velocity", default=np.inf)
    if 0.0 <= speed < MAX_RATE and (bound := child(joint.limit[0], "velocity")) is not None:
        if fields["type"] == "position" or not speed:
            what = "a position controller" if speed else "a joint of no speed"
            plugin.reading.approximate(bound, f"MuJoCo has no limits of speeds: {what} has none here")
        else:
            fields["speed"] = speed
    known = plugin.found.parts.setdefault("actuators", [])
    if all((each.joint, each.type) != (name, fields["type"]) for each in known):
        known.append(Actuator(name, place=plugin.place(name), **fields))
    return name


def take_commands(plugin: SdfPlugin, name: str, *accept: str) -> None:
    """Add a joint to the joint commands of its model.

    Args:
        plugin: The plug-in that drives it.
        name: The joint.
        accept: The types of commands that it accepts besides joint states and numbers.
    """
    called = re.sub(r"[^\w/]", "_", plugin.scope.unmerged.path, flags=re.ASCII)
    called = called if re.match(r"[A-Za-z_]", called) else f"_{called}"
    groups: list[JointCommands] = plugin.found.parts.setdefault("joint_commands", [])
    for row, group in enumerate(groups):
        if group.name == called:
            joints = tuple(dict.fromkeys((*group.joints, name)))
            groups[row] = replace(group, joints=joints, accept=tuple(dict.fromkeys((*group.accept, *accept))))
            return
    taken, place = ("joint_state", "float64", *accept), plugin.place()
    groups.append(JointCommands(called, (name,), accept=taken, timeout=0.0, place=place))


_BASE = "topic odom_topic tf_topic frame_id child_frame_id odom_publish_frequency"
# The SDF keys, after max_ and min_, of each limit of a base; one without a direction applies to both directions.
_LIMITS = {
    name: (f"{name}_velocity", "velocity") if name in ("linear", "angular") else (name, name.rpartition("_")[2])
    for name in keys_of(DriveBounds)
}
_ROLLING, _STEERING = {"type": "velocity", "damping": RIGID}, {"type": "position", "stiffness": STIFF, "damping": STIFF}


def _base(plugin: SdfPlugin, shape: Any, rolling: Mapping[str, str], steering: Mapping[str, str] = NONE) -> None:
    """Add a base. `rolling` and `steering` have the roles of its wheels by the SDF keys of their joints."""
    if plugin.scope.is_fixed:
        raise ScopeFault(plugin.element, f"the model {quoted(plugin.scope.name)} is static")
    wheels: dict[str, tuple[str, ...]] = {}
    for roles, drive in ((rolling, _ROLLING), (steering, _STEERING)):
        for key, role in roles.items():
            names = (actuate(plugin, joint, implicit=True, **drive) for joint in plugin.joints(key))
            wheels[role] = tuple(dict.fromkeys(name for name in names if name is not None))
    _drive(plugin, plugin.link("chassis_link"), shape, wheels)


def _drive(plugin: SdfPlugin, body: SdfLink, shape: Any, wheels: dict[str, tuple[str, ...]]) -> None:
    """Add a base with its wheels by role. Raises ScopeFault if a role has no joint."""
    if missing := [role for role, names in wheels.items() if not names]:
        raise ScopeFault(plugin.element, f"a joint is missing for {', '.join(missing)}")
    ahead, back = _bounds(plugin, "max", 1.0), _bounds(plugin, "min", -1.0)
    # A limit that is given only for one direction does not apply to the other. The lowest forbids driving backwards.
    free = dict.fromkeys(ahead, LIMIT.high)
    limits = DriveLimits(**ahead, reverse=None if back == ahead else DriveBounds(**{**free, **back}))
    frame = body.base.frame
    base = Base(frame, frame, shape, wheels, limits=limits, timeout=0.0, place=plugin.place(frame))
    plugin.found.add("bases", base)
    plugin.found.listen(plugin.topic("topic", "cmd_vel"), topic_of(frame, "cmd_vel"))


def _bounds(plugin: SdfPlugin, end: str, sign: float) -> dict[str, float]:
    """Return the limits of a plug-in at one end, by the names of fields of DriveBounds.

    `end` is max or min, and `sign` the sign of the limits at that end.
    """
    found = {}
    for limit, keys in _LIMITS.items():
        value = next(
            (sign * each for key in keys if np.isfinite(each := plugin.number(f"{end}_{key}", np.inf))), np.inf
        )
        if value < 0.0:
            plugin.approximate(f"a limit {end}_{keys[0]} on the other side of zero is taken for zero")
        if value < np.inf:
            found[limit] = max(value, LIMIT.low)
    return found


@system("DiffDrive", "a base of the type differential", ignored=_BASE)
def _diff_drive(plugin: SdfPlugin) -> None:
    shape = Differential(wheel_radius=plugin.number("wheel_radius", 0.2), track=plugin.number("wheel_separation", 1.0))
    _base(plugin, shape, {"left_joint": "left", "right_joint": "right"})


@system("AckermannSteering", "a base of the type ackermann", ignored=_BASE)
def _ackermann(plugin: SdfPlugin) -> None:
    shape = Ackermann(
        wheel_radius=plugin.number("wheel_radius", 0.2),
        wheelbase=plugin.number("wheel_base", 1.0),
        track=plugin.number("wheel_separation", 1.0),
        max_steering=min(max(plugin.number("steering_limit", 0.5), 0.01), 1.5),
    )
    plugin.number("kingpin_width", 0.8)
    rolling = {"left_joint": "rear_left", "right_joint": "rear_right"}
    _base(plugin, shape, rolling, {"left_steering_joint": "front_left", "right_steering_joint": "front_right"})


@system("MecanumDrive", "a base of the type mecanum", ignored=_BASE)
def _mecanum(plugin: SdfPlugin) -> None:
    shape = Mecanum(
        wheel_radius=plugin.number("wheel_radius", 0.2),
        wheelbase=plugin.number("wheelbase", 1.0),
        track=plugin.number("wheel_separation", 1.0),
    )
    front = {"front_left_joint": "front_left", "front_right_joint": "front_right"}
    _base(plugin, shape, {**front, "back_left_joint": "rear_left", "back_right_joint": "rear_right"})


def _track(plugin: SdfPlugin, link: SdfLink, axis: FloatArray = Y) -> str:
    """Make the surfaces of a link run about one of its axes (3,). Return the joint with their speed, m/s as rad/s."""
    found, name = plugin.found, f"{link.frame}/track"

    def running(shape: Geometry) -> Geometry:
        if shape.is_shown_only or shape.only == "visual":
            return shape
        turned = quaternions.rotate(quaternions.inverse(shape.pose[3:]), axis)
        velocity = SurfaceVelocity(joint=name, axis=turned)
        return replace(shape, surface=replace(shape.surface or Surface(), velocity=velocity))

    known = any(each.name == name for each in found.parts["bodies"])
    if not known or axis is not Y:
        body = found.body(link.frame)
        found.put(replace(body, geometry=tuple(map(running, body.geometry))))
    if not known:
        place = plugin.place(name)
        wheel = Inertial(_TRACK_MASS, _TRACK_MASS * np.eye(3))
        found.add("bodies", Body(name, link.frame, "ry", inertial=wheel, place=place, parent_place=place))
        found.add("actuators", Actuator(name, type="velocity", damping=RIGID, implicit=True, place=place))
    return name


@system(
    "TrackController",
    "a surface that runs around its link, driven by a joint LINK/track",
    ignored="velocity_topic center_of_rotation_topic odometry_topic odometry_publish_frequency max_command_age debug "
    "min_velocity max_velocity min_acceleration max_acceleration min_jerk max_jerk",
)
def _track_controller(plugin: SdfPlugin) -> None:
    rpy = plugin.reading.vector(plugin.element, "track_orientation", default=(0.0, 0.0, 0.0))
    axis = quaternions.rotate(numbers.from_euler(rpy), Y) if rpy.any() else Y
    link = plugin.link("link")
    take_commands(plugin, name := _track(plugin, link, axis))
    topic = plugin.topic("velocity_topic", f"link/{link.entry.name}/track_cmd_vel")
    plugin.found.listen(topic, topic_of(name, "cmd_vel"))


@system(
    "TrackedVehicle",
    "a base of the type skid on surfaces that run around its tracks",
    ignored=f"{_BASE} tracks_height linear_velocity angular_velocity steering_efficiency_topic debug "
    "odom_covariance_topic",
)
def _tracked_vehicle(plugin: SdfPlugin) -> None:
    tracks: dict[str, tuple[str, ...]] = {}
    for side in ("left", "right"):
        links = (replace(plugin, element=each).link("link") for each in plugin.element.all(f"{side}_track"))
        tracks[side] = tuple(_track(plugin, link) for link in links)
    apart, efficiency = plugin.number("tracks_separation", 1.0), plugin.number("steering_efficiency", 0.5)
    shape = Skid(wheel_radius=1.0, track=apart, track_factor=1.0 / efficiency)
    _drive(plugin, plugin.link("body_link"), shape, tracks)


@system(
    "MulticopterVelocityControl",
    "a pilot, which takes velocities",
    ignored="robotNamespace commandSubTopic enableSubTopic comLinkName velocityGain attitudeGain angularRateGain "
    "maximumLinearAcceleration linearVelocityNoiseMean linearVelocityNoiseStdDev angularVelocityNoiseMean "
    "angularVelocityNoiseStdDev rotorConfiguration",
    turn=1,
)
def _multicopter_velocity(plugin: SdfPlugin) -> None:
    parts, body = plugin.found.parts, plugin.link("").base.frame
    fastest = plugin.reading.vector(plugin.element, "maximumLinearVelocity", default=(0.0, 0.0, 0.0))
    speed = float(np.linalg.norm(fastest))
    for row, vehicle in enumerate(parts.get("vehicles", ())):
        if vehicle.body == body and vehicle.autopilot is None:
            pilot = Pilot(wait=0.0, take_off=0.0, after="hold")
            if 1e-3 < speed < 1e3:
                pilot = replace(pilot, speed=speed)
            parts["vehicles"][row] = replace(vehicle, pilot=pilot)
            parts["vehicle_commands"] = [each for each in parts["vehicle_commands"] if each.vehicle != vehicle.name]
            plugin.approximate("a velocity control of a multicopter has the gains of a pilot here")
            return
    raise ScopeFault(plugin.element, f"{quoted(body)} has no motors")


@system("VelocityControl", "commands of bodies, by their velocity", ignored="topic")
def _velocity_control(plugin: SdfPlugin) -> None:
    frame = plugin.link("link_name").base.frame
    if plugin.found.body(frame).joint != "free":
        raise ScopeFault(plugin.element, f"{quoted(frame)} is on a joint; a velocity needs a body that floats free")
    for key in ("initial_linear", "initial_angular"):
        if plugin.reading.vector(plugin.element, key, default=(0.0, 0.0, 0.0)).any():
            plugin.approximate("a body has no velocity at the start here")
    plugin.approximate("a velocity of a body is set once for each command; then friction slows it down")
    commanded: list[BodyCommands] = plugin.found.parts.setdefault("body_commands", [])
    for row, each in enumerate(commanded):
        if each.body == frame:
            commanded[row] = replace(each, accept=tuple(dict.fromkeys((*each.accept, "twist"))))
            return
    commanded.append(BodyCommands(frame, ("twist",), duration=0.0, place=plugin.place(frame)))
