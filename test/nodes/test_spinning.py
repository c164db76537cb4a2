"""An executor in a thread of its own, which ends without a fault at any moment."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterValue
from rcl_interfaces.srv import ListParameters, SetParameters
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from waiting import PATIENCE

from sim_node.ros.participant import start_spinning


@pytest.fixture
def restless() -> Iterator[None]:
    """Lets threads take turns as often as they can, so that they meet where they may not."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


# Takes seconds: make test has a callback that fails.
@pytest.mark.nightly
@pytest.mark.usefixtures("restless")
def test_a_busy_executor_ends_without_a_fault(ros_domain: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """rclpy's own shutdown destroys what a callback under way still uses: one of 20 ended with an exception."""
    faults: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: faults.append(repr(arguments.exc_value)))
    context = Context()
    rclpy.init(context=context)
    for turn in range(100):
        stop_while_busy(rclpy.create_node(f"busy_{turn}", context=context))
    rclpy.try_shutdown(context=context)
    assert faults == []


def stop_while_busy(node: Node) -> None:
    """End its executor after it has run a few of its callbacks, each of which asks for the next one."""
    runs = threading.Semaphore(0)

    def run_again() -> None:
        runs.release()
        again.trigger()

    again = node.create_guard_condition(run_again)
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    stop = start_spinning(executor)
    again.trigger()
    for _ in range(3):
        assert runs.acquire(timeout=PATIENCE)
    stop()
    node.destroy_node()


def test_a_request_whose_callback_fails_does_not_end_the_others(ros_domain: int) -> None:
    """rclpy raises for a parameter whose type is none: no service was answered from then on, and no end came."""
    context = Context()
    rclpy.init(context=context)
    served, asking = (rclpy.create_node(name, context=context) for name in ("served", "asking"))
    executors = [SingleThreadedExecutor(context=context) for _ in range(2)]
    for node, executor in zip((served, asking), executors, strict=True):
        executor.add_node(node)
    stop = start_spinning(executors[0])
    hostile = asking.create_client(SetParameters, "/served/set_parameters")
    sound = asking.create_client(ListParameters, "/served/list_parameters")
    assert hostile.wait_for_service(PATIENCE)
    assert sound.wait_for_service(PATIENCE)
    value = ParameterValue(type=11)
    for _ in range(3):
        hostile.call_async(SetParameters.Request(parameters=[ParameterMessage(name="x", value=value)]))
        answer = sound.call_async(ListParameters.Request())
        executors[1].spin_until_future_complete(answer, PATIENCE)
        assert answer.done()
    stop()
    executors[1].shutdown()
    for node in (served, asking):
        node.destroy_node()
    rclpy.try_shutdown(context=context)
