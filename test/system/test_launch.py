"""The launch file, as `ros2 launch` reads it from a colcon install, a pip install and a checkout."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import ament_index_python.packages
import psutil
import pytest
import rclpy.qos as ros_qos
import yaml
from claims import claim_alone
from installing import ROOT, Installation, install, own_path, run
from listening import Listener, listener
from nav_msgs.msg import Odometry
from processes import Program, program
from rosgraph_msgs.msg import Clock
from tf2_msgs.msg import TFMessage
from waiting import until
from written import T0, Row, tf_message, write_bag

LAUNCH_FILE = ROOT / "launch" / "simulation.launch.py"
TF = ros_qos.QoSProfile(depth=100)
CLOCK = ros_qos.QoSProfile(depth=100, reliability=ros_qos.ReliabilityPolicy.BEST_EFFORT)
WAYS = ("colcon", "pip", "checkout")

pytestmark = pytest.mark.upstream("launch_ros", "ros2launch", "ros2run")


@pytest.fixture(scope="module", params=WAYS)
def launched(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], dict[str, str]]:
    """What goes after `ros2 launch` to name the file, and the environment that it is found in."""
    if request.param == "checkout":
        return [str(LAUNCH_FILE)], own_path()
    installed: Installation = install(request.param, tmp_path_factory.mktemp("ws"))
    return ["sim_node", "simulation.launch.py"], installed.environment


@contextmanager
def launch(launched: tuple[list[str], dict[str, str]], *arguments: str) -> Iterator[tuple[Program, Listener]]:
    """`ros2 launch` in a process group of its own, and somebody who listens to the same graph."""
    words, environment = launched
    environment = {**environment, "ROS_DOMAIN_ID": os.environ["ROS_DOMAIN_ID"]}
    with program(["ros2", "launch", *words, *arguments], **environment) as running, listener() as ears:
        yield running, ears


def interrupt(running: Program, number: int = signal.SIGINT) -> None:
    """A signal to the whole group, as a terminal sends Ctrl-C: all of it goes, quietly and of itself."""
    group = running.process.pid
    os.killpg(group, number)
    until(lambda: not members(group), f"the end of the group\n{running.output}")
    running.wait()
    assert "Traceback" not in running.output
    assert "escalating" not in running.output


def members(group: int) -> list[psutil.Process]:
    """The processes of a group that still run."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.mark.usefixtures("ros_domain")
def test_the_arguments_reach_the_node(launched: tuple[list[str], dict[str, str]]) -> None:
    arguments = ["world:=two_vehicles", "namespace:=sim", "real_time_factor:=0", "frame_prefix:=lab/"]
    with launch(launched, *arguments) as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        clock = ears.subscribe(Clock, "/clock", CLOCK)
        ears.spin_until(lambda: len(moving) > 20 and len(clock) > 20, what=lambda: f"/tf and /clock\n{running.output}")
        transforms = moving[-1][1].transforms
        assert all(t.header.frame_id == "map" or t.header.frame_id.startswith("lab/") for t in transforms)
        assert {t.child_frame_id for t in transforms} == {"lab/scout/base_link", "lab/rover/base_link"}

        def ahead() -> float:
            (first, start), (last, end) = clock[0], clock[-1]
            return (seconds(end.clock) - seconds(start.clock)) - (last - first)

        ears.spin_until(lambda: ahead() > 5.0, what="0 to be as fast as possible")
        ears.spin_until(
            lambda: ("simulation", "/sim") in ears.node.get_node_names_and_namespaces(), what="the node's namespace"
        )
        interrupt(running)
        assert running.process.returncode == 0


@pytest.mark.usefixtures("ros_domain")
def test_without_sim_time_stamps_are_wall_time_and_there_is_no_clock(
    launched: tuple[list[str], dict[str, str]],
) -> None:
    began = time.time()
    with launch(launched, "use_sim_time:=false") as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        clock = ears.subscribe(Clock, "/clock", CLOCK)
        ears.spin_until(lambda: len(moving) > 60, what=lambda: f"/tf\n{running.output}")
        assert began <= seconds(moving[-1][1].transforms[0].header.stamp) <= time.time()
        assert not clock
        interrupt(running, signal.SIGTERM)


@pytest.mark.usefixtures("ros_domain")
def test_a_broken_world_is_reported_and_ends_the_launch(
    launched: tuple[list[str], dict[str, str]], tmp_path: Path
) -> None:
    world = tmp_path / "yard.yaml"
    world.write_text("world: yard\nframes:\n  - {name: a, parant: map}\n", encoding="utf-8")
    with launch(launched, f"world:={world}") as (running, _):
        running.wait()
        assert f"{world}:3:15: frames[0].parant: unknown key; did you mean parent?" in running.output
        assert "Traceback" not in running.output


