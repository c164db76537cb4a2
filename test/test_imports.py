"""No circles between files: imports that run with a module, imports that wait for a call, and those of types alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

import sim_node

ROOT = Path(sim_node.__file__).parent
FILES = {
    ".".join(("sim_node", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
# A World offers its key paths as methods; what reads and writes files for them knows the World.
WORLD_METHODS = ("sim_node.world.model", "sim_node.world.values")
PUBLIC = "public(__name__)"
BUILTIN = "sim_node.autopilots.builtin"
# Circles of types that are left: missions and failsafes act on the flight of which they are parts.
PARTS_OF = {
    f"{BUILTIN}.flight": [f"{BUILTIN}.failsafe", f"{BUILTIN}.mission"],
}


def imports_of(name: str, *, in_functions: bool, types: bool = False) -> set[str]:
    """The files that a file imports. What is under TYPE_CHECKING never runs; public names are imported when used."""
    return {each for each in _imported(_parsed(name).body, in_functions, types) if each != name}


@cache
def _parsed(name: str) -> ast.Module:
    return ast.parse(FILES[name].read_text())


def _imported(nodes: Iterable[ast.AST], in_functions: bool, types: bool) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield from (each for each in (full if full in FILES else node.module,) if each in FILES)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in FILES)
        elif isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING":
            yield from _imported([*node.orelse, *(node.body if types else ())], in_functions, types)
        elif isinstance(node, ast.expr) or (isinstance(node, ast.With) and ast.unparse(node.items[0]) == PUBLIC):
            continue
        elif in_functions or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _imported(ast.iter_child_nodes(node), in_functions, types)


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of files each of which leads to all others of its set."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        stack = [start]
        while stack:
            for after in graph[stack.pop()] - seen:
                seen.add(after)
                stack.append(after)
        return seen

    below = {name: reached(name) for name in graph}
    found = {frozenset(other for other in below[name] if name in below[other]) for name in graph if name in below[name]}
    return sorted(map(set, found), key=sorted)


def test_a_circle_is_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]


@pytest.mark.parametrize("in_functions", [False, True])
def test_no_file_leads_back_to_itself(in_functions: bool) -> None:
    graph = {name: imports_of(name, in_functions=in_functions) for name in FILES}
    if in_functions:
        graph[WORLD_METHODS[0]].discard(WORLD_METHODS[1])
    assert circles(graph) == []


def test_types_lead_back_only_to_the_whole_that_a_part_acts_on() -> None:
    graph = {name: imports_of(name, in_functions=False, types=True) for name in FILES}
    for whole, parts in PARTS_OF.items():
        for part in parts:
            graph[part].remove(whole)
    # A World names its kinds of parts for type checkers.
    graph[WORLD_METHODS[0]] = imports_of(WORLD_METHODS[0], in_functions=False)
    assert circles(graph) == []
