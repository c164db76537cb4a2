"""Elements and text of XML files, with their locations."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

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


@dataclass(slots=True)
class XmlAttribute:
    """The text of an attribute, and the location of its name. read: see `unread`."""

    text: str
    at: LineColumn
    read: bool = field(default=False, compare=False)

    def within(self, key: str) -> tuple[()]:
        """Return nothing: an attribute has no parts."""
        return ()


@dataclass(slots=True)
class Element:
    """An element: its tag, attributes and children, its text, and its file.

    Attributes and children may be changed. stated: the original ones of the file; read: see `unread`.
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
        """Return the parts that the file has in this element."""
        return self.stated

    def descendants(self) -> Iterator[Element]:
        """Yield the element and everything below it, in the order of the file."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


class _TooDeep(Exception):
    """Elements are nested deeper than MAX_DEPTH."""


def compose_xml(text: str, report: Report) -> Element | None:
    """Return the root element of a text, or None with the fault in `report`."""
    # Imported here because most worlds are not XML.
    from xml.parsers.expat import ErrorString, ExpatError

    from defusedxml.common import DefusedXmlException
    from defusedxml.expatreader import create_parser

    lines, file = _Lines(text), report.file
    holder = Element("", (0, 0))
    # The open elements, and the parts of their texts.
    stack: list[tuple[Element, list[str]]] = [(holder, [])]
    reader = create_parser(forbid_dtd=True)
    reader.reset()
    parser = reader._parser  # the parser below SAX, whose events take half of the time

    def start(name: str, attributes: dict[str, str]) -> None:
        at = (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        if len(stack) > MAX_DEPTH:
            raise _TooDeep
        element = Element(name, at, _located(attributes, name, at, lines) if attributes else {}, file=file)
        above = stack[-1][0]
        above.children.append(element)
        above.stated.append(Inner(f"{above.tag}.{name}", at, element, file))
        for key, attribute in element.attributes.items():
            element.stated.append(Inner(f"{name}.{key}", attribute.at, attribute, file))
        stack.append((element, []))

    def end(_name: str) -> None:
        ended, content = stack.pop()
        if ended.text is not None:
            ended.text.text = "".join(content).strip()

    def characters(content: str) -> None:
        element, texts = stack[-1]
        if element.text is None:
            if content.isspace():
                return
            element.text = XmlAttribute("", (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
            element.stated.append(Inner(f"text of {element.tag}", element.text.at, element.text, file))
        texts.append(content)  # the parser reports each line, and what an escape stands for, by itself

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    try:
        parser.Parse(text, True)
    except ExpatError as error:
        report.error(f"not XML: {ErrorString(error.code)}", (error.lineno, error.offset + 1))
        return None
    except (_TooDeep, DefusedXmlException) as refused:
        harmful = "document types and entities are not allowed, because they can be harmful"
        message = f"not XML: nested deeper than {MAX_DEPTH} levels" if isinstance(refused, _TooDeep) else harmful
        report.error(message, (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1))
        return None
    return holder.children[0]


class _Lines:
    """A text and the starts of its lines, as the parser counts them, to find locations without copying the text."""

    def __init__(self, text: str) -> None:
        self.text = text
        ends = (found.end() for found in _LINE_END.finditer(text)) if "\r" in text else _ends(text)
        self._starts = [0, *ends]

    def offset(self, at: LineColumn) -> int:
        """Return the offset of a location in the text."""
        line, column = at
        return self._starts[line - 1] + column - 1

    def at(self, offset: int) -> LineColumn:
        """Return the location of an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def _ends(text: str) -> Iterator[int]:
    """Yield where the lines of a text with `\\n` alone end, many times faster than a regular expression."""
    return accumulate(len(line) + 1 for line in text.split("\n"))


def _located(attributes: dict[str, str], tag: str, at: LineColumn, lines: _Lines) -> dict[str, XmlAttribute]:
    """Return the attributes of a start tag, each with its location. The parser only reports that of the tag."""
    places: dict[str, LineColumn] = {}
    place = lines.offset(at) + 1 + len(tag)
    while (found := _ATTRIBUTE.match(lines.text, place)) is not None:
        places[found[1]] = lines.at(found.start(1))
        place = found.end()
    return {key: XmlAttribute(text, places.get(key, at)) for key, text in attributes.items()}
