"""Record topics of a running graph as a rosbag2 bag until Ctrl-C."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from sim_node.cli.arguments import UsageError, refuse_twice
from sim_node.cli.commands import command
from sim_node.cli.parser import add_list
from sim_node.cli.recording import add_files, options_of, report_recording, snapshots_on_signal
from sim_node.cli.views import session_faults
from sim_node.recording.settings import from_options, is_topic_pattern
from sim_node.world.problems import counted

if TYPE_CHECKING:
    from sim_node.ros.live_recording import LiveRecordingNode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the folder, the topics and the settings."""
    parser.add_argument("record", metavar="DIR", help="a new folder")
    live = "record the graph: all topics, or these: names, globs ('/drone/*') or re:EXPRESSION"
    add_list(parser, "--live", "TOPIC", is_topic_pattern, empty=True, dest="topics", help=live)
    add_list(parser, "--exclude", "TOPIC", is_topic_pattern, help="not these")
    parser.add_argument("--use-sim-time", action="store_true", help="use the time of /clock instead of the wall clock")
    add_files(parser)
    parser.epilog = "To record a simulation rather than a graph: sim_node run WORLD --record DIR"


@command("record", add_arguments, until_interrupted=True, starts_node=True)
def run(arguments: argparse.Namespace) -> int:
    """Run until Ctrl-C or SIGTERM."""
    if arguments.topics is None:
        raise UsageError("record requires --live [TOPIC ...]; to record a run, use `sim_node run WORLD --record DIR`")
    refuse_twice(arguments, "sim_node_record", ["use_sim_time"])
    from sim_node.ros.spin import run_node

    with session_faults():
        from sim_node.recording.writer import refuse_existing
        from sim_node.ros.live_recording import LiveRecordingNode

        settings = from_options({**options_of(arguments), "when_full": "end"})
        refuse_existing(Path(arguments.record))
    signals = ExitStack()

    def make() -> LiveRecordingNode:
        node = LiveRecordingNode(Path(arguments.record), settings, simulated=arguments.use_sim_time)
        print(f"recording to {arguments.record}; stop with Ctrl-C", flush=True)
        signals.callback(_report_missed, node)
        signals.callback(report_recording, node.recorder)
        signals.enter_context(snapshots_on_signal(node.recorder, arguments.interrupt))
        return node

    with signals:
        return run_node(make, arguments.interrupt, ["sim_node", *arguments.ros_args])


def _report_missed(node: LiveRecordingNode) -> None:
    for topic, number in sorted(node.missed.items()):
        print(f"missed {counted(number, 'message')} on {topic}: lost in transport, not by the recording")
