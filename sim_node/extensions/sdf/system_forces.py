"""Plug-ins of Gazebo that apply forces to bodies: wings, wrenches and wind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sim_node.extensions.sdf.derivative_wings import DERIVATIVES, ControlSurface, DerivativeWing
from sim_node.extensions.sdf.elements import child, place_of, text, text_of
from sim_node.extensions.sdf.mechanism import SdfLink
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault, SdfScope, find
from sim_node.extensions.sdf.waypoints import WaypointForce
from sim_node.extensions.sdf.wheel_slip import WheelSlip
from sim_node.extensions.sdf.wings import LiftDrag
from sim_node.spatial.geometry import quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.commands import BodyCommands
from sim_node.world.forces import ConstantForce, Drag
from sim_node.world.problems import quoted

MAX_COMMANDED = 32
# The number of waypoints of a circle.
_CIRCLE = 8
# Fields of a LiftDrag by SDF key.
_WING = {
    **{key: key for key in ("forward", "upward", "area", "a0", "alpha_stall", "cla", "cda", "cma", "cla_stall")},
    **{key: key for key in ("cda_stall", "cma_stall", "cm_delta", "radial_symmetry", "reversible")},
    **{"cp": "centre", "air_density": "density", "control_joint_rad_to_cl": "control_cl"},
}


@system("LiftDrag", "a force on the link")
def _lift_drag(plugin: SdfPlugin) -> None:
    link = plugin.link("link_name")
    if link.is_static:
        plugin.reading.ignore(plugin.element, "its link does not move")
        return
    given = child(plugin.element, "control_joint_name")
    control = plugin.moved(plugin.joint_of(given)) if given is not None and text_of(given) else ""
    if control and plugin.found.body(control).joint == "frozen":
        control = ""
    fields = plugin.reading.declared(plugin.element, LiftDrag, _WING)
    plugin.found.add("forces", LiftDrag(link.frame, control=control, place=plugin.place(link.frame), **fields))


# Fields of a DerivativeWing by SDF key, and of a control surface.
_BODY = {
    **{key: key for key in ("forward", "upward", "area", "alpha_stall")},
    **{"cp": "centre", "AR": "aspect_ratio", "mac": "chord", "eff": "efficiency", "air_density": "density"},
}
_SURFACE = {"CD": "drag", "CY": "side", "CL": "lift", "Cell": "roll", "Cem": "pitch", "Cen": "yaw"}


@system(
    "AdvancedLiftDrag",
    "a force on the link, by stability derivatives",
    ignored="a0 num_ctrl_surfaces CLa_stall CDa_stall radial_symmetry control_joint_rad_to_cl",
)
def _advanced_lift_drag(plugin: SdfPlugin) -> None:
    link = plugin.link("link_name")
    if link.is_static:
        plugin.reading.ignore(plugin.element, "its link does not move")
        return
    if not plugin.number("AR", 0.0) > 0.0 or not plugin.number("eff", 0.0) > 0.0:
        raise ScopeFault(plugin.element, "AR and eff must be above zero")
    fields = plugin.reading.declared(plugin.element, DerivativeWing, _BODY)
    derivatives = {name: value for name in DERIVATIVES if (value := plugin.number(name, 0.0))}
    surfaces = []
    for element in plugin.element.all("control_surface"):
        of = replace(plugin, element=element)
        of.text("index")
        joint, sign = of.moved(of.joint("name")), of.number("direction", 1.0)
        if plugin.found.body(joint).type.qd_size == 1:
            effect = {name: sign * of.number(f"{key}_ctrl", 0.0) for key, name in _SURFACE.items()}
            surfaces.append(ControlSurface(joint, **effect))
    place = plugin.place(link.frame)
    wing = DerivativeWing(link.frame, derivatives=derivatives, surfaces=tuple(surfaces), place=place, **fields)
    plugin.found.add("forces", wing)


@system("ApplyLinkWrench", "commands of bodies, and constant forces", ignored="verbose")
def _link_wrench(plugin: SdfPlugin) -> None:
    found, reading = plugin.found, plugin.reading
    for wrench in plugin.element.all("persistent"):
        name = text(wrench, "entity_name")
        kind = text(wrench, "entity_type", default="link")
        named = child(wrench, "entity_name") or wrench
        _, entry = find(plugin.scope, name, named)
        model = entry.inner if kind == "model" else None
        link = found.links.get(entry) if model is None else found.canonical(model, wrench, "")
        if link is None:
            raise ScopeFault(named, f"{quoted(name)} is no link")
        force, torque = (reading.vector(wrench, key, default=(0.0, 0.0, 0.0)) for key in ("force", "torque"))
        place = place_of(wrench, link.frame)
        found.add("forces", ConstantForce(link.frame, force=force, torque=torque, place=place))
    bodies = [body for body in found.parts.get("bodies", ()) if body.joint == "free"]
    known = {each.body for each in found.parts.get("body_commands", ())}
    for body in bodies[:MAX_COMMANDED]:
        if body.name not in known:
            found.add("body_commands", BodyCommands(body.name, duration=0.0, place=plugin.place(body.name)))
    if len(bodies) > MAX_COMMANDED:
        plugin.approximate(f"the first {MAX_COMMANDED} free bodies have a topic for wrenches")


@system("WindEffects", "drag of the links with enable_wind, by their mass")
def _wind_effects(plugin: SdfPlugin) -> None:
    """Add wind drag. The force in Gazebo is mass * factor * (wind - velocity), at the centre of mass."""
    reading, scaling = plugin.reading, child(plugin.element, "force_approximation_scaling_factor")
    factor = 1.0
    if scaling is not None and scaling.children:
        reading.approximate(scaling, "a factor that depends on the place is treated as 1")
    elif scaling is not None:
        factor = reading.number(plugin.element, scaling.tag, default=1.0)
    for tag in ("horizontal", "vertical"):
        if (changes := child(plugin.element, tag)) is not None:
            reading.leave_out(changes, "the wind of SDF is steady here; world files have gusts")
    for link in plugin.found.links.values():
        blown = reading.flag(link.entry.element, "enable_wind", default=_is_blown(plugin, link))
        inertial = plugin.found.body(link.frame).inertial
        if blown and inertial is not None and not link.is_static and factor > 0.0:
            drag = np.full(3, factor * inertial.mass)
            plugin.found.add("forces", Drag(link.frame, linear=drag, place=plugin.place(link.frame)))


def _is_blown(plugin: SdfPlugin, link: SdfLink) -> bool:
    """Return enable_wind of the innermost model around a link, or of the world, that has it; False without any."""
    scope: SdfScope | None = link.scope
    while scope is not None:
        if child(scope.element, "enable_wind") is not None:
            return plugin.reading.flag(scope.element, "enable_wind")
        scope = scope.above
    return False


@system("WheelSlip", "a force of the type wheel_slip on the contacts of each wheel", turn=2)
def _wheel_slip(plugin: SdfPlugin) -> None:
    for element in plugin.element.all("wheel"):
        of = replace(plugin, element=element)
        _, entry = find(plugin.scope, element.get("link_name"), element)
        link = plugin.found.links.get(entry)
        if link is None:
            raise ScopeFault(element, f"link_name: {quoted(entry.name)} is no link")
        if plugin.found.body(link.frame).type.qd_size != 1:
            raise ScopeFault(element, f"{quoted(link.frame)} is no wheel: its joint does not turn it")
        lateral, along = (max(of.number(f"slip_compliance_{way}", 0.0), 0.0) for way in ("lateral", "longitudinal"))
        radius, force = of.number("wheel_radius", 0.0), of.number("wheel_normal_force", 0.0)
        if not radius > 0.0 or not force > 0.0:
            raise ScopeFault(element, "wheel_radius and wheel_normal_force must be above zero")
        if lateral > 0.0 or along > 0.0:
            side = None if lateral == along else lateral
            plugin.found.add("forces", WheelSlip(link.frame, along, force, radius, side, place=of.place(link.frame)))


@system("TrajectoryFollower", "a force of the type waypoints", ignored="topic")
def _trajectory_follower(plugin: SdfPlugin) -> None:
    if child(plugin.element, "link_name") is None:
        raise ScopeFault(plugin.element, "link_name is missing")
    link, reading = plugin.link("link_name"), plugin.reading
    here, turn = link.pose[:2], link.pose[3:]
    points: list[FloatArray] = []
    if (given := child(plugin.element, "waypoints")) is not None:
        points = [each for row in given.all("waypoint") if (each := reading.numbers(row, 2)) is not None]
    elif (circle := child(plugin.element, "circle")) is not None:
        angles = np.arange(_CIRCLE) * (2.0 * np.pi / _CIRCLE)
        radius = reading.number(circle, "radius", default=0.0)
        points = [here + radius * np.array([np.cos(angle), np.sin(angle)]) for angle in angles]
    elif (line := child(plugin.element, "line")) is not None:
        # The line is along the axes of the link, contrary to Gazebo's documentation.
        angle, length = (reading.number(line, key, default=0.0) for key in ("direction", "length"))
        way = np.array([length * np.cos(angle), length * np.sin(angle), 0.0])
        points = [here, here + quaternions.rotate(turn, way)[:2]]
    if not points:
        raise ScopeFault(plugin.element, "there are no waypoints")
    if plugin.flag("zero_vel_on_bearing_reached"):
        plugin.approximate("a body keeps its angular velocity when it has turned to its waypoint")
    follower = WaypointForce(
        link.frame,
        waypoints=tuple(points),
        loop=plugin.flag("loop"),
        force=plugin.number("force", 60.0),
        torque=plugin.number("torque", 50.0),
        range_tolerance=abs(plugin.number("range_tolerance", 0.5)),
        bearing_tolerance=float(np.radians(min(abs(plugin.number("bearing_tolerance", 2.0)), 180.0))),
        place=plugin.place(link.frame),
    )
    if link.is_static:
        reading.ignore(plugin.element, "its link does not move")
        return
    plugin.found.add("forces", follower)
