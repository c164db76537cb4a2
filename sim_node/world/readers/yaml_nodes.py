"""YAML text to located nodes.

Anchors and merges are supported; object tags, deep nesting and alias bombs are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from sim_node.world.problems import Problem, Where, WorldError, quoted, shown_key
from sim_node.world.readers.report import Report
from sim_node.world.readers.unread import Inner

try:
    from yaml import CSafeLoader as EventLoader
except ImportError:  # PyYAML without libyaml: the same events, ten times slower
    from yaml import SafeLoader as EventLoader  # type: ignore[assignment]

MAX_DEPTH = 64
_WHOLE = re.compile(r"-?[0-9]{1,18}")
# Maximum number of values that the aliases of a file may expand to, in addition to the number of its characters.
FREE_EXPANSION = 100_000
STRING_TAG = "tag:yaml.org,2002:str"
PLAIN_TAGS = frozenset("tag:yaml.org,2002:" + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))


@dataclass(slots=True)
class Scalar:
    """A scalar's text. `plain` is False if it was quoted, and thus can only be a string. read: see `unread`."""

    text: str
    plain: bool
    line: int
    column: int
    weight: int = 1
    read: bool = False

    def within(self, key: str) -> tuple[()]:
        """Return nothing: a scalar has no parts."""
        return ()


@dataclass(slots=True)
class Sequence:
    """The items of a list."""

    items: list[Node]
    line: int
    column: int
    weight: int = 1
    read: bool = False

    def within(self, key: str) -> Iterator[Inner]:
        """Yield its items."""
        for index, item in enumerate(self.items):
            yield Inner(f"{key}[{index}]", (item.line, item.column), item)


@dataclass(slots=True)
class Mapping:
    """Keys and values in the order of the file, then those of merges (`<<`)."""

    entries: dict[str, tuple[Scalar, Node]]
    line: int
    column: int
    weight: int = 1
    read: bool = False

    def within(self, key: str) -> Iterator[Inner]:
        """Yield its values, each at its key."""
        for name, (at, value) in self.entries.items():
            yield Inner(f"{key}.{shown_key(name)}" if key else shown_key(name), (at.line, at.column), value)


Node = Scalar | Sequence | Mapping


