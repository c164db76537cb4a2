"""Plug-ins of Gazebo that publish: poses of models, states of joints, touch and batteries."""

from __future__ import annotations

from typing import Any

from sim_node.extensions.sdf.elements import child, gazebo_topic, text_of
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault, find, frame_name
from sim_node.messages.sensor_topics import topic_of
from sim_node.world.model import Sensor
from sim_node.world.problems import quoted


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


@system("TouchPlugin", "a sensor of the type touch", ignored="namespace", turn=2)
def _touch(plugin: SdfPlugin) -> None:
    """Add a touch sensor. Its target is a substring of the scoped names of the relevant collisions."""
    target, chosen = plugin.text("target"), [text_of(each) for each in plugin.element.all("collision")]
    if not target:
        raise ScopeFault(plugin.element, "target is missing")
    if child(plugin.element, "time") is None:
        raise ScopeFault(plugin.element, "time is missing")
    if not plugin.flag("enabled"):
        plugin.approximate("a touch sensor is enabled from the start here")
    made = plugin.flag("create_contact_sensor_for_collision")
    targets, own = [], []
    for entry, link in plugin.found.links.items():
        scoped = f"{link.frame.replace('/', '::')}::"
        shapes = [each.get("name") for each in entry.element.all("collision")]
        if any(target in scoped + name for name in shapes):
            targets.append(link.frame)
        has = made or any(each.get("type") == "contact" for each in entry.element.all("sensor"))
        if (
            link.scope is plugin.scope
            and has
            and (not chosen or {*shapes, *(scoped + name for name in shapes)} & {*chosen})
        ):
            own.append(link.frame)
    if not own:
        raise ScopeFault(plugin.element, "no link of the model has a contact sensor")
    if not targets:
        raise ScopeFault(plugin.element, f"target: no collision has {quoted(target)} in its name")
    if len(own) > 1:
        plugin.approximate("each link of a model has a touch sensor of its own here")
    for frame in own:
        given = {"targets": targets, "time": max(plugin.number("time", 0.0), 0.0), "once": True}
        _publish(plugin, f"{frame}/touch", frame, "touch", 0.0, **given)
    namespace = plugin.text("namespace")
    topic = plugin.topic("", "touch/touched") if not namespace else gazebo_topic(f"{namespace}/touched")
    plugin.found.listen(topic, topic_of(f"{own[0]}/touch", "touched"))
    plugin.found.pulses.add(topic)


# The SDF key and default of each parameter of a Battery: gz-sim, LinearBatteryPlugin.cc.
_BATTERY = {
    "voltage_slope": ("open_circuit_voltage_linear_coef", 0.0),
    "resistance": ("resistance", 0.0),
    "smoothing": ("smooth_current_tau", 1.0),
    "capacity": ("capacity", 0.0),
}


@system(
    "LinearBatteryPlugin",
    "a sensor of the type battery",
    ignored="soc_threshold charging_time recharge_by_topic fix_issue_225 invert_current_sign start_on_motion",
    turn=2,
)
def _battery(plugin: SdfPlugin) -> None:
    given = {name: plugin.number(key, default) for name, (key, default) in _BATTERY.items()}
    if not given["capacity"] > 0.0:
        raise ScopeFault(plugin.element, "capacity must be above zero")
    for key in ("battery_name", "voltage"):
        if child(plugin.element, key) is None:
            raise ScopeFault(plugin.element, f"{key} is missing")
    # If it is missing, Gazebo's battery has no voltage after the first step.
    given["open_voltage"] = plugin.number("open_circuit_voltage_constant_coef", plugin.number("voltage", 0.0))
    if not given["open_voltage"] > 0.0:
        raise ScopeFault(plugin.element, "open_circuit_voltage_constant_coef must be above zero")
    name, capacity = plugin.text("battery_name"), given["capacity"]
    if not given["smoothing"] > 0.0:
        given["smoothing"] = 1.0
    charge = plugin.number("initial_charge", capacity)
    given["initial"] = min(max(charge / capacity, 0.0), 1.0)
    if not 0.0 <= charge <= capacity:
        plugin.approximate(f"initial_charge {charge:g} Ah is not within the capacity; the nearest value is used")
    if plugin.flag("enable_recharge"):
        plugin.approximate("a battery is not recharged here")
    for key in ("power_draining_topic", "stop_power_draining_topic"):
        for each in plugin.element.all(key):
            plugin.reading.leave_out(each, "no topic begins or ends the load of a battery here")
    scope, load = plugin.scope, plugin.number("power_load", 0.0)
    load += sum(power for of, battery, power in plugin.found.loads if of is scope and battery == name)
    driven = {each.joint for each in plugin.found.parts.get("actuators", ())}
    joints = [
        moved
        for joint in plugin.found.joints.values()
        if joint.scope is scope and (moved := plugin.moved(joint)) in driven
    ]
    later = {} if plugin.flag("start_draining") or not joints else {"joints": joints}
    frame = plugin.link("").frame
    _publish(plugin, f"{frame}/{frame_name(name)}", frame, "battery", 50.0, load=max(load, 0.0), **given, **later)


def _publish(plugin: SdfPlugin, name: str, frame: str, kind: str, rate: float, **parameters: Any) -> None:
    most, place = 1e9 / plugin.around.time.step_ns, plugin.place(name)
    given = {"rate": rate if 0.0 < rate <= most else min(most, 100.0), **parameters}
    sensor = Sensor(name, frame, place=place, parent_place=place, type=kind, parameters=given)
    if all(each.name != name for each in plugin.found.parts.get("sensors", ())):
        plugin.found.add("sensors", sensor)
