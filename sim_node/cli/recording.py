"""Common parts of subcommands that record: arguments, settings, and the final report."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sim_node.cli.arguments import UsageError, not_negative, positive, span
from sim_node.cli.parser import add_list, flag_of, formerly
from sim_node.cli.views import session_faults
from sim_node.interrupt import Interrupt
from sim_node.recording.bag import RecordingStopped
from sim_node.recording.settings import COMPRESSIONS, OPTIONS, SPARE_BYTES, WHEN_FULL, from_options, is_topic_pattern


def add_record(parser: argparse.ArgumentParser) -> None:
    """Add --record DIR and its options."""
    group = parser.add_argument_group("recording")
    group.add_argument("--record", metavar="DIR", help="write what is published to a new folder, as a rosbag2 bag")
    only = "record only these: names, globs ('/drone/*') or re:EXPRESSION"
    formerly(group, add_list(group, "--topics", "PATTERN", is_topic_pattern, help=only), "--record-topics")
    formerly(group, add_list(group, "--exclude", "PATTERN", is_topic_pattern, help="not these"), "--record-exclude")
    group.add_argument("--when-full", choices=WHEN_FULL, help="continue the run without recording (default), or end it")
    add_files(group)


def add_files(group: Any) -> None:
    """Add the options for the bag's files."""
    group.add_argument("--compression", choices=COMPRESSIONS, help="of the bag's chunks (default zstd)")
    group.add_argument("--split-size", metavar="MB", type=positive, help="start another file above this size")
    group.add_argument("--split-duration", metavar="S", type=span, help="start another file after S seconds")
    group.add_argument(
        "--snapshot", metavar="S", type=span, help="keep the last S seconds in memory, write them on SIGUSR1"
    )
    group.add_argument("--durable", action="store_true", help="sync each chunk to disk, to survive a power loss")
    group.add_argument("--max-disk", metavar="MB", type=positive, help="stop before the bag exceeds this size")
    free = f"stop before less of the disk is free (default {SPARE_BYTES / 1e6:.0f})"
    group.add_argument("--min-free", metavar="MB", type=not_negative, help=free)


def options_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the given options by setting name. Raises UsageError for options without --record."""
    found = {name: getattr(arguments, name, None) for name in OPTIONS}
    given = {
        name: " ".join(value) if isinstance(value, list) else value
        for name, value in found.items()
        if value or isinstance(value, float)
    }
    if arguments.record == "":
        raise UsageError("--record: DIR is empty")
    if given and arguments.record is None:
        raise UsageError(f"{flag_of(next(iter(given)))} requires --record DIR")
    with session_faults():
        from_options(given)
    return given


@contextmanager
def snapshots_on_signal(recorder: Any, interrupt: Interrupt) -> Iterator[None]:
    """While entered, SIGUSR1 makes a recording in snapshot mode write its buffer. Main thread only.

    An earlier SIGUSR1, recorded by `interrupt`, has the same effect. Without such a recording, a message is printed.
    """

    def write() -> None:
        try:
            if recorder is None:
                raise RecordingStopped("nothing is recorded; it needs --record DIR --snapshot S")
            print(f"snapshot: {recorder.snapshot()} messages to {recorder.folder}", flush=True)
        except RecordingStopped as refusal:
            print(f"snapshot: {refusal}", file=sys.stderr, flush=True)

    def handle(number: int, frame: object) -> None:
        threading.Thread(target=write, name="snapshot", daemon=True).start()

    before = signal.signal(signal.SIGUSR1, handle)
    if interrupt.snapshot_asked:
        handle(signal.SIGUSR1, None)
    try:
        yield
    finally:
        signal.signal(signal.SIGUSR1, before)


def report_recording(recorder: Any) -> None:
    """Print the result of a recording, if any."""
    if recorder is not None and recorder.folder.exists():
        lost = f", {recorder.dropped} were dropped" if recorder.dropped else ""
        print(f"recorded {recorder.kept} messages to {recorder.folder}{lost}", flush=True)
