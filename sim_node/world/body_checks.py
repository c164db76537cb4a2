"""Checks that bodies can be simulated: numbers in range, positive masses, suitable parents."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import MIN_TIMESTEP_NS, SHAPES, Body, Geometry, Inertial
from sim_node.world.bounds import MAX_MASS, fault
from sim_node.world.checks import UNIT, pose_faults
from sim_node.world.contact_checks import contact_problems
from sim_node.world.declared import faults
from sim_node.world.model import Motion, StaticFrame, World
from sim_node.world.problems import NO_PLACE, Place, Problem, Where, quoted, shown_key

# m; half of a denormal number may be zero, which MuJoCo refuses.
MIN_SIZE = 1e-12
MAX_SUBSTEPS = 10_000


def body_problems(world: World) -> Iterator[Problem]:
    """Yield every problem of a world's physics and bodies; none if it has no bodies."""
    if not world.bodies and not world.models and world.ground is None:
        return
    yield from _physics_problems(world)
    for body in world.bodies:
        yield from (_of(body, key, message) for key, message in _number_faults(body))
    yield from contact_problems(world)
    yield from _parent_problems(world)
    yield from _mass_problems(world)


def _of(body: Body, key: str, message: str) -> Problem:
    return Problem(body.place.where, f"{body.place.key or shown_key(body.name)}: {key}", message)


def _physics_problems(world: World) -> Iterator[Problem]:
    physics, step_ns = world.physics, world.time.step_ns
    place = physics.place if physics.place != NO_PLACE else Place(Where(world.source), "physics")

    def problem(key: str, message: str) -> Problem:
        return Problem(place.where, f"{place.key}.{key}", message)

    yield from (problem(key, message) for key, message in faults(replace(physics, timestep_ns=None)))
    timestep_ns = physics.timestep_ns
    if timestep_ns is not None:
        if not MIN_TIMESTEP_NS <= timestep_ns <= step_ns:
            allowed = f"{MIN_TIMESTEP_NS / 1e9:g} to the world's step, {step_ns / 1e9:.10g}"
            yield problem("timestep", f"{timestep_ns / 1e9:.10g} s is out of range; allowed: {allowed} s")
            return
        if step_ns % timestep_ns:
            near = step_ns / round(step_ns / timestep_ns) / 1e9
            message = f"the world's step of {step_ns / 1e9:.10g} s is not a multiple of {timestep_ns / 1e9:.10g} s"
            yield problem("timestep", f"{message}; did you mean {near:.10g}?")
            return
    if physics.substeps(step_ns) > MAX_SUBSTEPS:
        message = f"the world's step takes {physics.substeps(step_ns)} timesteps; allowed: up to {MAX_SUBSTEPS}"
        yield problem("timestep", message)


def _number_faults(body: Body) -> Iterator[tuple[str, str]]:
    """Yield the key and the message of each fault."""
    for _, message in pose_faults(body.pose[None]):
        yield "pose", message
    if body.scale is not None:
        yield from _scale_faults(body, body.scale)
    for key in ("damping", "armature", "spring_stiff"):
        values = getattr(body, key)
        if values is not None and not all(0.0 <= value < math.inf for value in values.tolist()):
            yield key, f"{values.tolist()} must be zero or more, and finite"
    for key, quantity in (("spring_zero", "position"), ("q", "position"), ("qd", "velocity")):
        values = getattr(body, key)
        if values is not None and (wrong := fault(quantity, values)):
            yield key, f"{values.tolist()} {wrong}"
        elif values is not None and key != "qd":
            yield from _quaternion_faults(body, key)
    for index, shape in enumerate(body.geometry):
        for key, message in _geometry_faults(shape):
            yield f"geometry[{index}]{key}", message
    if body.inertial is not None:
        yield from _inertial_faults(body.inertial)


def _scale_faults(body: Body, scale: FloatArray) -> Iterator[tuple[str, str]]:
    if not all(0.0 < factor < math.inf for factor in scale.tolist()):
        yield "scale", f"{scale.tolist()} must be above zero and finite"
    elif body.type.parts:
        yield "scale", "a body on a joint has no scale; set the sizes of its shapes"
    else:
        yield from (("scale", fault) for shape in body.geometry if (fault := shape.scale_fault(scale)))


def _quaternion_faults(body: Body, key: str) -> Iterator[tuple[str, str]]:
    at = 0
    for part in body.type.parts:
        if part.kind == "ball":
            norm = float(np.linalg.norm(getattr(body, key)[at : at + 4]))
            if abs(norm - 1.0) > UNIT:
                yield key, f"the quaternion's norm is {norm:.7g}, a rotation needs 1"
        at += part.q_size


