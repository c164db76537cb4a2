"""metadata.yaml of a bag: read versions 1 to 9 (rosbag2 Dashing to Kilted), and write."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from textwrap import indent
from typing import Any

import yaml

from sim_node.messages.topic import Qos
from sim_node.recording.bag import BagError
from sim_node.recording.definitions import DISTRIBUTION
from sim_node.recording.qos import profiles
from sim_node.recording.yaml_text import loaded


@dataclass(frozen=True)
class TopicInformation:
    """A topic of a bag. type: package/msg/Name; qos: QoS offered by its publishers."""

    name: str
    type: str
    qos: tuple[Qos, ...]
    type_hash: str


@dataclass(frozen=True)
class Metadata:
    """The content of metadata.yaml that is needed for reading.

    Attributes:
        files: File names, in time order.
        compression_mode: file, message or empty.
        compression_format: Such as zstd, or empty.
        topics: Information about topics, by name, which files may lack.
        count: Number of messages; None if missing.
    """

    storage: str
    files: tuple[str, ...]
    compression_format: str
    compression_mode: str
    topics: dict[str, TopicInformation]
    count: int | None


class UnreadableMetadata(BagError):
    """A metadata.yaml cannot be read."""


def read_metadata(path: Path) -> Metadata:
    """Read a metadata.yaml. Raises UnreadableMetadata, with advice."""
    advice = "`sim_node repair` writes it anew from the files"
    try:
        if path.stat().st_size > MAX_SIZE:
            raise UnreadableMetadata(
                f"{path}: has {path.stat().st_size} bytes, more than the limit of {MAX_SIZE}; {advice}"
            )
        whole = loaded(path.read_text(encoding="utf-8"))
        found = whole["rosbag2_bagfile_information"]
        version = int(found["version"])
        if version > VERSION:
            raise UnreadableMetadata(f"{path}: has version {version}; known: 1 to {VERSION}; {advice}")
        notes = [entry["topic_metadata"] for entry in found.get("topics_with_message_count") or ()]
        mode = str(found.get("compression_mode") or "").lower()
        return Metadata(
            str(found["storage_identifier"]),
            # Older versions prefix them with the bag's name.
            tuple(PurePath(name).name for name in found["relative_file_paths"]),
            str(found.get("compression_format") or ""),
            "" if mode == "none" else mode,
            {topic.name: topic for topic in map(_topic, notes)},
            None if found.get("message_count") is None else int(found["message_count"]),
        )
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f"{mark.line + 1}:{mark.column + 1}: "
        raise UnreadableMetadata(f"{path}:{line or ' '}is not valid YAML; {advice}") from None
    except RecursionError:
        raise UnreadableMetadata(f"{path}: is nested too deeply for rosbag2 metadata; {advice}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else "entries have the wrong form"
        raise UnreadableMetadata(f"{path}: is not rosbag2 metadata: {missing}; {advice}") from None


def _topic(note: dict[str, Any]) -> TopicInformation:
    offered, type_hash = profiles(note.get("offered_qos_profiles")), str(note.get("type_description_hash") or "")
    return TopicInformation(str(note["name"]), str(note["type"]), offered, type_hash)


VERSION = 9
FILE = "metadata.yaml"
# Maximum size of metadata.yaml. Parsing it takes about ten times as much memory.
MAX_SIZE = 16 << 20
# Number of names whose YAML is cached
MAX_TEXTS = 4096
# Names that YAML always reads as strings
_PLAIN = re.compile(r"[A-Za-z/]\w*[/_][\w/.]*", re.ASCII)


@dataclass(frozen=True)
class FileInformation:
    """A file of a bag. Times are those of its messages."""

    name: str
    start_ns: int = 0
    end_ns: int = 0
    count: int = 0


@dataclass(frozen=True)
class BagInformation:
    """The content of metadata.yaml. topics: each with its number of messages; custom: custom data."""

    files: Sequence[FileInformation]
    topics: Sequence[tuple[TopicInformation, int]]
    custom: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the YAML of metadata.yaml, identical for identical content."""
        return "rosbag2_bagfile_information:\n" + indent(self.record(), "  ")

    def record(self) -> str:
        """Return the YAML of the metadata record in a file, without the outermost key."""
        spans = [each for each in self.files if each.count]
        start = min((each.start_ns for each in spans), default=0)
        end = max((each.end_ns for each in spans), default=0)
        begin = {"version": VERSION, "storage_identifier": "mcap", **_span(start, end)}
        names = [_scalar(each.name) for each in self.files]
        return "".join(
            (
                _dumped({**begin, "message_count": sum(each.count for each in self.files)}),
                _listed("topics_with_message_count", (_topic_text(topic, count) for topic, count in self.topics)),
                _dumped({"compression_format": "", "compression_mode": ""}),
                _listed("relative_file_paths", (f"  - {name}\n" for name in names)),
                _listed("files", map(_file_text, names, self.files)),
                _dumped({"custom_data": dict(self.custom) or None, "ros_distro": DISTRIBUTION}),
            )
        )


