"""A world whose robot Nav2 drives: ros2 launch sim_node nav2.launch.py localisation:=simulation."""

import json
import math
import os
import shutil
import sys
import tempfile
from pathlib import Path
from runpy import run_path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.actions import DeclareLaunchArgument, ExecuteProcess, OpaqueFunction, RegisterEventHandler
from launch.event_handlers import OnShutdown
from launch.events.process import ProcessExited
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterFile, ParameterValue

from launch import Action, LaunchContext, LaunchDescription

# This file lies in share/sim_node/launch, or in launch/ of a checkout; in a symlink install it is a link.
HERE = Path(__file__).absolute().parents[1]
CONFIG = HERE / "config"
CHECKOUT_EXECUTABLE = HERE / "scripts" / "simulation"
# As scripts/simulation looks for it: of a checkout, of the prefix after pip, of the ROS 2 that is set up.
PYTHONS = (
    HERE / ".venv" / "bin" / "python3" if (HERE / "scripts").exists() else HERE.parents[1] / "bin" / "python3",
    Path(shutil.which("python3") or sys.executable),
)
refusing_unknown_arguments = run_path(str(HERE / "launch" / "known_arguments.py"))["refusing_unknown_arguments"]
ends_launch = run_path(str(HERE / "launch" / "exits.py"))["ends_launch"]

# Packages of nodes, which have the names of their executables.
NAVIGATION = {
    "controller_server": "nav2_controller",
    "planner_server": "nav2_planner",
    "behavior_server": "nav2_behaviors",
    "bt_navigator": "nav2_bt_navigator",
    "waypoint_follower": "nav2_waypoint_follower",
}
# What gives the robot its place on the map, by the argument `localisation`. slam_toolbox makes the map itself.
LOCALISATION = {"simulation": ("map_server",), "amcl": ("map_server", "amcl"), "slam": ("slam_toolbox",)}
PACKAGES = NAVIGATION | {"map_server": "nav2_map_server", "amcl": "nav2_amcl", "slam_toolbox": "slam_toolbox"}
EXECUTABLES = {"slam_toolbox": "async_slam_toolbox_node"}
MANAGER = "nav2_lifecycle_manager"


def generate_launch_description() -> LaunchDescription:
    yes_or_no = ["true", "false"]
    arguments = [
        DeclareLaunchArgument("world", default_value="warehouse", description="The world"),
        DeclareLaunchArgument("robot", default_value="amr1", description="The base in it that Nav2 drives"),
        DeclareLaunchArgument(
            "localisation",
            default_value="simulation",
            choices=list(LOCALISATION),
            description="What publishes the transform from map to odom; amcl and slam need `transforms: odometry`",
        ),
        DeclareLaunchArgument("map", default_value="", description="A map for map_server (default: made of the world)"),
        DeclareLaunchArgument(
            "params_file", default_value=str(CONFIG / "nav2.yaml"), description="Parameters of Nav2's nodes"
        ),
        DeclareLaunchArgument(
            "slam_params_file", default_value=str(CONFIG / "slam_toolbox.yaml"), description="Those of slam_toolbox"
        ),
        DeclareLaunchArgument(
            "robot_state_publisher",
            default_value="false",
            choices=yes_or_no,
            description="Have robot_state_publisher publish the robot's links, in place of the simulation",
        ),
        DeclareLaunchArgument(
            "real_time_factor", default_value="1.0", description="Simulated seconds per second, 0: as fast as possible"
        ),
    ]
    return refusing_unknown_arguments(LaunchDescription([*arguments, OpaqueFunction(function=start)]))


