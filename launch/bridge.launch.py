"""Autopilots over MAVLink: ros2 launch sim_node bridge.launch.py urls:="['udpin:127.0.0.1:14540']"."""

from pathlib import Path
from runpy import run_path
from typing import List  # noqa: UP035 - launch compares with typing's own

from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
CONFIG = HERE / "config"
CHECKOUT_EXECUTABLE = HERE / "scripts" / "bridge"
refusing_unknown_arguments = run_path(str(HERE / "launch" / "known_arguments.py"))["refusing_unknown_arguments"]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "urls", default_value="['udpin:127.0.0.1:14540']", description="Links, as a list in YAML"
        ),
        DeclareLaunchArgument("tlog", default_value="", description="A telemetry log to play instead of the links"),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node and all its topics"),
        DeclareLaunchArgument(
            "vehicle_name", default_value="vehicle{id}", description="Namespace of a vehicle; {id} is its system id"
        ),
        DeclareLaunchArgument(
            "use_sim_time", default_value="false", choices=["true", "false"], description="Stamp by /clock"
        ),
        DeclareLaunchArgument(
            "params_file", default_value=str(CONFIG / "bridge.yaml"), description="The node's other parameters"
        ),
    ]
    bridge = Node(
        **executable(),
        name="bridge",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        emulate_tty=True,
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "urls": ParameterValue(LaunchConfiguration("urls"), value_type=List[str]),  # noqa: UP006
                "tlog": ParameterValue(LaunchConfiguration("tlog"), value_type=str),
                "vehicle_name": ParameterValue(LaunchConfiguration("vehicle_name"), value_type=str),
                "use_sim_time": ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool),
            },
        ],
    )
    return refusing_unknown_arguments(LaunchDescription([*arguments, bridge]))


def executable() -> dict[str, str]:
    """The node's executable: of the installed package, or of the checkout, where no package is installed."""
    if CHECKOUT_EXECUTABLE.exists():
        return {"executable": str(CHECKOUT_EXECUTABLE)}
    return {"package": "sim_node", "executable": "bridge"}
