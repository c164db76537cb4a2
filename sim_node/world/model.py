"""The World: the contents of a world file, as frozen data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from sim_node import html
from sim_node.names import SENSOR_PATTERNS
from sim_node.spatial.geometry import poses, quaternions
from sim_node.spatial.geometry.arrays import FloatArray, IntArray
from sim_node.text import did_you_mean
from sim_node.world.declared import declared, given, place_of, settle
from sim_node.world.fields import floats, whole_nanoseconds
from sim_node.world.kinds import PARTS, Mobility, kind_of
from sim_node.world.physics import Physics
from sim_node.world.problems import NO_PLACE, KeyPlace, Place
from sim_node.world.quantities import POINT, FrameName, ListOf, Number, Plain, Text, Time, Vector, Word
from sim_node.world.readers.yaml_motions import CONVENTION_OF_ALL, KEYFRAMES
from sim_node.world.readers.yaml_poses import POSE, UNMOVED, Scale

if TYPE_CHECKING:
    from sim_node.viewing.schematic.model import Schematic
    from sim_node.world.bases import Base
    from sim_node.world.bodies import Body
    from sim_node.world.commands import BodyCommands, VehicleCommands
    from sim_node.world.contact_materials import ContactMaterial
    from sim_node.world.forces import Force, PointGravity, Wind
    from sim_node.world.joint_commands import JointCommands
    from sim_node.world.joint_motion import Actuator
    from sim_node.world.loops import ContactExclusion, LoopClosure
    from sim_node.world.mates import Attachment
    from sim_node.world.models import Model
    from sim_node.world.processes import Process
    from sim_node.world.scene import Ground, Light, Sky, Viewpoint
    from sim_node.world.signals import NamedSignal
    from sim_node.world.suction import Suction
    from sim_node.world.systems import System
    from sim_node.world.transmissions import Transmission
    from sim_node.world.triggers import Trigger
    from sim_node.world.vehicles import Multirotor

DEFAULT_FIXED_FRAME = "map"
INTERPOLATIONS = ("slerp", "step", "smooth", "catmull_rom")
# Interpolations by cubics, with continuous velocity at keyframes.
CURVED = ("smooth", "catmull_rom")
OUTSIDE = ("hold", "loop", "pingpong")

MIN_STEP_NS = 1_000
# Tolerance (m, or quaternion component) within which a frame is considered not to move.
STILL = 1e-9
P = TypeVar("P")


ORIGIN_RANGES = {"latitude": (-90.0, 90.0), "longitude": (-180.0, 180.0), "altitude": (-12_000.0, 1e8)}


@declared
class Origin:
    """Position of the fixed frame's origin on Earth."""

    latitude: float = given(Number(*ORIGIN_RANGES["latitude"]), "Latitude, degrees (WGS84)")
    longitude: float = given(Number(*ORIGIN_RANGES["longitude"]), "Longitude, degrees (WGS84)")
    altitude: float = given(Number(*ORIGIN_RANGES["altitude"]), "Height above the WGS84 ellipsoid, m")


