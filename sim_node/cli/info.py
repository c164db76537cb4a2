"""Show the contents of a bag: topics, types, counts, rates, quality of service, attachments, damage."""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timezone
from typing import Any

from sim_node import text
from sim_node.cli.bags import add_bags, shown
from sim_node.cli.commands import command
from sim_node.cli.terminal import table
from sim_node.messages.topic import INFINITE_NS, Qos
from sim_node.recording.bag import Bag, BagAttachment, BagTopic
from sim_node.recording.opening import open_bag
from sim_node.world.problems import counted

# Later times are wall clock times (2001-09-09), not those of a simulation that starts at zero.
_WALL_CLOCK_NS = 10**18


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare BAG, --check and --json."""
    add_bags(parser, "bag")
    parser.add_argument("--check", action="store_true", help="read all messages and verify their checksums")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


@command("info", add_arguments)
def run(arguments: argparse.Namespace) -> int:
    """Return 0, or 1 if damage was found."""
    with open_bag(arguments.bag, arguments.chunk_limit) as bag:
        if arguments.check and not bag.verified:
            for _ in shown(bag, "checking"):
                pass
        attachments = list(bag.attachments())
        print(json.dumps(_as_dict(bag, attachments)) if arguments.json else _as_text(arguments.bag, bag, attachments))
        return 1 if bag.damage else 0


def _as_text(path: object, bag: Bag, attachments: list[BagAttachment]) -> str:
    duration = (bag.end_ns - bag.start_ns) / 1e9
    span = f"{_time(bag.start_ns)} to {_time(bag.end_ns)}, {duration:.3f} s" if bag.count else "empty"
    lines = [f"{path}: {counted(bag.count, 'message')} on {counted(len(bag.topics), 'topic')}, {span}"]
    rows = [
        (text.shown(topic.name), text.shown(topic.type), str(topic.count), _rate(topic, duration), _qos(topic.qos))
        for topic in bag.topics
    ]
    if rows:
        lines.append(table(("topic", "type", "count", "Hz", "quality of service"), rows))
    lines += [
        f"attachment {text.shown(each.name)}: {text.shown(each.media_type)}, {len(each.data)} bytes"
        for each in attachments
    ]
    lines += [f"damage: {text.shown(line, text.MAX_LINE)}" for line in bag.damage]
    return "\n".join(lines)


def _as_dict(bag: Bag, attachments: list[BagAttachment]) -> dict[str, Any]:
    return {
        "start_ns": bag.start_ns,
        "end_ns": bag.end_ns,
        "count": bag.count,
        "topics": [
            {
                "name": topic.name,
                "type": topic.type,
                "count": topic.count,
                "encoding": topic.encoding,
                "type_hash": topic.type_hash,
                "qos": [vars(qos) for qos in topic.qos],
            }
            for topic in bag.topics
        ],
        "attachments": [
            {"name": each.name, "media_type": each.media_type, "bytes": len(each.data)} for each in attachments
        ],
        "damage": bag.damage,
    }


def _time(time_ns: int) -> str:
    if time_ns < _WALL_CLOCK_NS:
        return f"{time_ns / 1e9:.3f} s"
    return datetime.fromtimestamp(time_ns / 1e9, timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + " UTC"


def _rate(topic: BagTopic, duration: float) -> str:
    return f"{(topic.count - 1) / duration:.1f}" if topic.count > 1 and duration > 0 else "-"


def _qos(offered: tuple[Qos, ...]) -> str:
    if not offered:
        return "unknown"
    return " | ".join(dict.fromkeys(_profile(qos) for qos in offered))


def _profile(qos: Qos) -> str:
    depth = "keep_all" if qos.history == "keep_all" else f"depth {qos.depth}"
    words = [qos.reliability, qos.durability, depth]
    words += [
        f"{name} {nanoseconds / 1e9:g} s"
        for name, nanoseconds in (("deadline", qos.deadline_ns), ("lifespan", qos.lifespan_ns))
        if nanoseconds != INFINITE_NS
    ]
    return ", ".join(words)
