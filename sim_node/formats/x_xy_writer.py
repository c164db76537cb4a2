"""Worlds as x_xy XML, the models of the RING toolbox."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sim_node.formats import x_xy
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.model import World
from sim_node.world.part import PARTS
from sim_node.world.readers.xml_elements import quoteattr
from sim_node.world.shapes import Geometry

INDENT = "    "


def to_x_xy(world: World) -> str:
    """Return a world as an x_xy text, which reads back as the same bodies.

    The integrator and the origin are not written.

    Args:
        world: The world.

    Returns:
        The XML text.

    Raises:
        ValueError: Lists everything that the format cannot express: frames, sensors, motions, forces, vehicles,
            contacts, other shapes and joints, explicit inertias, initial states, limits and friction of joints, and
            axes of joints other than those that are drawn when the text is read.
    """
    problems = list(_problems(world))
    if problems:
        raise ValueError("x_xy cannot express " + "; ".join(problems))
    children: dict[str, list[Body]] = {}
    for body in world.bodies:
        children.setdefault(body.parent, []).append(body)
    ground = [body for body in children.get(world.fixed_frame, []) if body.name == x_xy.WORLD_BODY]
    options = [("gravity", _numbers(0.0 - world.physics.gravity)), ("dt", _seconds(world.time.step_ns))]
    lines = [
        _element("x_xy", [("model", world.name)], 0, closed=False),
        _element("options", options, 1),
        _element("worldbody", [], 1, closed=False),
        *(_geom(shape, 2) for body in ground for shape in body.geometry),
    ]
    for body in children.get(world.fixed_frame, []):
        if body not in ground:
            lines += _body(body, children, 2)
    return "\n".join([*lines, f"{INDENT}</worldbody>", "</x_xy>", ""])


def _body(body: Body, children: dict[str, list[Body]], depth: int) -> Iterator[str]:
    attributes = [("name", body.name), ("joint", body.joint), *_pose(body.pose)]
    if body.position_range is not None:
        attributes += zip(("pos_min", "pos_max"), map(_numbers, body.position_range), strict=True)
    for key in ("damping", "armature", "spring_stiff"):
        values = getattr(body, key)
        if values is not None:
            attributes.append((key, _numbers(x_xy.velocities_to_x_xy(body.type, values))))
    if body.spring_zero is not None:
        attributes.append(("spring_zero", _numbers(x_xy.positions_to_x_xy(body.type, body.spring_zero))))
    yield _element("body", attributes, depth, closed=False)
    for shape in body.geometry:
        yield _geom(shape, depth + 1)
    if body.marker is not None:
        omc = [("name", body.marker.name), ("pos_marker", str(body.marker.number))]
        yield _element("omc", [*omc, ("pos", _numbers(body.marker.position))], depth + 1)
    for child in children.get(body.name, []):
        yield from _body(child, children, depth + 1)
    yield f"{INDENT * depth}</body>"


def _geom(shape: Geometry, depth: int) -> str:
    attributes = [("type", shape.shape), ("dim", _numbers(shape.size))]
    if shape.shape != "xyz":
        attributes.append(("mass", _numbers([shape.mass])))
    attributes += _pose(x_xy.shape_pose_to_x_xy(shape.shape, shape.pose))
    if shape.colour is not None:
        attributes.append(("color", _numbers(shape.colour if shape.colour[3] != 1.0 else shape.colour[:3])))
    if shape.edge_colour is not None:
        attributes.append(("edge_color", shape.edge_colour))
    return _element("geom", attributes, depth)


def _pose(pose: FloatArray) -> list[tuple[str, str]]:
    attributes = []
    if pose[:3].any():
        attributes.append(("pos", _numbers(pose[:3])))
    if not np.array_equal(pose[3:], poses.IDENTITY[3:]):
        attributes.append(("quat", _numbers(x_xy.quaternion_to_x_xy(pose[3:]))))
    return attributes


def _element(tag: str, attributes: list[tuple[str, str]], depth: int, *, closed: bool = True) -> str:
    words = [tag, *(f"{name}={quoteattr(value)}" for name, value in attributes)]
    return f"{INDENT * depth}<{' '.join(words)}{'/' if closed else ''}>"


def _numbers(values: npt.ArrayLike) -> str:
    """Return the shortest digits that read back as the same doubles."""
    numbers = np.asarray(values, dtype=np.float64) + 0.0
    return " ".join(repr(number).removesuffix(".0") for number in numbers.tolist())


def _seconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09}".rstrip("0").rstrip(".")


def _has_default_limits(body: Body) -> bool:
    limits = x_xy.default_limits(body.type, body.spring_stiff)
    return limits is not None and body.limits is not None and np.array_equal(body.limits, limits)


def _problems(world: World) -> Iterator[str]:
    """Yield a short description of everything that the format cannot express."""
    for name, parts in world.parts.items():
        if PARTS[name].type is not Body:
            yield f"the {name}" + ("" if PARTS[name].single else f", of which there are {len(parts)}")
    if world.physics.contact and any(body.geometry for body in world.bodies):
        yield "contacts (physics.contact)"
    yield from _axes_problems(world)
    places = {world.fixed_frame, *(body.name for body in world.bodies)}
    for body in world.bodies:
        if body.joint not in x_xy.joint_names():
            yield f"{body.name}: a {body.joint} joint"
        if body.parent not in places:
            yield f"{body.name}: a parent that is not a body"
        own = replace(body, limits=None) if _has_default_limits(body) else body
        for what in ("scale", "inertial", "q", "qd", "limits", "stop", "friction_loss", "mimic"):
            if getattr(own, what) is not None:
                yield f"{body.name}: {what}"
        if body.kinematic:
            yield f"{body.name}: kinematic"
        for shape in body.geometry:
            for what in ("surface", "material", "only"):
                if getattr(shape, what):
                    yield f"{body.name}: {what} of a shape"
            if shape.shape not in x_xy.SHAPES:
                yield f"{body.name}: a {shape.shape}"


def _axes_problems(world: World) -> Iterator[str]:
    """Yield the bodies on axes that reading does not draw. Axes are drawn in the order of the text."""
    random = np.random.default_rng(x_xy.AXES_SEED)
    waiting = [body for body in reversed(world.bodies) if body.parent == world.fixed_frame]
    while waiting:
        body = waiting.pop()
        waiting += [below for below in reversed(world.bodies) if below.parent == body.name]
        if body.type.draw is not None and not np.array_equal(body.type.draw(random), body.axes):
            yield f"{body.name}: axes of a {body.joint} joint, which are drawn when the text is read"
