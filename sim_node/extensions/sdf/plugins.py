"""Gazebo's systems by name: what each is here, which have no effect, and what is missing of the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sim_node.extensions.sdf.elements import SdfReading, child, flag, number, place_of, text, text_of, vector
from sim_node.extensions.sdf.joints import Joint
from sim_node.extensions.sdf.mechanism import SdfLink, SdfMechanism
from sim_node.extensions.sdf.scopes import ScopeFault, SdfScope, canonical_link, find
from sim_node.extensions.sdf.surroundings import SdfSurroundings
from sim_node.extensions.sdf.wings import AIR_DENSITY, LiftDrag
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.base_types.ackermann import Ackermann
from sim_node.world.base_types.differential import Differential
from sim_node.world.base_types.mecanum import Mecanum
from sim_node.world.bases import Base, DriveLimits
from sim_node.world.commands import BodyCommands, VehicleCommands
from sim_node.world.forces import Buoyancy, ConstantForce, Drag
from sim_node.world.joint_commands import JointCommands
from sim_node.world.joint_motion import RIGID, Actuator
from sim_node.world.model import Sensor
from sim_node.world.problems import quoted
from sim_node.world.readers.xml_elements import Element
from sim_node.world.shapes import volume_of
from sim_node.world.vehicles import Multirotor, Rotor

_SYSTEM = re.compile(r"(?:lib)?(?:gz-sim\d*|ignition-gazebo\d*|gz_sim|gazebo)[-_](?P<name>.+?)(?:[-_]system)?(?:\.so)?")
# Depth at which a body is under water in a world without a surface, m.
DEEP = 1e6
# A servo that follows its speed as nearly as the solver can, N m s/rad.
STIFF = 1e4
MAX_COMMANDED = 32


class GazeboSystem(NamedTuple):
    """What a system is here: in words, and the function that adds it; None for one that has no effect."""

    about: str
    add: Callable[[Plugins, Element, SdfScope], None] | None = None


@dataclass
class Plugins:
    """What systems add to.

    Attributes:
        reading: What is being read.
        found: What it has become so far.
        around: What surrounds it.
        numbers: The numbers of the motors of each flying body, in the order of its rotors.
    """

    reading: SdfReading
    found: SdfMechanism
    around: SdfSurroundings
    numbers: dict[str, list[int]] = field(default_factory=dict)

    def joint(self, scope: SdfScope, element: Element, key: str) -> Joint:
        """Return the joint that a system names. Raises Fault."""
        named = child(element, key)
        if named is None or not text_of(named):
            raise ScopeFault(element, f"{key} is missing")
        return self.joint_of(scope, named)

    def joint_of(self, scope: SdfScope, named: Element) -> Joint:
        """Return the joint of a name. Raises Fault."""
        name = text_of(named)
        owner, entry = find(scope, name, named)
        found = self.found.joints.get((owner, entry.name))
        if found is None:
            raise ScopeFault(
                named, f"{quoted(name)} is no joint here{did_you_mean(name, (n for _, n in self.found.joints))}"
            )
        return found

    def link(self, scope: SdfScope, element: Element, key: str) -> SdfLink:
        """Return the link that a system names; the model's first without a name. Raises Fault."""
        named = child(element, key)
        if named is None or not text_of(named):
            first = canonical_link(scope, element)
            if first is None:
                raise ScopeFault(element, f"{key} is missing")
            return self.found.links[first[1]]
        _, entry = find(scope, text_of(named), named)
        if entry not in self.found.links:
            raise ScopeFault(named, f"{quoted(entry.name)} is a {entry.kind}; a link is needed")
        return self.found.links[entry]

    def moved(self, joint: Joint) -> str:
        """Return what a joint is called here: the link that it moves."""
        return self.found.links[joint.child[1]].frame

    def base_of(self, link: SdfLink) -> SdfLink:
        """Return the link that carries a link and those above it, on a free joint or on the world."""
        *_, base = link.above()
        return base


# What systems become


