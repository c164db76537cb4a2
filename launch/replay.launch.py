"""A bag on its recorded topics, with rviz if wanted: ros2 launch sim_node replay.launch.py bag:=run clock:=true."""

from pathlib import Path
from runpy import run_path
from typing import List  # noqa: UP035 - launch compares with typing's own

from launch.actions import DeclareLaunchArgument, IncludeLaunchDescription
from launch.conditions import IfCondition
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
CONFIG = HERE / "config"
CHECKOUT_EXECUTABLE = HERE / "scripts" / "replay"
refusing_unknown_arguments = run_path(str(HERE / "launch" / "known_arguments.py"))["refusing_unknown_arguments"]
ends_launch = run_path(str(HERE / "launch" / "exits.py"))["ends_launch"]


def generate_launch_description() -> LaunchDescription:
    arguments = [
        DeclareLaunchArgument("bag", description="A bag's folder, or one .mcap or .db3 file"),
        DeclareLaunchArgument("namespace", default_value="", description="Namespace of the node and its services"),
        DeclareLaunchArgument("rate", default_value="1.0", description="Seconds of the bag per second, 0: full speed"),
        DeclareLaunchArgument("start", default_value="0.0", description="Where to begin, s from the bag's start"),
        DeclareLaunchArgument("duration", default_value="0.0", description="How much to play, s; 0: all the rest"),
        DeclareLaunchArgument(
            "loop", default_value="false", choices=["true", "false"], description="Begin again at the end"
        ),
        DeclareLaunchArgument(
            "clock",
            default_value="true",
            choices=["true", "false"],
            description="Publish /clock, instead of a recorded one",
        ),
        DeclareLaunchArgument("topics", default_value="['*']", description="Names or patterns, as a list in YAML"),
        DeclareLaunchArgument(
            "start_paused", default_value="false", choices=["true", "false"], description="Wait for ~/resume or ~/step"
        ),
        DeclareLaunchArgument(
            "params_file", default_value=str(CONFIG / "replay.yaml"), description="The node's other parameters"
        ),
        DeclareLaunchArgument("rviz", default_value="false", choices=["true", "false"], description="Start rviz2 too"),
        DeclareLaunchArgument(
            "rviz_config", default_value="", description="A configuration for rviz2 (default: made for the bag)"
        ),
    ]
    clock = LaunchConfiguration("clock")
    types = {"bag": str, "rate": float, "start": float, "duration": float, "loop": bool, "start_paused": bool}
    given = {name: ParameterValue(LaunchConfiguration(name), value_type=kind) for name, kind in types.items()}
    replay = Node(
        **executable(),
        name="replay",
        namespace=LaunchConfiguration("namespace"),
        output="screen",
        emulate_tty=True,
        on_exit=ends_launch("the replay"),
        parameters=[
            LaunchConfiguration("params_file"),
            {
                **given,
                "clock": ParameterValue(clock, value_type=bool),
                "topics": ParameterValue(LaunchConfiguration("topics"), value_type=List[str]),  # noqa: UP006
            },
        ],
    )
    # Before the replay: without rviz2 nothing is started.
    rviz = IncludeLaunchDescription(
        PythonLaunchDescriptionSource(str(HERE / "launch" / "rviz.launch.py")),
        # What a bag has is named in it whole.
        launch_arguments={
            "of": LaunchConfiguration("bag"),
            "namespace": "",
            "frame_prefix": "",
            "use_sim_time": clock,
            "rviz_config": LaunchConfiguration("rviz_config"),
        }.items(),
        condition=IfCondition(LaunchConfiguration("rviz")),
    )
    return refusing_unknown_arguments(LaunchDescription([*arguments, rviz, replay]))


def executable() -> dict[str, str]:
    """The node's executable: of the installed package, or of the checkout, where no package is installed."""
    if CHECKOUT_EXECUTABLE.exists():
        return {"executable": str(CHECKOUT_EXECUTABLE)}
    return {"package": "sim_node", "executable": "replay"}
