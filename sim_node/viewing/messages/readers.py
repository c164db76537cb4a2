"""The registry of readers, which convert the messages of a type to drawings, for all viewers and exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sim_node.moved import renamed
from sim_node.registry import Registry
from sim_node.viewing.messages.drawing import Drawing


@dataclass
class Datum:
    """The origin of the fixed frame: LLA, degrees and metres above the ellipsoid; None until a fix determines it."""

    lla: tuple[float, float, float] | None = None


@dataclass
class Lenses:
    """The cameras described by CameraInfo messages.

    Attributes:
        by_topic: Horizontal and vertical field of view, rad, by CameraInfo topic.
        by_frame: The same by optical frame.
        with_images: CameraInfo topics for which there are images.
    """

    by_topic: dict[str, tuple[float, float]] = field(default_factory=dict)
    by_frame: dict[str, tuple[float, float]] = field(default_factory=dict)
    with_images: set[str] = field(default_factory=set)


class Beside(NamedTuple):
    """What the other sources of a scene provide.

    Attributes:
        frames: Names of their frames.
        drawn: Names of the frames that have shapes.
        topics: Topics that are drawn or used by formulas.
        origin: Latitude, longitude (degrees) and altitude (m) of the world's origin, or None.
    """

    frames: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    origin: tuple[float, float, float] | None = None


# For the only source of a scene
ALONE = Beside()


@dataclass(frozen=True)
class ReaderContext:
    """What a reader may use besides messages.

    Attributes:
        topic: The topic.
        datum: The origin, shared by all topics of a view.
        lenses: The cameras, shared by all topics of a view.
        left_out: Namespaces of markers that are shown in another way.
        drawn: Frames whose shapes are shown in another way; our simulations' markers for them are left out.
    """

    topic: str
    datum: Datum = field(default_factory=Datum)
    lenses: Lenses = field(default_factory=Lenses)
    left_out: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()


# Reads a message of rclpy or of rosbags. Raises ValueError for messages that cannot be shown.
Read = Callable[[Any], Drawing]


@dataclass(frozen=True)
class Reader:
    """How messages of a type are read.

    Attributes:
        open: Returns a function that reads the messages of a topic, in order. It may keep state.
        every: Whether every message has to be read; otherwise the newest is sufficient.
    """

    open: Callable[[ReaderContext], Read]
    every: bool = False


_ROOM = "sim_node.viewing.messages"
_FAMILIES = ("clouds", "scans", "images", "stamped_poses", "fixes", "markers", "grids")
READERS: Registry[str, Reader] = Registry(
    "reader of messages",
    shipped=tuple(f"{_ROOM}.{family}" for family in _FAMILIES),
    group="sim_node.message_readers",
)


def reader(
    *types: str, every: bool = False
) -> Callable[[Callable[[ReaderContext], Read]], Callable[[ReaderContext], Read]]:
    """Return a decorator that registers a factory of readers for message types such as "nav_msgs/msg/Path"."""

    def enter(open_: Callable[[ReaderContext], Read]) -> Callable[[ReaderContext], Read]:
        READERS.add(*types, module=open_.__module__)(Reader(open_, every))
        return open_

    return enter


def stateless(read: Read) -> Callable[[ReaderContext], Read]:
    """Return a factory for a stateless reader."""
    return lambda scope: read


__getattr__ = renamed(__name__, Scope="ReaderContext")
