"""metadata.yaml of a bag: read as rosbag2 wrote it from Dashing to Kilted (versions 1 to 9), and written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

import yaml

from sim_node.recording.bag import BagError
from sim_node.recording.definitions import DISTRIBUTION
from sim_node.recording.qos import profiles
from sim_node.wire.topic import Qos


@dataclass(frozen=True)
class TopicNote:
    """What metadata.yaml knows of a topic, for files that do not say it themselves."""

    type: str
    qos: tuple[Qos, ...]
    type_hash: str


@dataclass(frozen=True)
class Metadata:
    """files: their names, in the order of time. compression_mode: file, message or empty; topics: notes by name."""

    storage: str
    files: tuple[str, ...]
    compression_format: str
    compression_mode: str
    topics: dict[str, TopicNote]


def read_metadata(path: Path) -> Metadata:
    """Raises BagError, with what helps."""
    advice = "move it away to read the files by themselves, or run `sim_node repair`"
    try:
        whole = yaml.safe_load(path.read_text(encoding="utf-8"))
        found = whole["rosbag2_bagfile_information"]
        version = int(found["version"])
        if version > VERSION:
            raise BagError(f"{path}: has version {version}; known: 1 to {VERSION}; {advice}")
        notes = [entry["topic_metadata"] for entry in found.get("topics_with_message_count") or ()]
        mode = str(found.get("compression_mode") or "").lower()
        return Metadata(
            str(found["storage_identifier"]),
            # Older versions have them below the bag's name, relative to where it was recorded.
            tuple(PurePath(name).name for name in found["relative_file_paths"]),
            str(found.get("compression_format") or ""),
            "" if mode == "none" else mode,
            {str(note["name"]): _note(note) for note in notes},
        )
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f"{mark.line + 1}:{mark.column + 1}: "
        raise BagError(f"{path}:{line or ' '}is no YAML; {advice}") from None
    except RecursionError:
        raise BagError(f"{path}: is nested too deep for rosbag2 metadata; {advice}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else "has not the entries of one"
        raise BagError(f"{path}: is no rosbag2 metadata: {missing}; {advice}") from None


def _note(note: dict[str, Any]) -> TopicNote:
    offered = profiles(note.get("offered_qos_profiles"))
    return TopicNote(str(note["type"]), offered, str(note.get("type_description_hash") or ""))


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
