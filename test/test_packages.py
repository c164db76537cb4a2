"""A package that is missing is named with the line that installs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

from sim_node.packages import ROSDEP_KEYS, how_to_install

ROOT = Path(__file__).parents[1]
# Runs a node's executable where importing a module fails as if its package were not there.
WITHOUT = """
import sys
class Gone:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Gone())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {module!r} else found(name, package)
from sim_node.nodes import executables
sys.exit(executables.{node}(["node"]))
"""


@pytest.mark.parametrize(
    ("node", "module", "line"),
    [
        ("bridge", "pymavlink", "rosdep install --from-paths src --ignore-src -y"),
        ("bridge", "fastcrc", "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install 'fastcrc>=0.3'"),
        ("replay", "rosbags", "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install rosbags"),
        ("simulation", "rclpy", "source a ROS 2 that has it"),
    ],
)
def test_a_node_names_what_is_missing(node: str, module: str, line: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(node=node, module=module)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert ran.returncode == 1
    assert f"{module} is not installed" in ran.stderr
    assert line in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_keys_are_those_of_package_xml() -> None:
    text = (ROOT / "package.xml").read_text(encoding="utf-8")
    assert all(f"<exec_depend>{key}</exec_depend>" in text for key in ROSDEP_KEYS.values())


def test_another_fault_of_an_import_is_reported_as_it_is() -> None:
    assert how_to_install(ImportError("cannot import name 'x' from 'math'", name="math")) == (
        "cannot import name 'x' from 'math'"
    )
