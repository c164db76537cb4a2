"""Parameters in --ros-args: their nodes, names and locations. Does not need rclpy."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from sim_node.text import did_you_mean
from sim_node.world.problems import Where, WorldError, quoted
from sim_node.world.readers.report import Report
from sim_node.world.readers.yaml_nodes import Mapping, Node, compose

ANY_NODE = "/**"
_VALUES = "ros__parameters"


class Override(NamedTuple):
    """A parameter override: its nodes (a pattern), name and location. where.file is empty for -p."""

    node: str
    name: str
    where: Where

    @property
    def is_of_file(self) -> bool:
        """Whether it is set in a file rather than on the command line."""
        return bool(self.where.file)

    def is_for(self, node: str) -> bool:
        """Return whether it applies to a node, given its full name (/site/simulation)."""
        tokens = [part for part in self.node.split("/") if part]
        pattern = "".join({"**": r"(/\w+)*", "*": r"/\w+"}.get(token, "/" + re.escape(token)) for token in tokens)
        return re.fullmatch(pattern, node) is not None


def overrides(words: Sequence[str]) -> list[Override]:
    """Return all parameters that a command line sets, in order. Invalid ones are left for rclpy to report."""
    found: list[Override] = []
    is_ros = False
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in ("--ros-args", "--"):
            is_ros = word == "--ros-args"
        elif is_ros and word in ("-p", "--param"):
            node, _, name = following.partition(":=")[0].rpartition(":")
            found.append(Override(node or ANY_NODE, name, Where()))
        elif is_ros and word == "--params-file":
            found += _of_file(following)
    return found


def without_effect(given: Sequence[Override], nodes: Collection[str]) -> list[str]:
    """Return warnings about parameters that apply to none of the nodes of a process.

    A file may be shared by several processes: if it sets parameters of these nodes, only names similar to theirs are
    reported.
    """
    lines: dict[tuple[str, str], str] = {}
    files_in_use = {each.where.file for each in given if any(map(each.is_for, nodes))}
    for override in given:
        if any(map(override.is_for, nodes)):
            continue
        hint = did_you_mean(override.node.strip("/"), (node.strip("/") for node in nodes))
        if hint or not override.is_of_file or override.where.file not in files_in_use:
            place = override.where if override.is_of_file else "--ros-args"
            line = f"{place}: no node {quoted(override.node)} here{hint} (here: {', '.join(nodes)})"
            lines.setdefault((override.where.file, override.node), f"{line}; its parameters have no effect")
    return list(lines.values())


def _of_file(file: str) -> Iterator[Override]:
    try:
        root = compose(Path(file).read_text(encoding="utf-8"), Report(file))
    except (OSError, ValueError, WorldError):
        return
    if root is not None:
        yield from _sections(root, "", file)


def _sections(node: Node, name: str, file: str) -> Iterator[Override]:
    """Yield the parameters below node names, which may be nested: site: {simulation: {ros__parameters: ...}}."""
    if not isinstance(node, Mapping):
        return
    for key, (_, value) in node.entries.items():
        if key == _VALUES:
            yield from _values(value, "", name, file)
        else:
            yield from _sections(value, f"{name}/{key.strip('/')}", file)


def _values(node: Node, above: str, of: str, file: str) -> Iterator[Override]:
    """Yield parameters, which may be nested; nested names contain dots."""
    if not isinstance(node, Mapping):
        return
    for key, (place, value) in node.entries.items():
        if isinstance(value, Mapping):
            yield from _values(value, f"{above}{key}.", of, file)
        else:
            yield Override(of, above + key, Where(file, place.line, place.column))