def start(context: LaunchContext) -> list[Action]:
    """Start the simulation; Nav2, when the world has been asked for what it needs. Raises RuntimeError without Nav2."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ("localisation", "map", "world", "robot")}
    publisher = LaunchConfiguration("robot_state_publisher").perform(context) == "true"
    located = LOCALISATION[given["localisation"]]
    needed = [MANAGER, *(PACKAGES[name] for name in (*NAVIGATION, *located))]
    require([*needed, *(["robot_state_publisher"] if publisher else [])])
    folder = tempfile.mkdtemp(prefix="sim_node_nav2_")
    tidy = OpaqueFunction(function=lambda context: shutil.rmtree(folder, ignore_errors=True))
    simulation = Node(
        **executable(),
        name="simulation",
        output="screen",
        emulate_tty=True,
        on_exit=ends_launch("the simulation"),
        parameters=[
            {
                "world": ParameterValue(LaunchConfiguration("world"), value_type=str),
                "real_time_factor": ParameterValue(LaunchConfiguration("real_time_factor"), value_type=float),
                "publish_description": not publisher,
            },
        ],
    )
    actions: list[Action] = [RegisterEventHandler(OnShutdown(on_shutdown=[tidy])), simulation]
    if "map_server" in located and not given["map"]:
        given["map"] = f"{folder}/map.yaml"
        making = asked(
            "map", ["map", given["world"], "-o", given["map"]], lambda said: [manager("map", ["map_server"])]
        )
        actions += [server("map_server", {"yaml_filename": given["map"]}), making]
    elif "map_server" in located:
        actions += [server("map_server", {"yaml_filename": given["map"]}), manager("map", ["map_server"])]
    base = f"{given['robot']}/base_link"
    if "amcl" in located:
        words = ["lookup", given["world"], "map", base, "--json"]
        actions.append(asked("initial_pose", words, lambda said: [amcl(json.loads(said)), manager("amcl", ["amcl"])]))
    if "slam_toolbox" in located:
        actions += [server("slam_toolbox", {}, "slam_params_file"), manager("slam", ["slam_toolbox"])]
    if publisher:
        words = ["urdf", given["world"], base]
        actions.append(asked("robot_description", words, lambda said: [state_publisher(given["robot"], said)]))
    actions += [server(name, {}) for name in NAVIGATION]
    return [*actions, manager("navigation", list(NAVIGATION))]


def server(name: str, parameters: dict[str, object], file: str = "params_file") -> Node:
    """A node of Nav2. In the file, $(var robot) is the robot."""
    driven = ("/", LaunchConfiguration("robot"), "/cmd_vel")
    return Node(
        package=PACKAGES[name],
        executable=EXECUTABLES.get(name, name),
        # A name given here would be that of the costmaps inside, too.
        name=name if name in EXECUTABLES else None,
        output="screen",
        parameters=[ParameterFile(LaunchConfiguration(file), allow_substs=True), {"use_sim_time": True, **parameters}],
        remappings=[("cmd_vel", driven)],
    )


def amcl(pose: dict[str, list[float]]) -> Node:
    """AMCL, which begins where the world puts the robot."""
    (x, y, z), (qx, qy, qz, qw) = pose["translation"], pose["rotation"]
    yaw = math.atan2(2.0 * (qw * qz + qx * qy), 1.0 - 2.0 * (qy * qy + qz * qz))
    initial = {"initial_pose.x": x, "initial_pose.y": y, "initial_pose.z": z, "initial_pose.yaw": yaw}
    return server("amcl", {"set_initial_pose": True, **initial})


def manager(what: str, nodes: list[str]) -> Node:
    """What configures and activates nodes, in this order."""
    return Node(
        package=MANAGER,
        executable="lifecycle_manager",
        name=f"lifecycle_manager_{what}",
        output="screen",
        parameters=[{"use_sim_time": True, "autostart": True, "node_names": nodes}],
    )


def state_publisher(robot: str, description: str) -> Node:
    """robot_state_publisher, with the joints that the robot's sensor of the type joint_states measures."""
    return Node(
        package="robot_state_publisher",
        executable="robot_state_publisher",
        output="screen",
        parameters=[
            {
                "use_sim_time": True,
                "robot_description": ParameterValue(description, value_type=str),
            }
        ],
        remappings=[("joint_states", f"/{robot}/encoders/joint_states")],
    )


def asked(what, words, then) -> ExecuteProcess:
    """A command of sim_node. `then` returns the actions that follow what it says; its failure ends the launch.

    A process of the launch runs it: launch goes on meanwhile, starts its nodes and hears Ctrl-C.
    """
    python = next(path for path in PYTHONS if path.exists())

    def ended(event: ProcessExited, context: LaunchContext) -> list[Action]:
        if context.is_shutdown:
            return []
        if event.returncode:
            raise RuntimeError(f"sim_node {' '.join(words)}: {process.get_stderr().strip()}")
        return then(process.get_stdout())

    command = [str(python), "-m", "sim_node.cli.main", *words]
    process = ExecuteProcess(cmd=command, name=what, output={"both": "log"}, cached_output=True, on_exit=ended)
    return process


def require(packages: list[str]) -> None:
    """Raise RuntimeError if a package is missing, with what installs it."""
    missing = [name for name in packages if not is_installed(name)]
    if missing:
        distro = os.environ.get("ROS_DISTRO", "$ROS_DISTRO")
        # navigation2 has all of Nav2.
        names = dict.fromkeys("navigation2" if name.startswith("nav2_") else name for name in missing)
        debs = " ".join(f"ros-{distro}-{name.replace('_', '-')}" for name in names)
        raise RuntimeError(f"{', '.join(missing)} not installed: sudo apt install {debs}; nothing was started")


def is_installed(package: str) -> bool:
    """Whether a Node will find a package."""
    try:
        return bool(get_package_prefix(package))
    except PackageNotFoundError:
        return False


def executable() -> dict[str, str]:
    """The node's executable: of the installed package, or of the checkout, where no package is installed."""
    if CHECKOUT_EXECUTABLE.exists():
        return {"executable": str(CHECKOUT_EXECUTABLE)}
    return {"package": "sim_node", "executable": "simulation"}
