"""Parameters of nodes and of the simulation: types, defaults, ranges, and whether they may change at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_node.recording.settings import COMPRESSIONS, SPARE_BYTES, WHEN_FULL
from sim_node.simulation import Refused
from sim_node.text import did_you_mean
from sim_node.world.locate import DEFAULT_WORLD

STAMPS = ("sim", "wall")
MESSAGES = ("serialised", "typed")


class ParameterFault(Exception):
    """A parameter is invalid, so the node cannot start. The message gives its name and the allowed values.

    Args:
        message: The message.
        name: Name of the parameter, if its value is invalid.
    """

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class ParameterSpec:
    """A parameter: its default, description, range or allowed words, and whether it is fixed during a run."""

    default: str | float | int | bool | list[str]
    description: str
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()
    fixed: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Return the descriptor for `ros2 param describe`."""
        descriptor = ParameterDescriptor(description=self.description, read_only=self.fixed)
        if self.words:
            descriptor.additional_constraints = "one of: " + ", ".join(self.words)
        if self.low is not None and self.high is not None:
            if isinstance(self.default, float):
                descriptor.floating_point_range = [FloatingPointRange(from_value=self.low, to_value=self.high)]
            else:
                descriptor.integer_range = [IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)]
        return descriptor


changing, fixed = ParameterSpec, partial(ParameterSpec, fixed=True)
SPECS = {
    "world": fixed(DEFAULT_WORLD, "World to simulate: a path, a package:// URI or the name of a shipped world."),
    "publish_rate": changing(60.0, "Ticks of /tf and /clock per simulated second (Hz).", 0.1, 10_000.0),
    "real_time_factor": changing(1.0, "Simulated seconds per wall second; 0.0 is as fast as possible.", 0.0, 1_000.0),
    "seed": changing(0, "Seed of all random numbers; a change applies from the next reset.", 0, 2**63 - 1),
    "randomised": fixed(False, "Draw the positions that the world gives as ranges, with the initial seed."),
    "processes": fixed(False, "Start the processes of the world with the node, and stop them with it."),
    "recipes": fixed(False, "Former name of processes."),
    "allow_network": fixed(False, "Let the world's autopilots and processes use other addresses than loopback."),
    "frame_prefix": fixed("", "Prefix of every frame name except the fixed frame's, as in drone1/."),
    "start_paused": fixed(False, "Wait for ~/resume before time starts."),
    "clock": changing(True, "Publish /clock with every tick."),
    "stamp": fixed("sim", "Stamps of transforms: simulation time, or the wall clock (no /clock then).", words=STAMPS),
    "markers": fixed(True, "Publish the shapes of the world as latched markers, for rviz."),
    "robot_descriptions": fixed(True, "Publish a URDF of each vehicle and articulated model."),
    "publish_description": fixed(
        True, "Publish robots' descriptions and their links' transforms; false beside robot_state_publisher."
    ),
    "paths": fixed(True, "Publish the path of each vehicle in the last minute."),
    "scene_graph_rate": fixed(
        0.0, "Updates of the scene graph (JSON) per simulated second (Hz); 0.0: no scene graph.", 0.0, 1_000.0
    ),
    "rotor_frame_rate": fixed(0.0, "Transforms of turning rotors per simulated second (Hz); 0.0: none.", 0.0, 1_000.0),
    "bridge": fixed(True, "Bridge the built-in autopilots of the world's vehicles to topics, as the bridge node does."),
    "tf_messages": fixed(
        "serialised", "How /tf is sent: as serialised bytes, or as message objects (slower).", words=MESSAGES
    ),
    "simulation_interfaces": fixed(
        "~",
        "Where the services of simulation_interfaces are: ~ below the node's name, / for the root, or a namespace; "
        "empty for none.",
    ),
    "allow": fixed("", "Folders, separated by colons, from which requests may spawn files and load worlds."),
}


