"""Vehicles of a World: multirotors, pilots and autopilots; the section `vehicles`, and the files of their models."""

from __future__ import annotations

import math
from collections.abc import Iterator
from collections.abc import Mapping as AnyMapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sim_node import names
from sim_node.names import BASE_LINK
from sim_node.registry import Registry
from sim_node.spatial.geometry import poses
from sim_node.spatial.geometry.arrays import FloatArray
from sim_node.world.bodies import Body
from sim_node.world.bounds import MAX_DISTANCE
from sim_node.world.declared import (
    BAD,
    Fault,
    Nested,
    Spread,
    declared,
    given,
    keys_of,
    place_of,
    read,
    read_fields,
    rule,
)
from sim_node.world.locate import shipped_vehicles
from sim_node.world.model import Sensor, StaticFrame
from sim_node.world.problems import NO_PLACE, Place
from sim_node.world.quantities import (
    ORIGIN,
    POINT,
    Direction,
    Flag,
    FrameName,
    ListOf,
    Name,
    Number,
    Numbers,
    OrNone,
    PartOf,
    PathOf,
    PerAxis,
    Text,
    Whole,
    Word,
)
from sim_node.world.readers.keys import Form, Keys, by_name, either, frame, listing, number, one_or_each, text
from sim_node.world.readers.yaml_frames import FRAME_KEYS, SENSORS_FORM, read_frames, read_sensors
from sim_node.world.readers.yaml_include import model_file
from sim_node.world.readers.yaml_nodes import Mapping, Sequence
from sim_node.world.readers.yaml_poses import POSE_KEYS, read_pose
from sim_node.world.readers.yaml_section import Context, frame_name, section
from sim_node.world.readers.yaml_values import FALSE, TRUE, Table, Value, root_of
from sim_node.world.shapes import Geometry, Inertial, depth_below

# The sign of a rotor's rotation about its axis, seen from above, where the axis points.
SPINS = {"ccw": 1, "cw": -1}
MAX_ROTORS = 64
MAX_DRAG = 1e6
# MAVLink system ids follow from instances and end at 255. Ports stay below 65536, too.
MAX_INSTANCES = 255
SPEED = Number(1e-3, 1e3)
# What a pilot does after its last waypoint.
AFTER = ("land", "hold", "loop")
_LAG = Number(0.0, 1e3)


def _lag(value: Value, context: Any) -> dict[str, float]:
    """Read one time constant, or [up, down]."""
    if not isinstance(value.node, Sequence):
        lag = value.number(_LAG.low, _LAG.high)
        return {"time_constant_up": lag, "time_constant_down": lag}
    if value.vector(2) is None:
        return {}
    up, down = (each.number(_LAG.low, _LAG.high) for each in value.items())
    return {"time_constant_up": up, "time_constant_down": down}


@declared(
    define="rotor",
    spread={
        "time_constant": Spread(
            ("time_constant_up", "time_constant_down"),
            one_or_each("Time constant of the speed, or [up, down], s.", number("", _LAG.low, _LAG.high), 2),
            _lag,
            lambda rotor: [rotor.time_constant_up, rotor.time_constant_down],
        )
    },
)
class Rotor:
    """A motor with a propeller, fixed to a body.

    At speed w the thrust is thrust_coefficient w^2, and the torque on the body, against the rotation, is
    moment_coefficient times the thrust. The drag is drag_coefficient w times the speed of the air across the axis. A
    command c in [0, 1] sets the speed min_speed + c (max_speed - min_speed); 0 stops the rotor.

    Raises:
        ValueError: An array has the wrong shape.
    """

    position: FloatArray = given(POINT, "Position in the body", "m")
    spin: str = given(Word(SPINS), "Rotation about the axis, seen from above")
    thrust_coefficient: float = given(Number(1e-15, 1e3), "Thrust over the square of the speed", "N s^2/rad^2")
    moment_coefficient: float = given(Number(0.0, 1e3), "Torque over thrust", "m")
    max_speed: float = given(Number(1e-3, 1e6), "Maximum speed", "rad/s")
    min_speed: float = given(Number(0.0, 1e6), "Minimum speed", "rad/s", default=0.0)
    axis: FloatArray = given(Direction(3, MAX_DISTANCE), "Direction of the thrust", default=(0.0, 0.0, 1.0))
    drag_coefficient: float = given(Number(0.0, 1e3), "Drag across the axis", "kg/rad", default=0.0)
    time_constant_up: float = given(_LAG, "Time constant of an increasing speed", "s", default=0.0)
    time_constant_down: float = given(_LAG, "Time constant of a decreasing speed", "s", default=0.0)

    @rule
    def turns_faster_than_idle(self) -> Iterator[Fault]:
        """Yield that the speeds are in the wrong order."""
        if self.min_speed >= self.max_speed:
            yield "", f"min_speed {self.min_speed:g} is not below max_speed {self.max_speed:g}"


