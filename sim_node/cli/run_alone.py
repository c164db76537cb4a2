"""A run without ROS: a session in this process."""

from __future__ import annotations

import argparse
import time
from functools import partial

from sim_node.cli.arguments import UsageError
from sim_node.cli.colours import print_error
from sim_node.cli.recording import options_of, report_recording, snapshots_on_signal
from sim_node.cli.terminal import ProgressSink
from sim_node.cli.views import ghosts_of, print_page, session_faults
from sim_node.recording.bag import RecordingStopped
from sim_node.recording.settings import from_options
from sim_node.session import Session
from sim_node.world import World
from sim_node.world.triggers import unfollowed


def run_alone(world: World, duration_ns: int | None, arguments: argparse.Namespace) -> int:
    """Run until the duration is over, Ctrl-C or SIGTERM; print the elapsed time."""
    if arguments.ros_args:
        raise UsageError("--ros-args and --no-ros exclude each other")
    session = Session(
        world,
        seed=arguments.seed or 0,
        randomised=arguments.randomised,
        real_time_factor=1.0 if arguments.speed is None else arguments.speed,
        paused=arguments.paused,
        duration_ns=duration_ns,
        record=arguments.record,
        recording=from_options(options_of(arguments)),
        view=arguments.view,
        look_back=arguments.look_back,
        ghosts=ghosts_of(arguments),
        foxglove=arguments.foxglove,
        processes=arguments.processes,
        network=arguments.allow_network,
        allow=arguments.allow,
        sinks=(ProgressSink(duration_ns),),
        report=partial(print, flush=True),
        warn=print_error,
    )
    simulation = session.simulation
    if arguments.interrupt.asked:
        return 0
    print(f"{world.name}: {len(simulation.frames)} frames, without ROS", flush=True)
    for line in unfollowed(world):
        print_error(line)
    code = 0
    with session_faults(), session, snapshots_on_signal(session.recorder, arguments.interrupt):
        print_page(session, arguments.view)
        started = time.monotonic()
        session.start(ended=arguments.interrupt.wake)
        arguments.interrupt.wait()
        try:
            session.close()
        except RecordingStopped:  # already reported
            code = 1
    print(f"simulated {(simulation.time_ns - world.time.start_ns) / 1e9:g} s in {time.monotonic() - started:.2f} s")
    report_recording(session.recorder)
    return code
