"""A package that is missing is named with the line that installs it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import metadata, requires
from pathlib import Path

import pytest
from importing import imported
from nightly import only
from waiting import PATIENCE

import sim_node
from sim_node.packages import ROSDEP_KEYS, how_to_install, missing_message, missing_program

PACKAGE = Path(sim_node.__file__).parent

ROOT = Path(__file__).parents[1]
# Runs a node's executable where importing a module fails as if its package were not there.
WITHOUT = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {gone!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Gone())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in {gone!r} else found(name, package)
{call}
"""
NODE = "from sim_node.ros import executables\nsys.exit(executables.{node}(['node']))"
COMMAND = "from sim_node.cli.main import main\nsys.exit(main({words!r}))"


@pytest.mark.parametrize(
    ("node", "module", "line"),
    only(
        [
            ("bridge", "pymavlink", "-m pip install 'pymavlink>=2.4.41'"),
            ("bridge", "fastcrc", "-m pip install 'fastcrc>=0.3'"),
            ("replay", "rosbags", "-m pip install 'rosbags>=0.11.2'"),
            ("simulation", "rclpy", "source a ROS 2 that has it"),
        ],
        0,
        3,
    ),
)
def test_a_node_names_what_is_missing(node: str, module: str, line: str) -> None:
    ran = _run_without(module, NODE.format(node=node))
    assert ran.returncode == 1
    assert f"{module} is not installed" in ran.stderr
    assert line in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_the_line_installs_into_the_python_that_lacks_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a virtual environment by its own Python; else as PEP 668 asks, or by rosdep."""
    monkeypatch.setattr(sys, "executable", "/home/me/.venv/bin/python")
    monkeypatch.setattr(sys, "prefix", "/home/me/.venv")
    assert missing_message("pymavlink").endswith(": /home/me/.venv/bin/python -m pip install 'pymavlink>=2.4.41'")
    monkeypatch.setattr(sys, "prefix", sys.base_prefix)
    assert "rosdep install --from-paths src --ignore-src -y" in missing_message("pymavlink")
    assert missing_message("fastcrc").endswith("PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install 'fastcrc>=0.3'")


# Takes seconds: make test has requirements of the commands, and what a node says that lacks one.
@pytest.mark.nightly
def test_every_module_that_is_imported_is_installed_by_a_package_that_sim_node_requires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not by its own name, if something else brings it: `pip install anyio` would not give anybody `sim_node mcp`."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    required = {re.split(r"[^\w.-]", each)[0].lower() for each in requires("sim_node") or ()}
    extras = {f"sim_node[{extra}]" for extra in metadata("sim_node").get_all("Provides-Extra") or ()}
    wanted = {}
    # pytest imports sim_node's plug-in, only type checkers import typing_extensions.
    for module in sorted(imported(PACKAGE) - {"pytest", "typing_extensions"}):
        install = re.search(r"pip install '?([\w.\[\]-]+)", how_to_install(ImportError(name=module)))
        assert install, module
        wanted[module] = install[1].lower()
    lacking = {module: name for module, name in wanted.items() if name not in required | extras}
    assert lacking == {}
    assert wanted["anyio"] == wanted["mcp"] == "sim_node[mcp]"
    assert wanted["yaml"] == "pyyaml"


# Takes seconds: make test has requirements of the commands, and what a node says that lacks one.
@pytest.mark.nightly
def test_without_any_ros_rclpy_is_what_is_missing() -> None:
    """Not the package that is imported first, which says nothing to who has just installed the wheel."""
    words = ["run", "orbit", "--ros-args", "-p", "seed:=1"]
    ran = _run_without(("rclpy", "rcl_interfaces", "builtin_interfaces"), COMMAND.format(words=words))
    assert ran.returncode == 2
    assert ran.stderr.startswith("sim_node: rclpy is not installed: ")
    assert "-m pip install 'sim_node[ros]', then sim_node build tf2_msgs" in ran.stderr


# Takes seconds: make test has requirements of the commands, and what a node says that lacks one.
@pytest.mark.nightly
def test_without_any_ros_a_run_publishes_nothing_and_says_so() -> None:
    """As `uvx sim_node run` does; where topics are asked for by --ros-args, it is refused."""
    words = ["run", "orbit", "--duration", "0.1", "--speed", "max"]
    ran = _run_without("rclpy", COMMAND.format(words=words))
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.startswith("sim_node: rclpy is not installed: source a ROS 2 that has it")
    assert "pip install 'sim_node[ros]', then sim_node build tf2_msgs; this run publishes nothing" in ran.stderr
    assert "without ROS" in ran.stdout
    ran = _run_without("rclpy", COMMAND.format(words=[*words, "--ros-args", "-p", "publish_rate:=30.0"]))
    assert ran.returncode == 2
    assert "publishes nothing" not in ran.stderr


# Takes seconds: make test has requirements of the commands, and what a node says that lacks one.
@pytest.mark.nightly
@pytest.mark.parametrize(("module", "wanted"), only([("mujoco", "-o"), ("PIL", "-o"), ("av", "--video")], 0))
def test_rendering_names_what_is_missing(module: str, wanted: str, tmp_path: Path) -> None:
    file = tmp_path / ("film.mp4" if wanted == "--video" else "picture.png")
    ran = _run_without(module, COMMAND.format(words=["render", "orbit", wanted, str(file), "--size", "64x64"]))
    assert ran.returncode == 2
    assert missing_message(module) in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


# Takes seconds: make test has requirements of the commands, and what a node says that lacks one.
@pytest.mark.nightly
def test_a_world_in_python_names_what_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "rocket.py"
    script.write_text("import sim_node.extensions.elodin as el\nel.World().run(None)\n")
    ran = _run_without("jax", COMMAND.format(words=["run", str(script), "--no-ros"]))
    assert ran.returncode == 2
    assert "rocket.py:2:1: worlds in Python need JAX: jax is not installed: " in ran.stderr
    assert "pip install 'sim_node[elodin]'" in ran.stderr
    assert len(ran.stderr.splitlines()) == 2


@pytest.mark.parametrize("words", only([["replay", "bag"], ["tree", "--live"], ["view", "--live"]], 0))
def test_commands_of_the_graph_name_what_is_missing(words: list[str]) -> None:
    ran = _run_without("rclpy", COMMAND.format(words=words))
    assert ran.returncode == 2
    assert missing_message("rclpy") in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


# Runs commands where no package for bags is installed, nor any that comes with them.
WITHOUT_BAGS = """
import contextlib, importlib.util, io, json, sys
gone = {"apsw", "lz4", "mcap", "rosbags", "ruamel", "zstandard"}
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in gone:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Gone())
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name in gone else found(name, package)
from sim_node.cli.main import main
for words in json.loads(sys.argv[1]):
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = main(words)
    print(json.dumps([code, errors.getvalue()]))