@declared
class Waypoint:
    """A position to fly to in a straight line, and to stop at.

    Raises:
        ValueError: `position` has the wrong shape.
    """

    position: FloatArray = given(POINT, "Position of the body in its parent frame, ENU", "m")
    yaw: float | None = given(Number(-1e6, 1e6), "Yaw; the current one if not given", "rad", default=None, degrees=True)
    speed: float | None = given(SPEED, "Maximum speed; that of the pilot if not given", "m/s", default=None)
    hold: float = given(Number(0.0, 1e9), "How long the vehicle stays", "s", default=0.0)
    radius: float = given(Number(1e-3, MAX_DISTANCE), "How close the vehicle has to come", "m", default=0.5)


@declared
class Pilot:
    """The built-in controller and its mission: wait, take off, and fly from waypoint to waypoint."""

    waypoints: tuple[Waypoint, ...] = given(ListOf(PartOf(Waypoint, "position")), "The mission", default=())
    after: str = given(Word(AFTER), "What to do after the last waypoint", default="land")
    wait: float = given(Number(0.0, 1e9), "Time before the take-off", "s", default=1.0)
    take_off: float = given(Number(0.0, MAX_DISTANCE), "Height of the take-off", "m", default=2.0)
    speed: float = given(SPEED, "Maximum speed", "m/s", default=5.0)
    acceleration: float = given(Number(1e-3, 1e3), "Maximum acceleration", "m/s^2", default=2.5)
    landing_speed: float = given(Number(1e-3, 1e2), "Speed of descent when landing", "m/s", default=0.7)
    yaw_rate: float = given(Number(1e-3, 1e2), "Maximum yaw rate", "rad/s", default=1.0)
    rate: float = given(Number(1.0, 1e5), "Rate of the controller", "Hz", default=250.0)


# The type of the built-in autopilot.
BUILTIN = "mavlink_builtin"


class AutopilotType(NamedTuple):
    """The requirements of a type of autopilot: sensors of the vehicle, and the maximum number of rotors or channels.

    pilot: whether mission and limits come from the vehicle's pilot; links: whether it may have ground links.
    channels: what its output channels command by default on a base, by the kind of base; those of "" are the same on
    every kind, and a world cannot change them. restarts: whether a run learns that it has started again.
    """

    sensors: tuple[str, ...]
    max_rotors: int
    pilot: bool = False
    links: bool = False
    channels: AnyMapping[str, tuple[str, ...]] = MappingProxyType({})
    restarts: bool = False


# By the `type` in world files. ArduPilot's simulator interface receives ground truth and simulates sensors itself.
AUTOPILOT_TYPES: Registry[str, AutopilotType] = Registry(
    "type of autopilot", shipped=("sim_node.world.vehicles",), group="sim_node.autopilots"
)
_ONBOARD = ("imu", "magnetometer", "barometer", "gps")
for _name, _type in {
    # Servo outputs 1 and 3, as its rover has them.
    "ardupilot": AutopilotType(
        (),
        32,
        channels={
            "differential": ("left", "none", "right"),
            "skid": ("left", "none", "right"),
            "ackermann": ("steering", "none", "throttle"),
        },
        restarts=True,
    ),
    BUILTIN: AutopilotType(_ONBOARD, 16, pilot=True, links=True, channels={"": ("throttle", "turn", "lateral")}),
    # Motors in the order of its rovers' geometries, then the servo.
    "px4": AutopilotType(
        _ONBOARD,
        16,
        channels={
            "differential": ("right", "left"),
            "skid": ("right", "left"),
            "ackermann": ("throttle", "steering"),
            "mecanum": ("front_right", "front_left", "rear_right", "rear_left"),
        },
    ),
}.items():
    AUTOPILOT_TYPES.add(_name)(_type)


