"""A world that PX4 flies, PX4 and the bridge: ros2 launch sim_node px4.launch.py px4_dir:=~/PX4-Autopilot."""

from pathlib import Path
from runpy import run_path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EnvironmentVariable, LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
CHECKOUT_EXECUTABLE = HERE / "scripts" / "simulation"
refusing_unknown_arguments = run_path(str(HERE / "launch" / "known_arguments.py"))["refusing_unknown_arguments"]
ends_launch = run_path(str(HERE / "launch" / "exits.py"))["ends_launch"]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "px4_dir",
            default_value=EnvironmentVariable("PX4_DIR", default_value="~/PX4-Autopilot"),
            description="The checkout of PX4 in which `make px4_sitl` was run",
        ),
        DeclareLaunchArgument(
            "px4_binary",
            default_value=EnvironmentVariable("PX4_BINARY", default_value=""),
            description="PX4's executable, where it is not the one that was built there",
        ),
        DeclareLaunchArgument("world", default_value="px4", description="A world with processes for its autopilots"),
        DeclareLaunchArgument(
            "real_time_factor", default_value="1.0", description="Simulated seconds per second, 0: as fast as possible"
        ),
        DeclareLaunchArgument(
            "bridge", default_value="true", choices=["true", "false"], description="Start the bridge too"
        ),
        DeclareLaunchArgument(
            "urls", default_value="['udpin:127.0.0.1:14540']", description="The bridge's links, as a list in YAML"
        ),
        DeclareLaunchArgument(
            "vehicle_name", default_value="vehicle{id}", description="Namespace of a vehicle; {id} is its system id"
        ),
    ]
    simulation = Node(
        **executable(),
        name="simulation",
        output="screen",
        emulate_tty=True,
        # Variables in the world's processes.
        additional_env={
            "PX4_DIR": LaunchConfiguration("px4_dir"),
            "PX4_BINARY": LaunchConfiguration("px4_binary"),
        },
        on_exit=ends_launch("the simulation"),
        parameters=[
            {
                "world": ParameterValue(LaunchConfiguration("world"), value_type=str),
                "real_time_factor": ParameterValue(LaunchConfiguration("real_time_factor"), value_type=float),
                "processes": True,
            },
        ],
    )
    bridge = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / "launch" / "bridge.launch.py")),
        launch_arguments={
            "urls": LaunchConfiguration("urls"),
            "vehicle_name": LaunchConfiguration("vehicle_name"),
            "use_sim_time": "true",
        }.items(),
        condition=IfCondition(LaunchConfiguration("bridge")),
    )
    return refusing_unknown_arguments(LaunchDescription([*arguments, simulation, bridge]))


def executable() -> dict[str, str]:
    """The node's executable: of the installed package, or of the checkout, where no package is installed."""
    if CHECKOUT_EXECUTABLE.exists():
        return {"executable": str(CHECKOUT_EXECUTABLE)}
    return {"package": "sim_node", "executable": "simulation"}
