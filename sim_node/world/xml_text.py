"""Text in XML, as xml.sax.saxutils has it, which imports an HTTP client: every start would pay for that."""

from __future__ import annotations

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
