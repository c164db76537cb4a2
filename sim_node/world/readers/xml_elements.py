"""Elements and text of XML files, with their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sim_node.world.readers.report import LineColumn, Report

# Attributes keep these only as references: XML 1.0, section 3.3.3.
_WHITE = {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}


def escape(text: str) -> str:
    """A text as the content of an element, or of quotes that are not in it."""
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


def unescape(text: str) -> str:
    """What `escape` began with."""
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def quoteattr(text: str) -> str:
    """A text as the value of an attribute, quotes included."""
    text = escape(text)
    for character, reference in _WHITE.items():
        text = text.replace(character, reference)
    if '"' not in text:
        return f'"{text}"'
    if "'" not in text:
        return f"'{text}'"
    return '"' + text.replace('"', "&quot;") + '"'


DEEPEST = 200
_LINE_END = re.compile(r"\r\n|\r|\n")
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")


@dataclass
class Attribute:
    """The text of an attribute, and where its name stands."""

    text: str
    at: LineColumn


@dataclass
class Element:
    """An element: its tag, attributes and children, the first text beside them, and the file that it stands in."""

    tag: str
    at: LineColumn
    attributes: dict[str, Attribute] = field(default_factory=dict)
    children: list[Element] = field(default_factory=list)
    text: Attribute | None = None
    file: str = ""

    def all(self, tag: str) -> list[Element]:
        """The children with a tag."""
        return [child for child in self.children if child.tag == tag]

    def get(self, attribute: str, default: str = "") -> str:
        """The text of an attribute, or the default."""
        found = self.attributes.get(attribute)
        return default if found is None else found.text

    def descendants(self) -> Iterator[Element]:
        """The element and all below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


def compose_xml(text: str, report: Report) -> Element | None:
    """The root element of a text; None, with the fault in `report`, where there is none."""
    # Here and not above: what comes with it takes longer to import than most worlds to read.
    from xml.sax import SAXParseException
    from xml.sax.handler import ContentHandler

    from defusedxml.common import DefusedXmlException
    from defusedxml.expatreader import create_parser

    lines = _Lines(text)
    holder = Element("", (0, 0))
    stack = [holder]

    class Build(ContentHandler):
        """Grows the tree; the parser calls it."""

        def startElement(self, name: str, attrs: Any) -> None:  # noqa: N802  the interface's name
            at = _position(parser)
            element = Element(name, at, {key: Attribute(value, at) for key, value in attrs.items()}, file=report.file)
            _locate_attributes(element, lines)
            if len(stack) > DEEPEST:
                raise SAXParseException(f"nested deeper than {DEEPEST} levels", None, parser)
            stack[-1].children.append(element)
            stack.append(element)

        def endElement(self, name: str) -> None:  # noqa: N802
            stack.pop()

        def characters(self, content: str) -> None:
            if content.strip() and stack[-1].text is None:
                stack[-1].text = Attribute(content.strip(), _position(parser))

    parser = create_parser(forbid_dtd=True)
    parser.setContentHandler(Build())
    try:
        parser.feed(text)
        parser.close()
    except SAXParseException as error:
        report.error(f"no XML: {error.getMessage()}", (error.getLineNumber() or 1, (error.getColumnNumber() or 0) + 1))
        return None
    except DefusedXmlException:
        report.error(
            "a document type or entity, which are refused: files of strangers do harm by them", _position(parser)
        )
        return None
    return holder.children[0]


def _position(parser: Any) -> LineColumn:
    return parser.getLineNumber(), parser.getColumnNumber() + 1


class _Lines:
    """A text and where its lines begin, as the parser counts them: positions are found without copies of the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(text))]

    def offset(self, at: LineColumn) -> int:
        """Where a place is in the text."""
        line, column = at
        return self._starts[line - 1] + column - 1

    def at(self, offset: int) -> LineColumn:
        """The place of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def _locate_attributes(element: Element, lines: _Lines) -> None:
    """Where each attribute of a start tag stands; the parser only knows where the tag does."""
    place = lines.offset(element.at) + 1 + len(element.tag)
    while (found := _ATTRIBUTE.match(lines.text, place)) is not None:
        name = found[1]
        if name in element.attributes:
            element.attributes[name] = Attribute(element.attributes[name].text, lines.at(found.start(1)))
        place = found.end()
