"""Parameters of nodes, and those of the simulation: types, defaults, ranges, and which may change at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_node.recording.settings import COMPRESSIONS, WHEN_FULL
from sim_node.text import did_you_mean
from sim_node.world.locate import DEFAULT_WORLD

STAMPS = ("sim", "wall")
MESSAGES = ("serialised", "typed")


class ParameterFault(Exception):
    """A parameter that the node cannot start with; the message names it and what is allowed.

    name: the parameter's, where the fault is in what was given for it.
    """

    def __init__(self, message: str, name: str = "") -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class Spec:
    """One parameter: its default, what it means, its range, and whether it is fixed for the run."""

    default: str | float | int | bool | list[str]
    description: str
    fixed: bool = False
    low: float | None = None
    high: float | None = None
    words: tuple[str, ...] = ()

    def descriptor(self) -> ParameterDescriptor:
        """What `ros2 param describe` shows."""
        descriptor = ParameterDescriptor(description=self.description, read_only=self.fixed)
        if self.words:
            descriptor.additional_constraints = "one of: " + ", ".join(self.words)
        if self.low is not None and self.high is not None:
            if isinstance(self.default, float):
                descriptor.floating_point_range = [FloatingPointRange(from_value=self.low, to_value=self.high)]
            else:
                descriptor.integer_range = [IntegerRange(from_value=int(self.low), to_value=int(self.high), step=1)]
        return descriptor


SPECS = {
    "world": Spec(
        DEFAULT_WORLD, "World to simulate: a path, a package:// URI or the name of a shipped world.", fixed=True
    ),
    "publish_rate": Spec(60.0, "Ticks of /tf and /clock per simulated second (Hz).", low=0.1, high=10_000.0),
    "real_time_factor": Spec(
        1.0, "Simulated seconds per wall second; 0.0 is as fast as possible.", low=0.0, high=1_000.0
    ),
    "seed": Spec(0, "Seed of all randomness; a change holds from the next reset.", low=0, high=2**63 - 1),
    "randomised": Spec(
        False, "Draw the places that the world gives as ranges from the seed with which the node starts.", fixed=True
    ),
    "processes": Spec(False, "Start the processes of the world with the node, and stop them with it.", fixed=True),
    "recipes": Spec(False, "Former name of processes.", fixed=True),
    "allow_network": Spec(
        False, "Let the world's autopilots and processes use other addresses than loopback.", fixed=True
    ),
    "frame_prefix": Spec("", "Put before every frame name but the fixed frame's, as in drone1/.", fixed=True),
    "start_paused": Spec(False, "Wait for ~/resume before time runs.", fixed=True),
    "clock": Spec(True, "Publish /clock with every tick."),
    "stamp": Spec(
        "sim", "Stamps of transforms: simulation time, or the wall clock (no /clock then).", fixed=True, words=STAMPS
    ),
    "markers": Spec(True, "Publish what the world looks like as latched markers, for rviz.", fixed=True),
    "robot_descriptions": Spec(True, "Publish a URDF of each vehicle and articulated model.", fixed=True),
    "paths": Spec(True, "Publish where each vehicle has been in the last minute.", fixed=True),
    "bridge": Spec(
        True, "Bridge the built-in autopilots of the world's vehicles to topics, as the bridge node does.", fixed=True
    ),
    "tf_messages": Spec(
        "serialised", "How /tf is sent: ready bytes, or message objects (slower).", fixed=True, words=MESSAGES
    ),
}


# The same of every node that can record.
RECORD = {
    "record": Spec("", "Folder of a rosbag2 bag to record what is published; must not exist yet.", fixed=True),
    "record_topics": Spec("", "Only these topics: names, globs, re:EXPRESSION, separated by spaces.", fixed=True),
    "record_exclude": Spec("", "Not these topics.", fixed=True),
    "record_compression": Spec("zstd", "Of the bag's chunks.", fixed=True, words=COMPRESSIONS),
    "record_split_size": Spec(0.0, "Size above which another file is begun (MB); 0.0: none.", True, 0.0, 1e9),
    "record_split_duration": Spec(0.0, "Time after which another file is begun (s); 0.0: none.", True, 0.0, 1e9),
    "record_snapshot": Spec(0.0, "Keep this much in memory (s), until ~/snapshot; 0.0: write all.", True, 0.0, 1e5),
    "record_max_disk": Spec(0.0, "What the bag may take of the disk (MB); 0.0: no limit.", True, 0.0, 1e9),
    "record_when_full": Spec("go_on", "What the run does once the bag or the disk is full.", True, words=WHEN_FULL),
    "record_durable": Spec(False, "Have the disk keep each chunk at once, for power that may fail.", fixed=True),
}
SPECS |= RECORD


def declare(node: Node, specs: Mapping[str, Spec] = SPECS) -> dict[str, Any]:
    """Declares parameters on a node, the simulation's by default, and returns their values. Raises ParameterFault."""
    values: dict[str, Any] = {}
    _take_whole_numbers(node, specs)
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


def _take_whole_numbers(node: Node, specs: Mapping[str, Spec]) -> None:
    """Has `publish_rate:=60` mean 60.0, at the start and, from Iron on, where it is set later."""
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


def refuse_unknown(node: Node, specs: Mapping[str, Spec], beside: Iterable[str] = ()) -> None:
    """Raises ParameterFault for what --ros-args sets and the node has not declared.

    beside: parameters of the nodes that run in the same process, which hear the same arguments. What rclpy declares
    by itself is known too; qos_overrides it declares with each publisher that has any.
    """
    known = sorted({*specs, *beside})
    for name in node._parameter_overrides:
        if not (name in known or node.has_parameter(name) or name.startswith("qos_overrides.")):
            listed = f"known: {', '.join(known)}" if known else f"{node.get_name()} has no parameters"
            raise ParameterFault(f"unknown parameter {name}{did_you_mean(name, known)} ({listed})", name)
