"""A world on the TF tree, with rviz if wanted: ros2 launch sim_node simulation.launch.py world:=orbit."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction, RegisterEventHandler, Shutdown
from launch.conditions import IfCondition
from launch.event_handlers import OnShutdown
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import Action, LaunchContext, LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
CONFIG = HERE / "config"
CHECKOUT_EXECUTABLE = HERE / "scripts" / "simulation"
# As scripts/simulation looks for it: of a checkout, of the prefix after pip, of the ROS 2 that is set up.
PYTHONS = (
    HERE / ".venv" / "bin" / "python3" if CHECKOUT_EXECUTABLE.exists() else HERE.parents[1] / "bin" / "python3",
    Path(sys.executable),
)


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "world", default_value="orbit", description="A path, a package:// URI or the name of a shipped world"
        ),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node and its services"),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="true",
            choices=["true", "false"],
            description="Stamp with simulation time and publish /clock; false stamps with the wall clock",
        ),
        DeclareLaunchArgument(
            "real_time_factor", default_value="1.0", description="Simulated seconds per second, 0: as fast as possible"
        ),
        DeclareLaunchArgument("frame_prefix", default_value="", description="Put before every frame but the fixed one"),
        DeclareLaunchArgument(
            "params_file", default_value=str(CONFIG / "simulation.yaml"), description="The node's other parameters"
        ),
        DeclareLaunchArgument("rviz", default_value="false", choices=["true", "false"], description="Start rviz2 too"),
        DeclareLaunchArgument(
            "rviz_config",
            default_value="",
            description="A configuration for rviz2 (default: made for the world)",
        ),
    ]
    use_sim_time = LaunchConfiguration("use_sim_time")
    simulation = Node(
        **executable(),
        name="simulation",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        emulate_tty=True,
        # Whatever else runs waits for a clock that has stopped.
        on_exit=Shutdown(reason="the simulation has ended"),
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "world": ParameterValue(LaunchConfiguration("world"), value_type=str),
                "real_time_factor": ParameterValue(LaunchConfiguration("real_time_factor"), value_type=float),
                "frame_prefix": ParameterValue(LaunchConfiguration("frame_prefix"), value_type=str),
                "stamp": PythonExpression(["'sim' if '", use_sim_time, "' == 'true' else 'wall'"]),
            },
        ],
    )
    rviz = OpaqueFunction(function=start_rviz, condition=IfCondition(LaunchConfiguration("rviz")))
    return LaunchDescription([*arguments, simulation, rviz])


def start_rviz(context: LaunchContext) -> list[Action]:
    """rviz2 with the configuration that is given, or one for the world that goes with the launch."""
    given: Callable[[str], str] = lambda name: LaunchConfiguration(name).perform(context)  # noqa: E731
    config, folder = given("rviz_config"), None
    if not config:
        folder = tempfile.mkdtemp(prefix="sim_node_rviz_")
        config = f"{folder}/{Path(given('world')).stem}.rviz"
        python = next(path for path in PYTHONS if path.exists())
        words = [str(python), "-m", "sim_node.cli.main", "rviz", given("world"), "-o", config]
        words += [f"--frame-prefix={given('frame_prefix')}", f"--namespace={given('namespace')}"]
        made = subprocess.run(words, stderr=subprocess.PIPE, text=True, check=False)
        if made.returncode:
            shutil.rmtree(folder)
            return [LogInfo(msg=f"no rviz2: {made.stderr.strip()}")]
    node = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", config],
        parameters=[{"use_sim_time": given("use_sim_time") == "true"}],
    )
    if folder is None:
        return [node]
    tidy = OpaqueFunction(function=lambda context: shutil.rmtree(folder, ignore_errors=True))
    return [RegisterEventHandler(OnShutdown(on_shutdown=[tidy])), node]


def executable() -> dict[str, str]:
    """The node's executable: of the installed package, or of the checkout, where no package is installed."""
    if CHECKOUT_EXECUTABLE.exists():
        return {"executable": str(CHECKOUT_EXECUTABLE)}
    return {"package": "sim_node", "executable": "simulation"}
