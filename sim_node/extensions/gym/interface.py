"""The interface of an agent: signals and actions, by names of frames, joints and sensors, and their keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sim_node.extensions.gym.draws import draw_of
from sim_node.extensions.gym.expressions import Quantity
from sim_node.text import did_you_mean
from sim_node.world.declared import BAD, declared, given, place_of, read
from sim_node.world.load import load
from sim_node.world.locate import LocateError, locate, shipped_worlds
from sim_node.world.problems import NO_PLACE, Place, WorldError, quoted_path, shown_key
from sim_node.world.quantities import ListOf, Other, Text
from sim_node.world.readers import keys
from sim_node.world.readers.keys import number, one_or_each
from sim_node.world.readers.yaml_nodes import Mapping as MappingNode
from sim_node.world.readers.yaml_nodes import Scalar
from sim_node.world.readers.yaml_values import Value

FRAME_VALUES = ("position", "quaternion", "rpy", "rotation")
MOTION_VALUES = ("velocity", "angular_velocity", "body_velocity", "body_rates", "acceleration")
JOINT_VALUES = ("position", "velocity", "effort")
VEHICLE_VALUES = ("speeds", "command")
JOINT_ACTIONS = ("position", "velocity", "effort")
BODY_ACTIONS = ("force", "torque", "wrench")
# The kinds of multirotor commands, and the elements of each; motor commands have one for each rotor.
VEHICLE_ACTIONS = {
    "command": (),
    "position": ("x", "y", "z", "yaw"),
    "velocity": ("vx", "vy", "vz", "yaw_rate"),
    "attitude": ("roll", "pitch", "yaw_rate", "thrust"),
}


# One number, or one per element of an action.
Limit = float | tuple[float, ...]


def _limit(value: Value) -> Limit:
    return value.number() if isinstance(value.node, Scalar) else tuple(each.number() for each in value.items())


_LIMIT = Other(lambda about: one_or_each(about, number("")), _limit)
_LOW, _HIGH = "Least value, one number or one per number of the action", "Largest value, likewise"


@declared
class FrameSignal:
    """The pose or motion of a frame, in SI units.

    Of its values, position (3,), quaternion [x y z w], rpy (3,), and rotation, the matrix (9,) row by row, are those of
    a pose. The others are (3,): velocity, angular_velocity and acceleration along the fixed frame's axes, body_velocity
    and body_rates along the frame's own.
    """

    frame: str = given(Text(), "The frame")
    value: str = given(Text(), "One of FRAME_VALUES or MOTION_VALUES", default="position")
    relative_to: str = given(Text(), "The frame that a pose is relative to; empty for the fixed frame", default="")
    place: Place = place_of(default=NO_PLACE)


@declared
class JointSignal:
    """The state of a joint: a number for a hinge or a slide, else an array; m or rad, m/s or rad/s, N or N m."""

    joint: str = given(Text(), "The joint")
    value: str = given(Text(), "One of JOINT_VALUES", default="position")
    place: Place = place_of(default=NO_PLACE)


@declared
class SensorSignal:
    """The newest measurement of a sensor; zeros before the first one."""

    sensor: str = given(Text(), "The sensor")
    channels: tuple[str, ...] = given(
        ListOf(Text()), "Names of the numbers of the measurement; empty for all", default=()
    )
    place: Place = place_of(default=NO_PLACE)


@declared
class VehicleSignal:
    """The rotors (R,) of a multirotor: speeds, rad/s, or command, 0 to 1."""

    vehicle: str = given(Text(), "The vehicle")
    value: str = given(Text(), "One of VEHICLE_VALUES", default="speeds")
    place: Place = place_of(default=NO_PLACE)


@declared
class ColumnSignal:
    """A column of the run, or the row of one entity."""

    column: str = given(Text(), "The column")
    entity: str = given(Text(), "Name of the row; empty for the whole column", default="")
    place: Place = place_of(default=NO_PLACE)


# A named value of the run, or an expression over earlier signals and the actions.
Signal = FrameSignal | JointSignal | SensorSignal | VehicleSignal | ColumnSignal | str


@declared
class JointAction:
    """The target of a joint's actuator, or its effort, which needs no actuator; m, rad, m/s, rad/s, N or N m."""

    joint: str = given(Text(), "The joint")
    value: str = given(Text(), "One of JOINT_ACTIONS")
    low: Limit = given(_LIMIT, _LOW)
    high: Limit = given(_LIMIT, _HIGH)
    place: Place = place_of(default=NO_PLACE)


@declared
class BodyAction:
    """What acts on a body's centre of mass, along the fixed frame's axes.

    A force (3,), N, a torque (3,), N m, or a wrench (6,), both.
    """

    body: str = given(Text(), "The body")
    value: str = given(Text(), "One of BODY_ACTIONS")
    low: Limit = given(_LIMIT, _LOW)
    high: Limit = given(_LIMIT, _HIGH)
    place: Place = place_of(default=NO_PLACE)


