"""Compare two bags topic by topic: counts, first difference, largest difference."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict

from sim_node.cli.arguments import UsageError, add_json, finite
from sim_node.cli.bags import add_bags, add_topics, fitting, report_damage, shown
from sim_node.cli.commands import command
from sim_node.cli.terminal import table
from sim_node.recording.comparing import TopicDifference, compare
from sim_node.recording.opening import open_bag
from sim_node.world.problems import counted

DIFFERENT = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG, BAG, --topics and --tolerance."""
    add_bags(parser, "bag", "other")
    add_topics(parser)
    add_json(parser)
    parser.add_argument(
        "--tolerance", metavar="X", type=finite, default=0.0, help="numbers may differ by this much (default 0)"
    )


@command("diff", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0 if the bags are equal, 1 otherwise. Recording times are not compared."""
    if arguments.tolerance < 0:
        raise UsageError(f"--tolerance is {arguments.tolerance:g}, needs 0 or more")
    max_bytes = arguments.chunk_limit
    with open_bag(arguments.bag, max_bytes) as one, open_bag(arguments.other, max_bytes) as other:
        topics = fitting({topic.name for bag in (one, other) for topic in bag.topics}, arguments.topics)
        messages = shown(one, "comparing", topics), other.messages(topics)
        found = compare(one, other, topics, arguments.tolerance, messages)
        report_damage(one)
        report_damage(other)
    if arguments.json:
        print(json.dumps([asdict(topic) for topic in found], indent=2))
        return 0 if all(topic.is_equal for topic in found) else DIFFERENT
    print(table(("topic", "first", "second", "differing"), [_row(topic) for topic in found]))
    for topic in found:
        for line in _lines(topic):
            print(f"{topic.name}: {line}")
    different = [topic for topic in found if not topic.is_equal]
    if not different:
        print(f"equal: {counted(len(found), 'topic')}, {counted(sum(topic.compared for topic in found), 'message')}")
        return 0
    print(f"different: {len(different)} of {counted(len(found), 'topic')}")
    return DIFFERENT


def _row(topic: TopicDifference) -> tuple[str, ...]:
    return topic.name, *(str(count) for count in topic.counts), str(topic.differing)


def _lines(topic: TopicDifference) -> Iterator[str]:
    if topic.counts[0] != topic.counts[1]:
        yield f"{topic.counts[0]} and {topic.counts[1]} messages"
    if topic.first is not None:
        number, time_ns, field, one, other = topic.first
        yield f"first difference in message {number} at {time_ns / 1e9:.9f} s: {field}: {one} and {other}"
    if topic.largest is not None:
        amount, time_ns, field = topic.largest
        yield f"largest difference {amount:g} at {time_ns / 1e9:.9f} s: {field}"
    if topic.note:
        yield topic.note
