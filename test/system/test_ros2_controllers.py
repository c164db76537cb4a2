"""The YAML of docs/joints.md, taken by the parameters that ros2_controllers declare, generated for the real rclpy."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import rclpy
import yaml
from rclpy.parameter import PARAMETER_SEPARATOR_STRING
from strangers import environment_of

CONTROLLERS, GENERATOR = "ROS2_CONTROLLERS_DIR", "GENERATE_PARAMETER_LIBRARY_DIR"
DECLARED = {
    "joint_trajectory_controller/JointTrajectoryController": "joint_trajectory_controller/src/"
    "joint_trajectory_controller_parameters.yaml",
    "diff_drive_controller/DiffDriveController": "diff_drive_controller/src/diff_drive_controller_parameter.yaml",
}
# Checks in C++ of the controllers themselves: of limits that the page leaves away, and of interfaces that go together,
# positions alone and positions with velocities among them.
IN_CPP = re.compile(r'^ *"\w+::\w+(<>)?": (null|\[0\.0\]),?\n', re.MULTILINE)
# rclpy takes an empty list for one of bytes, and then refuses names.
EMPTY = re.compile(r"(type: string_array,\s+default_value: )\[\]")

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(
        not {CONTROLLERS, GENERATOR} <= os.environ.keys(),
        reason=f"set {CONTROLLERS} and {GENERATOR} to checkouts of ros2_controllers and generate_parameter_library",
    ),
]


def controllers() -> list[Any]:
    """Each controller of a YAML for a controller manager on the page: its name, its type and its parameters."""
    page = (Path(__file__).parents[2] / "docs" / "joints.md").read_text(encoding="utf-8")
    found = []
    for text in re.findall(r"```yaml\n(controller_manager:\n.*?)```", page, re.DOTALL):
        content = yaml.safe_load(text)
        types = content.pop("controller_manager")["ros__parameters"]
        found += [pytest.param(name, types[name]["type"], content[name], id=name) for name in content]
    return found


@pytest.mark.parametrize(("name", "type_", "given"), controllers())
def test_a_controller_declares_and_takes_each_parameter(
    name: str, type_: str, given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = Path(os.environ[GENERATOR], "generate_parameter_library_py")
    declared = Path(os.environ[CONTROLLERS], DECLARED[type_]).read_text(encoding="utf-8")
    source, module_path, file = tmp_path / "declared.yaml", tmp_path / "declared.py", tmp_path / "given.yaml"
    source.write_text(EMPTY.sub(r'\1[""]', IN_CPP.sub("", declared)), encoding="utf-8")
    file.write_text(yaml.safe_dump({name: given}), encoding="utf-8")
    words = ["-m", "generate_parameter_library_py.generate_python_module", module_path, source]
    python = environment_of("ros2_controllers")
    subprocess.run([str(python), *map(str, words)], check=True, env={**os.environ, "PYTHONPATH": str(generator)})
    monkeypatch.syspath_prepend(str(generator))
    spec = importlib.util.spec_from_file_location("declared", module_path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "declared", module)
    spec.loader.exec_module(module)

    context = rclpy.Context()
    rclpy.init(context=context)
    node = rclpy.create_node(name, context=context, cli_args=["--ros-args", "--params-file", str(file)])
    try:
        listener = getattr(module, type_.partition("/")[0]).ParamListener(node)
        taken = listener.get_params()
        for key, value in given["ros__parameters"].items():
            assert node.has_parameter(key), f"{name} declares no {key}"
            for part in key.split(PARAMETER_SEPARATOR_STRING):
                found = getattr(taken, part)
            assert found == value
    finally:
        node.destroy_node()
        context.try_shutdown()
