"""Parameters as people give them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("rclpy", reason="needs rclpy")

import rclpy
from rclpy.context import Context
from rclpy.node import Node
from rclpy.parameter import Parameter

from sim_node.ros.parameters import ParameterFault, ParameterSpec, declare

SPECS = {"rate": ParameterSpec(60.0, "A number.", low=0.1, high=100.0), "count": ParameterSpec(3, "A whole number.")}


@pytest.fixture
def context(ros_domain: int) -> Iterator[Context]:
    context = Context()
    rclpy.init(context=context)
    yield context
    rclpy.try_shutdown(context=context)


def node(context: Context, **overrides: object) -> Node:
    given = [Parameter(name, value=value) for name, value in overrides.items()]
    return rclpy.create_node("node", context=context, parameter_overrides=given)


def test_a_whole_number_is_a_double_where_one_is_meant(context: Context) -> None:
    made = node(context, rate=30, count=5)
    values = declare(made, SPECS)
    assert values == {"rate": 30.0, "count": 5}
    assert type(values["rate"]) is float
    assert made.set_parameters([Parameter("rate", value=20)])[0].successful
    assert made.get_parameter("rate").type_ == Parameter.Type.DOUBLE
    assert made.get_parameter("rate").value == 20.0
    assert not made.set_parameters([Parameter("rate", value=200)])[0].successful
    assert not made.set_parameters([Parameter("count", value=1.5)])[0].successful
    made.destroy_node()


def test_other_types_are_refused_as_before(context: Context) -> None:
    made = node(context, rate="fast")
    with pytest.raises(ParameterFault, match="'fast' has the wrong type; a number is needed"):
        declare(made, SPECS)
    made.destroy_node()
