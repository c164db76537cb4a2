"""ArduPilot's plug-in for Gazebo: driven blades become rotors, and other driven joints become servos."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sim_node.extensions.sdf.elements import child
from sim_node.extensions.sdf.joints import Joint
from sim_node.extensions.sdf.mechanism import SdfLink
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault
from sim_node.extensions.sdf.system_drives import actuate, stop_turning
from sim_node.extensions.sdf.wings import Air, LiftDrag, wrenches
from sim_node.simulation.physics.force_geometry import FieldArrays
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.joint_motion import RIGID
from sim_node.world.problems import quoted
from sim_node.world.vehicles import MAX_INSTANCES, PULSES, Autopilot, Multirotor, Rotor, Servo

# ArduPilot's first port, and the offset of the ports of the next instance.
_FIRST_PORT, _PORTS = 9002, 10
_TYPES = ("VELOCITY", "POSITION", "EFFORT", "COMMAND")
# The rotation from the axes of a model (FLU, as in ROS) to those of ArduPilot's airframe (FRD).
_HALF_ROLL = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class _Control:
    """A <control>: its plug-in, joint, type, channel, pulse widths (us), and the targets at these widths."""

    plugin: SdfPlugin
    joint: Joint
    kind: str
    channel: int
    pulses: tuple[float, float]
    targets: tuple[float, float]

    @property
    def turned(self) -> SdfLink:
        """The link that the joint moves."""
        return self.plugin.found.links[self.joint.child[1]]

    def blades(self) -> list[LiftDrag]:
        """Return the wings of that link."""
        forces = self.plugin.found.parts.get("forces", ())
        return [each for each in forces if isinstance(each, LiftDrag) and each.body == self.turned.frame]


@system(
    "ArduPilotPlugin",
    "an autopilot of the type ardupilot: turning blades become rotors, other joints servos",
    ignored="fdm_addr fdm_port_in fdm_port_out listen_addr connectionTimeoutMaxCount lock_step no_time_sync imuName "
    "have_32_channels have_imu have_gps imuAngularVelocityNoise",
    turn=1,
)
def _ardupilot(plugin: SdfPlugin) -> None:
    plugin.reading.pose(child(plugin.element, "gazeboXYZToNED"))
    axes = plugin.reading.pose(child(plugin.element, "modelXYZToAirplaneXForwardZDown"))[3:]
    if child(plugin.element, "modelXYZToAirplaneXForwardZDown") and abs(axes @ _HALF_ROLL) < 1.0 - 1e-4:
        plugin.leave_out("ArduPilot flies models whose axes are forward, left and up")
        return
    controls = list(_controls(plugin))
    turning = [each for each in controls if each.kind == "VELOCITY" and each.blades()]
    if not turning:
        plugin.leave_out("ArduPilot flies models here on which one of its channels turns blades with lift")
        return
    pulses = turning[0].pulses
    base = turning[0].turned.base
    if plugin.found.body(base.frame).joint != "free":
        raise ScopeFault(plugin.element, f"{quoted(base.frame)} does not fly")
    plugin.approximate("blades that ArduPilot turns are rotors here: their thrust does not depend on the inflow")
    roles: dict[int, str] = {}
    rotors: list[Rotor] = []
    servos: list[Servo] = []
    for each in controls:
        if each in turning:
            roles[each.channel] = f"rotor_{len(rotors)}"
            rotors.append(_rotor(each, base))
        elif (servo := _servo(each, pulses)) is not None:
            roles[each.channel] = f"servo_{len(servos)}"
            servos.append(servo)
    channels = tuple(roles.get(channel, "none") for channel in range(max(roles) + 1))
    port = plugin.whole("fdm_port_in", _FIRST_PORT)
    instance = min(max((port - _FIRST_PORT) // _PORTS, 0), MAX_INSTANCES - 1)
    place = plugin.place(base.frame)
    autopilot = Autopilot("ardupilot", instance=instance, channels=channels, pulses=pulses)
    name = base.scope.unmerged.path or base.frame
    craft = Multirotor(name, base.frame, tuple(rotors), autopilot=autopilot, servos=tuple(servos), place=place)
    if any(other.body == craft.body for other in plugin.found.parts.get("vehicles", ())):
        raise ScopeFault(plugin.element, f"{quoted(craft.body)} has motors of another plug-in already")
    plugin.found.add("vehicles", craft)


def _controls(plugin: SdfPlugin) -> Iterator[_Control]:
    """Yield the <control>s, with their targets at the shortest and the longest pulse."""
    for number, element in enumerate((*plugin.element.all("control"), *plugin.element.all("rotor"))):
        of = replace(plugin, element=element)
        for key in ("controlVelocitySlowdownSim", "rotorVelocitySlowdownSim", "frequencyCutoff", "samplingRate"):
            of.text(key)
        kind = of.text("type", "VELOCITY")
        if kind not in _TYPES:
            raise ScopeFault(element, f"no type of a control {quoted(kind)}; allowed: {', '.join(_TYPES)}")
        channel = element.get("channel") or element.get("id") or str(number)
        if not channel.isdecimal() or int(channel) >= 32:
            raise ScopeFault(element, f"channel {quoted(channel)} is not one of 0 to 31")
        turning = {"cw": "-1", "ccw": "1"}.get(of.text("turningDirection"), of.text("turningDirection", "1"))
        multiplier, offset = of.number("multiplier", float(turning or 1.0)), of.number("offset", 0.0)
        pulses = of.number("servo_min", PULSES[0]), of.number("servo_max", PULSES[1])
        if not pulses[0] < pulses[1]:
            raise ScopeFault(element, f"servo_min {pulses[0]:g} is not below servo_max {pulses[1]:g}")
        targets = multiplier * offset, multiplier * (1.0 + offset)
        yield _Control(of, of.joint("jointName"), kind, int(channel), pulses, targets)


def _rotor(control: _Control, base: SdfLink) -> Rotor:
    """Return a rotor equivalent to the blades of a link at their maximum speed in still air, and remove the blades."""
    found, link, joint = control.plugin.found, control.turned, control.joint
    blades, fastest = control.blades(), max(control.targets, key=abs)
    axis, hub = joint.axes[0], joint.origin[:3]
    count = len(blades)

    def in_world(rows: list[FloatArray]) -> FloatArray:
        return np.array([quaternions.rotate(link.pose[3:], row) for row in rows])

    arms = in_world([each.centre for each in blades]) + link.pose[:3] - hub
    forward, upward = in_world([each.forward for each in blades]), in_world([each.upward for each in blades])
    air = Air(fastest * np.cross(axis, arms), forward, upward, np.zeros(count))
    forces, moments = wrenches(FieldArrays(blades), air)
    thrust = float(forces.sum(axis=0) @ axis)
    torque = float((moments + np.cross(arms, forces)).sum(axis=0) @ axis)
    if not abs(thrust) > 0.0:
        raise ScopeFault(
            control.plugin.element, f"the blades of {quoted(link.frame)} have no lift at {fastest:g} rad/s"
        )
    up = axis if thrust > 0.0 else -axis
    back = quaternions.conjugate(base.pose[3:])
    inertial = found.body(link.frame).inertial
    spun = 0.0 if inertial is None else _moment(link, inertial, axis)
    for key in ("i_gain", "d_gain", "i_max", "i_min", "cmd_max", "cmd_min"):
        control.plugin.text(key)  # of its controller, which the time constant of the rotor replaces
    gain = control.plugin.number("p_gain", 0.1)
    lag = spun / gain if control.plugin.flag("useForce") and gain > 0.0 else 0.0
    stop_turning(found, link.frame)
    found.parts["forces"] = [each for each in found.parts["forces"] if not any(each is blade for blade in blades)]
    return Rotor(
        position=quaternions.rotate(back, hub + axis * float((arms @ axis).mean()) - base.pose[:3]),
        spin="ccw" if fastest * float(up @ axis) > 0.0 else "cw",
        thrust_coefficient=abs(thrust) / fastest**2,
        moment_coefficient=abs(torque / thrust),
        max_speed=abs(fastest),
        axis=quaternions.rotate(back, up),
        time_constant_up=lag,
        time_constant_down=lag,
    )


def _moment(link: SdfLink, inertial: Any, axis: FloatArray) -> float:
    """Return the moment of inertia of a link about an axis (3,) in the world through its centre of mass, kg m^2."""
    along = quaternions.rotate(quaternions.conjugate(link.pose[3:]), axis)
    return float(along @ inertial.inertia @ along)


def _servo(control: _Control, pulses: tuple[float, float]) -> Servo | None:
    """Return the servo of a joint, and add an actuator for it. Warn and return None if there cannot be one."""
    plugin, name = control.plugin, control.plugin.moved(control.joint)
    if control.kind == "COMMAND":
        plugin.text("cmd_topic")
        if all(each.joint != name for each in plugin.found.parts.get("actuators", ())):
            plugin.leave_out(f"no plug-in moves the joint of {name}, which a control would command on a topic")
            return None
    else:
        for key in ("i_max", "i_min", "cmd_min"):
            plugin.text(key)
        gain, most = max(plugin.number("p_gain", 0.1), 0.0), plugin.number("cmd_max", 0.0)
        fields: dict[str, Any] = {"force": most} if 0.0 < most < np.inf else {}
        if plugin.number("i_gain", 0.0):
            plugin.approximate("a control of ArduPilot has no integral gain here")
        if control.kind == "POSITION":
            fields |= {"type": "position", "stiffness": gain, "damping": max(plugin.number("d_gain", 0.0), 0.0)}
        elif control.kind == "VELOCITY":
            fields |= {"type": "velocity", "damping": max(gain, 1e-9) if plugin.flag("useForce") else RIGID}
        else:
            fields = {"type": "effort"}
        if fields["type"] != "effort":
            fields["implicit"] = True
        if actuate(plugin, control.joint, **fields) is None:
            return None
    # Convert from its own pulse widths to those of the vehicle.
    (low, high), (first, last) = control.targets, control.pulses
    slope = (high - low) / (last - first)
    if control.pulses != pulses:
        plugin.approximate("a servo goes on beyond its own pulses, if those of the rotors are longer or shorter")
    return Servo(name, low + slope * (pulses[0] - first), low + slope * (pulses[1] - first))
