"""Plug-ins of Gazebo that push bodies: wings, wrenches, buoyancy and the drag of water."""

from __future__ import annotations

import numpy as np

from sim_node.extensions.sdf.elements import child, place_of, text, text_of
from sim_node.extensions.sdf.plugins import SdfPlugin, system
from sim_node.extensions.sdf.scopes import ScopeFault, find
from sim_node.extensions.sdf.wings import LiftDrag
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.commands import BodyCommands
from sim_node.world.forces import Buoyancy, ConstantForce, Drag
from sim_node.world.problems import quoted
from sim_node.world.shapes import volume_of

# Depth at which a body is under water in a world without a surface, m.
DEEP = 1e6
MAX_COMMANDED = 32
# Fields of a LiftDrag by their keys in SDF.
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


@system("Hydrodynamics", "drag of the link; no added mass")
def _hydrodynamics(plugin: SdfPlugin) -> None:
    link = plugin.link("link_name")
    plugin.number("water_density", 998.0)  # what the coefficients of drag are for already
    axes, turns = (("x", "U"), ("y", "V"), ("z", "W")), (("k", "P"), ("m", "Q"), ("n", "R"))

    def of(names: tuple[tuple[str, str], ...], form: str) -> FloatArray:
        return np.array([max(-plugin.number(form.format(a, b), 0.0), 0.0) for a, b in names])

    given = {
        "linear": of(axes, "{0}{1}"),
        "quadratic": of(axes, "{0}{1}abs{1}"),
        "angular_linear": of(turns, "{0}{1}"),
        "angular_quadratic": of(turns, "{0}{1}abs{1}"),
    }
    if any(plugin.number(f"{a}Dot{b}", 0.0) for a, b in (*axes, *turns)):
        plugin.approximate("added mass is not simulated")
    if any(values.any() for values in given.values()):
        plugin.found.add("forces", Drag(link.frame, **given, place=plugin.place(link.frame)))