# Widths of servo outputs from one end to the other, us.
PULSES = (1000.0, 2000.0)
# What the built-in autopilot can be like; the first is the default.
LIKE = ("px4", "ardupilot")


@declared
class Autopilot:
    """An autopilot, in a process of its own unless it says otherwise."""

    type: str = given(Word(AUTOPILOT_TYPES), "The type of autopilot")
    instance: int = given(
        Whole(0, MAX_INSTANCES - 1), "Its number, from which its ports and MAVLink system id follow", default=0
    )
    start: bool = given(Flag(), "Whether the run starts it, if it is part of sim_node", default=True)
    links: tuple[str, ...] = given(ListOf(Text()), "Additional ground links, as in udpout:127.0.0.1:14550", default=())
    any_instance: bool = given(
        None, "Whether a run may choose another instance if the ports of this one are in use", default=False
    )
    installed: bool = given(
        None, "Whether the run starts the one that is installed on this machine, and gives it orders", default=False
    )
    like: str = given(Word(LIKE), "What the built-in autopilot presents itself as", default=LIKE[0], omit=True)
    signing_key: Path | None = given(
        PathOf(), "File with the MAVLink 2 signing key of the built-in autopilot's links", default=None
    )
    channels: tuple[str, ...] = given(
        ListOf(Text()),
        "What its output channels command, from channel 1 on; those of its type if none are given",
        default=(),
        omit=True,
    )
    pulses: tuple[float, float] = given(
        Numbers(2, 3000.0, 0.0),
        "Widths of ArduPilot's servo outputs that are a command's lower end, and 1",
        "us",
        default=PULSES,
        omit=True,
    )
    reset_vehicle: bool = given(
        Flag(), "Whether the vehicle goes back to its start when ArduPilot has started again", default=False, omit=True
    )
    in_process: bool = given(
        Flag(),
        "Whether the built-in autopilot flies in the process of the run, which is faster",
        default=False,
        omit=True,
    )

    @rule
    def is_in_one_process(self) -> Iterator[Fault]:
        """Yield that another than the built-in autopilot, or one that the user starts, has a process of its own."""
        if self.in_process and self.type != BUILTIN:
            yield "in_process", f"{self.type} has a process of its own; only {BUILTIN} flies in that of the run"
        elif self.in_process and not self.start:
            yield "in_process", "with start: false, you start it in a process of its own; give one or the other"

    @rule
    def has_servo_outputs(self) -> Iterator[Fault]:
        """Yield that its outputs are no pulses, or that these have no width."""
        if self.pulses != PULSES and self.type != "ardupilot":
            yield "pulses", f"the outputs of {self.type} are no pulses; only those of ardupilot are"
        elif not self.pulses[0] < self.pulses[1]:
            yield "pulses", f"the first, {self.pulses[0]:g}, is not below the second, {self.pulses[1]:g}"

    @rule
    def can_tell_that_it_started_again(self) -> Iterator[Fault]:
        """Yield that a run does not learn that this type has started again."""
        if self.reset_vehicle and not AUTOPILOT_TYPES[self.type].restarts:
            telling = ", ".join(name for name, each in AUTOPILOT_TYPES.items() if each.restarts)
            message = f"{self.type} does not report that it has started again; allowed for: {telling}"
            yield "reset_vehicle", message

    @property
    def _derived(self) -> tuple[str, ...]:
        """The keys that a file does not have to give again: an instance that was chosen automatically."""
        return ("instance",) if self.any_instance else ()

    @staticmethod
    def _derive(found: dict[str, Any], table: Table) -> None:
        """Let a run choose the instance of an autopilot that it starts, if the file does not give one."""
        kind, start = found.get("type"), found.get("start", True)
        # The instance of an autopilot that the run does not start is given by whoever starts it.
        found["any_instance"] = "instance" not in table and start and kind == BUILTIN
        like, key = table.get("like"), table.get("signing_key")
        if like is not None and kind != BUILTIN:
            like.error(f"{kind} is like itself; only mavlink_builtin can be like another")
        if key is not None and kind != BUILTIN:
            key.error(f"the links of {kind} are its own; only mavlink_builtin takes a key")