def _motor(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    to.joint(scope, element, "jointName")
    rotor = to.link(scope, element, "linkName")
    kind = text(element, "motorType", default="velocity")
    if kind != "velocity":
        reading.leave_out(element, f"a motor of the type {quoted(kind)} is not simulated; velocity is")
        return
    base = to.base_of(rotor)
    if to.found.body(base.frame).joint != "free":
        reading.leave_out(
            element, f"a rotor needs a model that flies; {base.frame} is on a {base_kind(to, base)} joint"
        )
        return
    for key in (
        "commandSubTopic",
        "motorSpeedPubTopic",
        "robotNamespace",
        "rotorVelocitySlowdownSim",
        "actuator_number",
    ):
        text(element, key)
    if number(reading, element, "rollingMomentCoefficient", default=0.0):
        reading.approximate(element, "a rotor has no rolling moment here, and its joint does not turn")
    # A rotor stands still against its arm: it is its thrust, its torque and its mass.
    body = to.found.body(rotor.frame)
    to.found.put(
        replace(
            body,
            joint="frozen",
            axes=np.zeros((0, 3)),
            limits=None,
            damping=None,
            friction_loss=None,
            spring_stiff=None,
            spring_zero=None,
            q=None,
            anchor=np.zeros(3),
            mimic=None,
        )
    )
    pose = poses.relative(base.pose, rotor.pose)
    up, down = (
        number(reading, element, f"timeConstant{way}", default=default)
        for way, default in (("Up", 1 / 80), ("Down", 1 / 40))
    )
    spin = text(element, "turningDirection", default="cw")
    if spin not in ("cw", "ccw"):
        raise ScopeFault(element, f"turningDirection {quoted(spin)}; allowed: cw, ccw")
    made = Rotor(
        position=pose[:3],
        spin=spin,
        thrust_coefficient=number(reading, element, "motorConstant", default=8.54858e-06),
        moment_coefficient=number(reading, element, "momentConstant", default=0.016),
        max_speed=number(reading, element, "maxRotVelocity", default=838.0),
        axis=quaternions.rotate(pose[3:], np.array([0.0, 0.0, 1.0])),
        drag_coefficient=number(reading, element, "rotorDragCoefficient", default=1e-4),
        time_constant_up=max(up, 0.0),
        time_constant_down=max(down, 0.0),
    )
    _fly(to, base, int(number(reading, element, "motorNumber", default=0.0)), made, element)


def base_kind(to: Plugins, base: SdfLink) -> str:
    """Return the type of the joint of a link."""
    return to.found.body(base.frame).joint


def _fly(to: Plugins, base: SdfLink, index: int, rotor: Rotor, element: Element) -> None:
    """Give a body another rotor, and the topics that command it."""
    vehicles: list[Multirotor] = to.found.parts.setdefault("vehicles", [])
    known = next((k for k, each in enumerate(vehicles) if each.body == base.frame), None)
    place = place_of(element, base.frame)
    if known is None:
        top = base.scope
        while top.merged and top.above is not None:
            top = top.above
        name = top.path or base.frame
        vehicles.append(Multirotor(name, base.frame, (rotor,), place=place))
        to.found.add("vehicle_commands", VehicleCommands(name, place=place))
        to.numbers[base.frame] = [index]
        return
    numbers = to.numbers[base.frame]
    at = sum(other < index for other in numbers)
    numbers.insert(at, index)
    rotors = list(vehicles[known].rotors)
    rotors.insert(at, rotor)
    vehicles[known] = replace(vehicles[known], rotors=tuple(rotors))


def _lift_drag(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    link = to.link(scope, element, "link_name")
    if link.is_static:
        reading.ignore(element, "its link does not move")
        return
    given = child(element, "control_joint_name")
    control = to.moved(to.joint_of(scope, given)) if given is not None and text_of(given) else ""
    if control and to.found.body(control).joint == "frozen":
        control = ""
    usual = {"a0": 0.0, "alpha_stall": np.pi / 2, "cla": 1.0, "cda": 0.01, "cma": 0.01, "cla_stall": 0.0,
             "cda_stall": 1.0, "cma_stall": 0.0, "cm_delta": 0.0, "area": 1.0}  # fmt: skip
    to.found.add(
        "forces",
        LiftDrag(
            link.frame,
            forward=vector(reading, element, "forward", default=(1.0, 0.0, 0.0)),
            upward=vector(reading, element, "upward", default=(0.0, 0.0, 1.0)),
            centre=vector(reading, element, "cp", default=(0.0, 0.0, 0.0)),
            density=number(reading, element, "air_density", default=AIR_DENSITY),
            control=control,
            control_cl=number(reading, element, "control_joint_rad_to_cl", default=4.0),
            radial_symmetry=flag(reading, element, "radial_symmetry"),
            reversible=flag(reading, element, "reversible"),
            **{key: number(reading, element, key, default=default) for key, default in usual.items()},
            place=place_of(element, link.frame),
        ),
    )


def _actuate(to: Plugins, joint: Joint, element: Element, **fields: Any) -> str | None:
    """Drive a joint, unless something does already; return its name, or None if it does not move."""
    name, body = to.moved(joint), to.found.body(to.moved(joint))
    if body.type.qd_size != 1:
        to.reading.leave_out(
            element, f"only joints with one degree of freedom are driven; {name} has {body.type.qd_size}"
        )
        return None
    if joint.effort[0] < np.inf and fields.get("force") is None:
        fields["force"] = joint.effort[0]
    known = to.found.parts.setdefault("actuators", [])
    if all((each.joint, each.type) != (name, fields["type"]) for each in known):
        known.append(Actuator(name, place=place_of(element, name), **fields))
    return name


def _command(to: Plugins, name: str, scope: SdfScope, element: Element) -> None:
    """Let a joint be commanded with those of its model."""
    top = scope
    while top.merged and top.above is not None:
        top = top.above
    called = re.sub(r"[^\w/]", "_", top.path, flags=re.ASCII)
    called = called if re.match(r"[A-Za-z_]", called) else f"_{called}"
    groups: list[JointCommands] = to.found.parts.setdefault("joint_commands", [])
    for k, group in enumerate(groups):
        if group.name == called:
            groups[k] = replace(group, joints=tuple(dict.fromkeys((*group.joints, name))))
            return
    groups.append(
        JointCommands(called, (name,), accept=("joint_state", "float64"), timeout=0.0, place=place_of(element))
    )


def _joint_position(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    for named in element.all("joint_name"):
        joint = to.joint_of(scope, named)
        gain = max(number(reading, element, "p_gain", default=1.0), 0.0)
        most = number(reading, element, "cmd_max", default=-1.0)
        target = number(reading, element, "initial_position", default=0.0)
        for key in ("topic", "sub_topic", "joint_index", "use_actuator_msg", "actuator_number"):
            text(element, key)
        if flag(reading, element, "use_velocity_commands"):
            # A speed of p times the error, as nearly as the solver can.
            gains: dict[str, Any] = {"stiffness": STIFF * gain, "damping": STIFF, "implicit": True}
        else:
            if number(reading, element, "i_gain", default=0.1):
                reading.approximate(element, "a joint position controller has no integral gain here")
            damping = max(number(reading, element, "d_gain", default=0.01), 0.0)
            gains = {"stiffness": gain, "damping": damping, "implicit": True}
            if 0.0 < most < np.inf:
                gains["force"] = most
        name = _actuate(to, joint, element, type="position", target=target, **gains)
        if name is not None:
            _command(to, name, scope, element)


def _joint_velocity(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    for named in element.all("joint_name"):
        joint = to.joint_of(scope, named)
        for key in ("topic", "sub_topic", "joint_index", "use_actuator_msg", "actuator_number", "control_type"):
            text(element, key)
        target = number(reading, element, "initial_velocity", default=0.0)
        if flag(reading, element, "use_force_commands"):
            gains: dict[str, Any] = {"damping": max(number(reading, element, "p_gain", default=1.0), 1e-9)}
        else:
            gains = {"damping": RIGID, "implicit": True}
        name = _actuate(to, joint, element, type="velocity", target=target, **gains)
        if name is not None:
            _command(to, name, scope, element)


def _joint_force(to: Plugins, element: Element, scope: SdfScope) -> None:
    text(element, "topic")
    name = _actuate(to, to.joint(scope, element, "joint_name"), element, type="effort")
    if name is not None:
        _command(to, name, scope, element)


def _wheels(
    to: Plugins, element: Element, scope: SdfScope, roles: dict[str, str], kind: str
) -> dict[str, tuple[str, ...]]:
    """Return the wheels of a base by their roles, each with a drive. roles: by the keys that name their joints."""
    found = {}
    for key, role in roles.items():
        names = []
        for named in element.all(key):
            joint = to.joint_of(scope, named)
            stiff: dict[str, Any] = {"damping": RIGID} if kind == "velocity" else {"stiffness": STIFF, "damping": STIFF}
            name = _actuate(to, joint, element, type=kind, implicit=True, **stiff)
            if name is not None:
                names.append(name)
        found[role] = tuple(dict.fromkeys(names))
    return found


def _base(to: Plugins, element: Element, scope: SdfScope, shape: Any, joints: dict[str, tuple[str, ...]]) -> None:
    reading = to.reading
    body = to.link(scope, element, "chassis_link")
    if not all(joints.values()):
        raise ScopeFault(
            element, f"a joint is missing for {', '.join(role for role, names in joints.items() if not names)}"
        )
    limits = {}
    for key, ways in (("linear", ("max_linear_velocity", "max_velocity")), ("angular", ("max_angular_velocity",)),
                      ("linear_acceleration", ("max_linear_acceleration", "max_acceleration")),
                      ("angular_acceleration", ("max_angular_acceleration",))):  # fmt: skip
        value = next((v for way in ways if (v := number(reading, element, way, default=0.0)) > 0.0), 0.0)
        if 0.0 < value < np.inf:
            limits[key] = value
    for key in ("topic", "odom_topic", "tf_topic", "frame_id", "child_frame_id", "odom_publish_frequency"):
        text(element, key)
    base = to.base_of(body)
    to.found.add(
        "bases",
        Base(
            base.frame,
            base.frame,
            shape,
            joints,
            limits=DriveLimits(**limits),
            timeout=0.0,
            place=place_of(element, base.frame),
        ),
    )


def _diff_drive(to: Plugins, element: Element, scope: SdfScope) -> None:
    radius = number(to.reading, element, "wheel_radius", default=0.2)
    shape = Differential(wheel_radius=radius, track=number(to.reading, element, "wheel_separation", default=1.0))
    joints = _wheels(to, element, scope, {"left_joint": "left", "right_joint": "right"}, "velocity")
    _base(to, element, scope, shape, joints)


def _ackermann(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    shape = Ackermann(
        wheel_radius=number(reading, element, "wheel_radius", default=0.2),
        wheelbase=number(reading, element, "wheel_base", default=1.0),
        track=number(reading, element, "wheel_separation", default=1.0),
        max_steering=min(max(number(reading, element, "steering_limit", default=0.5), 0.01), 1.5),
    )
    number(reading, element, "kingpin_width", default=0.8)
    joints = _wheels(to, element, scope, {"left_joint": "rear_left", "right_joint": "rear_right"}, "velocity")
    steered = {"left_steering_joint": "front_left", "right_steering_joint": "front_right"}
    _base(to, element, scope, shape, joints | _wheels(to, element, scope, steered, "position"))


def _mecanum(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    shape = Mecanum(
        wheel_radius=number(reading, element, "wheel_radius", default=0.2),
        wheelbase=number(reading, element, "wheelbase", default=1.0),
        track=number(reading, element, "wheel_separation", default=1.0),
    )
    roles = {"front_left_joint": "front_left", "front_right_joint": "front_right",
             "back_left_joint": "rear_left", "back_right_joint": "rear_right"}  # fmt: skip
    _base(to, element, scope, shape, _wheels(to, element, scope, roles, "velocity"))


def _odometry(to: Plugins, element: Element, scope: SdfScope) -> None:
    link = to.link(scope, element, "robot_base_frame") if _is_link(scope, element) else to.link(scope, element, "")
    for key in ("odom_topic", "odom_frame", "odom_covariance_topic", "tf_topic", "dimensions", "robot_base_frame"):
        text(element, key)
    if number(to.reading, element, "gaussian_noise", default=0.0):
        to.reading.approximate(element, "an odometry publisher has no noise here")
    rate = number(to.reading, element, "odom_publish_frequency", default=50.0)
    _publish(to, element, f"{link.frame}/odometry", link, "ground_truth", rate, {})


def _is_link(scope: SdfScope, element: Element) -> bool:
    named = child(element, "robot_base_frame")
    try:
        return named is not None and find(scope, text_of(named), named)[1].kind == "link"
    except ScopeFault:
        return False


def _joint_states(to: Plugins, element: Element, scope: SdfScope) -> None:
    text(element, "topic")
    names = []
    for named in element.all("joint_name"):
        body = to.found.body(to.moved(to.joint_of(scope, named)))
        names += [joint.name.removesuffix("#0") if body.type.qd_size == 1 else joint.name for joint in body.joints]
    link = to.base_of(to.link(scope, element, ""))
    rate = number(to.reading, element, "update_rate", default=0.0)
    perfect: dict[str, Any] = {"position": "none", "velocity": "none", **({"joints": names} if names else {})}
    if any(body.joint not in ("frozen", "free") for body in to.found.parts["bodies"]):
        _publish(to, element, f"{link.frame}/joints", link, "joint_states", rate, perfect)


def _publish(
    to: Plugins, element: Element, name: str, link: SdfLink, kind: str, rate: float, parameters: dict[str, Any]
) -> None:
    most = 1e9 / to.around.time.step_ns
    place = place_of(element, name)
    given = {"rate": rate if 0.0 < rate <= most else min(most, 100.0), **parameters}
    sensor = Sensor(name, link.frame, place=place, parent_place=place, type=kind, parameters=given)
    if all(each.name != name for each in to.found.parts.get("sensors", ())):
        to.found.add("sensors", sensor)


def _link_wrench(to: Plugins, element: Element, scope: SdfScope) -> None:
    for wrench in element.all("persistent"):
        name = text(wrench, "entity_name")
        kind = text(wrench, "entity_type", default="link")
        named = child(wrench, "entity_name") or wrench
        _, entry = find(scope, name, named)
        link = (
            to.link(entry.inner, wrench, "")
            if kind == "model" and entry.inner is not None
            else to.found.links.get(entry)
        )
        if link is None:
            raise ScopeFault(named, f"{quoted(name)} is no link")
        force, torque = (vector(to.reading, wrench, key, default=(0.0, 0.0, 0.0)) for key in ("force", "torque"))
        to.found.add(
            "forces", ConstantForce(link.frame, force=force, torque=torque, place=place_of(wrench, link.frame))
        )
    text(element, "verbose")
    bodies = [body for body in to.found.parts.get("bodies", ()) if body.joint == "free"]
    known = {each.body for each in to.found.parts.get("body_commands", ())}
    for body in bodies[:MAX_COMMANDED]:
        if body.name not in known:
            to.found.add("body_commands", BodyCommands(body.name, duration=0.0, place=place_of(element, body.name)))
    if len(bodies) > MAX_COMMANDED:
        to.reading.approximate(element, f"the first {MAX_COMMANDED} free bodies have a topic for wrenches")


def _buoyancy(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    density, surface = number(reading, element, "uniform_fluid_density", default=1000.0), DEEP
    graded = child(element, "graded_buoyancy")
    if graded is not None:
        density = number(reading, graded, "default_density", default=1000.0)
        for change in graded.all("density_change"):
            surface = number(reading, change, "above_depth", default=0.0)
            if number(reading, change, "density", default=1.0) > 10.0:
                reading.approximate(change, "a fluid has one density below its surface and none above it")
    chosen = [text_of(each) for each in element.all("enable")]
    for link in to.found.links.values():
        name = link.frame
        if link.is_static or (
            chosen
            and not any(
                name == each.replace("::", "/") or name.startswith(each.replace("::", "/") + "/") for each in chosen
            )
        ):
            continue
        volume, centre, span = 0.0, np.zeros(3), []
        for shape in to.found.body(name).geometry:
            if shape.only == "visual" or shape.shape == "plane":
                continue
            try:
                own = volume_of(shape)
            except ValueError:
                continue
            volume, centre = volume + own, centre + own * shape.pose[:3]
            span.append(own ** (1.0 / 3.0))
        if volume > 0.0:
            to.found.add(
                "forces",
                Buoyancy(
                    name,
                    volume=volume,
                    height=max(sum(span), 1e-3),
                    density=density,
                    surface=surface,
                    center=centre / volume,
                    place=place_of(element, name),
                ),
            )


def _hydrodynamics(to: Plugins, element: Element, scope: SdfScope) -> None:
    reading = to.reading
    link = to.link(scope, element, "link_name")
    density = number(reading, element, "water_density", default=998.0)
    del density  # what the coefficients of drag are for already
    axes, turns = (("x", "U"), ("y", "V"), ("z", "W")), (("k", "P"), ("m", "Q"), ("n", "R"))

    def of(names: tuple[tuple[str, str], ...], form: str) -> FloatArray:
        return np.array([max(-number(reading, element, form.format(a, b), default=0.0), 0.0) for a, b in names])

    given = {
        "linear": of(axes, "{0}{1}"),
        "quadratic": of(axes, "{0}{1}abs{1}"),
        "angular_linear": of(turns, "{0}{1}"),
        "angular_quadratic": of(turns, "{0}{1}abs{1}"),
    }
    if any(number(reading, element, f"{a}Dot{b}", default=0.0) for a, b in (*axes, *turns)):
        reading.approximate(element, "added mass is not simulated")
    if any(values.any() for values in given.values()):
        to.found.add("forces", Drag(link.frame, **given, place=place_of(element, link.frame)))


_OURS, _DRAWN = "a part of every run here", "of Gazebo's windows"
# By class. A system that is a part of a run here, or of what is not simulated, has no function.
SYSTEMS: dict[str, GazeboSystem] = {
    "MulticopterMotorModel": GazeboSystem("a rotor of a vehicle", _motor),
    "LiftDrag": GazeboSystem("a force on the link", _lift_drag),
    "JointPositionController": GazeboSystem("a position actuator, and commands of joints", _joint_position),
    "JointController": GazeboSystem("a velocity actuator, and commands of joints", _joint_velocity),
    "ApplyJointForce": GazeboSystem("an effort actuator, and commands of joints", _joint_force),
    "DiffDrive": GazeboSystem("a base of the type differential", _diff_drive),
    "AckermannSteering": GazeboSystem("a base of the type ackermann", _ackermann),
    "MecanumDrive": GazeboSystem("a base of the type mecanum", _mecanum),
    "OdometryPublisher": GazeboSystem("a sensor of the type ground_truth", _odometry),
    "JointStatePublisher": GazeboSystem("a sensor of the type joint_states", _joint_states),
    "ApplyLinkWrench": GazeboSystem("commands of bodies, and constant forces", _link_wrench),
    "Buoyancy": GazeboSystem("a force on each link that has a volume", _buoyancy),
    "Hydrodynamics": GazeboSystem("drag of the link; no added mass", _hydrodynamics),
    "PosePublisher": GazeboSystem("/tf has all poses"),
    **dict.fromkeys(
        (
            *("Physics", "UserCommands", "SceneBroadcaster", "Sensors", "Imu", "Magnetometer", "AirPressure", "NavSat"),
            *("Altimeter", "ForceTorque", "Contact", "AirSpeed", "LogicalCamera", "OpticalTactilePlugin", "Label"),
            *("LogRecord", "LogPlayback", "LogVideoRecorder", "Performer", "LevelManager", "EntitySemantics"),
            *("SystemMonitor", "JoyToTwist", "MagnetometerSystem", "CustomSensorSystem", "RosGzBridge", "OpticalFlow"),
            *("EnvironmentPreload", "SceneManager", "Comms", "RFComms", "PerfectComms", "AcousticComms", "Shader"),
        ),
        GazeboSystem(_OURS),
    ),
    **dict.fromkeys(
        ("CameraVideoRecorder", "ParticleEmitter", "ParticleEmitter2", "ShaderParam", "VisualizeContacts", "Thermal",
         "ThermalSensor", "CameraTracking", "Projector", "MaterialColor", "LightControl", "ColladaWorldExporter",
         "SdfExporter", "ModelPhotoShoot", "FollowActor"),
        GazeboSystem(_DRAWN),
    ),
}  # fmt: skip
# Systems that move something and have no equivalent here.
MISSING = (
    *("AdvancedLiftDrag", "MulticopterVelocityControl", "VelocityControl", "TrajectoryFollower", "TriggeredPublisher"),
    *(
        "DetachableJoint",
        "TouchPlugin",
        "LinearBatteryPlugin",
        "WindEffects",
        "Thruster",
        "BuoyancyEngine",
        "TrackedVehicle",
    ),
    *(
        "TrackController",
        "JointTrajectoryController",
        "ArduPilotPlugin",
        "MotorFailureSystem",
        "DopplerVelocityLogSystem",
    ),
    *("KineticEnergyMonitor", "ElevatorSystem", "LensFlare", "HydrodynamicsPlugin", "WheelSlip", "ParachutePlugin"),
    *("CameraZoomPlugin", "GstCameraPlugin", "CopterPlugin", "SpacecraftThrusterModel", "GimbalController"),
)


def system_name(plugin: Element) -> str:
    """Return the class of a plug-in, under whichever of its names a file gives it."""
    name, file = plugin.get("name"), plugin.get("filename")
    cased = {each.lower(): each for each in (*SYSTEMS, *MISSING)}
    candidates = [name.rpartition("::")[2]]
    library = _SYSTEM.fullmatch(file.rpartition("/")[2])
    if library is not None:
        candidates.append(re.sub(r"[-_]", "", library["name"]))
    candidates.append(re.sub(r"^lib|\.so$|Plugin(?=\.so$|$)", "", file))
    for each in candidates:
        if each.lower() in cased:
            return cased[each.lower()]
        if (short := each.lower().removesuffix("plugin").removesuffix("system")) in cased:
            return cased[short]
    return candidates[0] or file


def add_plugins(reading: SdfReading, found: SdfMechanism, world: SdfScope, around: SdfSurroundings) -> None:
    """Add what the systems of a world and its models become. One that is not valid is left out with a warning."""
    to = Plugins(reading, found, around)
    for scope in world.within():
        for plugin in scope.element.all("plugin"):
            _add(to, plugin, scope)
        for entry in scope.entries.values():
            for owner in (
                entry.element,
                *(part for part in entry.element.children if part.tag in ("sensor", "visual")),
            ):
                for plugin in owner.children if entry.kind in ("link", "joint") else ():
                    if plugin.tag == "plugin":
                        _add(to, plugin, scope)


def _add(to: Plugins, plugin: Element, scope: SdfScope) -> None:
    plugin.read = True
    name = system_name(plugin)
    system = SYSTEMS.get(name)
    if system is None:
        known = "is not simulated here" if name in MISSING else "is not known here"
        to.reading.leave_out(plugin, f"the plug-in {quoted(name)} {known}")
    elif system.add is None:
        to.reading.ignore(plugin, system.about)
    else:
        try:
            system.add(to, plugin, scope)
        except ScopeFault as fault:
            # As Gazebo runs a world without a plug-in that it cannot configure.
            to.reading.leave_out(fault.element, f"{fault.message}; the plug-in {quoted(name)} is left out")
