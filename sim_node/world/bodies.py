"""Rigid bodies of a World: their joints, shapes and masses, and how they are integrated; frozen data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from sim_node.geometry import poses
from sim_node.geometry.arrays import FloatArray
from sim_node.world.fields import directions, floats, same
from sim_node.world.joints import JOINTS, JointType, LinkJoint, by_joint, link_pose
from sim_node.world.part import Mobility
from sim_node.world.problems import NO_PLACE, Place

# What can integrate rigid bodies.
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
# Meshes that bodies touch with, by their convex hulls; others are shown and do nothing else.
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


@dataclass(frozen=True, slots=True, eq=False)
class Physics:
    """How bodies are integrated. Raises ValueError for a gravity of another shape.

    timestep_ns: of the integrator; None divides the world's step into equal parts of at most 1 ms. gravity (3,):
    m/s^2 in the fixed frame. contact: whether shapes touch. armature: added to every degree of freedom, kg or kg m^2.
    engine: one of ENGINES.
    options: those of MuJoCo that an MJCF file which is run by itself sets beside these, by MuJoCo's names.
    """

    timestep_ns: int | None = None
    integrator: str = "rk4"
    gravity: FloatArray = field(default_factory=lambda: np.array(STANDARD_GRAVITY))
    contact: bool = True
    armature: float = 0.0
    engine: str = "mujoco"
    options: Mapping[str, Any] = field(default_factory=dict)
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", floats(self.gravity, (3,), "physics", "gravity"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    def substeps(self, step_ns: int) -> int:
        """Timesteps in a step of the world; a part of one is rounded down."""
        return step_ns // self.timestep_ns if self.timestep_ns else -(-step_ns // MAX_TIMESTEP_NS)


@dataclass(frozen=True, slots=True, eq=False)
class Geometry:
    """A shape on a body. Raises ValueError for a size, pose or colour of another shape.

    shape: one of SHAPES; size: its sizes in their order, m; mass kg, spread evenly; pose (7,): in the body;
    colour (4,): red, green, blue, opacity in 0 to 1; edge_colour: of its outline, as a file says it; file: of a mesh.
    """

    shape: str
    size: FloatArray
    mass: float = 0.0
    pose: FloatArray = field(default_factory=lambda: np.array(poses.IDENTITY))
    colour: FloatArray | None = None
    edge_colour: str | None = None
    file: Path | None = None
    place: Place = NO_PLACE

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
        """Whether it is drawn and neither weighs nor touches."""
        return self.shape == "xyz" or (self.file is not None and self.file.suffix.lower() in MESHES_SHOWN)


@dataclass(frozen=True, slots=True, eq=False)
class Inertial:
    """A body's mass (kg), centre of mass (3,) in the body (m) and inertia about it (3, 3) in the body's axes (kg m^2).

    Raises ValueError for arrays of another shape.
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
    """A rigid body and the joint that it hangs on.

    pose (7,): of the joint frame in the parent; where q is neutral the body is there. joint: one of JOINTS;
    axes (K, 3): those that its type leaves open, made unit. anchor (3,): the point in the body, m, that its joint turns
    it about. geometry gives mass and inertia unless `inertial` does.
    damping, armature, spring_stiff (qd_size,), spring_zero (q_size,): per degree of freedom; None for none. q, qd:
    the initial state; None for neutral and rest. position_range (2, 3): least and largest position, for `randomised`.
    Arrays are kept read-only. Raises ValueError for one of another shape.
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
    place: Place = NO_PLACE
    parent_place: Place = NO_PLACE

    def __post_init__(self) -> None:
        if self.joint not in JOINTS:
            raise ValueError(f"{self.name!r}: no joint type {self.joint!r}; allowed: {', '.join(JOINTS)}")
        joint = self.type
        sizes = {
            **dict.fromkeys(("damping", "armature", "spring_stiff", "qd"), joint.qd_size),
            **dict.fromkeys(("spring_zero", "q"), joint.q_size),
        }
        for what, size in sizes.items():
            given: npt.ArrayLike | None = getattr(self, what)
            if given is not None:
                object.__setattr__(self, what, floats(given, (size,), self.name, what))
        object.__setattr__(self, "pose", floats(self.pose, (7,), self.name, "pose"))
        object.__setattr__(self, "anchor", floats(self.anchor, (3,), self.name, "anchor"))
        object.__setattr__(self, "axes", directions(self.axes, (joint.open_axes, 3), self.name, "axes"))
        if self.position_range is not None:
            object.__setattr__(self, "position_range", floats(self.position_range, (2, 3), self.name, "position_range"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def type(self) -> JointType:
        """What its joint lets move."""
        return JOINTS[self.joint]

    @property
    def joint_frame(self) -> str:
        """The frame that its joint moves it in: NAME/joint, or the parent itself where the two coincide."""
        return self.parent if np.array_equal(self.pose, poses.IDENTITY) else f"{self.name}/joint"

    @property
    def joints(self) -> tuple[LinkJoint, ...]:
        """Its joint as a link has them, one for each part: NAME#0, NAME#1 ..."""
        return self.type.joints(self.name, self.axes, self.anchor)

    def start(self) -> FloatArray:
        """Return its initial pose (7,) in its joint frame."""
        joints = self.joints
        return link_pose(poses.IDENTITY, joints, {} if self.q is None else by_joint(joints, self.q))

    @property
    def mobility(self) -> Mobility:
        """That its joint moves it; a frozen body is the static frame of its pose instead."""
        return "dynamic"

    def own_mass(self) -> float:
        """Its mass in kg."""
        return self.inertial.mass if self.inertial is not None else sum(part.mass for part in self.geometry)


@dataclass(frozen=True, slots=True, eq=False)
class LoopClosure:
    """What holds two frames together beside the joints of the tree.

    kind: of a mate, one of MATES; frames: their names; poses (2, 7): in each, the end that is held. distance: between
    the two ends, m, where that is what is held. Raises ValueError for poses of another shape.
    """

    name: str
    kind: str
    frames: tuple[str, str]
    poses: FloatArray
    distance: float = 0.0
    place: Place = NO_PLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "poses", floats(self.poses, (2, 7), self.name, "poses"))

    def __eq__(self, other: object) -> bool:
        return same(self, other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Actuator:
    """A servo that pulls a joint of one degree of freedom to a target, which may swing.

    joint: of a model, under its prefix, or the name of a body whose joint it is. Its force (N) or torque (N m) is
    stiffness (target - q) - damping qd, at most `force` either way where that is not None. The target at t seconds
    into the run is target + amplitude sin(2 pi (t / period + phase)); phase is in turns.
    """

    joint: str
    stiffness: float
    damping: float = 0.0
    force: float | None = None
    target: float = 0.0
    amplitude: float = 0.0
    period: float = 1.0
    phase: float = 0.0
    place: Place = field(default=NO_PLACE, compare=False)


class ContactExclusion(NamedTuple):
    """Two bodies, by their names, that never touch."""

    first: str
    second: str