class Rotors(ListOf):
    """The rotors of a vehicle; what they have in common may be under the vehicle's key `rotor`."""

    def form(self, about: str) -> Form:
        """Return the form of a list of rotors."""
        return listing(about, Keys({**ROTOR_KEYS}, define="rotor"), self.least, self.most)

    def read(self, value: Value, context: Any) -> tuple[Rotor, ...]:
        """Read a list of rotors, each with what all have in common."""
        shared = value.holder.get("rotor") if value.holder is not None else None
        if shared is None:
            return super().read(value, context)
        common = shared.table(SHARED_ROTOR_KEYS)
        found = tuple(read(Rotor, each, context, common=common) for each in value.items())
        self.count(value)
        return found


ROTOR_KEYS = keys_of(Rotor, partial=True)
SHARED_ROTOR_KEYS = keys_of(Rotor, but=("position",), partial=True)
_DRAG, _ANGLE = PerAxis(3, MAX_DRAG, 0.0), Number(-1e6, 1e6)


@declared
class Servo:
    """A joint of a vehicle with rotors that its autopilot moves: a control surface, a gimbal.

    A command c in [0, 1] sets the target of the joint's actuator to low + c (high - low).
    """

    joint: str = given(Text(), "The joint, which has an actuator")
    low: float = given(_ANGLE, "Target at the command 0, in the unit of the actuator", default=-0.5)
    high: float = given(_ANGLE, "Target at the command 1", default=0.5)


@declared(spread={"drag": Nested(("drag_linear", "drag_quadratic"), "Drag along its axes.")})
class Multirotor:
    """A body with rotors.

    At velocity v relative to the air, the drag along axis i of the body is (drag_linear_i + drag_quadratic_i |v|) v_i.

    Raises:
        ValueError: An array has the wrong shape.
    """

    name: str = given(Name(), "Name of the vehicle, which the names of its frames begin with")
    body: str = given(FrameName(), "The body that has the rotors, and a free joint")
    rotors: tuple[Rotor, ...] = given(
        Rotors(PartOf(Rotor), 1, MAX_ROTORS), "The rotors, in the order of their commands"
    )
    drag_linear: FloatArray = given(_DRAG, "Coefficients (3,)", "N s/m", default=ORIGIN, key="linear")
    drag_quadratic: FloatArray = given(_DRAG, "Coefficients (3,)", "N s^2/m^2", default=ORIGIN, key="quadratic")
    pilot: Pilot | None = given(
        OrNone(Pilot),
        "The built-in controller, or the mission and limits of a built-in autopilot; None for neither",
        default=None,
    )
    autopilot: Autopilot | None = given(OrNone(Autopilot), "An autopilot in a separate process, or None", default=None)
    servos: tuple[Servo, ...] = given(
        ListOf(PartOf(Servo), 0, MAX_ROTORS),
        "Joints that its autopilot moves, on the channels after those of its rotors",
        default=(),
        omit=True,
    )
    place: Place = place_of(default=NO_PLACE)

    @property
    def roles(self) -> tuple[str, ...]:
        """What channels of its autopilot can command: its rotors, then its servos, each by its number from 0."""
        return tuple(
            f"{kind}_{number}"
            for kind, each in (("rotor", self.rotors), ("servo", self.servos))
            for number in range(len(each))
        )

    @property
    def channels(self) -> tuple[str, ...]:
        """What the channels of its autopilot command: its roles in their order, unless the world says otherwise."""
        return (() if self.autopilot is None else self.autopilot.channels) or self.roles


