"""The message packages that `sim_node build` builds: those of the standards, and all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sim_node.cli.build import interface_texts
from sim_node.cli.main import main
from sim_node.packages import BUILT, missing_message

ROOT = Path(__file__).parents[2]
# Of the tag 1.5.1 of ros-simulation/simulation_interfaces: its files sorted by path, each after a line `## msg/Name`,
# without comments and empty lines, single spaces between words and none around `=`.
STANDARD = "f45647b23fc3aa8edd27f629123bc22dbd1d8e8b6c4d7e13db462c9d829d541c"
OF_CMAKE = {"CMakeLists.txt", "package.xml"}


def test_simulation_interfaces_are_those_of_the_standard() -> None:
    found = {
        Path(name): text for name, text in interface_texts("simulation_interfaces").items() if name not in OF_CMAKE
    }
    digest = hashlib.sha256()
    for path in sorted(found, key=lambda path: path.with_suffix(path.suffix).as_posix()):
        digest.update(f"## {path.with_suffix('').as_posix()}\n{found[path]}".encode())
    assert len(found) == 38
    assert digest.hexdigest() == STANDARD


def test_each_interface_becomes_a_file() -> None:
    texts = interface_texts("simulation_interfaces")
    assert OF_CMAKE | {"msg/Bounds.msg", "srv/GetEntities.srv", "action/SimulateSteps.action"} <= texts.keys()
    assert texts["srv/StepSimulation.srv"] == "uint64 steps 1\n---\nResult result\n"
    assert interface_texts("tf2_msgs")["msg/TFMessage.msg"] == "geometry_msgs/TransformStamped[] transforms\n"


def test_a_package_that_is_there_is_not_built(capsys: pytest.CaptureFixture[str]) -> None:
    """The set-up has built it, or the sourced ROS 2 has it."""
    assert main(["build", "tf2_msgs"]) == 0
    assert capsys.readouterr().out.startswith("tf2_msgs is there: ")


def test_what_lacks_a_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_DISTRO", raising=False)
    for package in BUILT:
        assert missing_message(package) == f"{package} is not installed: sim_node build {package}"
    monkeypatch.setenv("ROS_DISTRO", "jazzy")
    assert missing_message("tf2_msgs").endswith("sudo apt install ros-jazzy-tf2-msgs")
