"""Settings of a recording: which topics, in what files, how much disk space."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

COMPRESSIONS = ("none", "lz4", "zstd")
WHEN_FULL = ("go_on", "end")
# A name starts with a slash and has letters, digits and underscores; globs also have * ? [ ] ! -.
_TOPICS = re.compile(r"[/*?\[][\w/*?!\[\]-]*", re.ASCII)
_WILD = re.compile(r"[*?\[]")
# Disk space that a recording leaves free for other programs
SPARE_BYTES = 256 * 1024 * 1024
# A smaller bag could hold little more than its metadata.
MIN_BYTES = 100_000


class SettingsFault(Exception):
    """Invalid settings. The message names the setting. A user error."""


@dataclass(frozen=True)
class RecordingSettings:
    """Settings of a recording.

    Attributes:
        topics: Patterns of the topics to record; empty for all. A pattern is a name, a glob (/drone/*) or, after `re:`,
            a regular expression; it must match the whole name.
        exclude: Patterns of topics to leave out.
        compression: Compression of chunks: none, lz4 or zstd.
        split_bytes: Size above which a new file is started; 0 for never.
        split_ns: Time after which a new file is started; 0 for never.
        snapshot_ns: Time kept in memory and written on request; 0 writes everything.
        max_bytes: Maximum size of the bag; 0 for no limit.
        spare_bytes: Disk space kept free.
        when_full: Whether the run continues without its recording, or ends.
        durable: Whether to sync each chunk to disk, instead of each file when it is closed.

    Raises:
        SettingsFault: A setting is invalid.
    """

    topics: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    compression: str = "zstd"
    split_bytes: int = 0
    split_ns: int = 0
    snapshot_ns: int = 0
    max_bytes: int = 0
    spare_bytes: int = SPARE_BYTES
    when_full: str = "go_on"
    durable: bool = False

    def __post_init__(self) -> None:
        for name, words in (("compression", COMPRESSIONS), ("when_full", WHEN_FULL)):
            if getattr(self, name) not in words:
                raise SettingsFault(f"{name}: found {getattr(self, name)!r}; allowed: {', '.join(words)}")
        for name in ("split_bytes", "split_ns", "snapshot_ns", "max_bytes", "spare_bytes"):
            if getattr(self, name) < 0:
                raise SettingsFault(f"{name}: found {getattr(self, name)}; 0 or more is needed")
        for name in ("split_bytes", "max_bytes"):
            if 0 < getattr(self, name) < MIN_BYTES:
                raise SettingsFault(f"{name}: found {getattr(self, name)}; at least {MIN_BYTES} bytes are needed")
        for name in ("topics", "exclude"):
            for pattern in getattr(self, name):
                if not is_topic_pattern(pattern):
                    needed = "a name (/tf), a glob (/drone/*) or re:EXPRESSION is needed, separated by spaces"
                    raise SettingsFault(f"{name}: {pattern!r} cannot match a topic; {needed}")
                _expression(pattern)

    def wants(self, topic: str) -> bool:
        """Return whether a topic is recorded.

        Args:
            topic: Absolute name.

        Returns:
            Whether it matches `topics` and not `exclude`.
        """
        if any(_expression(pattern).fullmatch(topic) for pattern in self.exclude):
            return False
        return not self.topics or any(_expression(pattern).fullmatch(topic) for pattern in self.topics)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _megabytes(size: float) -> int:
    return round(size * 1e6)


def _nanoseconds(seconds: float) -> int:
    return round(seconds * 1e9)


# User options: the setting of each, and how it is parsed.
OPTIONS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "topics": ("topics", _words),
    "exclude": ("exclude", _words),
    "compression": ("compression", str),
    "split_size": ("split_bytes", _megabytes),
    "split_duration": ("split_ns", _nanoseconds),
    "snapshot": ("snapshot_ns", _nanoseconds),
    "max_disk": ("max_bytes", _megabytes),
    "min_free": ("spare_bytes", _megabytes),
    "when_full": ("when_full", str),
    "durable": ("durable", bool),
}


def from_options(options: Mapping[str, Any]) -> RecordingSettings:
    """Return settings from user options: times in seconds, sizes in MB, topics in one string separated by spaces.

    Options that are missing or None keep the defaults. Raises SettingsFault.
    """
    given = {name: value for name, value in options.items() if value is not None}
    return RecordingSettings(**{key: read(given[name]) for name, (key, read) in OPTIONS.items() if name in given})


def unmatched(patterns: Collection[str], names: Collection[str]) -> list[str]:
    """Return the patterns that match none of the names, in order.

    Args:
        patterns: `topics` or `exclude` of Settings. For `topics`, excluded topics also count as matches.
        names: Absolute names of topics.

    Returns:
        The patterns.
    """
    return [pattern for pattern in patterns if not any(map(_expression(pattern).fullmatch, names))]


def is_topic_pattern(word: str) -> bool:
    """Return whether a word can match the name of a topic: a name, a glob, or re:EXPRESSION."""
    return word.startswith("re:") or _TOPICS.fullmatch(word) is not None


def is_name(pattern: str) -> bool:
    """Return whether a pattern is the name of one topic."""
    return not pattern.startswith("re:") and not _WILD.search(pattern)


def _expression(pattern: str) -> re.Pattern[str]:
    if not pattern.startswith("re:"):
        return re.compile(translate(pattern))
    try:
        return re.compile(pattern[3:])
    except re.error as error:
        raise SettingsFault(f"topics: {pattern!r} is not a regular expression: {error}") from None
