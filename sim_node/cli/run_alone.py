"""A run without ROS: the loop in this process, its recording, its page and its programs."""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.autopilot.vehicle_peer import attach_autopilots
from sim_node.cli.errors import UsageError
from sim_node.cli.progress import ProgressSink
from sim_node.cli.recording import complain, options_of, recording_faults, snapshots_on_signal, tell_of
from sim_node.cli.views import viewing
from sim_node.cli.worlds import drawn
from sim_node.programs.recipes import supervised
from sim_node.recording.bag import BagError, RecordingStopped
from sim_node.simulation import Loop, Simulation, Sink
from sim_node.world import World

if TYPE_CHECKING:
    from sim_node.recording.recorder import Recorder


def run_alone(world: World, duration_ns: int | None, arguments: argparse.Namespace) -> int:
    """Runs until the duration is over, Ctrl-C or SIGTERM; tells how long it took."""
    if arguments.ros_args:
        raise UsageError("--ros-args and --no-ros exclude each other")
    simulation = Simulation(drawn(world, arguments), arguments.seed or 0)
    if arguments.interrupt.asked:
        return 0
    print(f"{world.name}: {len(simulation.frames)} frames, without ROS", flush=True)
    tell = partial(print, flush=True)
    attach_autopilots(simulation, tell, network=arguments.allow_network)
    recorder, sinks = _recording(simulation, arguments)
    view = viewing(world.name, arguments)
    speed = 1.0 if arguments.speed is None else arguments.speed
    loop = Loop(simulation, (*sinks, ProgressSink(duration_ns), *view), real_time_factor=speed, duration_ns=duration_ns)
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


def _recording(simulation: Simulation, arguments: argparse.Namespace) -> tuple[Recorder | None, tuple[Sink, ...]]:
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
