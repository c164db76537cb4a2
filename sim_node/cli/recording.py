"""What subcommands that record share: their arguments, the recording, its end in words."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sim_node.cli.arguments import UsageError, positive, span
from sim_node.cli.parser import add_list, flag_of
from sim_node.cli.views import session_faults
from sim_node.recording.bag import RecordingStopped
from sim_node.recording.settings import Settings, from_options, is_topic_pattern

# Of the arguments, by the names that settings have for them.
OPTIONS = {
    "topics": "record_topics",
    "exclude": "record_exclude",
    "compression": "compression",
    "split_size": "split_size",
    "split_duration": "split_duration",
    "snapshot": "snapshot",
    "max_disk": "max_disk",
    "when_full": "when_full",
    "durable": "durable",
}


def add_record(parser: argparse.ArgumentParser) -> None:
    """--record DIR and what goes with it."""
    group = parser.add_argument_group("recording")
    group.add_argument("--record", metavar="DIR", help="write what is published to a new folder, as a rosbag2 bag")
    only = "only these: names, globs ('/drone/*') or re:EXPRESSION"
    add_list(group, "--record-topics", "PATTERN", is_topic_pattern, help=only)
    add_list(group, "--record-exclude", "PATTERN", is_topic_pattern, help="not these")
    group.add_argument(
        "--when-full", choices=("go_on", "end"), help="whether the run goes on without its recording (default), or ends"
    )
    add_files(group)


def add_files(group: Any) -> None:
    """How a bag is written."""
    group.add_argument("--compression", choices=("none", "lz4", "zstd"), help="of the bag's chunks (default zstd)")
    group.add_argument("--split-size", metavar="MB", type=positive, help="begin another file above this size")
    group.add_argument("--split-duration", metavar="S", type=span, help="begin another file after S seconds")
    group.add_argument(
        "--snapshot", metavar="S", type=span, help="keep the last S seconds in memory, write them on SIGUSR1"
    )
    group.add_argument(
        "--durable", action="store_true", help="have the disk keep each chunk at once, for power that may fail"
    )
    group.add_argument("--max-disk", metavar="MB", type=positive, help="stop recording before the bag is larger")


def options_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was given, by the names of settings. Raises UsageError for options without --record."""
    found = {name: getattr(arguments, attribute, None) for name, attribute in OPTIONS.items()}
    given = {name: " ".join(value) if isinstance(value, list) else value for name, value in found.items() if value}
    if arguments.record == "":
        raise UsageError("--record: DIR is empty")
    if given and arguments.record is None:
        raise UsageError(f"{flag_of(OPTIONS[next(iter(given))])} goes with --record DIR")
    with session_faults():
        from_options(given)
    return given


def settings_of(arguments: argparse.Namespace) -> Settings:
    """How the recording that is asked for is made. Raises UsageError."""
    return from_options(options_of(arguments))


@contextmanager
def snapshots_on_signal(recorder: Any) -> Iterator[None]:
    """While entered, SIGUSR1 has a recording in snapshot mode write what it keeps. Main thread only."""
    if recorder is None or not recorder.settings.snapshot_ns:
        yield
        return

    def write() -> None:
        try:
            print(f"snapshot: {recorder.snapshot()} messages to {recorder.folder}", flush=True)
        except RecordingStopped as refusal:
            print(f"snapshot: {refusal}", file=sys.stderr, flush=True)

    def handle(number: int, frame: object) -> None:
        threading.Thread(target=write, name="snapshot").start()

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def tell_of(recorder: Any) -> None:
    """What has become of a recording, where one was begun."""
    if recorder is not None and recorder.folder.exists():
        lost = f", {recorder.dropped} were left out" if recorder.dropped else ""
        print(f"recorded {recorder.kept} messages to {recorder.folder}{lost}", flush=True)


def complain(text: str) -> None:
    """Why a recording stopped, on stderr."""
    print(f"sim_node: {text}", file=sys.stderr, flush=True)
