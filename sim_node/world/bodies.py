"""Rigid bodies of a World: their joints, shapes and masses, and how they are simulated, as frozen data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.text import did_you_mean
from sim_node.world.bounds import MAX_MASS
from sim_node.world.declared import Fault, declared, given, place_of
from sim_node.world.fields import directions, floats, same
from sim_node.world.joint_motion import Mimic, Stop, limited, limits_of
from sim_node.world.joints import JOINTS, JointType, LinkJoint, by_joint, link_pose
from sim_node.world.part import Mobility
from sim_node.world.problems import NO_PLACE, Place, quoted
from sim_node.world.quantities import Flag, Number, Plain, Time, Vector, Whole, Word
from sim_node.world.readers.keys import Form, Keys, flag
from sim_node.world.readers.yaml_values import Table, Value
from sim_node.world.surfaces import CONES, FLAGS, Material, Surface
from sim_node.world.triangles import Triangles

# Engines that can simulate rigid bodies.
ENGINES = ("mujoco",)
INTEGRATORS = ("rk4", "implicitfast", "implicit", "euler")
# The names of a shape's sizes (m; whole lengths). Cylinders and capsules lie along z, a plane faces z.
SHAPES: dict[str, tuple[str, ...]] = {
    "box": ("length_x", "length_y", "length_z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length without the caps"),
    "ellipsoid": ("radius_x", "radius_y", "radius_z"),
    "plane": (),
    # A file's triangles, in its own units times these factors.
    "mesh": ("scale_x", "scale_y", "scale_z"),
    # Three arrows that show a frame: neither mass nor contact.
    "xyz": ("length",),
}
# Meshes with contacts, by their convex hulls. Others are only shown.
MESHES, MESHES_SHOWN = (".stl", ".obj"), (".glb", ".gltf")
SHAPES_WITHOUT_MASS = ("plane", "xyz")
# From the sizes of a shape in their order, m^3.
VOLUMES: dict[str, Callable[..., float]] = {
    "box": lambda x, y, z: x * y * z,
    "sphere": lambda r: 4.0 / 3.0 * math.pi * r**3,
    "cylinder": lambda r, length: math.pi * r**2 * length,
    "capsule": lambda r, length: math.pi * r**2 * (length + 4.0 / 3.0 * r),
    "ellipsoid": lambda x, y, z: 4.0 / 3.0 * math.pi * x * y * z,
}
STANDARD_GRAVITY = (0.0, 0.0, -9.81)
MAX_TIMESTEP_NS = 1_000_000


MAX_GRAVITY = 1e4  # m/s^2
MIN_TIMESTEP_NS = 1_000
FLAG_KEYS = Keys({name: flag(f"MuJoCo's {name}.") for name in FLAGS}, about="Parts of MuJoCo's pipeline, on or off.")


@dataclass(frozen=True)
class Flags(Plain):
    """Whether parts of MuJoCo's pipeline are on, by name."""

    def form(self, about: str) -> Form:
        """Return the form of a mapping of flags."""
        return FLAG_KEYS

    def read(self, value: Value, context: Any) -> dict[str, bool]:
        """Read a mapping of flags."""
        table = value.table(FLAG_KEYS)
        return {name: Flag().read(each, context) for name in FLAGS if (each := table.get(name)) is not None}

    def faults(self, found: Any) -> Iterator[Fault]:
        """Yield flags that MuJoCo does not have."""
        for name in found:
            if name not in FLAGS:
                yield "", f"no flag {quoted(name)}; allowed: {', '.join(FLAGS)}{did_you_mean(name, FLAGS)}"


