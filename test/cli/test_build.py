"""The message packages that `sim_node build` builds: those of the standards, and all of them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from sim_node.cli.build import interface_texts, of_checkout
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


def test_interfaces_of_a_checkout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As PX4 has them: some in a folder of their own, with parts that ours lacks."""
    folder = tmp_path / "msg" / "versioned"
    folder.mkdir(parents=True)
    (folder / "VehicleStatus.msg").write_text(
        "# of v7\nuint32 MESSAGE_VERSION = 7\nCell[4]  cells # each\nuint8 state\n"
    )
    (folder / "Other.msg").write_text("uint8 state\n")
    (folder.parent / "Cell.msg").write_text("Ion ion\n")
    (folder.parent / "Ion.msg").write_text("float32 charge\n")
    found = of_checkout(interface_texts("px4_msgs"), tmp_path)
    assert found.keys() == OF_CMAKE | {"msg/VehicleStatus.msg", "msg/Cell.msg", "msg/Ion.msg"}
    assert found["msg/Ion.msg"] == "float32 charge\n"
    assert "msg/VehicleCommand.msg" in capsys.readouterr().out


@pytest.mark.parametrize(("folder", "words"), [("missing", "no such folder"), (".", "needs a checkout of the package")])
def test_a_folder_that_is_no_checkout(
    folder: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["build", "tf2_msgs", "--from", str(tmp_path / folder)]) == 2
    assert words in capsys.readouterr().err