@declared
class VehicleAction:
    """Commands of a multirotor that nothing else flies.

    A command (R,) is 0 to 1 for each motor. The others are setpoints that the built-in controller tracks: position
    [x y z yaw], velocity [vx vy vz yaw_rate] in the fixed frame, attitude [roll pitch yaw_rate thrust], where thrust is
    a part of the thrust of all rotors at full speed. SI units.
    """

    vehicle: str = given(Text(), "The vehicle")
    value: str = given(Text(), "One of VEHICLE_ACTIONS")
    low: Limit = given(_LIMIT, _LOW)
    high: Limit = given(_LIMIT, _HIGH)
    place: Place = place_of(default=NO_PLACE)


Action = JointAction | BodyAction | VehicleAction


# Returns a number from the values of all signals and actions by name.
Function = Callable[[Mapping[str, Quantity]], float]
# A term or condition: an expression or, in Python, a function.
Term = str | Function
Bounds = float | tuple[float, float] | None
_SIGNALS: dict[str, type] = {
    "frame": FrameSignal,
    "joint": JointSignal,
    "sensor": SensorSignal,
    "vehicle": VehicleSignal,
    "column": ColumnSignal,
}
_ACTIONS: dict[str, type] = {"joint": JointAction, "body": BodyAction, "vehicle": VehicleAction}


def _by_name(read_entry: Callable[[str, Value], Any]) -> Other:
    """Return the type of a field that maps names to values. Entries with faults are omitted."""

    def entries(value: Value) -> dict[str, Any]:
        found = ((name, read_entry(name, entry)) for name, _, entry in value.named())
        return {name: each for name, each in found if each is not BAD}

    return Other(lambda about: keys.by_name(about, keys.ANYTHING), entries)


def _world(value: Value) -> Any:
    """Read the world that a spec names: a file beside it, or else a shipped world."""
    errors = len(value.report.errors)
    name = value.text()
    if len(value.report.errors) > errors:
        return BAD
    beside = Path(value.report.file).resolve().parent / name
    try:
        path = beside if beside.is_file() and not name.startswith("package://") else locate(name)
        if path.suffix == ".py":
            raise LocateError(
                f"{quoted_path(name)} would run as a program; load it in Python, with replace(spec, world=...)"
            )
        return load(path)
    except LocateError as error:
        near = did_you_mean(name, shipped_worlds()) if "did you mean" not in str(error) else ""
        value.error(f"{error}{near}")
    except WorldError as error:
        value.report.errors.extend(error.problems)
    return BAD


def _signal(name: str, value: Value) -> Any:
    """Read a signal: an expression, or a mapping whose first key is its kind."""
    return value.node.text if isinstance(value.node, Scalar) else _of_kind(value, _SIGNALS)


def _action(name: str, value: Value) -> Any:
    """Read an action."""
    return _of_kind(value, _ACTIONS)


def _of_kind(value: Value, kinds: Mapping[str, type]) -> Any:
    """Read a mapping of one of several kinds, given by one of its keys."""
    if not isinstance(value.node, MappingNode):
        value.error(f"a mapping with one of {', '.join(kinds)} is needed, found {value.found()}")
        return BAD
    entries = value.node.entries
    given = [kind for kind in kinds if kind in entries]
    if len(given) == 1:
        return read(kinds[given[0]], value)
    near = next((hint for key in entries if (hint := did_you_mean(key, kinds))), "") if not given else ""
    value.error(f"one of {', '.join(kinds)} is needed, found {', '.join(map(shown_key, entries)) or 'nothing'}{near}")
    return BAD


def _observation(value: Value) -> dict[str, Bounds]:
    """Read names, or a mapping of names to limits."""
    if not isinstance(value.node, MappingNode):
        return dict.fromkeys(each.text() for each in value.items())
    return {name: _bounds(entry) for name, _, entry in value.named()}


def _bounds(value: Value) -> Bounds:
    if isinstance(value.node, Scalar):
        return None if value.found() == "nothing" else value.number(0.0)
    numbers = value.vector(2)
    if numbers is not None and not numbers[0] < numbers[1]:
        value.error(f"{numbers[0]:g} is not below {numbers[1]:g}")
    return None if numbers is None else (numbers[0], numbers[1])


def _reward(value: Value) -> dict[str, Term]:
    """Read an expression, or a mapping of names to expressions."""
    if not isinstance(value.node, MappingNode):
        return {"reward": _expression(value)}
    return {name: _expression(entry) for name, _, entry in value.named()}


def _expression(value: Value) -> str:
    if isinstance(value.node, Scalar):
        return value.node.text
    value.error(f"an expression is needed, found {value.found()}")
    return ""


def _draw(path: str, value: Value) -> Any:
    """Read the draw for a key path."""
    if not isinstance(value.node, Scalar):
        value.error(f"a distribution such as uniform(1, 2) is needed, found {value.found()}")
        return BAD
    try:
        return draw_of(path, value.node.text, value.place)
    except WorldError as error:
        value.report.errors.extend(error.problems)
        return BAD


def _pixels(value: Value) -> Any:
    found = value.vector(2, 8192)
    return BAD if found is None else (int(found[0]), int(found[1]))


WORLD, EXPRESSION = Other(keys.text, _world), Other(keys.text, _expression)
SIGNALS, ACTIONS, DRAWS = map(_by_name, (_signal, _action, _draw))
OBSERVATION, REWARD = (Other(lambda about: keys.ANYTHING, read_each) for read_each in (_observation, _reward))
PIXELS = Other(lambda about: keys.vector(about, 2, 8192), _pixels)
