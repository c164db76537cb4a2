"""Requests that are carried out beside the executor, and the end of the node meanwhile."""

from __future__ import annotations

import threading

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from rclpy.context import Context
from waiting import PATIENCE

from sim_node.ros.calls import Preparing


def test_an_end_waits_for_the_request_under_way_and_begins_no_other(ros_domain: int) -> None:
    """Python crashed at its end where a thread was still building a world."""
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("preparing", context=context)
    preparing = Preparing(node)
    began, go, done = threading.Event(), threading.Event(), list[str]()

    def first() -> None:
        began.set()
        assert go.wait(PATIENCE)
        done.append("first")

    preparing.run(first)
    preparing.run(lambda: done.append("second"))
    assert began.wait(PATIENCE)
    ended = threading.Event()

    def close() -> None:
        preparing.close()
        done.append("closed")
        ended.set()

    threading.Thread(target=close).start()
    while not preparing.closed:
        assert not ended.is_set()
    go.set()
    assert ended.wait(PATIENCE)
    assert done == ["first", "closed"]
    node.destroy_node()
    rclpy.try_shutdown(context=context)
