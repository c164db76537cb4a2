"""Services of simulation_interfaces 2.1, whose messages differ from those of 1.x, as rosbags makes them."""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

from sim_node import Loop, Simulation, loads
from sim_node.mavlink.instances import AutopilotInstances
from sim_node.ros.calls import Preparing
from sim_node.ros.simulation_interfaces.services import SERVICES, Requests
from sim_node.ros.simulation_interfaces.serving import REGISTERING
from sim_node.session.entities import Rejected
from sim_node.session.entity_requests import EntityRequests
from sim_node.session.resources import Resources
from sim_node.session.run_requests import RunRequests
from sim_node.session.structure_requests import StructureRequests

assert REGISTERING  # the table is filled by these modules
# Fields of version 2.1.0: what was in a request of its own is in a Resource, and parts of a state have flags.
DEFINITIONS = {
    "Resource": "string uri\nstring resource_string\n",
    "EntityState": (
        "std_msgs/Header header\ngeometry_msgs/Pose pose\ngeometry_msgs/Twist twist\ngeometry_msgs/Accel acceleration\n"
    ),
    "SpawnEntity": (
        "string name\nbool allow_renaming\nsimulation_interfaces/Resource entity_resource\nstring entity_namespace\n"
        "geometry_msgs/PoseStamped initial_pose\n"
    ),
    "LoadWorld": (
        "simulation_interfaces/Resource world_resource\nbool fail_on_unsupported_element\n"
        "bool ignore_missing_or_unsupported_assets\n"
    ),
    "SetEntityState": (
        "string entity\nsimulation_interfaces/EntityState state\nbool set_pose\nbool set_twist\nbool set_acceleration\n"
    ),
}
BOX = "world: box\nbodies: [{name: body, joint: free, geometry: [{box: [0.2, 0.2, 0.2], mass: 1}]}]\n"
PLAIN = {"string": "", "bool": False, "int32": 0, "uint32": 0, "float64": 0.0}
STORE = get_typestore(Stores.ROS2_JAZZY)
for _name, _text in DEFINITIONS.items():
    STORE.register(get_types_from_msg(_text, f"simulation_interfaces/msg/{_name}"))


def blank(name: str) -> Any:
    """A message with all fields zero, empty or false."""
    fields = STORE.get_msgdef(name).fields
    return STORE.types[name](
        **{key: PLAIN[kind[1][0]] if kind[0].name == "BASE" else blank(kind[1]) for key, kind in fields}
    )


def request(name: str) -> Any:
    message = blank(f"simulation_interfaces/msg/{name}")
    if name == "SpawnEntity":
        message.initial_pose.pose.orientation.w = 1.0
    return message


def answered(name: str, requests: Requests, wanted: Any) -> Any:
    """The response of a service, whose function may wait for another thread."""
    response = SimpleNamespace()
    answer = SERVICES[name].answer(requests, wanted, response)
    if inspect.iscoroutine(answer):
        while True:
            try:
                answer.send(None)
            except StopIteration:
                break
            time.sleep(0.001)  # the thread needs the interpreter
    return response


@pytest.fixture
def requests(ros_domain: int) -> Iterator[Requests]:
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("requests", context=context)
    preparing = Preparing(node)
    loop = Loop(Simulation(loads("world: w\ntime: {step: 0.01}\nphysics: {gravity: [0, 0, 0]}\n")), (), paused=True)
    entities = EntityRequests(loop)
    structure = StructureRequests(
        loop, entities, Resources(loop.simulation.world), AutopilotInstances(lambda line: None, bridged=False)
    )
    run = RunRequests(loop, entities, despawn=structure.despawn, seed=lambda: 0, quit=lambda: None)
    yield Requests(entities, run, structure, loop, node, lambda time_ns: time_ns, set(), preparing)
    preparing.close()
    loop.stop()
    rclpy.shutdown(context=context)


def test_an_entity_is_spawned_from_a_resource_and_set_as_its_flags_say(requests: Requests) -> None:
    spawn = request("SpawnEntity")
    spawn.name, spawn.entity_resource.resource_string = "box1", BOX
    assert answered("SpawnEntity", requests, spawn).entity_name == "box1"

    def state() -> np.ndarray:
        found = requests.entities.state("box1")[0]
        return np.concatenate([found.pose[0, :3], found.twist[0, :3]])

    wanted = request("SetEntityState")
    wanted.entity = "box1"
    wanted.state.pose.position.x, wanted.state.pose.orientation.w = 5.0, 1.0
    wanted.state.twist.linear.y = 2.0
    expected = np.zeros(6)
    for flag, index, value in ((None, 0, 0.0), ("set_pose", 0, 5.0), ("set_twist", 4, 2.0)):
        wanted.set_pose, wanted.set_twist = flag == "set_pose", flag == "set_twist"
        answered("SetEntityState", requests, wanted)
        expected[index] = value
        np.testing.assert_allclose(state(), expected, atol=1e-12)


def test_a_world_is_loaded_from_a_resource(requests: Requests) -> None:
    load = request("LoadWorld")
    load.world_resource.uri = "missing.yaml"
    with pytest.raises(Rejected, match="missing") as error:
        answered("LoadWorld", requests, load)
    assert error.value.code == "NOT_FOUND"
