"""Worlds as x_xy XML, the models of the RING toolbox."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sim_node.formats import x_xy
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.joints import JOINTS, JointType
from sim_node.world.model import World
from sim_node.world.part import PARTS
from sim_node.world.readers.xml_elements import quoteattr
from sim_node.world.shapes import Geometry

INDENT = "    "
# Fields of a body and of a shape that the format cannot express.
OF_BODIES = ("scale", "inertial", "q", "qd", "limits", "stop", "friction_loss", "mimic", "kinematic")
OF_SHAPES = ("surface", "material", "only")
# The joints that represent the parts of a joint that files cannot express. The axis of the first two is x.
_CHAINED = {"slide": "px", "hinge": "rx", "ball": "spherical"}
_X, _NONE = np.array([[1.0, 0.0, 0.0]]), np.zeros((0, 3))


def to_x_xy(world: World) -> str:
    """Return a world as x_xy text, which reads back as the same bodies.

    The integrator and the origin are not written. A joint whose axes the format cannot express is written as massless
    bodies NAME/axis etc., which are rotated such that their own joints have these axes.

    Args:
        world: The world.

    Returns:
        The XML text.

    Raises:
        ValueError: Lists everything that the format cannot express: frames, sensors, motions, forces, vehicles,
            contacts, other shapes, explicit inertias, initial states, limits and friction of joints.
    """
    problems = list(_problems(world))
    if problems:
        raise ValueError("x_xy cannot express " + "; ".join(problems))
    children: dict[str, list[Body]] = {}
    for body in world.bodies:
        children.setdefault(body.parent, []).append(body)
    random = np.random.default_rng(x_xy.AXES_SEED)
    taken = {body.name for body in world.bodies}
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
            lines += _body(body, children, 2, random, taken)
    return "\n".join([*lines, f"{INDENT}</worldbody>", "</x_xy>", ""])


def _body(
    body: Body, children: dict[str, list[Body]], depth: int, random: np.random.Generator, taken: set[str]
) -> Iterator[str]:
    """Yield the lines of a body and its descendants. random: draws the same axes as the reader."""
    *around, body = _chain(body, random, taken)
    for k, each in enumerate((*around, body), start=depth):
        yield _element("body", [*_attributes(each)], k, closed=False)
    inner = depth + len(around) + 1
    for shape in body.geometry:
        yield _geom(shape, inner)
    if body.marker is not None:
        omc = [("name", body.marker.name), ("pos_marker", str(body.marker.number))]
        yield _element("omc", [*omc, ("pos", _numbers(body.marker.position))], inner)
    for child in children.get(body.name, []):
        yield from _body(child, children, inner, random, taken)
    for k in range(inner - 1, depth - 1, -1):
        yield f"{INDENT * k}</body>"


def _attributes(body: Body) -> Iterator[tuple[str, str]]:
    yield from (("name", body.name), ("joint", body.joint), *_pose(body.pose))
    if body.position_range is not None:
        yield from zip(("pos_min", "pos_max"), map(_numbers, body.position_range), strict=True)
    for key in x_xy.PER_DOF:
        values = getattr(body, key)
        if values is not None:
            yield key, _numbers(x_xy.velocities_to_x_xy(body.type, values))
    if body.spring_zero is not None:
        yield "spring_zero", _numbers(x_xy.positions_to_x_xy(body.type, body.spring_zero))


def _chain(body: Body, random: np.random.Generator, taken: set[str]) -> Iterator[Body]:
    """Yield the bodies that represent a body, from its parent on: only itself, if the format has its joint and axes.

    Otherwise, each part of its joint gets a separate body, rotated such that the axis in the format becomes the axis of
    the part. The body itself is fixed to the last one and rotated back.
    """
    drawn = _drawn(body, random)
    if drawn is not None and np.array_equal(drawn, body.axes) and not body.anchor.any():
        yield body
        return
    pose, q, qd = body.pose, 0, 0
    for kind, known, axes in _parts(body, drawn):
        turn = np.concatenate([body.anchor, _turn(known, axes)])
        name = f"{body.name}/axis"
        while name in taken:
            name += "_"
        taken.add(name)
        pose = poses.compose(pose, turn)
        found = {key: getattr(body, key) for key in (*x_xy.PER_DOF, "spring_zero")}
        own = {key: values[qd : qd + kind.qd_size] for key, values in found.items() if values is not None}
        if "spring_zero" in own:
            own["spring_zero"] = found["spring_zero"][q : q + kind.q_size]
        if body.position_range is not None and not qd:
            own["position_range"] = body.position_range + (pose - body.pose)[:3]
        yield Body(name, body.parent, kind.name, pose, known if kind.open_axes else _NONE, **own)
        pose, q, qd = poses.invert(turn), q + kind.q_size, qd + kind.qd_size
    plain: dict[str, Any] = dict.fromkeys((*x_xy.PER_DOF, "spring_zero", "position_range", "limits"))
    yield replace(body, joint="frozen", axes=_NONE, pose=pose, anchor=np.zeros(3), draws_axes=False, **plain)


def _drawn(body: Body, random: np.random.Generator) -> FloatArray | None:
    """Return the axes (K, 3) that the reader draws for a joint of this name, if a rotation makes them fit; or None.

    `random` is not used if they cannot be used.
    """
    if body.joint not in x_xy.joint_names():
        return None
    if body.type.draw is None:
        return None if body.anchor.any() else body.axes
    alike = deepcopy(random)
    drawn = body.type.draw(alike)
    serves = np.allclose(drawn @ drawn.T, body.axes @ body.axes.T, rtol=0.0, atol=1e-12)
    if not (body.draws_axes and serves and _has_limits_of_the_format(body)):
        return None
    random.bit_generator.state = alike.bit_generator.state
    return drawn


def _parts(body: Body, drawn: FloatArray | None) -> Iterator[tuple[JointType, FloatArray, FloatArray]]:
    """Yield the joints that represent a body's joint, each with the axes (K, 3) of the format and those of the body."""
    if drawn is not None:
        yield body.type, drawn, body.axes
        return
    for part, axis in zip(body.type.parts, body.type.axes(body.axes), strict=True):
        yield JOINTS[_CHAINED[part.kind]], _X, (_X if part.kind == "ball" else axis[None])