_ON_BODY = keys_of(Multirotor)
SHAPES = ListOf(PartOf(Geometry))
VEHICLE_KEYS = Keys(
    {
        "name": _ON_BODY["name"],
        "model": text("A shipped model, or the path of a model file."),
        "parent": frame("The frame that it starts in."),
        "pose": POSE_KEYS,
        "pilot": _ON_BODY["pilot"],
        "autopilot": _ON_BODY["autopilot"],
        "sensors": {"type": ["boolean", "string"], "description": "Whether it has its model's sensors, or which set."},
    },
    required=("name", "model"),
)
# Keys of a vehicle on a body of the world, whose frames and sensors are in the world, too.
ON_BODY_KEYS = Keys({**_ON_BODY, "rotor": SHARED_ROTOR_KEYS}, required=_ON_BODY.required)
MODEL_KEYS = Keys(
    {
        "inertial": keys_of(Inertial),
        "geometry": SHAPES.form("Shapes of the vehicle."),
        "rotor": SHARED_ROTOR_KEYS,
        "rotors": _ON_BODY["rotors"],
        "drag": _ON_BODY["drag"],
        "frames": listing("Frames on the vehicle.", FRAME_KEYS),
        "sensors": either("A list of sensors, or sets of them by name.", SENSORS_FORM, by_name("", SENSORS_FORM)),
    },
    required=("rotors", "geometry"),
    about="A model of a vehicle.",
)
_VEHICLE = {"type": "object", "if": {"required": ["body"]}, "then": ON_BODY_KEYS, "else": VEHICLE_KEYS}


@dataclass(frozen=True)
class VehicleModel:
    """The contents of a model file. Names of frames and sensors are relative to the vehicle's name.

    sensors: the sensors of each set by its name; the first set is the default. A plain list is one set without a name.
    """

    rotors: tuple[Rotor, ...]
    inertial: Inertial | None
    geometry: tuple[Geometry, ...]
    drags: AnyMapping[str, FloatArray]
    frames: tuple[StaticFrame, ...]
    sensors: AnyMapping[str, tuple[Sensor, ...]]


@section("vehicles", listing("Multirotors.", _VEHICLE))
def read_vehicles(value: Value, context: Context) -> None:
    """Read a list of vehicles.

    Each becomes a body NAME/base_link, frames NAME/rotor_0, ..., and its model's sensors.
    """
    models: dict[Path, VehicleModel | None] = {}
    for entry in value.items():
        errors = len(entry.report.errors)
        if isinstance(entry.node, Mapping) and "body" in entry.node.entries:
            # The world also contains its frames and sensors.
            vehicle = read(Multirotor, entry, context, known=ON_BODY_KEYS)
            if vehicle is not BAD:
                context.add(vehicle)
            continue
        table = entry.table(VEHICLE_KEYS)
        name, parent = table.get("name"), table.get("parent")
        given = table.get("pose")
        pose, _ = read_pose(given)
        settings = read_fields(Multirotor, table, context, VEHICLE_KEYS)
        model = _model(table.get("model"), context, models)
        sensors = _sensors(table.get("sensors"), model)
        if name is None or model is None or len(entry.report.errors) > errors:
            context.report.missing.append(entry.path)
            continue
        if given is None:
            pose = _standing(model)
        prefix = settings["name"]
        base = names.prefixed(prefix, BASE_LINK)
        above = frame_name(parent) or context.fixed_frame
        context.add(
            Body(
                base,
                above,
                "free",
                geometry=model.geometry,
                inertial=model.inertial,
                q=pose,
                place=name.place,
                parent_place=name.place if parent is None else parent.place,
            )
        )
        for index, rotor in enumerate(model.rotors):
            frame = names.prefixed(prefix, f"rotor_{index}")
            context.add(StaticFrame(frame, base, _rotor_pose(rotor), place=name.place))
        for part in (*model.frames, *sensors):
            context.add(_below(prefix, part))
        context.add(Multirotor(**{**settings, **model.drags, "body": base, "rotors": model.rotors}))


