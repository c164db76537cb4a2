"""metadata.yaml of a bag: read versions 1 to 9 (rosbag2 Dashing to Kilted), and write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePath
from textwrap import indent
from typing import Any

import yaml

from sim_node.recording.bag import BagError
from sim_node.recording.definitions import DISTRIBUTION
from sim_node.recording.qos import profiles
from sim_node.wire.topic import Qos


@dataclass(frozen=True)
class TopicNote:
    """What metadata.yaml states about a topic, for files that do not contain it."""

    type: str
    qos: tuple[Qos, ...]
    type_hash: str


@dataclass(frozen=True)
class Metadata:
    """The content of metadata.yaml that reading needs.

    Attributes:
        files: File names, in the order of time.
        compression_mode: file, message or empty.
        compression_format: Such as zstd, or empty.
        topics: Notes by name.
    """

    storage: str
    files: tuple[str, ...]
    compression_format: str
    compression_mode: str
    topics: dict[str, TopicNote]


def read_metadata(path: Path) -> Metadata:
    """Read a metadata.yaml. Raises BagError, with advice."""
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
            # Older versions prefix them with the bag's name.
            tuple(PurePath(name).name for name in found["relative_file_paths"]),
            str(found.get("compression_format") or ""),
            "" if mode == "none" else mode,
            {str(note["name"]): _note(note) for note in notes},
        )
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = "" if mark is None else f"{mark.line + 1}:{mark.column + 1}: "
        raise BagError(f"{path}:{line or ' '}is not valid YAML; {advice}") from None
    except RecursionError:
        raise BagError(f"{path}: is nested too deeply for rosbag2 metadata; {advice}") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        missing = f"{error} is missing" if isinstance(error, KeyError) else "entries have the wrong form"
        raise BagError(f"{path}: is not rosbag2 metadata: {missing}; {advice}") from None


def _note(note: dict[str, Any]) -> TopicNote:
    offered = profiles(note.get("offered_qos_profiles"))
    return TopicNote(str(note["type"]), offered, str(note.get("type_description_hash") or ""))


VERSION = 9
FILE = "metadata.yaml"
# Of topics and files, whose YAML is kept.
MAX_TEXTS = 4096


@dataclass(frozen=True)
class FileInformation:
    """One file of a bag; times are of its messages."""

    name: str
    start_ns: int = 0
    end_ns: int = 0
    count: int = 0


@dataclass(frozen=True)
class TopicInformation:
    """One topic of a bag. type: package/msg/Name; qos: offered by its publishers."""

    name: str
    type: str
    qos: tuple[Qos, ...]
    type_hash: str


@dataclass(frozen=True)
class BagInformation:
    """The content of metadata.yaml. topics: each with the number of its messages; custom: custom data."""

    files: Sequence[FileInformation]
    topics: Sequence[tuple[TopicInformation, int]]
    custom: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Return the YAML of metadata.yaml, identical for identical content."""
        return "rosbag2_bagfile_information:\n" + indent(self.record(), "  ")

    def record(self) -> str:
        """Return the YAML of the metadata record within a file, without the outermost key."""
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
    return f"{_topic_metadata(topic)}    message_count: {count}\n"


# Texts are kept because a bag writes them with each of its files, and PyYAML takes a millisecond for a topic.
@lru_cache(MAX_TEXTS)
def _topic_metadata(topic: TopicInformation) -> str:
    return _dumped({"topics": [{"topic_metadata": _topic(topic)}]}).partition("\n")[2]


@lru_cache(MAX_TEXTS)
def _scalar(text: str) -> str:
    return _dumped([text]).strip().removeprefix("- ")


def _file_text(name: str, file: FileInformation) -> str:
    return (
        f"  - path: {name}\n    duration:\n      nanoseconds: {file.end_ns - file.start_ns}\n    starting_time:\n"
        f"      nanoseconds_since_epoch: {file.start_ns}\n    message_count: {file.count}\n"
    )


def qos_text(offered: Iterable[Qos]) -> str:
    """Return QoS profiles as MCAP channels contain them."""
    return _profiles_text(tuple(offered))


@lru_cache(MAX_TEXTS)
def _profiles_text(offered: tuple[Qos, ...]) -> str:
    return _dumped([_qos(each) for each in offered]).strip()


def write(folder: Path, information: BagInformation) -> None:
    """Write metadata.yaml atomically, so that it and the names of the files survive a power loss."""
    part = folder / f".{FILE}.part"
    with part.open("w", encoding="utf-8") as file:
        file.write(information.text())
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, folder / FILE)
    for holder in (folder, folder.parent):
        _keep_names(holder)


def _keep_names(folder: Path) -> None:
    """Sync the folder. Some file systems do so by themselves and refuse the call."""
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
