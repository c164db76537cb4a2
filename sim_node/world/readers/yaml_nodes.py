"""YAML text to located nodes: anchors and merges yes; bombs, object tags and bottomless nesting no."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

from sim_node.world.problems import Problem, Where, WorldError

try:
    from yaml import CSafeLoader as EventLoader
except ImportError:  # PyYAML built without libyaml: the same events, ten times slower
    from yaml import SafeLoader as EventLoader  # type: ignore[assignment]

DEEPEST = 64
# What aliases may expand to, beyond what the file itself holds.
MOST_EXPANDED = 2_000_000
STRING_TAG = "tag:yaml.org,2002:str"
PLAIN_TAGS = frozenset("tag:yaml.org,2002:" + kind for kind in ("str", "int", "float", "bool", "null", "seq", "map"))


@dataclass(slots=True)
class Scalar:
    """A scalar's text; `plain` is False where it was quoted and so can only be a string."""

    text: str
    plain: bool
    line: int
    column: int
    weight: int = 1


@dataclass(slots=True)
class Sequence:
    """The items of a list."""

    items: list[Node]
    line: int
    column: int
    weight: int = 1


@dataclass(slots=True)
class Mapping:
    """Keys and values in the order of the file, merges (`<<`) already taken in."""

    entries: dict[str, tuple[Scalar, Node]]
    line: int
    column: int
    weight: int = 1


Node = Scalar | Sequence | Mapping


def compose(text: str, file: str) -> Node | None:
    """The root node of one YAML document, None where it is empty; raises WorldError."""
    try:
        return _Composer(file).compose(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = Where(file, mark.line + 1, mark.column + 1) if mark else Where(file)
        raise WorldError([Problem(where, "", f"not YAML: {error.problem or error.context}")]) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position] if isinstance(error.position, int) else ""
        where = Where(file, before.count("\n") + 1, len(before) - before.rfind("\n"))
        raise WorldError([Problem(where, "", f"not YAML: {error.reason}")]) from None


class _Composer:
    """Builds nodes from parser events with a stack of its own: libyaml's composer overflows the C stack."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.anchors: dict[str, Node] = {}
        self.expanded = 0

    def compose(self, text: str) -> Node | None:
        loader = EventLoader(text)
        try:
            return self._document(loader)
        finally:
            loader.dispose()

    def _document(self, loader: Any) -> Node | None:
        # A frame of the stack: node, anchor, and for a mapping the key that waits for its value.
        stack: list[tuple[Sequence | Mapping, str | None]] = []
        keys: list[Scalar | None] = []
        root: Node | None = None
        documents = 0
        while True:
            event = loader.get_event()
            kind = type(event)
            mark = event.start_mark
            node: Node
            anchor: str | None = None
            if kind is yaml.ScalarEvent:
                if event.tag is not None:
                    self._refuse_tag(event)
                plain = event.implicit[0] or (event.tag in PLAIN_TAGS and event.tag != STRING_TAG)
                node, anchor = Scalar(event.value, plain, mark.line + 1, mark.column + 1), event.anchor
            elif kind is yaml.SequenceStartEvent or kind is yaml.MappingStartEvent:
                if event.tag is not None:
                    self._refuse_tag(event)
                if len(stack) >= DEEPEST:
                    raise self._fault(event, f"nested deeper than {DEEPEST} levels")
                opened: Sequence | Mapping
                if kind is yaml.SequenceStartEvent:
                    opened = Sequence([], mark.line + 1, mark.column + 1)
                else:
                    opened = Mapping({}, mark.line + 1, mark.column + 1)
                stack.append((opened, event.anchor))
                keys.append(None)
                continue
            elif kind is yaml.SequenceEndEvent or kind is yaml.MappingEndEvent:
                node, anchor = stack.pop()
                keys.pop()
            elif kind is yaml.AliasEvent:
                node = self._alias(event)
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._fault(event, "a second document; a world file holds one")
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
            holder = stack[-1][0]
            holder.weight += node.weight
            if isinstance(holder, Sequence):
                holder.items.append(node)
            elif keys[-1] is None:
                keys[-1] = self._key(event, node)
            else:
                self._insert(event, holder, keys[-1], node)
                keys[-1] = None

    def _key(self, event: Any, node: Node) -> Scalar:
        if not isinstance(node, Scalar):
            raise self._fault(event, "a key must be a word")
        return node

    def _insert(self, event: Any, holder: Mapping, key: Scalar, node: Node) -> None:
        if key.text == "<<" and key.plain:
            sources = node.items if isinstance(node, Sequence) else [node]
            for source in sources:
                if not isinstance(source, Mapping):
                    raise self._fault(event, "a merge (<<) takes a mapping or a list of mappings")
                for name, entry in source.entries.items():
                    holder.entries.setdefault(name, entry)
            return
        there = holder.entries.get(key.text)
        if there is not None and (there[0].line, there[0].column) > (holder.line, holder.column):
            where = Where(self.file, key.line, key.column)
            raise WorldError([Problem(where, key.text, f"stands twice here, first on line {there[0].line}")])
        holder.entries[key.text] = (key, node)

    def _alias(self, event: Any) -> Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise self._fault(event, f"*{event.anchor} names no finished anchor before it")
        self.expanded += node.weight
        if self.expanded > MOST_EXPANDED:
            raise self._fault(event, f"aliases expand to more than {MOST_EXPANDED} values")
        return node

    def _refuse_tag(self, event: Any) -> None:
        if event.tag != "!" and event.tag not in PLAIN_TAGS:
            raise self._fault(event, f"tag {event.tag!r} is refused; world files hold plain values")

    def _fault(self, event: Any, message: str) -> WorldError:
        mark = event.start_mark
        return WorldError([Problem(Where(self.file, mark.line + 1, mark.column + 1), "", message)])
