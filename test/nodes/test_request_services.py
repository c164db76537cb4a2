"""Requests that are added to the table are services of a node: of their own, or as verbs of ~/change."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from threading import Event, Timer
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from rcl_interfaces.srv import ListParameters, SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger
from waiting import PATIENCE

from sim_node import loads
from sim_node.ros.simulation import SimulationNode
from sim_node.session.requests import RequestContext
from sim_node.simulation.requests import REQUESTS, Pose, Words, request

WORLD = "world: w\ntime: {step: 0.5}\nbodies: [{name: ball, joint: free, geometry: [{sphere: 0.1, mass: 1}]}]\n"


def count(context: RequestContext, /) -> str:
    """Count the bodies."""
    return f"{len(context.loop.simulation.bodies)} bodies"


def mark(context: RequestContext, /, what: Words, *, at: Pose | None = None, size: float = 1.0) -> str:
    """Mark something.

    Args:
        context: The run.
        what: Names.
        at: Where.
        size: How large, m.
    """
    return f"{what} at {at} of {size:g} m"


GO = threading.Event()


def build(context: RequestContext, /, what: str) -> str:
    """Take as long as a large world.

    Args:
        context: The run.
        what: A name.
    """
    assert GO.wait(PATIENCE)
    return f"built {what}"


@pytest.fixture
def node(ros_domain: int) -> Iterator[SimulationNode]:
    with REQUESTS.extended({}):
        request("count")(count)
        request("mark")(mark)
        request("build")(build)
        rclpy.init()
        node = SimulationNode(loads(WORLD), {"start_paused": True, "simulation_interfaces": ""})
        yield node
        node.destroy_node()
        rclpy.shutdown()


def test_requests_are_services(node: SimulationNode) -> None:
    node.loop.start()
    executor = SingleThreadedExecutor()
    executor.add_node(node)

    def answer(kind: Any, name: str, of: Any) -> Any:
        client = node.create_client(kind, name)
        reply = client.call_async(of)
        executor.spin_until_future_complete(reply)
        return reply.result()

    def change(**values: object) -> tuple[bool, str]:
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        of = SetParametersAtomically.Request(parameters=parameters)
        result = answer(SetParametersAtomically, "/simulation/change", of).result
        return result.successful, result.reason

    def triggered(name: str) -> tuple[bool, str]:
        reply = answer(Trigger, f"/simulation/{name}", Trigger.Request())
        return reply.success, reply.message

    served = {name for name, types in node.get_service_names_and_types() if "std_srvs/srv/Trigger" in types}
    names = ("pause", "resume", "step", "reset", "unload", "count")
    assert served == {f"/simulation/{name}" for name in names}
    assert triggered("count") == (True, "1 bodies")
    assert triggered("step") == (True, "paused at 0.5 s")
    assert change(verb="step", steps=3) == (True, "paused at 2 s")
    assert change(verb="reset", scope="tim") == (False, "scope: found 'tim'; allowed: all, time, state, spawned")
    assert triggered("reset") == (True, "paused at 0 s")
    assert triggered("resume")[0]
    assert triggered("step") == (False, "the simulation is running; pause it to step")
    assert triggered("pause")[0]
    marked = "['a', 'b'] at [1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 1.0] of 2 m"
    assert change(verb="mark", what=["a", "b"], at=[1.0, 2.0, 3.0], size=2) == (True, marked)
    refused: dict[str, dict[str, Any]] = {
        "verb 'mrk'; allowed: ": {"verb": "mrk"},
        "mark needs what": {"verb": "mark"},
        "what: 'a' is not a list of words": {"verb": "mark", "what": "a"},
        "what: [1.0] is not a list of words": {"verb": "mark", "what": [1.0]},
        "mark has no 'sze'; did you mean size? (allowed: what, at, size)": {"verb": "mark", "what": ["a"], "sze": 1.0},
        "size: 'large' is not a number": {"verb": "mark", "what": ["a"], "size": "large"},
        "size: nan is out of range; allowed: any finite number": {"verb": "mark", "what": ["a"], "size": float("nan")},
        "at: [1.0] is not X,Y,Z in m; ": {"verb": "mark", "what": ["a"], "at": [1.0]},
    }
    for reason, values in refused.items():
        done, told = change(**values)
        assert not done
        assert told.startswith(reason)
    assert triggered("unload") == (True, "unloaded the world")
    assert triggered("reset") == (False, "there is no world; load one first")
    assert change(verb="load", text=WORLD) == (True, "loaded w")
    executor.shutdown()


def test_a_pause_does_not_wait_for_what_takes_long(node: SimulationNode) -> None:
    node.loop.start()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    client = node.create_client(SetParametersAtomically, "/simulation/change")

    def change(**values: object) -> Any:
        parameters = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        return client.call_async(SetParametersAtomically.Request(parameters=parameters))

    building = change(verb="build", what="a town")
    for asked in (
        {"verb": "resume"},
        {"verb": "pause"},
        {"verb": "step", "steps": 2},
        {"verb": "reset", "scope": "all"},
    ):
        reply = change(**asked)
        executor.spin_until_future_complete(reply, timeout_sec=PATIENCE)
        assert reply.result().result.successful, asked
    assert not building.done()
    GO.set()
    executor.spin_until_future_complete(building, timeout_sec=PATIENCE)
    assert building.result().result.reason == "built a town"
    executor.shutdown()


def test_a_request_that_waits_for_a_tick_keeps_no_other(node: SimulationNode) -> None:
    """A burst of requests kept list_parameters for a tick each: over a second on a busy machine."""
    go = Event()
    node.loop.start()
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    node.loop.post(lambda: go.wait(PATIENCE))  # as a tick that takes long
    waits = [
        node.create_client(Trigger, f"/simulation/{name}").call_async(Trigger.Request()) for name in ("pause", "count")
    ]
    others = node.create_client(ListParameters, "/simulation/list_parameters").call_async(ListParameters.Request())
    # Where a request holds the executor, this ends it late.
    late = Timer(10.0, go.set)
    late.start()
    executor.spin_until_future_complete(others, PATIENCE)
    assert others.done()
    assert not go.is_set()
    assert not any(each.done() for each in waits)
    go.set()
    for each in waits:
        executor.spin_until_future_complete(each, PATIENCE)
        assert each.result().success
    late.cancel()
    executor.shutdown()
