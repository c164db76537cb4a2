"""Plug-ins of Gazebo that move joints or connect bodies: controllers and detachable joints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.extensions.sdf.elements import child
from sim_node.extensions.sdf.joints import Joint
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import MODEL, ScopeFault, find
from sim_node.extensions.sdf.system_drives import FROZEN, STIFF, actuate, take_commands
from sim_node.messages.sensor_topics import topic_of
from sim_node.spatial.geometry import poses
from sim_node.world.joint_motion import RIGID
from sim_node.world.problems import quoted

# The command topics of joints by actuator type.
_COMMANDED = {"position": "cmd_pos", "velocity": "cmd_vel", "effort": "cmd_effort"}


def _command(plugin: SdfPlugin, joint: Joint, word: str, **fields: Any) -> None:
    """Add an actuator and command topics to a joint. `word` is the last part of its topic in Gazebo."""
    if (name := actuate(plugin, joint, **fields)) is not None:
        take_commands(plugin, name)
        topic = plugin.topic("topic", plugin.text("sub_topic") or f"joint/{joint.entry.name}/{word}")
        plugin.found.listen(topic, topic_of(name, _COMMANDED[fields["type"]]))


@system(
    "JointPositionController",
    "a position actuator, and commands of joints",
    ignored="use_actuator_msg actuator_number",
)
def _joint_position(plugin: SdfPlugin) -> None:
    for joint in plugin.joints("joint_name"):
        gain = max(plugin.number("p_gain", 1.0), 0.0)
        most = plugin.number("cmd_max", -1.0)
        target = plugin.number("initial_position", 0.0)
        gains: dict[str, Any] = {"stiffness": STIFF * gain, "damping": STIFF}
        # With velocity commands, the joint tracks the speed p times the error as closely as the solver allows.
        if not plugin.flag("use_velocity_commands"):
            if plugin.number("i_gain", 0.1):
                plugin.approximate("a joint position controller has no integral gain here")
            gains = {"stiffness": gain, "damping": max(plugin.number("d_gain", 0.01), 0.0)}
            if 0.0 < most < np.inf:
                gains["force"] = most
        word = f"{plugin.whole('joint_index', 0)}/cmd_pos"
        _command(plugin, joint, word, type="position", target=target, implicit=True, **gains)


@system(
    "JointController",
    "a velocity actuator, and commands of joints",
    ignored="joint_index use_actuator_msg actuator_number control_type",
)
def _joint_velocity(plugin: SdfPlugin) -> None:
    for joint in plugin.joints("joint_name"):
        target = plugin.number("initial_velocity", 0.0)
        gains: dict[str, Any] = {"damping": RIGID, "implicit": True}
        if plugin.flag("use_force_commands"):
            gains = {"damping": max(plugin.number("p_gain", 1.0), 1e-9)}
        _command(plugin, joint, "cmd_vel", type="velocity", target=target, **gains)


@system(
    "JointTrajectoryController",
    "position actuators, and commands of joints with trajectories",
    ignored="topic use_header_start_time",
)
def _joint_trajectory(plugin: SdfPlugin) -> None:
    """Add position actuators. Each gain is given once per joint, in order; joints without gains are not driven."""
    named = list(plugin.joints("joint_name"))
    every = plugin.found.joints.values()
    joints = named or [each for each in every if each.scope is plugin.scope and len(each.axes) == 1]

    def numbers(key: str, default: float) -> list[float]:
        found = [plugin.reading.numbers(each, 1) for each in plugin.element.all(key)]
        given = [default if each is None else float(each[0]) for each in found]
        return given[: len(joints)] + [default] * (len(joints) - len(given))

    gains = {
        f"{kind}_{key}": numbers(f"{kind}_{key}", 0.0)
        for kind in ("position", "velocity")
        for key in ("p_gain", "i_gain", "d_gain", "i_min", "i_max", "cmd_offset")
    }
    most = {kind: numbers(f"{kind}_cmd_max", 0.0) for kind in ("position", "velocity")}
    for kind in most:
        numbers(f"{kind}_cmd_min", 0.0)
    begin = numbers("initial_position", 0.0)
    if any(gains["position_i_gain"]) or any(gains["velocity_i_gain"]):
        plugin.approximate("a joint trajectory controller has no integral gains here")
    for row, joint in enumerate(joints):
        stiffness = max(gains["position_p_gain"][row], 0.0)
        damping = max(gains["position_d_gain"][row], 0.0) + max(gains["velocity_p_gain"][row], 0.0)
        force = {"force": most["position"][row]} if 0.0 < most["position"][row] < np.inf else {}
        if not stiffness and not damping:
            continue
        drive: dict[str, Any] = {"type": "position", "stiffness": stiffness, "damping": damping, "target": begin[row]}
        if not stiffness:
            drive = {"type": "velocity", "damping": damping}
        if (name := actuate(plugin, joint, implicit=True, **drive, **force)) is not None:
            take_commands(plugin, name, "trajectory")


@system("ApplyJointForce", "an effort actuator, and commands of joints")
def _joint_force(plugin: SdfPlugin) -> None:
    _command(plugin, plugin.joint("joint_name"), "cmd_force", type="effort")


@system(
    "DetachableJoint",
    "the child is attached to the link, until the request `detach`",
    ignored="topic detach_topic attach_topic output_topic suppress_child_warning",
)
def _detachable(plugin: SdfPlugin) -> None:
    above, found = plugin.link("parent_link"), plugin.found
    model, link = plugin.text("child_model"), plugin.text("child_link")
    named = child(plugin.element, "child_link") or plugin.element
    scope = plugin.scope
    if model != MODEL:
        while scope.above is not None:
            scope = scope.above
        link = f"{model}::{link}"
    _, entry = find(scope, link, named)
    if entry not in found.links:
        raise ScopeFault(named, f"{quoted(link)} is no link")
    below = found.links[entry].base
    if below in above.above():
        raise ScopeFault(named, f"{quoted(link)} carries {quoted(above.frame)} already")
    if found.body(below.frame).joint != "free":
        raise ScopeFault(named, f"{quoted(below.frame)} does not float free, and cannot be attached")
    body = replace(
        found.body(below.frame), **{**FROZEN, "parent": above.frame, "pose": poses.relative(above.pose, below.pose)}
    )
    found.put(body)
    below.parent = above
    topic = plugin.topic("detach_topic" if plugin.text("detach_topic") else "topic", "detachable_joint/detach")
    found.detached[topic] = below.frame