def test_the_arguments_are_described(launched: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    words, environment = launched
    shown = run(["ros2", "launch", *words, "--show-args"], cwd=tmp_path, env=environment)
    for name in ("world", "namespace", "use_sim_time", "real_time_factor", "frame_prefix", "params_file", "rviz"):
        assert f"'{name}':" in shown
    # A block for each argument, between empty lines.
    switches = {block.split("'")[1] for block in shown.split("\n\n") if "Valid choices are: ['true', 'false']" in block}
    assert switches == {"use_sim_time", "clock", "allow_network", "rviz"}
    assert "no description given" not in shown


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("name", sorted(path.name for path in LAUNCH_FILE.parent.glob("*.launch.py")))
def test_an_unknown_argument_starts_nothing(name: str) -> None:
    wrong, meant = ("wrold", "world") if name == "nav2.launch.py" else ("namespase", "namespace")
    with program(["ros2", "launch", str(LAUNCH_FILE.parent / name), f"{wrong}:=a", "of:=x", "bag:=x"]) as running:
        assert running.wait() == 1
    assert f"unknown launch argument {wrong}; did you mean {meant}? (known: " in running.output
    assert "process started" not in running.output


@pytest.mark.usefixtures("ros_domain")
def test_a_launch_file_that_includes_ours_may_have_arguments_of_its_own(tmp_path: Path) -> None:
    site = tmp_path / "site.launch.yaml"
    included = f"  - include: {{file: {LAUNCH_FILE}, arg: [{{name: world, value: $(var yard)}}]}}\n"
    site.write_text("launch:\n  - arg: {name: yard, default: orbit}\n" + included)
    with program(["ros2", "launch", str(site), "yard:=two_vehicles"]) as running:
        running.wait_for("two_vehicles: node /simulation")
        interrupt(running)


@pytest.mark.usefixtures("ros_domain")
def test_ros2_run_starts_the_node(tmp_path_factory: pytest.TempPathFactory) -> None:
    installed = install("colcon", tmp_path_factory.mktemp("ws"))
    environment = {**installed.environment, "ROS_DOMAIN_ID": os.environ["ROS_DOMAIN_ID"]}
    with program(["ros2", "run", "sim_node", "simulation"], **environment) as running, listener() as ears:
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(lambda: len(moving) > 5, what=lambda: f"/tf\n{running.output}")
        interrupt(running)


@pytest.mark.usefixtures("ros_domain")
def test_the_bridge_plays_a_recording(launched: tuple[list[str], dict[str, str]]) -> None:
    words, environment = launched
    bridge = [word.replace("simulation.launch.py", "bridge.launch.py") for word in words]
    recording = ROOT / "test" / "data" / "ardupilot_flight.tlog"
    with launch((bridge, environment), f"tlog:={recording}", "vehicle_name:=drone") as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(lambda: len(moving) > 5, what=lambda: f"/tf\n{running.output}")
        assert moving[0][1].transforms[0].child_frame_id == "drone/base_link"
        interrupt(running)


AUTOPILOTS = {"px4": "bin/px4", "ardupilot": "arducopter"}


def beside(launched: tuple[list[str], dict[str, str]], name: str) -> tuple[list[str], dict[str, str]]:
    """Another launch file than the simulation's."""
    words, environment = launched
    return [word.replace("simulation.launch.py", f"{name}.launch.py") for word in words], environment


def prefixes_with_rviz2(folder: Path, environment: dict[str, str]) -> tuple[dict[str, str], Path]:
    """Put a program that keeps the configuration it is given in the place of rviz2, which no package index has."""
    prefix, kept = folder / "prefix", folder / "kept"
    program_path = prefix / "lib" / "rviz2" / "rviz2"
    program_path.parent.mkdir(parents=True)
    program_path.write_text(f'#!/bin/sh\necho "$2" > {kept}.path\ncp "$2" {kept}\nexec sleep 3600\n')
    program_path.chmod(0o755)
    index = prefix / "share" / "ament_index" / "resource_index" / "packages" / "rviz2"
    index.parent.mkdir(parents=True)
    index.touch()
    others = environment.get("AMENT_PREFIX_PATH", os.environ.get("AMENT_PREFIX_PATH", ""))
    return {**environment, "AMENT_PREFIX_PATH": f"{prefix}:{others}"}, kept


@pytest.fixture
def rviz2(launched: tuple[list[str], dict[str, str]], tmp_path: Path) -> tuple[tuple[list[str], dict[str, str]], Path]:
    words, environment = launched
    environment, kept = prefixes_with_rviz2(tmp_path, environment)
    return (words, environment), kept


@pytest.mark.usefixtures("ros_domain")
def test_rviz_is_started_with_a_configuration_of_the_world(
    rviz2: tuple[tuple[list[str], dict[str, str]], Path],
) -> None:
    launched, kept = rviz2
    with launch(launched, "rviz:=true", "world:=quadrotor", "frame_prefix:=lab/") as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(kept.exists, what=lambda: f"rviz2\n{running.output}")
        ears.spin_until(lambda: bool(kept.read_text()), what="its configuration")
        shown = yaml.safe_load(kept.read_text())["Visualization Manager"]
        robots = next(display for display in shown["Displays"] if display["Name"] == "Robots")
        assert robots["Displays"][0]["TF Prefix"] == "lab/drone"
        ears.spin_until(lambda: bool(moving), what="/tf")  # a Python that has hardly begun has its own words for Ctrl-C
        interrupt(running)
    written = Path(Path(f"{kept}.path").read_text().strip())
    assert not written.parent.exists(), "what the launch wrote goes with it"


@pytest.mark.usefixtures("ros_domain")
def test_rviz_is_started_with_a_configuration_of_the_bag(
    rviz2: tuple[tuple[list[str], dict[str, str]], Path], tmp_path: Path
) -> None:
    launched, kept = rviz2
    rows = [Row("/tf", T0 + 10_000_000 * i, tf_message((T0 + 10_000_000 * i, "odom", "b", 1.0))) for i in range(100)]
    bag = write_bag(tmp_path / "bag", {"/tf": ("tf2_msgs/msg/TFMessage", [])}, rows)
    with launch(beside(launched, "replay"), "rviz:=true", f"bag:={bag}", "loop:=true") as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        ears.spin_until(kept.exists, what=lambda: f"rviz2\n{running.output}")
        ears.spin_until(lambda: bool(kept.read_text()), what="its configuration")
        shown = yaml.safe_load(kept.read_text())["Visualization Manager"]
        assert shown["Global Options"]["Fixed Frame"] == "odom"
        ears.spin_until(lambda: bool(moving), what="/tf")
        interrupt(running)


WITH_RVIZ = """
from launch import LaunchDescription
from launch.actions import ExecuteProcess, IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource

def generate_launch_description():
    node = ExecuteProcess(cmd=["sh", "-c", "echo node is up; exec sleep 3600"], output="screen")
    source = PythonLaunchDescriptionSource({source!r})
    return LaunchDescription([node, IncludeLaunchDescription(source, launch_arguments=[("of", "orbit")])])
"""


@pytest.mark.usefixtures("ros_domain")
def test_nodes_start_and_end_while_the_configuration_is_made(tmp_path: Path) -> None:
    """It takes seconds; here the prefix has a Python that never comes to an end with it."""
    making, including = tmp_path / "making", tmp_path / "both.launch.py"
    folder, python = tmp_path / "share" / "sim_node" / "launch", tmp_path / "bin" / "python3"
    shutil.copytree(LAUNCH_FILE.parent, folder)
    python.parent.mkdir()
    python.write_text(f"#!/bin/sh\ntouch {making}\nexec sleep 3600\n", encoding="utf-8")
    python.chmod(0o755)
    including.write_text(WITH_RVIZ.format(source=str(folder / "rviz.launch.py")), encoding="utf-8")
    environment, _ = prefixes_with_rviz2(tmp_path, own_path())
    with launch(([str(including)], environment)) as (running, _):
        until(making.exists, f"the making; {running.output}")
        running.wait_for("node is up")
        os.killpg(running.process.pid, signal.SIGINT)
        until(lambda: not members(running.process.pid), "the end of the group")


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("given", ["", "rviz_config:=/some.rviz"])
def test_without_rviz2_nothing_is_started(launched: tuple[list[str], dict[str, str]], given: str) -> None:
    """It is in no package index, so that here it is missing; a ROS 2 that is sourced may have it."""
    if ament_index_python.packages.get_packages_with_prefixes().get("rviz2"):
        pytest.skip("rviz2 is here")
    words = ["rviz:=true", "world:=orbit", *([given] if given else [])]
    with launch(launched, *words) as (running, _):
        assert running.wait() == 1
        assert "rviz2 is not installed: sudo apt install ros-" in running.output
        assert "process started" not in running.output
        assert members(running.process.pid) == []


@pytest.mark.usefixtures("ros_domain")
def test_a_launch_fails_where_its_simulation_does(launched: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    world = tmp_path / "yard.yaml"
    world.write_text("world: yard\nframes:\n  - {name: a, parant: map}\n", encoding="utf-8")
    with launch(launched, f"world:={world}") as (running, _):
        assert running.wait() == 1
        assert "the simulation has failed with exit code 2" in running.output
        assert members(running.process.pid) == []


@pytest.mark.usefixtures("ros_domain")
def test_two_interrupts_in_a_row_end_it_cleanly(launched: tuple[list[str], dict[str, str]]) -> None:
    with launch(launched, "world:=orbit") as (running, ears):
        clock = ears.subscribe(Clock, "/clock", CLOCK)
        ears.spin_until(lambda: clock, what=lambda: f"/clock\n{running.output}")
        os.killpg(running.process.pid, signal.SIGINT)
        interrupt(running)
    assert "Traceback" not in running.output
    assert "process has finished cleanly" in running.output


@pytest.mark.usefixtures("ros_domain")
def test_the_clock_can_be_left_to_others(launched: tuple[list[str], dict[str, str]]) -> None:
    with launch(launched, "world:=orbit", "clock:=false") as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        clock = ears.subscribe(Clock, "/clock", CLOCK)
        ears.spin_until(lambda: len(moving) > 20, what=lambda: f"/tf\n{running.output}")
        assert not clock
        interrupt(running)


@pytest.mark.usefixtures("ros_domain")
def test_what_keeps_rviz_from_starting_is_reported(
    rviz2: tuple[tuple[list[str], dict[str, str]], Path], tmp_path: Path
) -> None:
    """No configuration can be made of a world that does not load."""
    launched, kept = rviz2
    world = tmp_path / "yard.yaml"
    world.write_text("world: yard\nframes:\n  - {name: a, parant: map}\n", encoding="utf-8")
    with launch(beside(launched, "rviz"), f"of:={world}") as (running, _):
        running.wait()
    assert f"no rviz2: {world}:3:15: frames[0].parant: unknown key; did you mean parent?" in running.output
    assert not kept.exists()


@pytest.mark.usefixtures("ros_domain")
def test_the_replay_plays_a_bag(launched: tuple[list[str], dict[str, str]], tmp_path: Path) -> None:
    rows = [Row("/tf", T0 + 10_000_000 * i, tf_message((T0 + 10_000_000 * i, "map", "base", 1.0))) for i in range(100)]
    bag = write_bag(tmp_path / "bag", {"/tf": ("tf2_msgs/msg/TFMessage", [])}, rows)
    with launch(beside(launched, "replay"), f"bag:={bag}", "loop:=true") as (running, ears):
        moving = ears.subscribe(TFMessage, "/tf", TF)
        clock = ears.subscribe(Clock, "/clock", CLOCK)
        ears.spin_until(lambda: len(moving) > 5 and len(clock) > 5, what=lambda: f"/tf and /clock\n{running.output}")
        assert moving[0][1].transforms[0].child_frame_id == "base"
        interrupt(running)


@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("kind", AUTOPILOTS)
def test_an_autopilot_that_is_not_there_is_reported_and_ends_the_launch(
    launched: tuple[list[str], dict[str, str]], kind: str
) -> None:
    claim_alone("real autopilots")  # the world listens where the first of them connects
    with launch(beside(launched, kind), f"{kind}_dir:=/nowhere") as (running, _):
        running.wait()
        assert f"processes.{kind}: no program /nowhere/build/" in running.output
        assert "1 error, nothing was started" in running.output
        assert "Traceback" not in running.output


@pytest.mark.peers
@pytest.mark.usefixtures("ros_domain")
@pytest.mark.parametrize("kind", AUTOPILOTS)
def test_simulation_autopilot_and_bridge_start_and_end_together(
    launched: tuple[list[str], dict[str, str]], kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = os.environ.get(f"{kind.upper()}_DIR")
    if folder is None:
        pytest.skip(f"set {kind.upper()}_DIR to a checkout with a SITL build")
    claim_alone("real autopilots")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with launch(beside(launched, kind), f"{kind}_dir:={folder}", "vehicle_name:=drone") as (running, ears):
        odometry = ears.subscribe(Odometry, "/drone/local_position/odom", CLOCK)
        ears.spin_until(lambda: len(odometry) > 5, what=lambda: f"local positions\n{running.output}")
        programs = [each for each in psutil.process_iter(["cmdline"]) if AUTOPILOTS[kind] in " ".join(each.cmdline())]
        assert programs
        interrupt(running)
        assert not any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in programs)


def seconds(stamp: object) -> float:
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9  # type: ignore[attr-defined]