@declared
class Physics:
    """How bodies are simulated.

    Without a timestep, the world's step is divided into equal parts of at most 1 ms. Without a cone it is elliptic,
    with impratio 10, where a shape gives friction or restitution, else pyramidal with impratio 1.

    Raises:
        ValueError: `gravity` has the wrong shape.
    """

    timestep_ns: int | None = given(
        Time(MIN_TIMESTEP_NS), "Timestep of the integrator", "s", default=None, key="timestep"
    )
    integrator: str = given(Word(INTEGRATORS), "How their motion is integrated", default="rk4")
    gravity: FloatArray = given(
        Vector(3, MAX_GRAVITY),
        "Gravity in the fixed frame",
        "m/s^2",
        default_factory=lambda: np.array(STANDARD_GRAVITY),
    )
    contact: bool = given(Flag(), "Whether shapes make contact", default=True)
    armature: float = given(
        Number(0.0, MAX_MASS), "Inertia added to every degree of freedom", "kg or kg m^2", default=0.0
    )
    engine: str = given(Word(ENGINES), "What simulates bodies", default="mujoco")
    cone: str | None = given(Word(CONES), "Shape of friction cones", default=None)
    impratio: float | None = given(
        Number(1e-3, 1e6), "Ratio of frictional to normal constraint impedance", default=None
    )
    iterations: int | None = given(
        Whole(1, 100_000), "Maximum number of iterations of the solver; MuJoCo's 100 if not given", default=None
    )
    flags: Mapping[str, bool] = given(
        Flags(),
        "Whether parts of MuJoCo's pipeline are on; as MuJoCo has them if not given",
        default_factory=dict,
        omit=True,
    )
    options: Mapping[str, Any] = given(
        None,
        "Further options of MuJoCo by its names, which an MJCF file sets that is run by itself",
        default_factory=dict,
    )
    place: Place = place_of(default=NO_PLACE)

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Let faults of the timestep, which the world's step decides, be located there."""
        timestep = table.get("timestep")
        found["place"] = Place((timestep or table.value).where, table.value.path)

    def substeps(self, step_ns: int) -> int:
        """Return the number of timesteps in a step of the world.

        Args:
            step_ns: The world's step (ns).

        Returns:
            The number, rounded down.
        """
        return step_ns // self.timestep_ns if self.timestep_ns else -(-step_ns // MAX_TIMESTEP_NS)


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """A shape of a body.

    Attributes:
        shape: One of SHAPES.
        size: The sizes of the shape in their order, m.
        mass: Mass, uniformly distributed (kg).
        pose: Pose (7,) in the body, m.
        colour: Red, green, blue and opacity (4,), each 0 to 1, or None.
        edge_colour: Colour of the outline as the file gives it, or None.
        file: The file of a mesh.
        place: Where the file describes the shape.
        surface: What it does where it touches others, or None for MuJoCo's defaults.
        material: How it looks besides its colour, or None.
        only: "visual" for a shape without mass and contacts, "collision" for one that is not drawn, or empty.
        triangles: A mesh without a file, or None.

    Raises:
        ValueError: An array has the wrong shape.
    """

    shape: str
    size: FloatArray
    mass: float = 0.0
    pose: FloatArray = field(default_factory=lambda: np.array(poses.IDENTITY))
    colour: FloatArray | None = None
    edge_colour: str | None = None
    file: Path | None = None
    place: Place = NO_PLACE
    surface: Surface | None = None
    material: Material | None = None
    only: str = ""
    triangles: Triangles | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", floats(self.size, (-1,), self.shape, "size"))
        object.__setattr__(self, "pose", floats(self.pose, (7,), self.shape, "pose"))
        if self.colour is not None:
            object.__setattr__(self, "colour", floats(self.colour, (4,), self.shape, "colour"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def is_shown_only(self) -> bool:
        """Whether it is not part of the simulated model: arrows, and meshes that MuJoCo cannot read."""
        return self.shape == "xyz" or (self.file is not None and self.file.suffix.lower() in MESHES_SHOWN)

    def scale_fault(self, factors: FloatArray) -> str:
        """Return why the shape cannot be scaled; empty if it can.

        Args:
            factors: Factors (3,) along the axes of the body.

        Returns:
            The reason: different factors would make another shape of it.
        """
        x, y, z = factors.tolist()
        if x == y == z:
            return ""
        if self.shape in ("plane", "xyz", "capsule") or (self.shape == "cylinder" and x != y):
            return f"different factors {[x, y, z]} do not suit a {self.shape}"
        if not np.array_equal(np.abs(self.pose[3:]), poses.IDENTITY[3:]):
            return f"different factors {[x, y, z]} would skew a turned {self.shape}"
        return ""

    def scaled(self, factors: FloatArray) -> Geometry:
        """Return the shape scaled about the body's origin; its mass stays.

        Args:
            factors: Factors (3,) along the axes of the body, which `scale_fault` accepts.

        Returns:
            The scaled shape; a sphere may become an ellipsoid.
        """
        pose = np.concatenate([self.pose[:3] * factors, self.pose[3:]])
        if self.shape == "sphere" and np.ptp(factors) > 0.0:
            return replace(self, shape="ellipsoid", size=self.size * factors, pose=pose)
        sizes = {"cylinder": factors[[0, 2]], "plane": factors[:0]}.get(self.shape, factors[: len(self.size)])
        return replace(self, size=self.size * sizes, pose=pose)


@dataclass(frozen=True, slots=True, eq=False)
class Inertial:
    """Mass and inertia of a body.

    Attributes:
        mass: kg.
        inertia: Inertia (3, 3) about the centre of mass, in the axes of the body, kg m^2.
        centre: Centre of mass (3,) in the body, m.

    Raises:
        ValueError: An array has the wrong shape.
    """

    mass: float
    inertia: FloatArray
    centre: FloatArray = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        object.__setattr__(self, "inertia", floats(self.inertia, (3, 3), "inertial", "inertia"))
        object.__setattr__(self, "centre", floats(self.centre, (3,), "inertial", "centre"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Marker:
    """An optical motion-capture marker of a body (x_xy's <omc>): its coordinate system, number and position (m)."""

    name: str
    number: int
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A rigid body and the joint to its parent. Arrays are read-only.

    Attributes:
        name: Unique in the world.
        parent: The parent frame; empty for the default.
        joint: One of JOINTS.
        pose: Pose (7,) of the joint frame in the parent, m. With neutral q, it is the pose of the body.
        axes: Directions (K, 3) of the open axes of the joint type; they are normalised.
        geometry: Shapes. They determine mass and inertia unless `inertial` does.
        inertial: Mass and inertia, or None.
        damping: Damping (qd_size,) per degree of freedom, or None.
        armature: Added inertia (qd_size,) per degree of freedom, or None.
        spring_stiff: Stiffness of springs (qd_size,) per degree of freedom, or None.
        spring_zero: Rest position of springs (q_size,), or None for neutral.
        q: Initial position (q_size,); None for neutral.
        qd: Initial velocity (qd_size,); None for rest.
        position_range: Smallest and largest position (2, 3) to draw the initial position from, or None; m.
        draws_axes: Whether `axes` were drawn, so that randomised worlds have others.
        marker: An optical marker, or None.
        anchor: Point (3,) in the body about which the joint turns it, m.
        limits: Least and largest position (P, 2) of each part of the joint, or None; infinite for no limit. For a
            ball, 0 and the largest angle from neutral.
        stop: The springs at the limits; None for stops as hard as the timestep allows.
        friction_loss: Dry friction (qd_size,) per degree of freedom, N or N m, or None.
        mimic: The joint that this one follows, or None.
        scale: Scale (3,) of the shapes of a frozen body, along its own axes, or None.
        place: Where the file gives the name.
        parent_place: Where the file gives the parent.

    Raises:
        ValueError: An array has the wrong shape, or there is no such joint type.
    """

    name: str
    parent: str
    joint: str = "frozen"
    pose: FloatArray = field(default_factory=lambda: np.array(poses.IDENTITY))
    axes: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    geometry: tuple[Geometry, ...] = ()
    inertial: Inertial | None = None
    damping: FloatArray | None = None
    armature: FloatArray | None = None
    spring_stiff: FloatArray | None = None
    spring_zero: FloatArray | None = None
    q: FloatArray | None = None
    qd: FloatArray | None = None
    position_range: FloatArray | None = None
    marker: Marker | None = None
    anchor: FloatArray = field(default_factory=lambda: np.zeros(3))
    limits: FloatArray | None = None
    stop: Stop | None = None
    friction_loss: FloatArray | None = None
    mimic: Mimic | None = None
    scale: FloatArray | None = None
    draws_axes: bool = False
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        if self.joint not in JOINTS:
            raise ValueError(f"{self.name!r}: no joint type {self.joint!r}; allowed: {', '.join(JOINTS)}")
        joint = self.type
        sizes = {
            **dict.fromkeys(("damping", "armature", "spring_stiff", "friction_loss", "qd"), joint.qd_size),
            **dict.fromkeys(("spring_zero", "q"), joint.q_size),
        }
        for what, size in sizes.items():
            given: npt.ArrayLike | None = getattr(self, what)
            if given is not None:
                object.__setattr__(self, what, floats(given, (size,), self.name, what))
        object.__setattr__(self, "pose", floats(self.pose, (7,), self.name, "pose"))
        object.__setattr__(self, "anchor", floats(self.anchor, (3,), self.name, "anchor"))
        object.__setattr__(self, "axes", directions(self.axes, (joint.open_axes, 3), self.name, "axes"))
        if self.scale is not None:
            object.__setattr__(self, "scale", floats(self.scale, (3,), self.name, "scale"))
        if self.limits is not None:
            object.__setattr__(self, "limits", limits_of(self.limits, joint, self.name))
        if self.position_range is not None:
            object.__setattr__(self, "position_range", floats(self.position_range, (2, 3), self.name, "position_range"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def type(self) -> JointType:
        """The joint type."""
        return JOINTS[self.joint]

    @property
    def shapes(self) -> tuple[Geometry, ...]:
        """The shapes at their scale."""
        if self.scale is None:
            return self.geometry
        return tuple(each if each.scale_fault(self.scale) else each.scaled(self.scale) for each in self.geometry)

    @property
    def joint_frame(self) -> str:
        """The frame in which the joint moves the body: NAME/joint, or the parent itself if both coincide."""
        return self.parent if np.array_equal(self.pose, poses.IDENTITY) else f"{self.name}/joint"

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """The joint as joints of a link, one for each part: NAME#0, NAME#1, ..."""
        return limited(self.type.joints(self.name, self.axes, self.anchor), self.limits)

    def start(self) -> FloatArray:
        """Return the initial pose (7,) in the joint frame."""
        joints = self.joints
        return link_pose(poses.IDENTITY, joints, {} if self.q is None else by_joint(joints, self.q))

    @property
    def mobility(self) -> Mobility:
        """Always "dynamic". A frozen body is replaced by the static frame of its pose."""
        return "dynamic"

    def own_mass(self) -> float:
        """Return its mass in kg."""
        return self.inertial.mass if self.inertial is not None else sum(part.mass for part in self.geometry)


@dataclass(frozen=True, slots=True, eq=False)
class LoopClosure:
    """A constraint between two frames that closes a kinematic loop.

    Attributes:
        name: Unique in the world.
        kind: The type of mate; one of MATES.
        frames: Names of the two frames.
        poses: Pose (2, 7) of the connector in each frame, m.
        distance: Distance between the connectors, if that is what is constrained (m).
        relaxation: Time constant with which they take this distance, s; 0 for as fast as the timestep allows.
        place: Where the file describes it.

    Raises:
        ValueError: `poses` has the wrong shape.
    """

    name: str
    kind: str
    frames: tuple[str, str]
    poses: FloatArray
    distance: float = 0.0
    relaxation: float = 0.0
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "poses", floats(self.poses, (2, 7), self.name, "poses"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


class ContactExclusion(NamedTuple):
    """Two bodies, by name, whose contacts are ignored."""

    first: str
    second: str
