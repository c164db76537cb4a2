"""KDL as a reader that nobody here wrote reads it (ckdl), and the places of nodes and faults."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim_node.viewing.schematic.kdl import KdlFault, KdlNode, parse

ckdl = pytest.importorskip("ckdl", reason="ckdl is not installed: make setup")

# From the language's own specifications, versions 1 and 2.
VERSION_1 = r"""
// a comment
title "Hello, \u{4e16}"
bookmarks 12 0xff 0b1010 0o17 1_000 -1.5e3 true false null {
    "a node" key="value" key="again"; other (u8)123 /-"ignored"
    /- gone 1 2 { inner; }
    raw r#"C:\n"#  /* one /* within */ another */ "after"
}
long 1 \
    2 \ // and on
    3
"two
lines" "a
b"
(type)typed 1
"""
VERSION_2 = r'''
node name="Viewport" flag=#true off=#false none=#null bare=word
spaced key = "value" arg
raw #"a "quoted" \n"# ##"one "# "##
infinite #inf #-inf
ball.world_pos - --x - 1
text """
    two
      lines
    """
escaped "a \
        b\s\t\\"
/-gone 1
part /-{ hidden } { shown }
'''


def as_ckdl(node: KdlNode) -> tuple[Any, ...]:
    values = {name: value.value for name, value in node.properties.items()}
    return node.name, [value.value for value in node.arguments], values, [as_ckdl(each) for each in node.children]


def of_ckdl(node: Any) -> tuple[Any, ...]:
    def plain(value: Any) -> Any:
        return value.value if isinstance(value, ckdl.Value) else value

    values = {name: plain(value) for name, value in node.properties.items()}
    return node.name, [plain(each) for each in node.args], values, [of_ckdl(each) for each in node.children]


@pytest.mark.parametrize("text", [VERSION_1, VERSION_2], ids=["version 1", "version 2"])
def test_documents_of_both_versions_are_read_as_by_ckdl(text: str) -> None:
    assert [as_ckdl(node) for node in parse(text)] == [of_ckdl(node) for node in ckdl.parse(text).nodes]


def test_nodes_and_values_have_their_places() -> None:
    (node,) = parse('\n  hsplit {\r\n    viewport pos="a" 1\n  }\n')
    (inner,) = node.children
    assert (node.at, inner.at) == ((2, 3), (3, 5))
    assert (inner.property_places["pos"], inner.properties["pos"].at) == ((3, 14), (3, 18))
    assert inner.arguments[0].at == (3, 22)


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ('a "x', (1, 3), "a string without an end"),
        ("a {\n b", (1, 3), "a brace is not closed"),
        ("a\n}", (2, 1), "without an opening brace"),
        ("a /* b", (1, 3), "a comment without an end"),
        ("a 1x", (1, 3), "'1x' is not a number"),
        ("a b=\n", (1, 5), "a value is needed"),
        (r'a "\q"', (1, 3), "is not an escape"),
        (r'a "\u{110000}"', (1, 3), "is no character"),
        ("1 2", (1, 1), "the name of a node is needed"),
        ("a" + " {a" * 60, (1, 154), "nested deeper than 50"),
        ('a"b"', (1, 2), "a space is needed"),
        ('a """x\n"""', (1, 3), "begins on a line of its own"),
    ],
)
def test_faults_have_their_places(text: str, at: tuple[int, int], words: str) -> None:
    with pytest.raises(KdlFault, match=words) as fault:
        parse(text)
    assert fault.value.at == at


@given(st.text(st.sampled_from('ab1 {}()[]="\\/-*#;\n\tr.~'), max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(KdlFault):
        parse(text)
