"""Run a world: publish it on /tf, /tf_static and /clock until Ctrl-C."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim_node.cli.arguments import UsageError, refuse_world, span, speed
from sim_node.cli.colours import print_error
from sim_node.cli.commands import command
from sim_node.cli.parser import flag_of, formerly, goes_with, refuse
from sim_node.cli.recording import add_record, options_of
from sim_node.cli.views import add_foxglove, add_ghost, add_look_back, add_view, refuse_taken_ports
from sim_node.cli.world_arguments import add_network, add_randomised, add_world, loaded
from sim_node.packages import has_ros, missing_message
from sim_node.registry import Registry
from sim_node.start_up import load_rclpy_ahead
from sim_node.world import World
from sim_node.world.fields import nanoseconds
from sim_node.world.locate import DEFAULT_WORLD
from sim_node.world.network import refuse_network

FindWorld = Callable[[argparse.Namespace], World]


@dataclass(frozen=True)
class RunSource:
    """Options of `run` that say what to run otherwise than by WORLD.

    Attributes:
        option: The name of the one that is given where the source says what to run, such as `from`.
        add_arguments: Declares it, and those that go with it.
        world: Returns the world. Is given what finds the world by WORLD, and may set `seed` and `duration` of the
            arguments. Raises UsageError.
        with_it: Further options, which need it.
        excludes: Arguments that cannot be given beside it, such as `world`; those of other sources never can.
    """

    option: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    world: Callable[[argparse.Namespace, FindWorld], World]
    with_it: Sequence[str] = ()
    excludes: Sequence[str] = ()


RUN_SOURCES: Registry[str, RunSource] = Registry("source of runs", group="sim_node.run_sources")


def add_arguments(parser: argparse.ArgumentParser, default: str = DEFAULT_WORLD) -> None:
    """Declare WORLD, which is `default` unless it is given, and how to run it."""
    add_world(parser, default=default)
    parser.add_argument("--duration", metavar="S", type=span, help="end after S simulated seconds")
    parser.add_argument("--speed", metavar="X", type=speed, help="simulated per wall second, or max (default 1)")
    parser.add_argument("--paused", action="store_true", help="wait for the play button, or for ~/resume")
    for source in RUN_SOURCES.values():
        source.add_arguments(parser)
    add_network(parser)
    add_randomised(parser)
    add_view(parser)
    add_look_back(parser)
    add_ghost(parser)
    add_foxglove(parser, "the run")
    parser.add_argument("--no-view", action="store_true", help="do not show the run; for `make run`, which shows it")
    processes = parser.add_argument("--processes", action="store_true", help="also start the world's processes")
    formerly(parser, processes, "--recipes")
    parser.add_argument("--no-ros", action="store_true", help="simulate without publishing anything")
    add_record(parser)
    parser.epilog = (
        "Arguments after --ros-args are for the node, as in: --ros-args -p publish_rate:=30.0 -r /tf:=/tf_sim"
    )


@command("run", add_arguments, until_interrupted=True, starts_node=True)
def run(arguments: argparse.Namespace) -> int:
    """Run until the duration is over, Ctrl-C or SIGTERM; without topics, which is reported, where there is no ROS 2."""
    if not (arguments.no_ros or arguments.ros_args or has_ros()):
        print_error(f"{missing_message('rclpy')}; this run publishes nothing, as with --no-ros")
        arguments.no_ros = True
    return run_world(arguments, loaded)


def _world(arguments: argparse.Namespace, find: FindWorld) -> World:
    """Return the world of the source whose option is given; without one, what `find` finds."""
    given = [each for each in RUN_SOURCES.values() if each.option in arguments.given]
    for source in RUN_SOURCES.values():
        if source not in given:
            goes_with(arguments, flag_of(source.option), source.with_it)
    if not given:
        return find(arguments)
    first, *others = given
    refuse(arguments, flag_of(first.option), (*first.excludes, *(each.option for each in others)))
    return first.world(arguments, find)


def run_world(arguments: argparse.Namespace, find: FindWorld) -> int:
    """Run the world that a function finds by the arguments, if no other option says what to run."""
    options_of(arguments)
    if arguments.no_view and arguments.view is not False:
        raise UsageError("--view and --no-view exclude each other")
    if arguments.view is False:
        goes_with(arguments, "--view", ["look_back", "ghost"])
    if arguments.paused and arguments.no_ros and arguments.view is False:
        raise UsageError("--paused with --no-ros needs --view: nothing else could resume the run")
    refuse_world(arguments)
    if arguments.interrupt.asked:
        return 0
    refuse_taken_ports(arguments.view, arguments.foxglove)
    if not arguments.no_ros:
        load_rclpy_ahead()
    world = _world(arguments, find)
    refuse_network(world, allowed=arguments.allow_network)
    duration_ns = None if arguments.duration is None else nanoseconds(arguments.duration)
    if arguments.no_ros:
        from sim_node.cli.run_alone import run_alone

        return run_alone(world, duration_ns, arguments)
    from sim_node.cli.run_node import run_as_node

    return run_as_node(world, duration_ns, arguments)
