"""A world on the TF tree, with rviz if wanted: ros2 launch sim_node simulation.launch.py world:=orbit."""

from pathlib import Path
from runpy import run_path

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
CONFIG = HERE / "config"
CHECKOUT_EXECUTABLE = HERE / "scripts" / "simulation"
refusing_unknown_arguments = run_path(str(HERE / "launch" / "known_arguments.py"))["refusing_unknown_arguments"]
ends_launch = run_path(str(HERE / "launch" / "exits.py"))["ends_launch"]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument(
            "world", default_value="guided", description="A path, a package:// URI or the name of a shipped world"
        ),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node and its services"),
        DeclareLaunchArgument(
            "use_sim_time",
            default_value="true",
            choices=["true", "false"],
            description="Stamp with simulation time and publish /clock; false stamps with the wall clock",
        ),
        DeclareLaunchArgument(
            "clock",
            default_value="true",
            choices=["true", "false"],
            description="Publish /clock; false where another node does",
        ),
        DeclareLaunchArgument(
            "real_time_factor", default_value="1.0", description="Simulated seconds per second, 0: as fast as possible"
        ),
        DeclareLaunchArgument("frame_prefix", default_value="", description="Put before every frame but the fixed one"),
        DeclareLaunchArgument(
            "params_file", default_value=str(CONFIG / "simulation.yaml"), description="The node's other parameters"
        ),
        DeclareLaunchArgument(
            "allow_network",
            default_value="false",
            choices=["true", "false"],
            description="Let the world's autopilots and processes use other addresses than loopback",
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
        on_exit=ends_launch("the simulation"),
        parameters=[
            LaunchConfiguration("params_file"),
            {
                "world": ParameterValue(LaunchConfiguration("world"), value_type=str),
                "clock": ParameterValue(LaunchConfiguration("clock"), value_type=bool),
                "real_time_factor": ParameterValue(LaunchConfiguration("real_time_factor"), value_type=float),
                "frame_prefix": ParameterValue(LaunchConfiguration("frame_prefix"), value_type=str),
                "allow_network": ParameterValue(LaunchConfiguration("allow_network"), value_type=bool),
                "stamp": PythonExpression(["'sim' if '", use_sim_time, "' == 'true' else 'wall'"]),
            },
        ],
    )
    # Before the simulation: without rviz2 nothing is started.
    rviz = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / "launch" / "rviz.launch.py")),
        launch_arguments={
            "of": LaunchConfiguration("world"),
            "namespace": LaunchConfiguration("namespace"),
            "frame_prefix": LaunchConfiguration("frame_prefix"),
            "use_sim_time": use_sim_time,
            "rviz_config": LaunchConfiguration("rviz_config"),
        }.items(),
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return refusing_unknown_arguments(LaunchDescription([*arguments, rviz, simulation]))


def executable() -> dict[str, str]:
    """The node's executable: of the installed package, or of the checkout, where no package is installed."""
    if CHECKOUT_EXECUTABLE.exists():
        return {"executable": str(CHECKOUT_EXECUTABLE)}
    return {"package": "sim_node", "executable": "simulation"}
