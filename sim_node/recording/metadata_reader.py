"""metadata.yaml beside the files of a bag, as rosbag2 wrote it from Dashing to Kilted (versions 1 to 9)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import yaml

from sim_node.recording.bag import BagError
from sim_node.recording.metadata import VERSION
from sim_node.recording.qos_profiles import profiles
from sim_node.wire.qos import Qos


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
