"""Elements and text of XML files, with their locations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sim_node.world.readers.report import LineColumn, Report
from sim_node.world.readers.unread import Inner

# Attributes preserve these only as references: XML 1.0, section 3.3.3.
_WHITE = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def escape(text: str) -> str:
    """Escape a text for the content of an element, or for quotes that it does not contain."""
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


def unescape(text: str) -> str:
    """Reverse `escape`."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def quoteattr(text: str) -> str:
    """Return a text as the value of an attribute, with quotes."""
    text = escape(text)
    for character, reference in _WHITE.items():
        text = text.replace(character, reference)
    if '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', "&quot;") + '"'


MAX_DEPTH = 200
_LINE_END = re.compile(r"\r\n|\r|\n")
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass
class XmlAttribute:
    """The text of an attribute, and the location of its name. read: see `unread`."""

    text: str
    at: LineColumn
    read: bool = field(default=False, compare=False)

    def within(self, key: str) -> tuple[()]:
        """Return nothing: an attribute has no parts."""
        return ()


@dataclass
class Element:
    """An element: its tag, attributes and children, its text, and its file.

    Attributes and children may be changed. stated: those that the file has; read: see `unread`.
    """

    tag: str
    at: LineColumn
    attributes: dict[str, XmlAttribute] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: XmlAttribute | None = None
    file: str = ""
    read: bool = field(default=False, compare=False)
    stated: list[Inner] = field(default_factory=list, compare=False)

    def all(self, tag: str) -> list[Element]:
        """Return the children with a tag, as read."""
        found = [child for child in self.children if child.tag == tag]
        self.read = True
        for child in found:
            child.read = True
        return found

    def get(self, attribute: str, default: str = "") -> str:
        """Return the text of an attribute, as read, or the default."""
        found = self.attributes.get(attribute)
        self.read = True
        if found is None:
            return default
        found.read = True
        return found.text

    def beside(self, tag: str, *children: Element, **attributes: str) -> Element:
        """Return a new element with the location of this one."""
        located = {key: XmlAttribute(text, self.at) for key, text in attributes.items()}
        return Element(tag, self.at, located, list(children), file=self.file)

    def within(self, key: str) -> list[Inner]:
        """Return what the file has in it."""
        return self.stated

    def descendants(self) -> Iterator[Element]:
        """Yield the element and everything below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


def compose_xml(text: str, report: Report) -> Element | None:
    """Return the root element of a text, or None with the fault in `report`."""
    # Imported here: the import takes longer than reading most worlds.
    from xml.sax import SAXParseException
    from xml.sax.handler import ContentHandler

    from defusedxml.common import DefusedXmlException
    from defusedxml.expatreader import create_parser

    lines = _Lines(text)
    holder = Element("", (0, 0))
    stack, texts = [holder], [list[str]()]

    class Build(ContentHandler):
        """Grows the tree; the parser calls it."""

        def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802  the interface's name
            at = _position(parser)
            element = Element(
                name, at, {key: XmlAttribute(value, at) for key, value in attrs.items()}, file=report.file
            )
            _locate_attributes(element, lines)
            if len(stack) > MAX_DEPTH:
                raise SAXParseException(f"nested deeper than {MAX_DEPTH} levels", None, parser)
            above = stack[-1]
            above.children.append(element)
            above.stated.append(Inner(f"{above.tag}.{name}", at, element, element.file))
            for key, attribute in element.attributes.items():
                element.stated.append(Inner(f"{name}.{key}", attribute.at, attribute, element.file))
            stack.append(element)
            texts.append([])

        def endElement(self, name: str) -> None:  # noqa: N802
            ended, content = stack.pop(), texts.pop()
            if ended.text is not None:
                ended.text.text = "".join(content).strip()

        def characters(self, content: str) -> None:
            element = stack[-1]
            if content.strip() and element.text is None:
                element.text = XmlAttribute("", _position(parser))
                element.stated.append(Inner(f"{element.tag}.text", element.text.at, element.text, element.file))
            if element.text is not None:  # the parser reports each line, and what an escape stands for, by itself
                texts[-1].append(content)

    parser = create_parser(forbid_dtd=True)
    parser.setContentHandler(Build())
    try:
        parser.feed(text)
        parser.close()
    except SAXParseException as error:
        report.error(f"not XML: {error.getMessage()}", (error.getLineNumber() or 1, (error.getColumnNumber() or 0) + 1))
        return None
    except DefusedXmlException:
        report.error("document types and entities are not allowed, because they can be harmful", _position(parser))
        return None
    return holder.children[0]


def _position(parser: Any) -> LineColumn:
    return parser.getLineNumber(), parser.getColumnNumber() + 1


class _Lines:
    """A text and the starts of its lines, as the parser counts them, to find locations without copying the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def offset(self, at: LineColumn) -> int:
        """Return the offset of a location in the text."""
        line, column = at
        return self._starts[line - 1] + column - 1

    def at(self, offset: int) -> LineColumn:
        """Return the location of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def _locate_attributes(element: Element, lines: _Lines) -> None:
    """Find the location of each attribute of a start tag. The parser only reports that of the tag."""
    place = lines.offset(element.at) + 1 + len(element.tag)
    while (found := _ATTRIBUTE.match(lines.text, place)) is not None:
        name = found[1]
        if name in element.attributes:
            element.attributes[name] = XmlAttribute(element.attributes[name].text, lines.at(found.start(1)))
        place = found.end()
