"""A run without ROS: a session in this process."""

from __future__ import annotations

import argparse
import time
from functools import partial

from sim_node.cli.arguments import UsageError
from sim_node.cli.recording import complain, settings_of, snapshots_on_signal, tell_of
from sim_node.cli.terminal import ProgressSink
from sim_node.cli.views import session_faults, told_where, view_of
from sim_node.recording.bag import RecordingStopped
from sim_node.session import Session
from sim_node.world import World


def run_alone(world: World, duration_ns: int | None, arguments: argparse.Namespace) -> int:
    """Runs until the duration is over, Ctrl-C or SIGTERM; tells how long it took."""
    if arguments.ros_args:
        raise UsageError("--ros-args and --no-ros exclude each other")
    session = Session(
        world,
        seed=arguments.seed or 0,
        randomised=arguments.randomised,
        real_time_factor=1.0 if arguments.speed is None else arguments.speed,
        duration_ns=duration_ns,
        record=arguments.record,
        recording=settings_of(arguments),
        view=view_of(arguments),
        recipes=arguments.recipes,
        network=arguments.allow_network,
        sinks=(ProgressSink(duration_ns),),
        tell=partial(print, flush=True),
        complain=complain,
    )
    simulation = session.simulation
    if arguments.interrupt.asked:
        return 0
    print(f"{world.name}: {len(simulation.frames)} frames, without ROS", flush=True)
    code = 0
    with session_faults(), session, snapshots_on_signal(session.recorder):
        told_where(session)
        started = time.monotonic()
        session.start(ended=arguments.interrupt.wake)
        arguments.interrupt.wait()
        try:
            session.close()
        except RecordingStopped:  # which has told why
            code = 1
    print(f"simulated {(simulation.time_ns - world.time.start_ns) / 1e9:g} s in {time.monotonic() - started:.2f} s")
    tell_of(session.recorder)
    return code
