"""The installed package: complete, and it runs on its own files alone, after colcon and pip alike."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import rclpy.qos as ros_qos
from installing import ROOT, WAYS, Installation, copy_sources, install, own_path, run, venv_command
from listening import listener
from nightly import rows
from processes import program
from tf2_msgs.msg import TFMessage


# pip is what make test-wheel uses too.
@pytest.fixture(scope="module", params=rows(WAYS, ()))
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install(request.param, tmp_path_factory.mktemp("ws"))


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_share_has_every_file_that_ships(installed: Installation) -> None:
    """What `ros2 launch` and the node look up: REP 149's package.xml, the ament marker, launch and configuration."""
    share = files_below(installed.share)
    for folder in ("launch", "config"):
        shipped = {f"{folder}/{name}" for name in files_below(ROOT / folder) if "__pycache__" not in name}
        assert shipped <= share
    assert "config/worlds/parts/rover.yaml" in share
    assert (installed.share / "package.xml").read_bytes() == (ROOT / "package.xml").read_bytes()
    assert (installed.prefix / "share/ament_index/resource_index/packages/sim_node").is_file()
    assert os.access(installed.node, os.X_OK)


def test_modules_come_from_the_installation(installed: Installation, tmp_path: Path) -> None:
    for module in ("sim_node", "sim_node.ros.simulation"):
        query = f"import {module} as m; print(m.__file__)"
        where = run([installed.python, "-c", query], cwd=tmp_path, env=installed.environment)
        assert Path(where.strip()).is_relative_to(installed.modules)
    query = "from importlib.metadata import distribution; print(distribution('sim_node').read_text('top_level.txt'))"
    assert run([installed.python, "-c", query], cwd=tmp_path, env=installed.environment).split() == ["sim_node"]


def test_the_command_knows_the_shipped_worlds(installed: Installation, tmp_path: Path) -> None:
    for script in (installed.prefix / "lib/sim_node/sim_node", installed.prefix / "bin/sim_node"):
        if script.exists():
            printed = run([script, "check", "orbit", "two_vehicles"], cwd=tmp_path, env=installed.environment)
            assert printed.count(": valid, ") == 2
            return
    pytest.fail("no command sim_node was installed")


@pytest.mark.usefixtures("ros_domain")
def test_the_installed_node_publishes(installed: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `ros2 run` starts it, below a folder with a module of the same name that it must not take for its own."""
    (tmp_path / "sim_node.py").write_text("raise SystemExit('imported from the working folder')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    environment = {**installed.environment, "ROS_DOMAIN_ID": os.environ["ROS_DOMAIN_ID"]}
    with (
        program([installed.node, "--ros-args", "-p", "world:=two_vehicles"], **environment) as node,
        listener() as ears,
    ):
        got = ears.subscribe(TFMessage, "/tf", ros_qos.QoSProfile(depth=100))
        ears.spin_until(lambda: len(got) > 5, what=f"/tf\n{node.output}")
        assert {t.child_frame_id for t in got[-1][1].transforms} == {"scout/base_link", "rover/base_link"}
        assert node.stop() == 0
        assert "Traceback" not in node.output


# Takes seconds: make test has what the set-up installs, in test_setup.py.
@pytest.mark.nightly
def test_colcon_sees_one_package(tmp_path: Path) -> None:
    """interfaces/tf2_msgs would shadow the tf2_msgs of a ROS 2 installation."""
    copy_sources(tmp_path / "src" / "sim_node")
    assert run([venv_command("colcon"), "list", "--names-only"], cwd=tmp_path, env=own_path()).split() == ["sim_node"]
