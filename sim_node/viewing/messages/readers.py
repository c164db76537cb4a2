"""The registry of readers: what turns the messages of a type into drawings, for all viewers and exports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sim_node.moved import renamed
from sim_node.registry import Registry
from sim_node.viewing.messages.drawing import Drawing


@dataclass
class Datum:
    """Where the fixed frame is on Earth: LLA, degrees and metres above the ellipsoid; None until a fix gives it."""

    lla: tuple[float, float, float] | None = None


@dataclass
class Lenses:
    """The cameras that CameraInfo messages describe.

    Attributes:
        by_topic: Horizontal and vertical fields of view, rad, by the topics of the messages.
        by_frame: The same by optical frames.
        with_images: Topics of messages to which there are images.
    """

    by_topic: dict[str, tuple[float, float]] = field(default_factory=dict)
    by_frame: dict[str, tuple[float, float]] = field(default_factory=dict)
    with_images: set[str] = field(default_factory=set)


class Beside(NamedTuple):
    """What the other sources of a scene have.

    Attributes:
        frames: Names of their frames.
        drawn: Names of the frames that have shapes.
        topics: Topics that are drawn or that formulas name.
        origin: Latitude, longitude (degrees) and altitude (m) of the world's origin, or None.
    """

    frames: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    origin: tuple[float, float, float] | None = None


# Of the only source of a scene.
ALONE = Beside()


@dataclass(frozen=True)
class ReaderContext:
    """What a reader may know besides messages.

    Attributes:
        topic: The topic.
        datum: The origin, which all topics of a view share.
        lenses: The cameras, which all topics of a view share.
        left_out: Namespaces of markers that are shown otherwise.
        drawn: Frames whose shapes are shown otherwise: our simulations' markers of shapes in them are left out.
    """

    topic: str
    datum: Datum = field(default_factory=Datum)
    lenses: Lenses = field(default_factory=Lenses)
    left_out: frozenset[str] = frozenset()
    drawn: frozenset[str] = frozenset()


# Reads a message, of rclpy or of rosbags. Raises ValueError for one that cannot be shown.
Read = Callable[[Any], Drawing]


@dataclass(frozen=True)
class Reader:
    """How a type is read.

    Attributes:
        open: Returns what reads the messages of a topic, in order; it may remember earlier ones.
        every: Whether each message counts; otherwise the newest is enough.
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
    """Return a decorator that registers what opens a reader of message types, such as "nav_msgs/msg/Path"."""

    def enter(open_: Callable[[ReaderContext], Read]) -> Callable[[ReaderContext], Read]:
        READERS.add(*types, module=open_.__module__)(Reader(open_, every))
        return open_

    return enter


def stateless(read: Read) -> Callable[[ReaderContext], Read]:
    """Return the opener of a reader that remembers nothing."""
    return lambda scope: read


__getattr__ = renamed(__name__, Scope="ReaderContext")