def compose(text: str, report: Report) -> Node | None:
    """Return the root node of one YAML document, or None if it is empty.

    Duplicate keys and the like are added to `report`. Raises WorldError if reading cannot continue.
    """
    unprintable = yaml.reader.Reader.NON_PRINTABLE.search(text)
    if unprintable:
        before = text[: unprintable.start()]
        where = Where(report.file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise WorldError([Problem(where, "", f"not YAML: character {unprintable.group()!a} is not allowed")])
    try:
        return _Composer(text, report).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Where(report.file, mark.line + 1, mark.column + 1) if mark else Where(report.file)
        raise WorldError([Problem(where, "", f"not YAML: {_explained(error, text)}")]) from None


def _explained(error: yaml.MarkedYAMLError, text: str) -> str:
    """Return the fault, as in `did not find expected ',' while parsing a flow sequence that begins on line 3`."""
    begin, mark = error.context_mark, error.problem_mark
    since = f" that begins on line {begin.line + 1}" if begin and error.context else ""
    hint = ""
    if mark and "flow" in (error.context or ""):  # as in {formula: always pose[rover].x > 0}
        line = (text.splitlines()[mark.line :] or [""])[0]
        bracket = re.compile(r"(?<=\S)[\[{]").match(line, mark.column)
        hint = f"; a text with {bracket[0]} needs quotes here" if bracket else ""
    return f"{error.problem or ''} {error.context or ''}{since}{hint}".strip()


@dataclass(slots=True)
class _Open:
    """A list or mapping that has not ended. `key` is waiting for its value, `merges` for the end of the mapping."""

    node: Sequence | Mapping
    anchor: str | None
    key: Scalar | None = None
    merges: list[Node] | None = None


class _Composer:
    """Builds nodes from parser events with its own stack: libyaml's composer would overflow the C stack."""

    def __init__(self, text: str, report: Report) -> None:
        self.loader: Any = EventLoader(text)
        self.report = report
        self.anchors: dict[str, Node] = {}
        self.expandable = FREE_EXPANSION + len(text)

    def document(self) -> Node | None:
        try:
            return self._document()
        finally:
            self.loader.dispose()

    def _document(self) -> Node | None:
        stack: list[_Open] = []
        root: Node | None = None
        documents = 0
        while True:
            event = self.loader.get_event()
            kind = type(event)
            mark = event.start_mark
            node: Node
            anchor: str | None = None
            if kind is yaml.ScalarEvent:
                if event.tag is not None:
                    self._check_tag(event)
                plain = event.implicit[0] or (event.tag in PLAIN_TAGS and event.tag != STRING_TAG)
                node, anchor = Scalar(event.value, plain, mark.line + 1, mark.column + 1), event.anchor
            elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
                stack.append(self._opened(event, len(stack)))
                continue
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                done = stack.pop()
                if done.merges:
                    _merge(done)
                node, anchor = done.node, done.anchor
            elif kind is yaml.AliasEvent:
                node = self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._fault(event, "a second document; a world file has only one")
                continue
            elif kind is yaml.StreamEndEvent:
                return root
            else:
                continue
            if anchor is not None:
                self.anchors[anchor] = node
            if not stack:
                root = node
                continue
            # Inlined, because it is done for each scalar of a file.
            top = stack[-1]
            holder = top.node
            holder.weight += node.weight
            if isinstance(holder, Sequence):
                holder.items.append(node)
            elif top.key is None:
                top.key = self._key(node)
            else:
                self._insert(top, holder, top.key, node)
                top.key = None

    def _opened(self, event: Any, depth: int) -> _Open:
        if event.tag is not None:
            self._check_tag(event)
        if depth >= MAX_DEPTH:
            raise self._fault(event, f"nested deeper than {MAX_DEPTH} levels")
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        is_list = type(event) is yaml.SequenceStartEvent
        return _Open(Sequence([], line, column) if is_list else Mapping({}, line, column), event.anchor)

    def _key(self, node: Node) -> Scalar:
        if isinstance(node, Scalar):
            return node
        raise WorldError([Problem(Where(self.report.file, node.line, node.column), "", "a key must be a word")])

    def _insert(self, top: _Open, holder: Mapping, key: Scalar, node: Node) -> None:
        at = key.line, key.column
        if key.text == "<<" and key.plain:
            sources = node.items if isinstance(node, Sequence) else [node]
            if all(isinstance(source, Mapping) for source in sources):
                top.merges = (top.merges or []) + sources
            else:
                self.report.error("needs a mapping or a list of mappings", at, "<<")
        elif key.text in holder.entries:
            first = holder.entries[key.text][0]
            self.report.error(f"is a duplicate, the first is on line {first.line}", at, shown_key(key.text))
        else:
            holder.entries[key.text] = (key, node)

    def _alias(self, event: Any) -> Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise self._fault(event, f"{quoted('*' + event.anchor)} does not refer to an earlier, complete anchor")
        self.expandable -= node.weight
        if self.expandable < 0:
            raise self._fault(event, "aliases expand to more values than allowed")
        return node

    def _check_tag(self, event: Any) -> None:
        if event.tag != "!" and event.tag not in PLAIN_TAGS:
            raise self._fault(event, f"tag {quoted(event.tag)} is refused; world files contain plain values only")

    def _fault(self, event: Any, message: str) -> WorldError:
        mark = event.start_mark
        return WorldError([Problem(Where(self.report.file, mark.line + 1, mark.column + 1), "", message)])


def _merge(done: _Open) -> None:
    """Add the entries of merged mappings that the mapping does not have. The first of several takes precedence."""
    assert isinstance(done.node, Mapping)
    for source in done.merges or ():
        assert isinstance(source, Mapping)
        for name, entry in source.entries.items():
            done.node.entries.setdefault(name, entry)


def plain_of(node: Node) -> Any:
    """Return a node as plain data, all of it read. Whole numbers are int, so that they are written as they were."""
    node.read = True
    if isinstance(node, Mapping):
        return {name: plain_of(value) for name, (_, value) in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain_of(item) for item in node.items]
    if not node.plain:
        return node.text
    words = {"true": True, "false": False, "null": None, "~": None, "": None}
    if node.text in words:
        return words[node.text]
    if _WHOLE.fullmatch(node.text):
        return int(node.text)
    try:
        return float(node.text)
    except ValueError:  # a word of a YAML file
        return node.text
