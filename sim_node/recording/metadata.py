"""The metadata of a rosbag2 bag, version 9: what is beside its files, and in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sim_node.recording.definitions import DISTRIBUTION
from sim_node.wire.qos import Qos

VERSION = 9
FILE = "metadata.yaml"


@dataclass(frozen=True)
class FileInformation:
    """One file of a bag; times are of its messages."""

    name: str
    start_ns: int = 0
    end_ns: int = 0
    count: int = 0


@dataclass(frozen=True)
class TopicInformation:
    """One topic of a bag. type: package/msg/Name; qos: what its publishers offered."""

    name: str
    type: str
    qos: tuple[Qos, ...]
    type_hash: str


@dataclass(frozen=True)
class BagInformation:
    """What metadata.yaml says. topics: each with the number of its messages; custom: texts of the writer's own."""

    files: Sequence[FileInformation]
    topics: Sequence[tuple[TopicInformation, int]]
    custom: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """The YAML of metadata.yaml, the same for the same content."""
        return _dumped({"rosbag2_bagfile_information": self._content()})

    def record(self) -> str:
        """The YAML of the record within a file, which has no outermost key."""
        return _dumped(self._content())

    def _content(self) -> dict[str, Any]:
        spans = [each for each in self.files if each.count]
        start = min((each.start_ns for each in spans), default=0)
        end = max((each.end_ns for each in spans), default=0)
        return {
            "version": VERSION,
            "storage_identifier": "mcap",
            **_span(start, end),
            "message_count": sum(each.count for each in self.files),
            "topics_with_message_count": [
                {"topic_metadata": _topic(topic), "message_count": count} for topic, count in self.topics
            ],
            "compression_format": "",
            "compression_mode": "",
            "relative_file_paths": [each.name for each in self.files],
            "files": [
                {"path": each.name, **_span(each.start_ns, each.end_ns), "message_count": each.count}
                for each in self.files
            ],
            "custom_data": dict(self.custom) or None,
            "ros_distro": DISTRIBUTION,
        }


def qos_text(offered: Iterable[Qos]) -> str:
    """QoS profiles as channels of MCAP files carry them."""
    return _dumped([_qos(each) for each in offered]).strip()


def write(folder: Path, information: BagInformation) -> None:
    """Puts metadata.yaml there, at once and whole, so that it and the names of the files survive a power loss."""
    part = folder / f".{FILE}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(information.text())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / FILE)
    for holder in (folder, folder.parent):
        _keep_names(holder)


def _keep_names(folder: Path) -> None:
    """Some file systems keep the names in a folder by themselves, and refuse to be asked."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _span(start_ns: int, end_ns: int) -> dict[str, Any]:
    return {
        "duration": {"nanoseconds": end_ns - start_ns},
        "starting_time": {"nanoseconds_since_epoch": start_ns},
    }


def _topic(topic: TopicInformation) -> dict[str, Any]:
    return {
        "name": topic.name,
        "type": topic.type,
        "serialization_format": "cdr",
        "offered_qos_profiles": [_qos(each) for each in topic.qos],
        "type_description_hash": topic.type_hash,
    }


def _qos(qos: Qos) -> dict[str, Any]:
    return {
        "history": qos.history,
        "depth": qos.depth,
        "reliability": qos.reliability,
        "durability": qos.durability,
        "deadline": _duration(qos.deadline_ns),
        "lifespan": _duration(qos.lifespan_ns),
        "liveliness": qos.liveliness,
        "liveliness_lease_duration": _duration(qos.liveliness_lease_ns),
        "avoid_ros_namespace_conventions": qos.avoid_ros_namespace_conventions,
    }


def _duration(nanoseconds: int) -> dict[str, int]:
    return {"sec": nanoseconds // 1_000_000_000, "nsec": nanoseconds % 1_000_000_000}


class _Dumper(yaml.SafeDumper):
    """Writes lists below their key, as rosbag2 does, and never an anchor."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dumped(content: Any) -> str:
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return text
