"""Which nodes a parameter reaches: as rcl has it, which the real node is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import rclpy
from rclpy.node import Node

from sim_node.ros.ros_arguments import overrides, without_effect

FILE = """
simulation: {ros__parameters: {bare: 1, nested: {name: 2}}}
/simulation: {ros__parameters: {slash: 1}}
/site/simulation: {ros__parameters: {full: 1}}
site: {simulation: {ros__parameters: {below: 1}}}
/*: {ros__parameters: {one: 1}}
/*/simulation: {ros__parameters: {one_above: 1}}
/**: {ros__parameters: {any: 1}}
/**/simulation: {ros__parameters: {any_above: 1}}
other: {ros__parameters: {not_ours: 1}}
"""


@pytest.fixture(params=["", "/site", "/site/yard"])
def node(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Node, list[str]]]:
    file = tmp_path / "parameters.yaml"
    file.write_text(FILE)
    words = ["program", "--ros-args", "-p", "plain:=1", "--param", "simulation:of:=1", "-p", "other:no:=1"]
    words += ["--params-file", str(file), *(["-r", f"__ns:={request.param}"] if request.param else [])]
    context = rclpy.Context()
    rclpy.init(args=words, context=context)
    made = Node("simulation", context=context)
    yield made, words
    made.destroy_node()
    rclpy.shutdown(context=context)


@pytest.mark.usefixtures("ros_domain")
def test_parameters_reach_the_nodes_that_rcl_gives_them_to(node: tuple[Node, list[str]]) -> None:
    made, words = node
    name = made.get_fully_qualified_name()
    assert {each.name for each in overrides(words) if each.is_for(name)} == set(made._parameter_overrides)


def test_what_reaches_no_node_is_reported_once_for_each_section(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    file.write_text("simulaton: {ros__parameters: {a: 1, b: 2}}\n/nav: {ros__parameters: {c: 1}}\n")
    words = ["--ros-args", "--params-file", str(file), "-p", "nav:x:=1", "--", "-p", "y:x:=1"]
    assert without_effect(overrides(words), ["/simulation"]) == [
        f"{file}:1:31: no node '/simulaton' here; did you mean simulation? (here: /simulation); its "
        "parameters have no effect",
        f"{file}:2:26: no node '/nav' here (here: /simulation); its parameters have no effect",
        "--ros-args: no node 'nav' here (here: /simulation); its parameters have no effect",
    ]
    file.write_text("/nav: {ros__parameters: {c: 1}}\n/**: {ros__parameters: {seed: 1}}\n")
    assert without_effect(overrides(words[:3]), ["/simulation"]) == [], "a file may be for other processes too"


def test_what_is_no_file_of_parameters_is_left_to_rclpy(tmp_path: Path) -> None:
    file = tmp_path / "parameters.yaml"
    for text in ("", "[1, 2]", "a: b", "a: {ros__parameters: 1}", "{", "/**: {ros__parameters: {"):
        file.write_text(text)
        assert overrides(["--ros-args", "--params-file", str(file)]) == []
    assert overrides(["--ros-args", "--params-file", str(tmp_path / "none")]) == []
