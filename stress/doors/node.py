"""A whole run on the graph: hostile values on every topic, service and parameter that it serves, from four clients.

It flies a quadrotor by the built-in autopilot, whose bridge is fed, too. The services of simulation_interfaces are
there if its messages are installed: `sim_node build simulation_interfaces`. After each burst the node has to answer
`list_parameters`, and at the end a SIGINT has to end it, each in time.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any

import rclpy
from rcl_interfaces.srv import ListParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node, NodeNameNonExistentError
from rclpy.parameter import Parameter
from rosidl_parser.definition import AbstractSequence, Array, NamespacedType

from sim_node.ros.message_values import type_named

ANSWER_S, END_S, START_S = 1.0, 2.0, 120.0
CLIENTS = 4
# The `state` of a request of set_simulation_state that ends the node.
_QUITTING = 3
# Some of what the node and its bridge make last.
# A name of this process: the graph may have other bridges, whose vehicles are not for us.
_DRONE = f"drone_{os.getpid()}"
_OF_BRIDGE = tuple(f"/{_DRONE}/{each}" for each in ("odometry/out", "vision_pose/pose", "cmd/land", "mission/start"))
_WANTED = ("/brick/wrench", "/leaf/effort", "/amr/cmd_vel", *_OF_BRIDGE)
# Requests that take most of the world away: one of so many is sent.
_REMOVING, _RARELY = ("/load_world", "/unload_world", "/delete_entity"), 20
# What ends the node or changes its clock is no fault of it.
_LEFT_OUT = ("/clock", "/parameter_events", "/tf", "/tf_static", "/rosout")
_FLOATS = (0.0, 1.0, -1.0, 1e9, -1e12, 1e38, 1e300, -1e308, 5e-324, math.nan, math.inf, -math.inf)
_TEXTS = (
    *("", "map", "door", "leaf", "brick", "verb", "set", "spawn", "remove", "name", "twist", "pose", "text", "iris"),
    *(
        "world: x",
        "/etc/passwd",
        "../..",
        "é\n\x1b[31m",
        "a" * 5000,
        "seed",
        "publish_rate",
        "clock",
        "real_time_factor",
    ),
)
WORLD = """
world: yard
origin: {latitude: 47.4, longitude: 8.5, altitude: 488}
time: {step: 0.004}
physics: {integrator: implicitfast, timestep: 0.002}
ground: {friction: 0.8}
bases:
  - {name: amr, model: differential, pose: {position: [0, 5, 0]}, sensors: false}
  - {name: ideal, model: differential, pose: {position: [0, 9, 0]}, sensors: false, drive: kinematic}
vehicles:
  - {name: DRONE, model: iris, pose: {position: [0, -5, 0.13]}, autopilot: {type: mavlink_builtin}}
bodies:
  - {name: brick, joint: free, pose: {position: [3, 0, 2]}, geometry: [{box: [0.1, 0.2, 0.4], mass: 1}]}
  - {name: door, pose: {position: [0, 0, 1]}, joint: {type: hinge, axis: [0, 0, 1]},
     geometry: [{box: [1, 0.1, 1], mass: 1}]}
  - {name: leaf, parent: door, pose: {position: [1, 0, 0]}, joint: {type: hinge, axis: [0, 1, 0]},
     geometry: [{box: [0.1, 0.1, 0.1], mass: 0.1}]}
actuators:
  - {joint: door, type: position, stiffness: 10, damping: 1}
  - {joint: leaf, type: effort, name: leaf/motor}
