"""Bag handling shared by several subcommands: opening, progress, reporting damage."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from sim_node.cli.arguments import positive
from sim_node.cli.bars import bar
from sim_node.cli.parser import add_list
from sim_node.messages.tf_message_reader import Unreadable
from sim_node.recording.bag import Bag, BagError, BagMessage
from sim_node.recording.decompression import MAX_BYTES
from sim_node.recording.settings import is_topic_pattern
from sim_node.text import did_you_mean

_UPDATE_EVERY = 500


def add_bags(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add a positional argument for each bag, and --chunk-limit MB."""
    what = "a bag: its folder, or one .mcap or .db3 file"
    for name in names:
        parser.add_argument(name, metavar=name.upper(), type=Path, help=what)
    add_chunk_limit(parser)


def add_chunk_limit(parser: argparse.ArgumentParser) -> None:
    """Add --chunk-limit MB, for bags with exceptionally large chunks."""
    what = f"for bags: maximum uncompressed chunk size (default {MAX_BYTES // 2**20} MB)"
    parser.add_argument("--chunk-limit", metavar="MB", type=_megabytes, default=MAX_BYTES, help=what)


def _megabytes(text: str) -> int:
    return round(positive(text, limit=1e6) * 2**20)


def add_topics(parser: argparse.ArgumentParser) -> None:
    """Add --topics PATTERN ..."""
    only = "only these; with * and ? (default: all)"
    add_list(parser, "--topics", "TOPIC", is_topic_pattern, default=[], help=only)


def fitting(names: Collection[str], patterns: Collection[str]) -> list[str]:
    """Return the sorted names that match a pattern; all without patterns. Raises BagError for an unmatched pattern."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            known = ", ".join(sorted(names)) or "none"
            raise BagError(f"no topic {pattern}{did_you_mean(pattern, names)} (known: {known})")
    return sorted(name for name in names if not patterns or any(fnmatchcase(name, each) for each in patterns))


def shown(
    bag: Bag,
    what: str,
    topics: Collection[str] | None = None,
    start_ns: int | None = None,
    stop_ns: int | None = None,
) -> Iterator[BagMessage]:
    """Yield the bag's messages, with a progress bar on a terminal."""
    messages = bag.messages(topics, start_ns, stop_ns)
    if not sys.stderr.isatty():
        yield from messages
        return
    total = sum(topic.count for topic in bag.topics if topics is None or topic.name in topics)
    with bar(total=total, desc=what, unit="msg", unit_scale=True, mininterval=0.2, leave=False) as progress:
        for n, message in enumerate(messages, 1):
            if n % _UPDATE_EVERY == 0:
                progress.update(_UPDATE_EVERY)
            yield message


def report_damage(bag: Bag) -> None:
    """Print the bag's damage to standard error."""
    for line in bag.damage:
        warn(line)


@contextmanager
def counted_unreadable() -> Iterator[Unreadable]:
    """Count unreadable messages. Report the first of each topic at once, and the totals at the end."""
    unreadable = Unreadable(warn)
    yield unreadable
    for line in unreadable.counted():
        warn(line)


def warn(line: str) -> None:
    """Print a warning to standard error."""
    print(f"warning: {line}", file=sys.stderr)
