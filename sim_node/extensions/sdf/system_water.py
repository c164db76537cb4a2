"""Plug-ins of Gazebo for bodies in water: buoyancy, hydrodynamics and thrusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from sim_node.extensions.sdf.elements import child, gazebo_topic, text_of
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault
from sim_node.extensions.sdf.system_drives import actuate, take_commands
from sim_node.extensions.sdf.water import DERIVATIVES, Bladder, Hydrodynamics, Thruster
from sim_node.messages.sensor_topics import topic_of
from sim_node.spatial.geometry import quaternions
from sim_node.world.bodies import Body
from sim_node.world.forces import Buoyancy
from sim_node.world.joint_motion import RIGID, Actuator
from sim_node.world.shapes import Inertial, volume_of

# The piston of a bladder: its negligible mass, kg, and its bandwidth, as high as a timestep of 1 ms allows, rad/s.
_PISTON_MASS, _PISTON_RATE = 1e-3, 100.0
# The height of the water surface in a world without one, m, so that all bodies are under water.
DEEP = 1e6


@system("Buoyancy", "a force on each link that has a volume")
def _buoyancy(plugin: SdfPlugin) -> None:
    reading = plugin.reading
    density, surface = plugin.number("uniform_fluid_density", 1000.0), DEEP
    graded = child(plugin.element, "graded_buoyancy")
    if graded is not None:
        density = reading.number(graded, "default_density", default=1000.0)
        for change in graded.all("density_change"):
            surface = reading.number(change, "above_depth", default=0.0)
            if reading.number(change, "density", default=1.0) > 10.0:
                reading.approximate(change, "a fluid has one density below its surface and none above it")
    chosen = [text_of(each).replace("::", "/") for each in plugin.element.all("enable")]
    for link in plugin.found.links.values():
        name = link.frame
        if link.is_static or (chosen and not any(name == each or name.startswith(f"{each}/") for each in chosen)):
            continue
        volume, centre, span = 0.0, np.zeros(3), []
        for shape in plugin.found.body(name).geometry:
            if shape.only == "visual" or shape.shape == "plane":
                continue
            try:
                own = volume_of(shape)
            except ValueError:
                continue
            volume, centre = volume + own, centre + own * shape.pose[:3]
            span.append(own ** (1.0 / 3.0))
        if volume > 0.0:
            lift = Buoyancy(
                name,
                volume=volume,
                height=max(sum(span), 1e-3),
                density=density,
                surface=surface,
                center=centre / volume,
                place=plugin.place(name),
            )
            plugin.found.add("forces", lift)


@system("Hydrodynamics", "added mass, Coriolis forces and damping of the link", ignored="water_density namespace")
def _hydrodynamics(plugin: SdfPlugin) -> None:
    link = plugin.link("link_name")
    given = [each.tag for each in plugin.element.children if each.tag in DERIVATIVES]
    derivatives = {name: value for name in given if (value := plugin.number(name, 0.0))}
    current = plugin.reading.vector(plugin.element, "default_current", default=(0.0, 0.0, 0.0))
    for axis in "xyz":
        if (lookup := child(plugin.element, f"lookup_current_{axis}")) is not None:
            plugin.reading.leave_out(lookup, "a current from a table of the environment is not read")
    if not derivatives:
        return
    force = Hydrodynamics(
        link.frame,
        derivatives=derivatives,
        current=current,
        added_mass=not plugin.flag("disable_added_mass"),
        coriolis="none" if plugin.flag("disable_coriolis") else "gazebo",
        place=plugin.place(link.frame),
    )
    plugin.found.add("forces", force)


@system(
    "Thruster",
    "the thrust of a propeller, a velocity actuator, and commands of joints",
    ignored="velocity_control p_gain i_gain d_gain",
)
def _thruster(plugin: SdfPlugin) -> None:
    joint = plugin.joint("joint_name")
    if child(plugin.element, "thrust_coefficient") is None and child(plugin.element, "alpha_2") is not None:
        plugin.approximate("the coefficient of a thruster does not depend on its advance: it is alpha_1")
    for key in ("alpha_2", "wake_fraction"):
        plugin.number(key, 0.0)
    coefficient = plugin.number("thrust_coefficient", plugin.number("alpha_1", 1.0))
    link = plugin.found.links[joint.child[1]]
    thruster = Thruster(
        link.frame,
        axis=quaternions.rotate(quaternions.conjugate(link.pose[3:]), joint.axes[0]),
        coefficient=coefficient,
        diameter=abs(plugin.number("propeller_diameter", 0.02)),
        density=plugin.number("fluid_density", 1000.0),
        deadband=abs(plugin.number("deadband", 0.0)),
        place=plugin.place(link.frame),
    )
    if battery := plugin.text("battery_name"):
        plugin.found.loads.append((plugin.scope, battery, max(plugin.number("power_load", 0.0), 0.0)))
    # In Gazebo, thrust follows the commanded speed instantly.
    most = max(abs(plugin.number(f"{end}_thrust_cmd", 1000.0)) for end in ("max", "min"))
    by_speed = plugin.flag("use_angvel_cmd")
    if not by_speed:
        plugin.approximate("a thruster is commanded by the speed of its propeller here, in rad/s, not by its thrust")
        most = float(np.sqrt(most / abs(thruster.gain))) if thruster.gain else 0.0
    limit = {"speed": most} if 0.0 < most < np.inf else {}
    if (name := actuate(plugin, joint, type="velocity", damping=RIGID, implicit=True, **limit)) is not None:
        plugin.found.add("forces", thruster)
        take_commands(plugin, name)
        of, word = plugin.text("namespace") or plugin.scope.unmerged.path, "cmd_vel" if by_speed else "cmd_thrust"
        own = plugin.text("topic")
        topic = gazebo_topic(f"{of}/{own}" if own else f"model/{of}/joint/{joint.entry.name}/{word}")
        plugin.found.listen(topic, topic_of(name, "cmd_vel"))
        if not by_speed:
            plugin.found.converted[topic] = thruster.speed_of


@system("BuoyancyEngine", "the force of a bladder, which a piston LINK/bladder fills, and commands of joints")
def _buoyancy_engine(plugin: SdfPlugin) -> None:
    found, link = plugin.found, plugin.link("link_name")
    if child(plugin.element, "link_name") is None:
        raise ScopeFault(plugin.element, "link_name is missing")
    least = max(plugin.number("min_volume", 3e-5), 0.0)
    most = max(plugin.number("max_volume", 9.9e-4), least)
    begin = plugin.number("default_volume", least)
    name, place = f"{link.frame}/bladder", plugin.place(link.frame)
    force = Bladder(
        link.frame,
        piston=name,
        volume_min=least,
        volume_max=most,
        neutral_volume=max(plugin.number("neutral_volume", 3e-4), 0.0),
        density=max(plugin.number("fluid_density", 1000.0), 0.0),
        surface=None if child(plugin.element, "surface") is None else plugin.number("surface", 0.0),
        place=place,
    )
    piston = Inertial(_PISTON_MASS, _PISTON_MASS * np.eye(3))
    # A rate-limited setpoint starts at the initial position of its joint.
    filled = np.array([begin])
    found.add("bodies", Body(name, link.frame, "pz", q=filled, inertial=piston, place=place, parent_place=place))
    pace: dict[str, Any] = {"speed": rate} if (rate := plugin.number("max_inflation_rate", 3e-6)) > 0.0 else {}
    gains: dict[str, Any] = {"stiffness": _PISTON_MASS * _PISTON_RATE**2, "damping": 2.0 * _PISTON_MASS * _PISTON_RATE}
    found.add("actuators", Actuator(name, type="position", target=begin, place=place, **gains, **pace))
    found.add("forces", force)
    take_commands(plugin, name)
    namespace = plugin.text("namespace").strip("/")
    topic = gazebo_topic(f"model/{namespace}/buoyancy_engine" if namespace else "buoyancy_engine")
    found.listen(topic, topic_of(name, "cmd_pos"))
