"""Descriptions of a tree: records, indented text, a Graphviz graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sim_node.names import convention
from sim_node.spatial.tree.errors import seconds
from sim_node.text import printable

# Lines of the tree: to the last child, to any other child, and past other children.
LINES = ("└─ ", "├─ ", "│  ")
_ASCII_LINES = ("`- ", "|- ", "|  ")


class FrameInfo(NamedTuple):
    """Description of a frame.

    Attributes:
        name: The frame.
        parent: Its parent; None for a root.
        kind: root, dynamic, static or promoted.
        stored: Number of stored transforms.
        oldest_ns: Stamp of the oldest transform; None for a root.
        newest_ns: Stamp of the newest transform; None for a root.
        rate_hz: Mean rate of the transforms (Hz); None for fewer than two.
    """

    name: str
    parent: str | None
    kind: str
    stored: int
    oldest_ns: int | None
    newest_ns: int | None
    rate_hz: float | None

    @property
    def convention(self) -> str:
        """The convention of its axes, determined by its name; see `names.convention`."""
        return convention(self.name, is_root=self.parent is None)


def as_dict(frames: Sequence[FrameInfo]) -> dict[str, dict[str, Any]]:
    """Return `{name: {parent, kind, ..., rate_hz, convention}}`, plain values for JSON and YAML."""
    return {
        frame.name: {
            **{key: value for key, value in frame._asdict().items() if key != "name"},
            "convention": frame.convention,
        }
        for frame in frames
    }


def remark(frame: FrameInfo) -> str:
    """Return a short remark on a frame: its kind, or its rate and newest stamp."""
    if frame.kind == "root":
        return ""
    if frame.kind != "dynamic":
        return frame.kind
    rate = f"{frame.rate_hz:.1f} Hz, " if frame.rate_hz is not None else ""
    return f"{rate}newest {seconds(frame.newest_ns or 0)}"


def lines_in(encoding: str | None) -> Sequence[str]:
    """Return LINES, or ASCII replacements if a stream with this encoding cannot write them."""
    try:
        "".join(LINES).encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return _ASCII_LINES
    return LINES


def as_text(
    frames: Sequence[FrameInfo], remark: Callable[[FrameInfo], str] = remark, drawn: Sequence[str] = LINES
) -> str:
    """Return a line per frame with its axes, children indented below their parent, in the order they were added in."""
    rows = ((lead + printable(each.name), each.convention, remark(each)) for each, lead in branches(frames, drawn))
    return "\n".join("  ".join(row).rstrip() for row in rows)


def branches(frames: Sequence[FrameInfo], drawn: Sequence[str] = LINES) -> Iterator[tuple[FrameInfo, str]]:
    """Yield each frame, parents first, with the lines of the tree before its name."""
    last_line, other_line, beside = drawn
    children = _children(frames)
    # No recursion: chains may be deeper than Python's stack.
    stack = [(root, "", "") for root in reversed(children[None])]
    while stack:
        frame, lead, indent = stack.pop()
        yield frame, lead
        below = children.get(frame.name, [])
        for i in reversed(range(len(below))):
            last = i == len(below) - 1
            lead = indent + (last_line if last else other_line)
            stack.append((below[i], lead, indent + ("   " if last else beside)))


def as_dot(frames: Sequence[FrameInfo]) -> str:
    """Return a graph for Graphviz (`dot -Tsvg`). Static edges are dashed."""
    return "\n".join(["digraph transforms {", *_dot_lines(frames), "}"])


def _children(frames: Sequence[FrameInfo]) -> dict[str | None, list[FrameInfo]]:
    children: dict[str | None, list[FrameInfo]] = {None: []}
    for frame in frames:
        children.setdefault(frame.parent, []).append(frame)
    return children


def _dot_lines(frames: Sequence[FrameInfo]) -> Iterator[str]:
    for frame in frames:
        yield f"  {_quoted(frame.name)};"
    for frame in frames:
        if frame.parent is not None:
            style = "" if frame.kind == "dynamic" else ", style=dashed"
            label = _quoted(remark(frame))
            yield f"  {_quoted(frame.parent)} -> {_quoted(frame.name)} [label={label}{style}];"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
