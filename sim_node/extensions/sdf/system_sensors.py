"""Plug-ins of Gazebo that publish: where a model is, and the states of its joints."""

from __future__ import annotations

from typing import Any

from sim_node.extensions.sdf.elements import child, text_of
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault, find
from sim_node.world.model import Sensor


@system(
    "OdometryPublisher",
    "a sensor of the type ground_truth",
    ignored="odom_topic odom_frame odom_covariance_topic tf_topic dimensions robot_base_frame",
)
def _odometry(plugin: SdfPlugin) -> None:
    frame = plugin.link("robot_base_frame" if _names_link(plugin, "robot_base_frame") else "").frame
    if plugin.number("gaussian_noise", 0.0):
        plugin.approximate("an odometry publisher has no noise here")
    rate = plugin.number("odom_publish_frequency", 50.0)
    _publish(plugin, f"{frame}/odometry", frame, "ground_truth", rate)


def _names_link(plugin: SdfPlugin, key: str) -> bool:
    named = child(plugin.element, key)
    try:
        return named is not None and find(plugin.scope, text_of(named), named)[1].kind == "link"
    except ScopeFault:
        return False


@system("JointStatePublisher", "a sensor of the type joint_states", ignored="topic", turn=2)
def _joint_states(plugin: SdfPlugin) -> None:
    names = []
    for joint in plugin.joints("joint_name"):
        body = plugin.found.body(plugin.moved(joint))
        names += [each.name.removesuffix("#0") if body.type.qd_size == 1 else each.name for each in body.joints]
    frame = plugin.link("").base.frame
    rate = plugin.number("update_rate", 0.0)
    perfect: dict[str, Any] = {"position": "none", "velocity": "none", **({"joints": names} if names else {})}
    if any(body.joint != "free" and body.type.qd_size for body in plugin.found.parts["bodies"]):
        _publish(plugin, f"{frame}/joints", frame, "joint_states", rate, **perfect)


def _publish(plugin: SdfPlugin, name: str, frame: str, kind: str, rate: float, **parameters: Any) -> None:
    most, place = 1e9 / plugin.around.time.step_ns, plugin.place(name)
    given = {"rate": rate if 0.0 < rate <= most else min(most, 100.0), **parameters}
    sensor = Sensor(name, frame, place=place, parent_place=place, type=kind, parameters=given)
    if all(each.name != name for each in plugin.found.parts.get("sensors", ())):
        plugin.found.add("sensors", sensor)
