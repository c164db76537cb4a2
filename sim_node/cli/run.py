"""Run a world: publish it on /tf, /tf_static and /clock until Ctrl-C."""

from __future__ import annotations

import argparse
import time
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from sim_node.autopilot.vehicle_peer import attach_autopilots
from sim_node.cli.errors import UsageError
from sim_node.cli.progress import ProgressSink
from sim_node.cli.recording import add_record, complain, options_of, recording_faults, snapshots_on_signal, tell_of
from sim_node.cli.views import add_view, viewing
from sim_node.cli.worlds import add_randomised, add_world, drawn, finite, loaded
from sim_node.programs.recipes import supervised
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.simulation import Loop, Simulation, Sink
from sim_node.world import World

DEMO = "guided"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """WORLD and how to run it."""
    add_world(parser, default=DEMO)
    parser.add_argument("--duration", metavar="S", type=finite, help="end after S simulated seconds")
    parser.add_argument("--speed", metavar="X", type=_speed, help="simulated per wall second, or max (default 1)")
    add_randomised(parser)
    add_view(parser)
    parser.add_argument("--recipes", action="store_true", help="start the programs of the world's recipes too")
    parser.add_argument("--no-ros", action="store_true", help="simulate without publishing anything")
    add_record(parser)
    parser.epilog = "What follows --ros-args goes to the node, as in: --ros-args -p publish_rate:=30.0 -r /tf:=/tf_sim"


def run(arguments: argparse.Namespace) -> int:
    """Runs until the duration is over, Ctrl-C or SIGTERM."""
    if arguments.duration is not None and arguments.duration <= 0.0:
        raise UsageError(f"--duration {arguments.duration:g}: a time above zero is needed")
    options_of(arguments)
    if arguments.interrupt.asked:
        return 0
    world = loaded(arguments)
    duration_ns = None if arguments.duration is None else round(arguments.duration * 1e9)
    return (_alone if arguments.no_ros else _as_node)(world, duration_ns, arguments)


def _alone(world: World, duration_ns: int | None, arguments: argparse.Namespace) -> int:
    if arguments.ros_args:
        raise UsageError("--ros-args and --no-ros exclude each other")
    speed = 1.0 if arguments.speed is None else arguments.speed
    simulation = Simulation(drawn(world, arguments), arguments.seed or 0)
    if arguments.interrupt.asked:
        return 0
    print(f"{world.name}: {len(simulation.frames)} frames, without ROS", flush=True)
    tell = partial(print, flush=True)
    attach_autopilots(simulation, tell)
    recorder, sinks = _recording(simulation, arguments)
    view = viewing(world.name, arguments)
    sinks = (*sinks, ProgressSink(duration_ns), *view)
    loop = Loop(simulation, sinks, real_time_factor=speed, duration_ns=duration_ns)
    for each in view:
        each.steer(loop)
    code = 0
    with snapshots_on_signal(recorder), supervised(world, arguments.recipes, tell) as programs:
        started = time.monotonic()
        loop.start(ended=arguments.interrupt.wake)
        arguments.interrupt.wait()
        programs.ask_to_end()
        try:
            loop.stop()
        except BagError as error:
            raise UsageError(f"--record: {error}") from None
        except RecordingStopped:  # which has told why
            code = 1
    simulated = (simulation.time_ns - world.time.start_ns) / 1e9
    print(f"simulated {simulated:g} s in {time.monotonic() - started:.2f} s")
    if recorder is not None:
        tell_of(recorder)
    return code


def _recording(simulation: Simulation, arguments: argparse.Namespace) -> tuple[Any, tuple[Sink, ...]]:
    """The recording that is asked for, if one is, and what sends to it."""
    if not arguments.record:
        return None, ()
    with recording_faults():
        from sim_node.recording.provenance import attachments_of, custom_data
        from sim_node.recording.recorder import Recorder
        from sim_node.recording.recording_sink import sinks_into
        from sim_node.recording.settings import from_options

        attached = attachments_of(simulation.world, simulation.seed, arguments.randomised)
        custom = custom_data(simulation.world, simulation.seed)
        settings = from_options(options_of(arguments))
        recorder = Recorder(Path(arguments.record), settings, attached, custom, tell=complain)
    return recorder, sinks_into(recorder)


def _as_node(world: World, duration_ns: int | None, arguments: argparse.Namespace) -> int:
    try:
        from sim_node.nodes.banner import banner
        from sim_node.nodes.simulation import SimulationNode
        from sim_node.nodes.spin import run_node
    except ImportError as error:
        raise UsageError(f"no ROS 2 here ({error}); see `sim_node doctor`, or run with --no-ros") from None
    given = {
        "seed": arguments.seed,
        "real_time_factor": arguments.speed,
        "randomised": arguments.randomised or None,
        "recipes": arguments.recipes or None,
    }
    parameters: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    parameters["world"] = str(arguments.world)
    if arguments.record:
        parameters["record"] = arguments.record
        parameters |= {f"record_{name}": value for name, value in options_of(arguments).items()}
    signals = ExitStack()

    def make() -> SimulationNode:
        view = viewing(world.name, arguments)
        node = SimulationNode(world, parameters, sinks=(ProgressSink(duration_ns), *view), duration_ns=duration_ns)
        for each in view:
            each.steer(node.loop)
        print("\n".join(banner(node)), flush=True)
        if node.recorder is not None:
            signals.callback(tell_of, node.recorder)
            signals.enter_context(snapshots_on_signal(node.recorder))
        return node

    with signals:
        return run_node(make, arguments.interrupt, ["sim_node", *arguments.ros_args])


def _speed(text: str) -> float:
    if text == "max":
        return 0.0
    try:
        speed = finite(text)
    except ValueError:
        speed = 0.0
    if speed <= 0.0:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed; a number above zero, or max, is needed")
    return speed