joint_commands: [{name: hand, joints: [door, leaf]}]
body_commands: [{body: brick, duration: 1}]
signals: [{name: leaf/effort, of: leaf/motor, quantity: target, input: true}]
"""
# What is spawned.
_EXTRA = "world: extra\nbodies: [{name: extra, joint: free, geometry: [{box: [0.1, 0.1, 0.1], mass: 0.2}]}]"


class Run:
    """The node in a process of its own, and four participants that send."""

    burst = 40

    def __init__(self, folder: Path) -> None:
        os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
        (folder / "yard.yaml").write_text(WORLD.replace("DRONE", _DRONE), encoding="utf-8")
        self._name = f"stressed_{os.getpid()}"
        self._served = (self._name, "bridge")
        named = ["--ros-args", "-r", f"simulation:__node:={self._name}"]
        command = [sys.executable, "-m", "sim_node", "run", str(folder / "yard.yaml"), *named]
        self._log = (folder / "log").open("w+", encoding="utf-8")
        self._process = subprocess.Popen(command, stdout=self._log, stderr=subprocess.STDOUT)
        self._context = Context()
        rclpy.init(context=self._context, args=[])
        names = [f"stress_{number}" for number in range(CLIENTS)]
        self._nodes = [rclpy.create_node(name, context=self._context) for name in names]
        self._executor = SingleThreadedExecutor(context=self._context)
        for node in self._nodes:
            self._executor.add_node(node)
        # Some of the services of simulation_interfaces, if they are there.
        self._standard = ("get_entities", "unload_world") if find_spec("simulation_interfaces") else ()
        self._made: dict[tuple[int, str], Any] = {}
        self._found: list[tuple[str, str, str]] = []
        lister = self._nodes[0].create_client(ListParameters, f"/{self._name}/list_parameters")
        self._lister = lister
        self._until(lister.service_is_ready, START_S, "the node did not start")
        self._until(self._doors, START_S, "its topics and services did not come")

    def seeds(self) -> Sequence[bytes]:
        """A number for each thing that can be sent to."""
        return [str(number).encode() for number in range(len(self._doors()))]

    def mutate(self, rng: Random, seed: bytes) -> bytes:
        """A topic or a service, one of the clients, and the seed of the values."""
        return b"%s %d %d" % (seed, rng.randrange(CLIENTS), rng.getrandbits(32))

    def feed(self, data: bytes) -> str:
        """Send a message or a request, without waiting for an answer."""
        words = [int(word) for word in data.split()]
        number, client, seed = (words + [0, 0])[:3]
        doors = self._doors()
        name, type_name, kind = doors[number % len(doors)]
        own = self._nodes[client % CLIENTS]
        message_type = type_named(type_name, kind)
        made = self._made.get((client, name))
        if kind == "msg":
            made = made or own.create_publisher(message_type, name, 10)
            made.publish(filled(message_type, Random(seed)))
        else:
            made = made or own.create_client(message_type, name)
            rng = Random(seed)
            request = filled(message_type.Request, rng)
            if name.endswith("/change") and rng.random() < 0.7:
                request.parameters = _change(rng)
            if name.endswith("/set_simulation_state") and request.state.state == _QUITTING:
                request.state.state = 0
            if "simulation_interfaces" in type_name and rng.random() < 0.7:
                _make_sound(request, rng)
            if name.endswith(_REMOVING) and rng.randrange(_RARELY):
                return "left out"
            made.call_async(request)
        self._made[client, name] = made
        self._executor.spin_once(timeout_sec=0.0)
        return kind

    def settle(self) -> None:
        """It answers within ANSWER_S, and says nothing of a fault of its own."""
        began, answer = time.monotonic(), self._lister.call_async(ListParameters.Request())
        self._until(answer.done, 10.0 * ANSWER_S, "list_parameters is not answered")
        took = time.monotonic() - began
        assert took <= ANSWER_S, f"list_parameters is answered after {took:.2f} s"

    def close(self) -> None:
        """A SIGINT ends it within END_S."""
        try:
            began = time.monotonic()
            self._process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(10.0 * END_S)
            took, code = time.monotonic() - began, self._process.poll()
            self._log.seek(0)
            log = self._log.read()
            assert code == 0, f"exit code {code} {took:.1f} s after a SIGINT:\n{log[-2000:]}"
            assert not self._found or took <= END_S, f"it ended {took:.1f} s after a SIGINT"
            assert "Traceback" not in log, log[-4000:]
        finally:
            if self._process.poll() is None:
                self._process.kill()
            for node in self._nodes:
                node.destroy_node()
            self._executor.shutdown()
            rclpy.shutdown(context=self._context)
            self._log.close()

    def _doors(self) -> list[tuple[str, str, str]]:
        """Return the name, the type and the kind of each topic and service of the node."""
        if self._found:
            return self._found
        own: Node = self._nodes[0]
        found = set()
        try:
            for served in self._served:
                topics = own.get_subscriber_names_and_types_by_node(served, "/")
                services = own.get_service_names_and_types_by_node(served, "/")
                own_names = "/" if served == self._name else f"/{_DRONE}/"
                for kind, named in (("msg", topics), ("srv", services)):
                    found |= {(name, types[0], kind) for name, types in named if name.startswith(own_names)}
        except NodeNameNonExistentError:
            return []
        # The parts of actions have no types of their own in ROS's packages.
        found = {each for each in found if each[0] not in _LEFT_OUT and "/_action/" not in each[0]}
        wanted = {*_WANTED, *(f"/{self._name}/{each}" for each in ("change", *self._standard))}
        if wanted <= {name for name, _, _ in found}:
            self._found = sorted(found)
        return self._found

    def _until(self, done: Any, seconds: float, what: str) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            code = self._process.poll()
            self._log.flush()
            if code is not None:
                self._log.seek(0)
                raise AssertionError(f"the node ended with {code}:\n{self._log.read()[-2000:]}")
            assert time.monotonic() < deadline, f"{what} within {seconds:g} s"
            self._executor.spin_once(timeout_sec=0.02)


def filled(kind: Any, rng: Random) -> Any:
    """Return a message of a class, with hostile values in some of its fields."""
    message = kind()
    for name, type_ in zip(message.get_fields_and_field_types(), message.SLOT_TYPES, strict=True):
        if rng.random() < 0.15:
            continue
        with suppress(AssertionError, OverflowError, TypeError, ValueError):  # a value that the type cannot have
            setattr(message, name, _value(getattr(message, name), type_, rng))
    return message


def _change(rng: Random) -> list[Any]:
    """Return a request to change the world that is well formed, with hostile names and numbers in some places."""
    entities, wild = ("brick", "door", "leaf", "amr", "ideal", "extra"), rng.random() < 0.3

    def numbers(count: int) -> list[float]:
        return [rng.choice(_FLOATS) if wild and rng.random() < 0.3 else rng.gauss(0.0, 1.0) for _ in range(count)]

    def name() -> str:
        return rng.choice(_TEXTS) if rng.random() < 0.1 else rng.choice(entities)

    position, half = numbers(3), rng.uniform(-math.pi, math.pi) / 2.0
    pose = [*position, 0.0, 0.0, math.sin(half), math.cos(half)] if rng.random() < 0.8 else numbers(7)
    values = rng.choice(
        (
            {"verb": "spawn", "name": name(), "text": _EXTRA, "pose": pose, "allow_renaming": rng.random() < 0.2},
            {"verb": "remove", "name": "extra" if rng.random() < 0.95 else name()},
            {"verb": "attach", "name": name(), "parent": name()},
            {"verb": "detach", "name": name()},
            {"verb": "set", "what": [name()], "pose": pose, "twist": numbers(6)},
            {"verb": "set", "what": [f"{rng.choice(('door', f'bodies[{name()}].geometry[0].mass'))}={numbers(1)[0]}"]},
        )
    )
    return [Parameter(key, value=value).to_parameter_msg() for key, value in values.items()]


def _make_sound(request: Any, rng: Random) -> None:
    """Let a request of simulation_interfaces name what there is, with finite poses, so that it is carried out."""
    fields = request.get_fields_and_field_types()
    for name in fields.keys() & {"entity", "name"}:
        setattr(request, name, rng.choice(("brick", "door", "amr", "ideal", "extra", _DRONE)))
    resources = [request, *(getattr(request, name) for name in fields if name.endswith("_resource"))]
    for resource in resources:
        if "resource_string" in resource.get_fields_and_field_types():
            resource.uri, resource.resource_string = "", _EXTRA
    for name in fields.keys() & {"entity_namespace", "uri"}:
        setattr(request, name, "")
    for name in fields.keys() & {"initial_pose", "state"}:
        setattr(request, name, type(getattr(request, name))())
    if "steps" in fields:
        request.steps = rng.randrange(20)


def _value(now: Any, type_: Any, rng: Random) -> Any:
    if isinstance(type_, NamespacedType):
        return filled(type(now), rng)
    if isinstance(type_, (AbstractSequence, Array)):
        item = type_.value_type
        count = len(now) if isinstance(type_, Array) else rng.choice((0, 1, 2, 3, 6, 7))
        if isinstance(item, NamespacedType):
            kind = type_named("/".join((item.namespaces[0], "msg", item.name)), "msg")
            return [filled(kind, rng) for _ in range(count)]
        return [_value(_plain(item), item, rng) for _ in range(count)]
    if isinstance(now, bool):
        return rng.random() < 0.5
    if isinstance(now, float):
        return rng.choice(_FLOATS) if rng.random() < 0.7 else rng.gauss(0.0, 3.0)
    if isinstance(now, int):
        bits, signed = int(type_.typename.strip("uint")), not type_.typename.startswith("u")
        low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
        return rng.choice((low, high, 0, 1)) if rng.random() < 0.5 else rng.randrange(12)
    if isinstance(now, str):
        return rng.choice(_TEXTS)
    return now


def _plain(type_: Any) -> Any:
    """Return a value of a basic type."""
    name = getattr(type_, "typename", "string")
    return {"boolean": False, "float": 0.0, "double": 0.0, "octet": b"\0", "string": ""}.get(name, 0)
