"""Run a world whose vehicles PX4 or ArduPilot fly: with the autopilot that is installed, and a bridge to ROS."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from importlib.util import find_spec

from sim_node.autopilots.installed import ARDUPILOT, PX4, NotInstalled, find, url_of
from sim_node.cli import run as runs
from sim_node.cli.arguments import UsageError
from sim_node.cli.commands import command
from sim_node.cli.world_arguments import loaded
from sim_node.mavlink.ports import is_locked, px4_lock
from sim_node.packages import missing_message
from sim_node.world import World
from sim_node.world.autopilots import autopiloted
from sim_node.world.processes import Process


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the autopilot, and the arguments of `run`."""
    parser.add_argument("autopilot", metavar="AUTOPILOT", choices=(PX4, ARDUPILOT), help="px4 or ardupilot")
    parser.add_argument(
        "--names",
        metavar="NAMES",
        default="enu",
        help="names of the bridge's topics: enu, mavros, px4, ap (default enu)",
    )
    runs.add_arguments(parser, default="AUTOPILOT")


@command("fly", add_arguments, until_interrupted=True, starts_node=True)
def run(arguments: argparse.Namespace) -> int:
    """Run until the duration is over, Ctrl-C or SIGTERM."""
    if "world" not in arguments.given:
        arguments.world = arguments.autopilot  # the shipped world
    arguments.processes = True
    return runs.run_world(arguments, _flown)


def _flown(arguments: argparse.Namespace) -> World:
    """Return the world with processes for its autopilots and a bridge. Raises UsageError."""
    kind, world = arguments.autopilot, loaded(arguments)
    vehicles = [(vehicle, each) for vehicle, each in autopiloted(world) if each.type == kind]
    if not vehicles:
        needed = f"give one `autopilot: {{type: {kind}}}`"
        raise UsageError(f"{world.name}: no vehicle is flown by {kind}; {needed}, as in the world {kind}")
    try:
        found = find(kind, os.environ)
    except NotInstalled as error:
        raise UsageError(str(error)) from None
    if not arguments.no_ros:
        _check_names(arguments.names)
    for vehicle, each in vehicles:
        if kind == PX4 and is_locked(px4_lock(each.instance)):
            raise UsageError(
                f"{vehicle.name}: a PX4 with instance {each.instance} runs on this machine: stop it, or give the "
                "vehicle's `autopilot` another `instance`"
            )
    version = "" if found.version is None else f" {'.'.join(map(str, found.version))}"
    processes = [found.process(vehicle, each, world) for vehicle, each in vehicles]
    for process in processes:
        print(f"{found.what}{version}: {' '.join(process.command)}", flush=True)
    if not arguments.no_ros:
        processes.append(_bridge(kind, {each.instance: vehicle.name for vehicle, each in vehicles}, arguments.names))
    # If the world has a process of its own for this, it is for `run --processes`.
    others = [each for each in world.of(Process) if each.name != kind]
    return replace(world, processes=(*others, *processes))


def _check_names(names: str) -> None:
    """Check the message packages that the bridge needs, as it would otherwise restart forever. Raises UsageError."""
    for name, package in {"mavros": "mavros_msgs", "px4": "px4_msgs", "ap": "ardupilot_msgs"}.items():
        if name in names.split(",") and find_spec(package) is None:
            raise UsageError(f"--names {names}: {missing_message(package)}")


def _bridge(kind: str, names: dict[int, str], dialects: str) -> Process:
    """Return the process of a bridge to autopilots, given the vehicle names by autopilot instance."""
    command = [sys.executable, "-m", "sim_node", "bridge", "--names", dialects]
    for instance in names:
        command += ["--url", url_of(kind, instance)]
    # The system id is the instance plus one: by PX4's convention, and by an argument to ArduPilot.
    vehicles = ",".join(f"{instance + 1}={name}" for instance, name in names.items())
    parameters = {
        "vehicle_names": vehicles,
        "use_sim_time": "true",
        "sensor_namespace": "autopilot",
        "tf_parent": "none",
    }
    command += ["--ros-args", *(word for key, value in parameters.items() for word in ("-p", f"{key}:={value}"))]
    return Process("bridge", tuple(command), "${STATE_DIR}", (), "on-failure")
