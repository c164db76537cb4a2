"""The sections `physics` and `bodies` of a world file: rigid bodies, their joints, shapes and masses."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import SHAPES, Body, Geometry, Inertial, Physics
from sim_node.world.bounds import MAX_DISTANCE, MAX_MASS, MAX_RATE
from sim_node.world.declared import BAD, keys_of, plan_of, read
from sim_node.world.joints import JOINTS, JointType
from sim_node.world.mesh_files import volume_of
from sim_node.world.readers.keys import (
    Form,
    Keys,
    choice,
    either,
    frame,
    listing,
    number,
    one_or_each,
    vector,
    word,
)
from sim_node.world.readers.yaml_joints import MOTION_KEYS, read_motion
from sim_node.world.readers.yaml_meshes import MESH, mesh_scale, read_mesh
from sim_node.world.readers.yaml_nodes import Scalar, Sequence
from sim_node.world.readers.yaml_poses import POSE_KEYS, ROUNDING, SCALE, read_pose
from sim_node.world.readers.yaml_section import Context, named, section
from sim_node.world.readers.yaml_surfaces import (
    COLOUR,
    SURFACE_KEYS,
    read_colour,
    read_surface,
)
from sim_node.world.readers.yaml_values import TRUE, Value


def shape_form(shape: str) -> Form:
    """Return the form of the value of a shape."""
    names = SHAPES[shape]
    about = f"Sizes, m: {', '.join(names)}."
    if shape == "mesh":
        return MESH
    if not names:
        return word("An endless plane that faces z.", True)
    size = number("", high=MAX_DISTANCE, above=0.0)
    return one_or_each(about, size, 1) if len(names) == 1 else listing(about, size, len(names), len(names))


# Values per degree of freedom, or per coordinate: one number for all, or a list.
PER_DOF = {
    "damping": "Damping, N s/m or N m s/rad.",
    "armature": "Added inertia, kg or kg m^2.",
    "spring_stiff": "Stiffness of a spring, N/m or N m/rad.",
    "friction_loss": "Dry friction, N or N m.",
}
JOINT_KEYS = Keys(
    {
        "type": choice("The type of joint.", JOINTS),
        "axis": either("The axis, or a list of several.", vector("", 3), listing("", vector("", 3))),
        "anchor": vector("The point of the body about which the joint turns it, m.", 3, MAX_DISTANCE),
        **{key: one_or_each(about, number("", 0.0)) for key, about in PER_DOF.items()},
        "spring_zero": one_or_each("Where the spring rests, m or rad.", number("")),
        "q": one_or_each("Initial position, m or rad; quaternions are [x, y, z, w].", number("")),
        "qd": one_or_each("Initial velocity, m/s or rad/s.", number("", -MAX_RATE, MAX_RATE)),
        **MOTION_KEYS,
    },
    required=("type",),
)
GEOMETRY_KEYS = Keys(
    {
        **{shape: shape_form(shape) for shape in SHAPES},
        "scale": {**SCALE, "description": "Scale of a mesh."},
        "mass": number("Mass, kg.", 0.0, MAX_MASS),
        "density": number("Density, kg/m^3, instead of a mass.", 0.0, MAX_MASS),
        "pose": POSE_KEYS,
        "color": COLOUR,
        **SURFACE_KEYS,
    },
    exactly_one=(SHAPES,),
    at_most_one=(("mass", "density"),),
    about="A shape.",
    define="shape",
)
INERTIA = either(
    "Inertia about the centre of mass, kg m^2: [ixx, iyy, izz] or [ixx, iyy, izz, ixy, ixz, iyz].",
    vector("", 3),
    vector("", 6),
)
INERTIAL_KEYS = Keys(
    {
        "mass": number("Mass, kg.", 0.0, MAX_MASS),
        "center": vector("Centre of mass in the body, m.", 3, MAX_DISTANCE),
        "inertia": INERTIA,
    },
    required=("mass", "inertia"),
    about="Mass, centre of mass and inertia.",
)
BODY_KEYS = Keys(
    {
        "name": frame("Name of the body and its frame."),
        "parent": frame("The frame that its joint is in."),
        "pose": POSE_KEYS,
        "joint": either("How it moves in its parent.", choice("", JOINTS), JOINT_KEYS),
        "geometry": listing("Its shapes.", GEOMETRY_KEYS),
        "inertial": INERTIAL_KEYS,
    },
    required=("name",),
)
AXES_SEED = 1


@section("physics", keys_of(Physics))
def read_physics(value: Value, context: Context) -> None:
    """Read how bodies are simulated."""
    physics = read(Physics, value)
    if physics is BAD:
        return
    context.physics = physics
    table = value.table(keys_of(Physics))
    for key, (name, _) in plan_of(Physics).by_key.items():
        if (part := table.get(key)) is not None:
            part.sets(getattr(physics, name), "physics", name)


@section("bodies", listing("Rigid bodies.", BODY_KEYS))
def read_bodies(value: Value, context: Context) -> None:
    """Read a list of rigid bodies."""
    random = np.random.default_rng(AXES_SEED)
    for entry in value.items():
        errors = len(entry.report.errors)
        table = entry.table(BODY_KEYS)
        name, place = named(table, "name")
        pose_value = table.get("pose")
        pose, scale = read_pose(pose_value)
        joint = _joint(table.get("joint"), random)
        geometry = read_geometry(table.get("geometry"), context)
        inertial = read_inertial(table.get("inertial"))
        if scale is not None and pose_value is not None and (fault := _scale_fault(scale, joint, geometry)):
            pose_value.error(fault)
        if name and len(entry.report.errors) == errors:
            context.add(Body(name, scale=scale, pose=pose, geometry=geometry, inertial=inertial, **joint, **place))
        elif name:
            # Enough to check the tree.
            context.add(Body(name, pose=pose, **place))


def _scale_fault(scale: FloatArray, joint: dict[str, Any], geometry: tuple[Geometry, ...]) -> str:
    """Return why a body cannot have a scale; empty if it can."""
    if JOINTS[joint.get("joint", "frozen")].parts:
        return "a body on a joint has no scale; set the sizes of its shapes"
    return next((fault for shape in geometry if (fault := shape.scale_fault(scale))), "")


def _joint(value: Value | None, random: np.random.Generator) -> dict[str, Any]:
    """Read the joint's fields of a Body: from the name of a type, or a mapping."""
    if value is None:
        return {}
    if isinstance(value.node, Scalar):
        name = value.choice(JOINTS, "frozen")
        return {"joint": name, "axes": _axes(None, value, JOINTS[name], random)}
    table = value.table(JOINT_KEYS)
    joint = JOINTS[table.choice("type", JOINTS, "frozen")]
    fields: dict[str, Any] = {"joint": joint.name, "axes": _axes(table.get("axis"), value, joint, random)}
    anchor = table.get("anchor")
    if anchor is not None and (point := anchor.vector(3, limit=MAX_DISTANCE)) is not None:
        fields["anchor"] = np.array(point)
    for key in PER_DOF:
        fields[key] = _numbers(table.get(key), joint.qd_size, low=0.0)
    fields["qd"] = _numbers(table.get("qd"), joint.qd_size)
    for key in ("q", "spring_zero"):
        fields[key] = _positions(table.get(key), joint)
    return {**fields, **read_motion(table, joint, fields["q"])}