# Parameters of every node that can record.
RECORD = {
    "record": fixed("", "Folder of a rosbag2 bag to record the published messages; must not exist yet."),
    "record_topics": fixed("", "Topics to record: names, globs, re:EXPRESSION, separated by spaces."),
    "record_exclude": fixed("", "Topics not to record."),
    "record_compression": fixed("zstd", "Compression of the bag's chunks.", words=COMPRESSIONS),
    "record_split_size": fixed(0.0, "Size above which a new file is started (MB); 0.0: none.", 0.0, 1e9),
    "record_split_duration": fixed(0.0, "Time after which a new file is started (s); 0.0: none.", 0.0, 1e9),
    "record_snapshot": fixed(
        0.0, "Keep messages of this duration in memory (s) until ~/snapshot; 0.0: write all.", 0.0, 1e5
    ),
    "record_max_disk": fixed(0.0, "Maximum size of the bag on disk (MB); 0.0: no limit.", 0.0, 1e9),
    "record_min_free": fixed(SPARE_BYTES / 1e6, "Disk space that a recording leaves free (MB).", 0.0, 1e9),
    "record_when_full": fixed("go_on", "What to do when the bag or the disk is full.", words=WHEN_FULL),
    "record_durable": fixed(False, "Sync each chunk to the disk at once, in case of a power failure."),
}
SPECS |= RECORD


def declare(node: Node, specs: Mapping[str, ParameterSpec] = SPECS) -> dict[str, Any]:
    """Declare parameters of a node, by default those of the simulation. Return their values. Raises ParameterFault."""
    values: dict[str, Any] = {}
    _accept_whole_numbers(node, specs)
    for name, spec in specs.items():
        try:
            values[name] = node.declare_parameter(name, spec.default, spec.descriptor()).value
        except InvalidParameterTypeException:
            given = node._parameter_overrides[name].value
            kind = {
                float: "a number",
                int: "a whole number",
                bool: "true or false",
                str: "a text",
                list: "a list of texts",
            }
            raise ParameterFault(
                f"parameter {name}: {given!r} has the wrong type; {kind[type(spec.default)]} is needed", name
            ) from None
        except InvalidParameterValueException as error:
            raise ParameterFault(f"parameter {name}: {error}", name) from None
        if spec.words and values[name] not in spec.words:
            raise ParameterFault(f"parameter {name}: found {values[name]!r}; allowed: {', '.join(spec.words)}", name)
    return values


def _accept_whole_numbers(node: Node, specs: Mapping[str, ParameterSpec]) -> None:
    """Accept `publish_rate:=60` as 60.0, at the start and, from Iron on, also when it is set later."""
    doubles = {name for name, spec in specs.items() if isinstance(spec.default, float)}

    def as_doubles(parameters: list[Parameter]) -> list[Parameter]:
        return [
            Parameter(each.name, Parameter.Type.DOUBLE, float(each.value))
            if each.name in doubles and each.type_ == Parameter.Type.INTEGER
            else each
            for each in parameters
        ]

    given = node._parameter_overrides
    given.update({each.name: each for each in as_doubles(list(given.values()))})
    if hasattr(node, "add_pre_set_parameters_callback"):
        node.add_pre_set_parameters_callback(as_doubles)


def refuse_unknown(node: Node, specs: Mapping[str, ParameterSpec], beside: Iterable[str] = ()) -> None:
    """Raise ParameterFault for parameters in --ros-args that the node has not declared.

    beside: parameters of other nodes in the same process, which receive the same arguments. Parameters declared by
    rclpy are also accepted; it declares qos_overrides with each publisher that has any.
    """
    known = sorted({*specs, *beside})
    for name in node._parameter_overrides:
        if not (name in known or node.has_parameter(name) or name.startswith("qos_overrides.")):
            listed = f"known: {', '.join(known)}" if known else f"{node.get_name()} has no parameters"
            raise ParameterFault(f"unknown parameter {name}{did_you_mean(name, known)} ({listed})", name)


def applied(parameters: Iterable[Parameter], apply: Mapping[str, Callable[[Any], None]]) -> SetParametersResult:
    """Apply changed parameters by name. The first rejection ends it, with the reason."""
    for parameter in parameters:
        if parameter.name in apply:
            try:
                apply[parameter.name](parameter.value)
            except Refused as refusal:
                return SetParametersResult(successful=False, reason=str(refusal))
    return SetParametersResult(successful=True)
