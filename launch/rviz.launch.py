"""rviz2 with a configuration of its own: ros2 launch sim_node rviz.launch.py of:=orbit."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from runpy import run_path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from launch import Action, LaunchContext, LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
# As scripts/simulation looks for it: of a checkout, of the prefix after pip, of the ROS 2 that is set up.
PYTHONS = (
    HERE / ".venv" / "bin" / "python3" if (HERE / "scripts").exists() else HERE.parents[1] / "bin" / "python3",
    Path(shutil.which("python3") or sys.executable),
)
refusing_unknown_arguments = run_path(str(HERE / "launch" / "known_arguments.py"))["refusing_unknown_arguments"]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument("of", description="The world or the bag that is to be seen"),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node that runs the world"),
        DeclareLaunchArgument("frame_prefix", default_value="", description="That node's parameter frame_prefix"),
        DeclareLaunchArgument("use_sim_time", default_value="true", description="Go by /clock"),
        DeclareLaunchArgument("rviz_config", default_value="", description="A configuration (default: made for it)"),
    ]
    return refusing_unknown_arguments(LaunchDescription([*arguments, OpaqueFunction(function=start_rviz)]))


def start_rviz(context: LaunchContext) -> list[Action]:
    """rviz2 with the configuration that is given, or one of its own. Raises RuntimeError where rviz2 is missing."""
    if not has_rviz2():
        distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
        raise RuntimeError(
            f"rviz2 is not installed: sudo apt install ros-{distro}-rviz2, or leave rviz out; nothing was started"
        )
    config = LaunchConfiguration("rviz_config").perform(context)
    return [rviz2(context, config)] if config else with_own_config(context)


def has_rviz2() -> bool:
    """Whether the Node below will find it."""
    try:
        return (Path(get_package_prefix("rviz2")) / "lib" / "rviz2" / "rviz2").exists()
    except PackageNotFoundError:
        return False


def with_own_config(context: LaunchContext) -> list[Action]:
    """Write the configuration, then start rviz2.

    A process of the launch writes it: launch goes on meanwhile, starts its nodes and hears Ctrl-C.
    """
    given: Callable[[str], str] = lambda name: LaunchConfiguration(name).perform(context)  # noqa: E731
    folder = tempfile.mkdtemp(prefix="sim_node_rviz_")
    config = f"{folder}/{Path(given('of')).stem}.rviz"
    python = next(path for path in PYTHONS if path.exists())
    words = [str(python), "-m", "sim_node.cli.main", "rviz", given("of"), "-o", config]
    # Those of a node that is none, a bag, are empty; `sim_node rviz` refuses them for a bag.
    options = {"--frame-prefix": given("frame_prefix"), "--namespace": given("namespace")}
    words += [f"{option}={value}" for option, value in options.items() if value]

    def written(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        if event.returncode:
            return [LogInfo(msg=f"no rviz2: {writing.get_stderr().strip()}")]
        return [rviz2(context, config)]

    writing = ExecuteProcess(cmd=words, name="rviz_config", output={"both": "log"}, cached_output=True, on_exit=written)
    tidy = OpaqueFunction(function=lambda context: shutil.rmtree(folder, ignore_errors=True))
    return [RegisterEventHandler(OnShutdown(on_shutdown=[tidy])), writing]


def rviz2(context: LaunchContext, config: str) -> Node:
    use_sim_time = LaunchConfiguration("use_sim_time").perform(context) == "true"
    return Node(
        package="rviz2", executable="rviz2", arguments=["-d", config], parameters=[{"use_sim_time": use_sim_time}]
    )