def _geometry_faults(geometry: Geometry) -> Iterator[tuple[str, str]]:
    sizes = SHAPES.get(geometry.shape)
    if sizes is None:
        yield "", f"no shape {geometry.shape!r}; allowed: {', '.join(SHAPES)}"
        return
    if len(geometry.size) != len(sizes):
        yield "", f"a {geometry.shape} has {len(sizes)} sizes ({', '.join(sizes)}), found {len(geometry.size)}"
    if not all(MIN_SIZE <= size < 1e9 for size in geometry.size.tolist()):
        yield "", f"sizes {geometry.size.tolist()} must be above zero"
    if not 0.0 <= geometry.mass <= MAX_MASS:
        yield ".mass", f"{geometry.mass:g} is out of range; allowed: 0 to {MAX_MASS:g} kg"
    sources = (geometry.file is not None) + (geometry.triangles is not None)
    if sources != (geometry.shape == "mesh"):
        yield ".file", "a mesh needs a file or triangles, and other shapes have none"
    elif (geometry.is_shown_only or geometry.only == "visual") and geometry.mass > 0.0:
        yield ".mass", "a shape that is only shown has no mass; give the mass to another shape, or the body an inertial"
    for _, message in pose_faults(geometry.pose[None]):
        yield ".pose", message


def _inertial_faults(inertial: Inertial) -> Iterator[tuple[str, str]]:
    if not 0.0 < inertial.mass <= MAX_MASS:
        yield "inertial.mass", f"{inertial.mass:g} is out of range; allowed: above 0, up to {MAX_MASS:g} kg"
    inertia = inertial.inertia
    if not np.all(np.isfinite(inertia)) or not np.allclose(inertia, inertia.T, rtol=1e-9, atol=0.0):
        yield "inertial.inertia", f"{inertia.tolist()} must be finite and symmetric"
        return
    least, middle, most = np.linalg.eigvalsh(inertia).tolist()
    if least <= 0.0:
        yield "inertial.inertia", f"its smallest principal moment is {least:.4g} kg m^2, needs one above zero"
    elif most > (least + middle) * (1.0 + 1e-9):
        found = f"{least:.4g}, {middle:.4g}, {most:.4g}"
        yield "inertial.inertia", f"principal moments {found}: the sum of two must be at least the third"


def _parent_problems(world: World) -> Iterator[Problem]:
    """Yield joints whose parents, through static frames, follow keyframes: they would not feel their acceleration."""
    parents = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    parents |= {body.name: body.parent for body in world.bodies if not body.type.parts}
    motions: dict[str, Motion] = {motion.frame: motion for motion in world.motions}
    for body in world.bodies:
        if not body.type.parts:
            continue
        above = body.parent
        for _ in range(len(parents) + 1):
            if above not in parents:
                break
            above = parents[above]
        if above in motions:
            message = (
                f"{quoted(above)} follows keyframes, and a joint would not feel their acceleration; the parent of a "
                "body with a joint must be the fixed frame or another body with a joint"
            )
            yield Problem(body.parent_place.where, body.parent_place.key or shown_key(body.name), message)


def with_mass(world: World) -> set[str]:
    """Return the names of the bodies on joints that have mass, of their own or of bodies that are fixed to them."""
    bodies = {body.name: body for body in world.bodies}
    frames = {frame.name: frame.parent for frame in (*world.frames, *world.sensors)}
    heavy: set[str] = set()
    for body in world.bodies:
        carrier = body.name if body.own_mass() > 0.0 else ""
        # Bodies that are fixed to a body add to the mass on its joint.
        for _ in range(len(bodies) + len(frames)):
            if carrier in bodies and bodies[carrier].type.parts:
                heavy.add(carrier)
                break
            carrier = bodies[carrier].parent if carrier in bodies else frames.get(carrier, "")
    return heavy


def _mass_problems(world: World) -> Iterator[Problem]:
    """Yield joints that move no mass, and joints that need armature.

    A body without mass may carry others that have some, on joints of theirs.
    """
    parts: list[StaticFrame | Body] = [*world.frames, *world.sensors, *world.bodies]
    parents = {part.name: part.parent for part in parts}
    heavy = with_mass(world)
    carrying = set(heavy)
    for name in heavy:
        above = parents[name]
        for _ in parents:
            if above in carrying or above not in parents:
                break
            carrying.add(above)
            above = parents[above]
    for body in world.bodies:
        if body.type.parts and body.name not in carrying:
            yield _of(body, "mass", "a moving body needs a mass; give its geometry a mass, or the body an inertial")
        armature = world.physics.armature + (0.0 if body.armature is None else min(body.armature.tolist(), default=0.0))
        if body.type.redundant and armature <= 0.0:
            yield _of(
                body, "armature", f"a {body.joint} joint has redundant degrees of freedom and needs an armature above 0"
            )