"""


# Takes seconds: make test has the requirements of commands.
@pytest.mark.nightly
def test_worlds_need_no_package_for_bags_and_bags_name_theirs(tmp_path: Path) -> None:
    bag = tmp_path / "bag.mcap"
    bag.write_bytes(b"MCAP")
    of_worlds = [
        ["tree", "orbit"],
        ["lookup", "orbit", "map", "drone/base_link"],
        ["check", "orbit"],
        ["rviz", "orbit"],
    ]
    of_bags = [["info"], ["tree"], ["repair"], ["lookup", "map", "drone"], ["export", "--csv", str(tmp_path / "csv")]]
    commands = [*of_worlds, *([words[0], str(bag), *words[1:]] for words in of_bags)]
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_BAGS, json.dumps(commands)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    results = [json.loads(line) for line in ran.stdout.splitlines()]
    assert results[: len(of_worlds)] == [[0, ""]] * len(of_worlds)
    assert len(results) == len(commands), ran.stderr
    for code, errors in results[len(of_worlds) :]:
        assert code == 2
        assert "mcap is not installed: " in errors
        assert "internal error" not in errors
        assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("module", "code"), only([("pymavlink", 0), ("geometry_msgs", 1), ("launch_ros", 0), ("jax", 0)], 1)
)
def test_doctor_names_what_is_missing(module: str, code: int) -> None:
    ran = _run_without(module, COMMAND.format(words=["doctor"]))
    assert ran.returncode == code
    assert ran.stdout.count(missing_message(module)) == 1


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("tf2_ros", "source a ROS 2 that has it"),
        ("launch_ros", "source a ROS 2 that has it"),
        ("PIL", "pip install 'pillow>=10.1'"),
        ("mujoco", "pip install 'mujoco!=4.0.0,>=3.3'"),
        ("gymnasium", "pip install 'sim_node[learn]'"),
        ("serial", "pip install 'sim_node[autopilot]'"),
        ("rerun", "pip install 'sim_node[export]'"),
        ("av", "pip install 'sim_node[film]'"),
    ],
)
def test_what_installs_a_module(module: str, line: str) -> None:
    message = missing_message(module)
    assert message.startswith(f"{module} is not installed")
    assert line in message


def test_what_installs_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISTRO", "kilted")
    assert missing_program("rviz2") == "rviz2 is not installed: sudo apt install ros-kilted-rviz2"
    assert missing_program("ros2") == "ros2 is not installed: sudo apt install ros-kilted-ros2cli"


def _run_without(gone: str | tuple[str, ...], call: str) -> subprocess.CompletedProcess[str]:
    gone = (gone,) if isinstance(gone, str) else gone
    return subprocess.run(
        [sys.executable, "-c", WITHOUT.format(gone=gone, call=call)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_keys_are_those_of_package_xml() -> None:
    text = (ROOT / "package.xml").read_text(encoding="utf-8")
    assert all(f"<exec_depend>{key}</exec_depend>" in text for key in ROSDEP_KEYS.values())


def test_another_fault_of_an_import_is_reported_as_it_is() -> None:
    assert how_to_install(ImportError("cannot import name 'x' from 'math'", name="math")) == (
        "cannot import name 'x' from 'math'"
    )