@declared
class TimeGrid:
    """When a run starts, and the time between its steps.

    Its instants are start_ns, start_ns + step_ns, start_ns + 2 step_ns, ..., in nanoseconds.

    Raises:
        ValueError: A number is not a whole number.
    """

    start_ns: int = given(Time(0), "Simulation time of the first step", "s", default=0, key="start")
    step_ns: int = given(Time(MIN_STEP_NS), "Time between steps", "s", default=10_000_000, key="step")

    def __post_init__(self) -> None:
        for key in ("start_ns", "step_ns"):
            if not isinstance(getattr(self, key), (int, np.integer)):
                raise ValueError(f"{key}: {getattr(self, key)!r} is not a whole number of nanoseconds")

    def nearest_steps(self, duration_ns: int) -> tuple[int, int]:
        """Round a duration to whole steps.

        Args:
            duration_ns: The duration (ns).

        Returns:
            The nearest number of steps, 0 or more, and the remainder (ns).
        """
        steps = max(0, (2 * duration_ns + self.step_ns) // (2 * self.step_ns))
        return steps, duration_ns - steps * self.step_ns


@declared(spread={"pose": POSE}, bare=("name", "parent"))
class StaticFrame:
    """A frame that never moves in its parent.

    Raises:
        ValueError: An array has the wrong shape.
    """

    name: str = given(FrameName(), "Name of the frame, unique in the world")
    parent: str = given(FrameName(), "The frame in which the pose is given", default="")
    pose: FloatArray = given(Vector(7), "Pose [x y z qx qy qz qw] in the parent", "m", default=UNMOVED)
    scale: FloatArray | None = given(Vector(3), "Scale of what is shown at the frame, or None", default=None)
    place: Place = place_of("name", default=NO_PLACE)
    parent_place: Place = place_of("parent", default=NO_PLACE)
    size: FloatArray | None = given(
        POINT, "Lengths of the box about the frame that it is a place of", "m", default=None, kw_only=True
    )
    description: str = given(Text(), "What the place is, for people", default="", omit=True, kw_only=True)
    tags: tuple[str, ...] = given(
        ListOf(Text()), "What the place is, for programs", default=(), omit=True, kw_only=True
    )

    @property
    def mobility(self) -> Mobility:
        """Always "static"."""
        return "static"

    def start(self) -> FloatArray:
        """Return the pose (7,) in the parent."""
        return self.pose


@declared(spread={"pose": POSE}, bare=("name", "parent"))
class Sensor(StaticFrame):
    """A sensor: its frame, fixed to a base_link, and what it measures. It has no size, description and tags."""

    type: str = given(Text(), "The type of sensor; without one, the entry is only a frame", default="", omit=True)
    parameters: Mapping[str, Any] = given(
        None,
        "Numbers, texts and mappings of them by name, as in the file; they are checked when a run begins",
        default_factory=dict,
    )
    parameter_places: Mapping[str, KeyPlace] = given(
        None, "Where the file gives each parameter, by its path, as in gyroscope.density", default_factory=dict
    )


@declared(
    spread={"keyframes": KEYFRAMES, "convention": CONVENTION_OF_ALL},
    bare=("frame", "parent"),
)
class Motion:
    """A frame that moves in its parent through keyframes.

    The sign of each quaternion follows that of the one before.

    Raises:
        ValueError: An array has the wrong shape.
    """

    frame: str = given(FrameName(), "The frame that moves")
    parent: str = given(FrameName(), "The frame that it moves in", default="")
    times_ns: IntArray = given(Plain(), "Times (K,) of the keyframes, strictly increasing", "ns", default=(0,))
    poses: FloatArray = given(Plain(), "Poses (K, 7) of the frame in its parent", "m", default=(poses.IDENTITY,))
    interpolation: str = given(Word(INTERPOLATIONS), "How poses between keyframes are computed", default="slerp")
    before: str = given(Word(OUTSIDE), "What the frame does before the first keyframe", default="hold")
    after: str = given(Word(OUTSIDE), "What the frame does after the last keyframe", default="hold")
    scale: FloatArray | None = given(Scale(), "Scale of what is shown at the frame, or None", default=None)
    place: Place = place_of("frame", default=NO_PLACE)
    parent_place: Place = place_of("parent", default=NO_PLACE)

    def __post_init__(self) -> None:
        settle(self)
        times_ns = whole_nanoseconds(self.times_ns, self.frame)
        poses = np.array(floats(self.poses, (len(times_ns), 7), self.frame, "poses"))
        poses[:, 3:] = quaternions.continuous(poses[:, 3:])
        poses.setflags(write=False)
        object.__setattr__(self, "times_ns", times_ns)
        object.__setattr__(self, "poses", poses)

    @property
    def mobility(self) -> Mobility:
        """Always "mountable": a sensor's mounting may be written as keyframes."""
        return "mountable"

    def start(self) -> FloatArray:
        """Return the pose (7,) of the first keyframe."""
        return np.asarray(self.poses[0])

    def moves(self) -> bool:
        """Return whether the pose of any keyframe differs from the first one by more than rounding."""
        return bool(np.abs(self.poses - self.poses[0]).max() > STILL)


class _NotGiven:
    """The default of keywords: `replace(world, bodies=())` and `sky=None` remove parts, omitting them does not."""

    def __repr__(self) -> str:
        return "NO_PARTS"


NO_PARTS: Any = _NotGiven()
# Type checkers see an ordinary class here. For a dataclass, they would reject replace(world, bodies=...), because the
# kinds of parts are not among the fields.
_frozen = dataclass(frozen=True, init=False, slots=True)


@_frozen
class World:
    """A world: one tree of frames below `fixed_frame` (ENU), its contents, and its time.

    Parts are grouped by kind; see sim_node.world.part. Each kind is an attribute and a keyword argument:
    World("w", bodies=(ball,)).bodies. A kind without parts is (). Parts are checked when the world is laid out, by
    `lay_out` and thus by `Simulation`. `assembly.assemble` converts systems and attachments to frames, bodies, loops
    and poses of frames.

    Args:
        name: The name of the world.
        fixed_frame: The root of the tree; ENU.
        origin: Position of the fixed frame on Earth, or None.
        time: The instants of a run.
        physics: How bodies are simulated.
        static_patterns: Patterns for names of frames that are published as static if they do not move.
        source: The name of the world's file.
        files: All files that were read for the world, its own first.
        parts: The parts by kind. The keywords that follow replace those of their kind.
        frames: Frames that do not move in their parents.
        sensors: Frames with sensors.
        motions: Frames that follow keyframes.
        bodies: Rigid bodies, each on its joint.
        loop_closures: Constraints between bodies besides the joints of the tree.
        contact_exclusions: Pairs of bodies whose contacts are ignored.
        vehicles: Multirotors.
        bases: Bodies that drive on wheels.
        forces: Forces on bodies.
        wind: The wind.
        gravity_fields: Centres that attract all bodies.
        systems: Bodies, shapes and connectors that mates assemble.
        attachments: Frames and sensors whose poses follow from mates.
        models: Models from MJCF or URDF, each kept whole.
        actuators: Actuators of joints.
        joint_commands: Groups of joints that are commanded on topics.
        body_commands: Bodies that topics push or move.
        vehicle_commands: Multirotors that are commanded on topics.
        processes: Programs that run beside the simulation.
        transmissions: Gears, differentials, and sums of positions for actuators.
        suction: Bodies that hold what they touch.
        contact_materials: What shapes of two materials do where they touch.
        signals: Numbers of joints, actuators and bodies that are topics.
        triggers: What follows on messages of topics.
        ground: The ground.
        lights: Lights in the fixed frame.
        sky: The sky.
        camera: Where the camera of the viewer begins.
        schematic: What the viewer shows of the world.
        kinds: Parts of the kinds that plug-ins add.

    Raises:
        TypeError: There is no such kind of part.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    name: str
    fixed_frame: str
    origin: Origin | None
    time: TimeGrid
    physics: Physics
    static_patterns: tuple[str, ...]
    parts: Mapping[str, tuple[Any, ...]]
    source: str = field(compare=False)
    files: tuple[Path, ...] = field(compare=False, repr=False)

    if TYPE_CHECKING:  # found by `__getattr__`, like those of plug-ins; a kind with Any is None if it has no part
        frames: tuple[StaticFrame, ...]
        sensors: tuple[Sensor, ...]
        motions: tuple[Motion, ...]
        bodies: tuple[Body, ...]
        loop_closures: tuple[LoopClosure, ...]
        contact_exclusions: tuple[ContactExclusion, ...]
        vehicles: tuple[Multirotor, ...]
        bases: tuple[Base, ...]
        forces: tuple[Force, ...]
        wind: Wind | Any
        gravity_fields: tuple[PointGravity, ...]
        systems: tuple[System, ...]
        attachments: tuple[Attachment, ...]
        models: tuple[Model, ...]
        actuators: tuple[Actuator, ...]
        joint_commands: tuple[JointCommands, ...]
        body_commands: tuple[BodyCommands, ...]
        vehicle_commands: tuple[VehicleCommands, ...]
        processes: tuple[Process, ...]
        transmissions: tuple[Transmission, ...]
        suction: tuple[Suction, ...]
        contact_materials: tuple[ContactMaterial, ...]
        signals: tuple[NamedSignal, ...]
        triggers: tuple[Trigger, ...]
        ground: Ground | Any
        lights: tuple[Light, ...]
        sky: Sky | Any
        camera: Viewpoint | Any
        schematic: Schematic | Any

    def __init__(
        self,
        name: str,
        fixed_frame: str = DEFAULT_FIXED_FRAME,
        origin: Origin | None = None,
        time: TimeGrid | None = None,
        *,
        physics: Physics | None = None,
        static_patterns: Iterable[str] = SENSOR_PATTERNS,
        source: str = "",
        files: Iterable[Path] = (),
        parts: Mapping[str, Iterable[Any]] | None = None,
        frames: Iterable[StaticFrame] = NO_PARTS,
        sensors: Iterable[Sensor] = NO_PARTS,
        motions: Iterable[Motion] = NO_PARTS,
        bodies: Iterable[Body] = NO_PARTS,
        loop_closures: Iterable[LoopClosure] = NO_PARTS,
        contact_exclusions: Iterable[ContactExclusion] = NO_PARTS,
        vehicles: Iterable[Multirotor] = NO_PARTS,
        bases: Iterable[Base] = NO_PARTS,
        forces: Iterable[Force] = NO_PARTS,
        wind: Wind | None = NO_PARTS,
        gravity_fields: Iterable[PointGravity] = NO_PARTS,
        systems: Iterable[System] = NO_PARTS,
        attachments: Iterable[Attachment] = NO_PARTS,
        models: Iterable[Model] = NO_PARTS,
        actuators: Iterable[Actuator] = NO_PARTS,
        joint_commands: Iterable[JointCommands] = NO_PARTS,
        body_commands: Iterable[BodyCommands] = NO_PARTS,
        vehicle_commands: Iterable[VehicleCommands] = NO_PARTS,
        processes: Iterable[Process] = NO_PARTS,
        transmissions: Iterable[Transmission] = NO_PARTS,
        suction: Iterable[Suction] = NO_PARTS,
        contact_materials: Iterable[ContactMaterial] = NO_PARTS,
        signals: Iterable[NamedSignal] = NO_PARTS,
        triggers: Iterable[Trigger] = NO_PARTS,
        ground: Ground | None = NO_PARTS,
        lights: Iterable[Light] = NO_PARTS,
        sky: Sky | None = NO_PARTS,
        camera: Viewpoint | None = NO_PARTS,
        schematic: Schematic | None = NO_PARTS,
        **kinds: Any,
    ) -> None:
        arguments, defaults = locals(), World.__init__.__kwdefaults__ or {}
        shipped = [kind for kind, default in defaults.items() if default is NO_PARTS]
        kinds |= {kind: arguments[kind] for kind in shipped if arguments[kind] is not NO_PARTS}
        fields: dict[str, Any] = {
            "name": name,
            "fixed_frame": fixed_frame,
            "origin": origin,
            "time": time or TimeGrid(),
            "physics": physics or Physics(),
            "static_patterns": tuple(static_patterns),
            "parts": _by_kind(parts or {}, kinds),
            "source": source,
            "files": tuple(files),
        }
        for key, value in fields.items():
            object.__setattr__(self, key, value)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name == "parts":  # copying looks up names before there are any attributes
            raise AttributeError(name)
        kind = PARTS.table().get(name)
        if kind is None:
            raise AttributeError(f"a World has no {name!r}{did_you_mean(name, PARTS)}")
        parts = self.parts.get(name, ())
        return parts if not kind.single else parts[0] if parts else None

    def __repr__(self) -> str:
        kinds = (f", {kind}={len(parts)}" for kind, parts in self.parts.items() if parts)
        return f"World({self.name!r}{''.join(kinds)})"

    def _repr_html_(self) -> str:
        """Return the parts by kind, for notebooks."""
        rows = [
            (kind, str(len(parts)), ", ".join(str(getattr(each, "name", type(each).__name__)) for each in parts[:8]))
            for kind, parts in self.parts.items()
            if parts
        ]
        return html.table(repr(self), ("kind", "number", "parts"), rows)

    def of(self, part_type: type[P]) -> tuple[P, ...]:
        """Return the parts of a class.

        Args:
            part_type: The class of a kind of part, or a subclass: world.of(Body) is world.bodies, world.of(Drag) are
                the drags among world.forces.

        Returns:
            The parts, in the order of the world.

        Raises:
            TypeError: No kind of part has this class.
        """
        kind = kind_of(part_type)
        parts: tuple[P, ...] = self.parts.get(kind.name, ())
        return parts if kind.type is part_type else tuple(each for each in parts if isinstance(each, part_type))

    @property
    def folder(self) -> Path:
        """The folder of its file, to which paths are relative; the current one for a world without a file."""
        return Path(self.source).absolute().parent if self.source else Path.cwd()

    def at(self, path: str) -> float | int | Decimal:
        """Return the number at a key path.

        Args:
            path: A path in the output of `to_yaml`, such as bodies[ball].inertial.mass or
                motions[0].keyframes[2].position[1]. Entries of lists are given by index or by name.

        Returns:
            The number. Times are in seconds, as a Decimal if a float cannot represent the nanosecond.

        Raises:
            WorldError: The path does not lead to a number; the message names the nearest key.
        """
        from sim_node.world.values import value_at

        return value_at(self, path)

    def with_values(self, values: Mapping[str, float | int | Decimal]) -> World:
        """Return this world with other numbers. It shares the parts that do not change.

        Args:
            values: The numbers by key path; see `at`. They are checked as in a world file.

        Returns:
            The changed world.

        Raises:
            WorldError: A number is out of range, or a path does not lead to a number.
        """
        from sim_node.world.values import with_values

        return with_values(self, values)


def _by_kind(parts: Mapping[str, Iterable[Any]], kinds: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the parts of every kind that has any, in the order of the registry."""
    for name in (*parts, *kinds):
        if name not in PARTS:
            raise TypeError(f"World() got an unexpected keyword argument {name!r}{did_you_mean(name, PARTS)}")
    given = dict(parts)
    for name, value in kinds.items():
        given[name] = () if value is None else (value,) if PARTS[name].single else value
    return {name: tuple(given[name]) for name in PARTS if given.get(name)}