def _turn(known: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the rotation [x y z w] that maps one or two directions (K, 3) to others with the same angle."""
    frames = []
    for rows in (known, axes):
        first = rows[0] / np.linalg.norm(rows[0])
        other = rows[1] if len(rows) > 1 else np.eye(3)[np.argmin(np.abs(first))]
        third = np.cross(first, other)
        third /= np.linalg.norm(third)
        frames.append(np.stack([first, np.cross(third, first), third], axis=1))
    return quaternions.from_matrix(frames[1] @ frames[0].T)


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


def _has_limits_of_the_format(body: Body) -> bool:
    limits = x_xy.default_limits(body.type, body.spring_stiff)
    if limits is None or body.limits is None:
        return limits is body.limits
    return np.array_equal(body.limits, limits)


def _problems(world: World) -> Iterator[str]:
    """Yield a short description of everything that the format cannot express."""
    for name, parts in world.parts.items():
        if PARTS[name].type is not Body:
            yield f"the {name}" + ("" if PARTS[name].single else f", of which there are {len(parts)}")
    if world.physics.contact and any(body.geometry for body in world.bodies):
        yield "contacts (physics.contact)"
    random = np.random.default_rng(x_xy.AXES_SEED)
    places = {world.fixed_frame, *(body.name for body in world.bodies)}
    for body in world.bodies:
        if body.parent not in places:
            yield f"{body.name}: a parent that is not a body"
        keeps = _drawn(body, random) is not None and _has_limits_of_the_format(body)
        own = replace(body, limits=None) if keeps else body
        for what in OF_BODIES:
            if (value := getattr(own, what)) is not None and value is not False:
                yield f"{body.name}: {what}"
        for shape in body.geometry:
            for what in OF_SHAPES:
                if getattr(shape, what):
                    yield f"{body.name}: {what} of a shape"
            if shape.shape not in x_xy.SHAPES:
                yield f"{body.name}: a {shape.shape}"
