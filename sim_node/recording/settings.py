"""How a recording is made: which topics, in what files, how much of the disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import translate
from typing import Any

COMPRESSIONS = ("none", "lz4", "zstd")
WHEN_FULL = ("go_on", "end")
# A name begins with a slash and has letters, digits and underscores; globs have * ? [ ] ! - beside them.
_TOPICS = re.compile(r"[/*?\[][\w/*?!\[\]-]*", re.ASCII)
# Left free on the disk: what is left when a recording stops has to do for everybody else.
SPARE_BYTES = 256 * 1024 * 1024
# Below this no bag is worth its metadata.
MIN_BYTES = 100_000


class SettingsFault(Exception):
    """Settings with which no recording can be made; the message names the setting. A mistake of the user's."""


@dataclass(frozen=True)
class Settings:
    """How a recording is made. Raises SettingsFault.

    topics, exclude: patterns of topics' names; all topics without `topics`. A pattern is a name, a glob (/drone/*) or,
    after `re:`, a regular expression; it has to fit the whole name. compression: none, lz4 or zstd, of chunks.
    split_bytes, split_ns: another file is begun above this size or after this time; 0 for one file. snapshot_ns: so
    much is kept in memory, and written when it is asked for; 0 writes everything. max_bytes: of the whole bag, 0 for
    no limit; spare_bytes: kept free on the disk. when_full: whether the run goes on without its recording, or ends.
    durable: whether each chunk is on the disk before the next is begun, rather than each file once it is closed.
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
                    needed = "a name (/tf), a glob (/drone/*) or re:EXPRESSION is needed, and spaces between several"
                    raise SettingsFault(f"{name}: {pattern!r} fits no topic; {needed}")
                _expression(pattern)

    def wants(self, topic: str) -> bool:
        """Whether a topic of this name is recorded."""
        if any(_expression(pattern).fullmatch(topic) for pattern in self.exclude):
            return False
        return not self.topics or any(_expression(pattern).fullmatch(topic) for pattern in self.topics)


def from_options(options: Mapping[str, Any]) -> Settings:
    """Settings as people give them, with lengths in seconds, sizes in MB, topics in one text, separated by spaces.

    Options that are absent or None are as Settings has them. Raises SettingsFault.
    """
    given = {name: value for name, value in options.items() if value is not None}
    return Settings(
        topics=tuple(given.get("topics", "").split()),
        exclude=tuple(given.get("exclude", "").split()),
        compression=given.get("compression", Settings.compression),
        split_bytes=round(given.get("split_size", 0.0) * 1e6),
        split_ns=round(given.get("split_duration", 0.0) * 1e9),
        snapshot_ns=round(given.get("snapshot", 0.0) * 1e9),
        max_bytes=round(given.get("max_disk", 0.0) * 1e6),
        when_full=given.get("when_full", Settings.when_full),
        durable=given.get("durable", Settings.durable),
    )


def is_topic_pattern(word: str) -> bool:
    """Whether a word can fit the name of a topic: as a name, as a glob, or as re:EXPRESSION."""
    return word.startswith("re:") or _TOPICS.fullmatch(word) is not None


def _expression(pattern: str) -> re.Pattern[str]:
    if not pattern.startswith("re:"):
        return re.compile(translate(pattern))
    try:
        return re.compile(pattern[3:])
    except re.error as error:
        raise SettingsFault(f"topics: {pattern!r} is no regular expression: {error}") from None