def _axes(value: Value | None, at: Value, joint: JointType, random: np.random.Generator) -> FloatArray:
    """Read the open axes (K, 3) of a joint type: one axis as it is, several as a list."""
    count = joint.open_axes
    if value is None:
        if joint.draw is not None:
            return joint.draw(random)
        if count:
            at.error(f"a {joint.name} joint needs an axis: {{type: {joint.name}, axis: [0, 0, 1]}}")
    elif not count:
        value.error(f"the axes of a {joint.name} joint are fixed; joints with an axis are {_with_open_axes()}")
    else:
        rows = [value] if count == 1 else list(value.items())
        axes = [row.vector(3) for row in rows]
        if len(axes) != count:
            value.error(f"a {joint.name} joint has {count} axes, found {len(axes)}")
        elif all(axis is not None for axis in axes):
            if all(math.hypot(*axis) > 0.0 for axis in axes if axis is not None):
                return np.array(axes, dtype=np.float64)
            value.error("is zero; an axis needs a direction")
    return np.tile((0.0, 0.0, 1.0), (count, 1))


def _with_open_axes() -> str:
    return ", ".join(name for name, joint in JOINTS.items() if joint.open_axes)


def _numbers(value: Value | None, size: int, low: float = -math.inf) -> FloatArray | None:
    """Read one number for all degrees of freedom, or a list with one each."""
    if value is None:
        return None
    if isinstance(value.node, Sequence):
        if len(value.node.items) != size:
            value.error(f"a list of {size} numbers is needed, found {value.found()}")
            return None
        return np.array([item.number(low) for item in value.items()])
    if size == 0:
        value.error("a frozen joint has no degrees of freedom")
    return np.full(size, value.number(low))