def _standing(model: VehicleModel) -> FloatArray:
    """Return the pose (7,) of a vehicle that stands with its lowest point at the height of its parent."""
    pose = np.array(poses.IDENTITY)
    with suppress(ValueError, ImportError):  # of a mesh, which the simulation of its contacts reports
        pose[2] = depth_below(model.geometry)
    return pose


def _sensors(value: Value | None, model: VehicleModel | None) -> tuple[Sensor, ...]:
    """Read which sensors of its model a vehicle has: the default set, none, or a set by its name."""
    if model is None:
        return ()
    sets = filter(None, model.sensors)
    word = "true" if value is None else value.choice((*TRUE, *FALSE, *sets), "true")
    if word in FALSE:
        return ()
    return next(iter(model.sensors.values()), ()) if word in TRUE else model.sensors[word]


def _below(prefix: str, frame: Any) -> Any:
    """Return a frame or sensor of a model below the vehicle's name."""
    parent = names.prefixed(prefix, frame.parent or BASE_LINK)
    return replace(frame, name=names.prefixed(prefix, frame.name), parent=parent)


def _rotor_pose(rotor: Rotor) -> FloatArray:
    """Return a rotor's pose (7,) in its body: the shortest rotation that rotates z to its axis."""
    x, y, z = rotor.axis.tolist()
    norm = math.sqrt(max(2.0 + 2.0 * z, 0.0))
    turned = (-y / norm, x / norm, 0.0, 0.5 * norm) if norm > 1e-6 else (1.0, 0.0, 0.0, 0.0)
    return np.array([*rotor.position, *turned])


# Models of vehicles


def _model(value: Value | None, context: Context, known: dict[Path, VehicleModel | None]) -> VehicleModel | None:
    """Return the model of an entry: a shipped one, or a file. Each file is read once."""
    shipped, suffixes = shipped_vehicles(), (".yaml", ".yml")
    found = None if value is None else model_file(value, context, shipped, "model file", suffixes)
    if found is None:
        return None
    path, shown = found
    if path not in known:
        known[path] = _read_model(path, shown, context)
    return known[path]


def _read_model(path: Path, shown: Path, context: Context) -> VehicleModel | None:
    """Read the model in a file. Return None with the faults, located in that file, in the report."""
    report = context.report.about(str(shown))
    report.files.append(path)
    errors = len(report.errors)
    root = root_of(path, report, "a vehicle has at least rotors")
    if root is None:
        return None
    inside = Context(path, shown, context.roots.around(path), report)
    table = root.table(MODEL_KEYS)
    frames, sensors, inertial, geometry = (table.get(key) for key in ("frames", "sensors", "inertial", "geometry"))
    if frames is not None:
        read_frames(frames, inside)
    found = read_fields(Multirotor, table, inside, ("rotors", "drag"))
    model = VehicleModel(
        found.pop("rotors", ()),
        None if inertial is None else read(Inertial, inertial),
        () if geometry is None else SHAPES.read(geometry, inside),
        {key: each for key, each in found.items() if key.startswith("drag_")},
        tuple(inside.of(StaticFrame)),
        {} if sensors is None else _sensor_sets(sensors, inside),
    )
    return None if len(report.errors) > errors else model


def _sensor_sets(value: Value, inside: Context) -> dict[str, tuple[Sensor, ...]]:
    """Read a list of sensors, or a mapping of names to lists."""
    if not isinstance(value.node, Mapping):
        return {"": _sensor_set(value, inside)}
    sets: dict[str, tuple[Sensor, ...]] = {}
    for name, key, each in value.named():
        if name in (*TRUE, *FALSE):
            key.error("is not a name of a set; use a word")
        sets[name] = _sensor_set(each, inside)
    return sets


def _sensor_set(value: Value, inside: Context) -> tuple[Sensor, ...]:
    own = replace(inside, parts={})
    read_sensors(value, own)
    return tuple(own.of(Sensor))
