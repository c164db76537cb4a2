"""Text in XML, held to the standard library's own."""

from __future__ import annotations

from xml.etree import ElementTree
from xml.sax import saxutils

from hypothesis import given
from hypothesis import strategies as st

from sim_node.world.readers.xml_elements import escape, quoteattr, unescape

# What XML 1.0 allows: section 2.2.
TEXTS = st.text(st.one_of(st.sampled_from("\n\r\t&<>\"'"), st.characters(min_codepoint=0x20, max_codepoint=0xD7FF)))


@given(TEXTS)
def test_texts_are_written_as_the_standard_library_does(text: str) -> None:
    assert (escape(text), quoteattr(text)) == (saxutils.escape(text), saxutils.quoteattr(text))
    assert unescape(escape(text)) == text
    assert unescape(text) == saxutils.unescape(text)


@given(TEXTS)
def test_attributes_are_read_back_as_they_were(text: str) -> None:
    assert ElementTree.fromstring(f"<a b={quoteattr(text)}/>").get("b") == text