def _positions(value: Value | None, joint: JointType) -> FloatArray | None:
    numbers = None if value is None else _numbers(value, joint.q_size)
    if value is None or numbers is None:
        return None
    at = 0
    for part in joint.parts:
        if part.kind == "ball":
            norm = math.hypot(*numbers[at : at + 4])
            if abs(norm - 1.0) > 1e-3:
                value.error(f"the quaternion's norm is {norm:.4g}, a rotation needs 1")
                return None
            if abs(norm - 1.0) > ROUNDING:
                numbers[at : at + 4] /= norm
        at += part.q_size
    return numbers


def read_geometry(value: Value | None, context: Context) -> tuple[Geometry, ...]:
    """Read a list of shapes, each a mapping with the shape's name and sizes."""
    return () if value is None else tuple(g for entry in value.items() if (g := read_shape(entry, context)) is not None)


def read_shape(entry: Value, context: Context, known: Keys = GEOMETRY_KEYS) -> Geometry | None:
    """Read a shape from a mapping with `known` keys. Return None with the fault recorded."""
    table = entry.table(known)
    given = [name for name in SHAPES if name in table]
    if len(given) != 1:
        found = f"found {' and '.join(given)}" if given else "found none"
        entry.error(f"one shape is needed ({', '.join(SHAPES)}), {found}")
        return None
    shape = given[0]
    value, mass, colour = table.get(shape), table.get("mass"), table.get("color")
    assert value is not None
    errors = len(entry.report.errors)
    pose, _ = read_pose(table.get("pose"))
    mesh = read_mesh(value, context) if shape == "mesh" else {}
    size = mesh_scale(table) if shape == "mesh" else _sizes(value, SHAPES[shape])
    if "scale" in table and shape != "mesh":
        entry.error(f"only meshes have a scale; set the sizes of the {shape}")
    rgba = None if colour is None else read_colour(colour)
    kilograms = 0.0 if mass is None else mass.number(0.0, MAX_MASS)
    density = table.get("density")
    surface = read_surface(table, context)
    if len(entry.report.errors) > errors:
        return None
    made = Geometry(shape, size, kilograms, pose, rgba, place=entry.place, **surface, **mesh)
    return made if density is None else _weighed(made, density, mass)


def _weighed(shape: Geometry, density: Value, mass: Value | None) -> Geometry | None:
    """Return a shape with the mass of a uniform density; None with the fault recorded."""
    if mass is not None:
        density.error("cannot be combined with mass; give one of them")
        return None
    try:
        volume = volume_of(shape)
    except ValueError as error:
        density.error(str(error))
        return None
    kilograms = density.number(0.0, MAX_MASS) * volume
    if kilograms > MAX_MASS:
        density.error(f"results in {kilograms:.4g} kg; allowed: up to {MAX_MASS:g} kg")
        return None
    return replace(shape, mass=kilograms)


def _sizes(value: Value, names: tuple[str, ...]) -> FloatArray:
    """Read lengths and radii in the order of their names. A single one may be a plain number."""
    if not names:
        if not (isinstance(value.node, Scalar) and value.node.text in TRUE):
            value.error(f"has no sizes; write `true`, found {value.found()}")
        return np.zeros(0)
    listed = isinstance(value.node, Sequence)
    values = list(value.items()) if listed else [value]
    if len(values) != len(names) or not (listed or len(names) == 1):
        value.error(f"needs a list of sizes in m, [{', '.join(names)}]; found {value.found()}")
        return np.ones(len(names))
    sizes = [size.number(0.0, MAX_DISTANCE) for size in values]
    for size, length in zip(values, sizes, strict=True):
        if length == 0.0 and isinstance(size.node, Scalar) and size.node.text.strip("0.+-") == "":
            size.error("a size must be above zero")
    return np.array(sizes)


def read_inertial(value: Value | None) -> Inertial | None:
    """Read mass, centre of mass and inertia."""
    if value is None:
        return None
    table = value.table(INERTIAL_KEYS)
    mass, centre, moments = (table.get(key) for key in INERTIAL_KEYS)
    if mass is None or moments is None:
        return None
    kilograms = mass.number(0.0, MAX_MASS)
    position = None if centre is None else centre.vector(3, limit=MAX_DISTANCE)
    matrix = read_inertia(moments)
    return None if matrix is None else Inertial(kilograms, matrix, np.array(position or (0.0, 0.0, 0.0)))


def read_inertia(value: Value) -> FloatArray | None:
    """Read [ixx, iyy, izz] or [ixx, iyy, izz, ixy, ixz, iyz] as a matrix (3, 3)."""
    size = 6 if isinstance(value.node, Sequence) and len(value.node.items) == 6 else 3
    moments = value.vector(size)
    if moments is None:
        return None
    xx, yy, zz, xy, xz, yz = (*moments, 0.0, 0.0, 0.0)[:6]
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