def _listed(key: str, entries: Iterable[str]) -> str:
    text = "".join(entries)
    return f"{key}:\n{text}" if text else f"{key}: []\n"


def _topic_text(topic: TopicInformation, count: int) -> str:
    profiles = "".join(indent(_profile_text(qos), " " * 8) for qos in topic.qos)
    return (
        f"  - topic_metadata:\n      name: {_scalar(topic.name)}\n      type: {_scalar(topic.type)}\n"
        f"      serialization_format: cdr\n      {_listed('offered_qos_profiles', [profiles])}"
        f"      type_description_hash: {_scalar(topic.type_hash)}\n    message_count: {count}\n"
    )


@lru_cache(MAX_TEXTS)
def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else _dumped([text]).strip().removeprefix("- ")


def _file_text(name: str, file: FileInformation) -> str:
    return (
        f"  - path: {name}\n    duration:\n      nanoseconds: {file.end_ns - file.start_ns}\n    starting_time:\n"
        f"      nanoseconds_since_epoch: {file.start_ns}\n    message_count: {file.count}\n"
    )


def qos_text(offered: Iterable[Qos]) -> str:
    """Format QoS profiles as in MCAP channels."""
    return "".join(map(_profile_text, offered)).strip() or "[]"


def channel_metadata(topic: TopicInformation) -> dict[str, str]:
    """Return the metadata of a topic's MCAP channel."""
    return {"offered_qos_profiles": qos_text(topic.qos), "topic_type_hash": topic.type_hash}


def write(folder: Path, information: BagInformation) -> None:
    """Write metadata.yaml atomically, such that it and the file names survive a power loss."""
    part = folder / f".{FILE}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(information.text())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / FILE)
    for holder in (folder, folder.parent):
        _keep_names(holder)


def _keep_names(folder: Path) -> None:
    """Sync the folder. Some file systems do so themselves and refuse the call."""
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


def _profile_text(qos: Qos) -> str:
    def time(key: str, nanoseconds: int) -> str:
        return f"  {key}:\n    sec: {nanoseconds // 1_000_000_000}\n    nsec: {nanoseconds % 1_000_000_000}\n"

    return (
        f"- history: {qos.history}\n  depth: {qos.depth}\n  reliability: {qos.reliability}\n"
        f"  durability: {qos.durability}\n{time('deadline', qos.deadline_ns)}{time('lifespan', qos.lifespan_ns)}"
        f"  liveliness: {qos.liveliness}\n{time('liveliness_lease_duration', qos.liveliness_lease_ns)}"
        f"  avoid_ros_namespace_conventions: {str(qos.avoid_ros_namespace_conventions).lower()}\n"
    )


class _Dumper(yaml.SafeDumper):
    """Writes lists below their key, like rosbag2, and never anchors."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _dumped(content: Any) -> str:
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6)
    return text
