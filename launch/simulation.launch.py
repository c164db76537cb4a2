"""A world on the TF tree, with rviz if wanted: ros2 launch sim_node simulation.launch.py world:=orbit."""

from pathlib import Path

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.conditions import IfCondition
from launch.substitutions import LaunchConfiguration, PythonExpression
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

# This file lies in share/sim_node/launch, or in launch/ of a checkout; the configuration lies beside it.
CONFIG = Path(__file__).resolve().parents[1] / "config"


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
            "real_time_factor", default_value="1.0", description="Simulated seconds per second; 0 is as fast as possible"
        ),
        DeclareLaunchArgument("frame_prefix", default_value="", description="Put before every frame but the fixed one"),
        DeclareLaunchArgument(
            "params_file", default_value=str(CONFIG / "simulation.yaml"), description="The node's other parameters"
        ),
        DeclareLaunchArgument("rviz", default_value="false", choices=["true", "false"], description="Start rviz2 too"),
    ]
    use_sim_time = LaunchConfiguration("use_sim_time")
    simulation = Node(
        package="sim_node",
        executable="simulation",
        name="simulation",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        emulate_tty=True,
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
    rviz = Node(
        package="rviz2",
        executable="rviz2",
        arguments=["-d", str(CONFIG / "rviz" / "simulation.rviz")],
        parameters=[{"use_sim_time": ParameterValue(use_sim_time, value_type=bool)}],
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return LaunchDescription([*arguments, simulation, rviz])
